"""The pool's memories: every 32-bit word of an image in the block that will read it.

An image is loaded in its canonical order, whatever the lane count; here each word finds its place
(`precog_models.contract` has the layout). All memories are 32 bits wide, so that the spare four
bits of a 36-bit block RAM word stay free for check bits: two blocks side by side carry the eight of
a (72, 64) code.
"""

from collections.abc import Callable

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib.memory import ReadPort

from precog_models.contract import HEAD_ROWS, HIDDEN

from ..config import NicConfig
from .layouts import GATES, QUADS, Sizes
from .memory import block_memory

__all__ = [
    "BIAS_ROW",
    "HEADER_WORD",
    "INPUT_ROW",
    "SHIFT_ROW",
    "TAIL_ROW",
    "add_biases",
    "add_head_biases",
    "add_head_shifts",
    "add_head_weights",
    "add_input_weights",
    "add_recurrent_weights",
    "add_shifts",
    "pick_unit",
]

INPUT_ROW = HIDDEN
BIAS_ROW = 24
SHIFT_ROW = 26
TAIL_ROW = 31
HEADER_WORD = 10  # of the tail row


def _add(
    m: Module,
    name: str,
    depth: int,
    load: Value,
    en: Value,
    addr: Value,
    *,
    domain: str = "sync",
) -> ReadPort:
    """A memory of image words; returns its read port (1 cycle, or none in domain ``"comb"``)."""
    memory = block_memory(32, depth)
    m.submodules[name] = memory
    write = memory.write_port()
    # A register before each memory: an image word goes to all corners of the engine.
    hit = Signal(name=f"{name}_hit")
    where = Signal.like(write.addr, name=f"{name}_where", reset_less=True)
    what = Signal(32, name=f"{name}_what", reset_less=True)
    m.d.sync += [hit.eq(load.en & en), where.eq(addr), what.eq(load.data.as_value())]
    m.d.comb += [write.en.eq(hit), write.addr.eq(where), write.data.eq(what)]
    return memory.read_port(domain=domain)


def add_recurrent_weights(
    m: Module, config: NicConfig, load: Value
) -> Callable[[int, int, int], ReadPort]:
    """Wh, a memory for each (way, gate, quad of the units at work); address {set, row, turn}."""
    sizes = Sizes(config)
    quads = sizes.units // 4
    way_bits = sizes.ways.bit_length() - 1
    turn_bits = sizes.turns.bit_length() - 1
    ports = {}
    quad = load.word[:2]
    turn = quad[2 - turn_bits :] if turn_bits else quad[:0]
    addr = Cat(turn, load.row[way_bits:4], load.set)
    depth = config.sets * HIDDEN // sizes.ways * sizes.turns
    for way in range(sizes.ways):
        for gate in range(GATES):
            for q in range(quads):
                en = (load.row[4] == 0) & (load.row[:way_bits] == way)
                en &= (load.word[2:] == gate) & (quad[: 2 - turn_bits] == q)
                ports[way, gate, q] = _add(m, f"wh_{way}_{gate}_{q}", depth, load, en, addr)
    return lambda way, gate, q: ports[way, gate, q]


def add_input_weights(m: Module, config: NicConfig, load: Value) -> list[ReadPort]:
    """Wx, a memory for each gate; address {set, input, quad}."""
    addr = Cat(load.word[:2], load.row[:3], load.set)
    hit = load.row[3:] == INPUT_ROW >> 3
    return [
        _add(m, f"wx_{gate}", config.sets * 32, load, hit & (load.word[2:] == gate), addr)
        for gate in range(GATES)
    ]


def add_biases(m: Module, config: NicConfig, load: Value) -> list[list[ReadPort]]:
    """Gate biases, a memory for each gate and half of a quad; address {set, quad}."""
    addr = Cat(load.word[1:3], load.set)
    hit = load.row[1:] == BIAS_ROW >> 1
    gate_half = Cat(load.word[0], load.word[3], load.row[0])
    return [
        [
            _add(
                m,
                f"bias_{gate}_{half}",
                config.sets * QUADS,
                load,
                hit & (gate_half == (half | gate << 1)),
                addr,
            )
            for half in range(2)
        ]
        for gate in range(GATES)
    ]


def add_shifts(
    m: Module, config: NicConfig, load: Value, *, domain: str = "sync"
) -> list[ReadPort]:
    """Shifts of both weight matrices, a memory for each gate; address {set, quad}."""
    addr = Cat(load.word[:2], load.set)
    hit = load.row == SHIFT_ROW
    return [
        _add(
            m,
            f"shift_{gate}",
            config.sets * QUADS,
            load,
            hit & (load.word[2:] == gate),
            addr,
            domain=domain,
        )
        for gate in range(GATES)
    ]


def add_head_weights(m: Module, config: NicConfig, load: Value) -> ReadPort:
    """Wl; address {set, output, quad}."""
    hit = (load.row >= HEAD_ROWS[0]) & (load.row < HEAD_ROWS[1])
    block = Signal(2, name="head_block")
    m.d.comb += block.eq(load.row[:2] - HEAD_ROWS[0] % 4)
    addr = Cat(load.word[:2], load.word[2:], block, load.set)
    return _add(m, "wl", config.sets * 64, load, hit, addr)


def add_head_biases(m: Module, config: NicConfig, load: Value) -> ReadPort:
    """Head biases, two in a word; address {set, output // 2}."""
    hit = (load.row == TAIL_ROW) & (load.word[3] == 0)
    return _add(m, "bl", config.sets * 8, load, hit, Cat(load.word[:3], load.set))


def add_head_shifts(m: Module, config: NicConfig, load: Value) -> ReadPort:
    """Head shifts, eight in a word; address {set, output // 8}."""
    hit = (load.row == TAIL_ROW) & (load.word[1:] == 4)
    return _add(m, "sl", config.sets * 2, load, hit, Cat(load.word[0], load.set))


def pick_unit(word: Value, bits: int, config: NicConfig, sub: Value, column: int) -> Value:
    """Field of the unit in `column` of group `sub` of a quad, from a word of fields of `bits`."""
    if config.columns == 4:
        return word[column * bits : (column + 1) * bits]
    fields = [word[unit * bits : (unit + 1) * bits] for unit in range(column, 4, config.columns)]
    wide = Cat(*fields)
    return wide.word_select(sub, bits)
