"""The pool's memories: every 32-bit word of an image in the block that will read it.

An image is loaded in its canonical order, whatever the lane count; here each word finds its place
(`precog_spec.contract` has the layout). A memory's word is a word of the image and four check
bits, which take a block RAM's 36 bits: two words carry the eight of a (72, 64) code, whatever the
lane count (`precog_spec.secded`). Nothing that the engine reads goes through a
corrector: a scrubber reads each word when its memory is idle.
"""

from collections.abc import Callable

from amaranth.hdl import Cat, Module, Mux, Signal, Value

from precog_spec.config import NicConfig
from precog_spec.contract import HEAD_ROWS, HIDDEN
from precog_spec.secded import STORED_BITS, TAIL_ROW

from .layouts import GATES, QUADS, Sizes
from .memory import block_memory
from .taps import Taps

__all__ = [
    "BIAS_ROW",
    "HEADER_WORD",
    "INPUT_ROW",
    "SHIFT_ROW",
    "TAIL_ROW",
    "Words",
    "add_biases",
    "add_head_biases",
    "add_head_shifts",
    "add_head_weights",
    "add_input_weights",
    "add_recurrent_weights",
    "add_shifts",
    "pick_unit",
    "recurrent_address",
]

INPUT_ROW = HIDDEN
BIAS_ROW = 24
SHIFT_ROW = 26
HEADER_WORD = 10  # of the tail row


class Words:
    """A memory of image words.

    Parameters
    ----------
    m : Module
        Gets memory and registers.
    config : NicConfig
    name : str
    depth : int
    where : callable
        From a row, a word and a set: whether the memory holds it, and at which address.
    load : load_layout
    taps : Taps, optional
        With `config.ecc`.
    cycle : int
        In which `addr` is given, the block's first being 0.
    early : bool
        `addr` passes a register before the memory.
    stolen : bool
        `addr` names the scrubber's place in stolen cycles.

    Attributes
    ----------
    addr : Signal
        To be driven.
    data : Value
        32 bits, a cycle later.
    """

    def __init__(
        self,
        m: Module,
        config: NicConfig,
        name: str,
        depth: int,
        where: Callable[[Value, Value, Value], tuple[Value, Value]],
        load: Value,
        taps: Taps | None,
        *,
        cycle: int,
        early: bool = False,
        stolen: bool = False,
    ) -> None:
        width = STORED_BITS if config.ecc else 32
        m.submodules[name] = memory = block_memory(width, depth)
        write, read = memory.write_port(), memory.read_port()
        en, addr = where(load.row, load.word, load.set)
        content = load.data.as_value()
        # A register before each memory: an image word goes to all corners of the engine. A restart
        # of the engine must not lose one.
        hit = Signal(name=f"{name}_hit", reset_less=True)
        what = Signal(width, name=f"{name}_what", reset_less=True)
        target = Signal.like(write.addr, name=f"{name}_where", reset_less=True)
        self.addr = Signal.like(read.addr, name=f"{name}_addr")
        address: Value = self.addr
        if taps is not None:
            en &= load.copies[taps.copy]
            content = Cat(content, load.check)
            place = taps.place
            held, there = where(place.row, place.word, place.set)
            if not stolen:
                address = Mux(taps.stolen(cycle), there, address)
            taps.add(name, read.data, held, cycle + early + 1)
        if early:
            late = Signal.like(read.addr, name=f"{name}_late", reset_less=True)
            m.d.sync += late.eq(address)
            address = late
        m.d.sync += [hit.eq(load.en & en), target.eq(addr), what.eq(content)]
        m.d.comb += [
            write.en.eq(hit),
            write.addr.eq(target),
            write.data.eq(what),
            read.addr.eq(address),
        ]
        self.data = read.data[:32]


def recurrent_address(config: NicConfig, row: Value, word: Value, number: Value) -> Value:
    """Where row `row` of Wh of set `number` lies in each of its memories: {set, row, turn}."""
    sizes = Sizes(config)
    way_bits = sizes.ways.bit_length() - 1
    top = _turn_top(sizes)
    return Cat(word[top - sizes.turn_bits : top], row[way_bits:4], number)


def _turn_top(sizes: Sizes) -> int:
    """A word's number is {gate, quad}: bits of it, from 0, that a memory may hold several of."""
    return 4 if sizes.gates == 1 else 2


def add_recurrent_weights(
    m: Module, config: NicConfig, load: Value, taps: Taps | None
) -> Callable[[int, int, int], Words]:
    """Wh, a memory for each (way, gate, quad of the units at work), `recurrent_address`.

    Quad q's is read this many cycles late as its units' group is.
    """
    sizes = Sizes(config)
    quads = sizes.units // 4
    way_bits = sizes.ways.bit_length() - 1
    top = _turn_top(sizes)
    words = {}
    depth = config.sets * HIDDEN // sizes.ways * sizes.turns
    for way in range(sizes.ways):
        for gate in range(sizes.gates):
            for q in range(quads):

                def where(
                    row: Value, word: Value, number: Value, way: int = way, at: int = gate << 2 | q
                ) -> tuple[Value, Value]:
                    en = (row[4] == 0) & (row[:way_bits] == way) & (word[top:] == at >> 2)
                    en &= word[: top - sizes.turn_bits] == at & 3
                    return en, recurrent_address(config, row, word, number)

                words[way, gate, q] = Words(
                    m,
                    config,
                    f"wh_{way}_{gate}_{q}",
                    depth,
                    where,
                    load,
                    taps,
                    cycle=q * 4 // config.columns,
                    stolen=True,
                )
    return lambda way, gate, q: words[way, gate, q]


def add_input_weights(m: Module, config: NicConfig, load: Value, taps: Taps | None) -> list[Words]:
    """Wx, a memory for each gate; address {set, input, quad}, given in the first cycle.

    With few lanes one memory for all gates: {set, input, gate, quad}.
    """
    if Sizes(config).gates == 1:

        def anywhere(row: Value, word: Value, number: Value) -> tuple[Value, Value]:
            return row[3:] == INPUT_ROW >> 3, Cat(word, row[:3], number)

        return [Words(m, config, "wx", config.sets * 128, anywhere, load, taps, cycle=0)]

    def of(gate: int) -> Words:
        def where(row: Value, word: Value, number: Value) -> tuple[Value, Value]:
            hit = (row[3:] == INPUT_ROW >> 3) & (word[2:] == gate)
            return hit, Cat(word[:2], row[:3], number)

        return Words(m, config, f"wx_{gate}", config.sets * 32, where, load, taps, cycle=0)

    return [of(gate) for gate in range(GATES)]


def add_biases(
    m: Module, config: NicConfig, load: Value, taps: Taps | None, *, cycle: int
) -> list[list[Words]]:
    """Gate biases, a memory for each gate and half of a quad; address {set, quad}.

    It is given in `cycle`, one before the memory takes it. With few lanes one memory for all:
    {set, gate, quad, half}.
    """
    if Sizes(config).gates == 1:

        def anywhere(row: Value, word: Value, number: Value) -> tuple[Value, Value]:
            return row[1:] == BIAS_ROW >> 1, Cat(word, row[0], number)

        depth = config.sets * GATES * QUADS * 2
        return [[Words(m, config, "bias", depth, anywhere, load, taps, cycle=cycle, early=True)]]

    def of(gate: int, half: int) -> Words:
        def where(row: Value, word: Value, number: Value) -> tuple[Value, Value]:
            hit = (row[1:] == BIAS_ROW >> 1) & (Cat(word[0], word[3], row[0]) == (half | gate << 1))
            return hit, Cat(word[1:3], number)

        name, depth = f"bias_{gate}_{half}", config.sets * QUADS
        return Words(m, config, name, depth, where, load, taps, cycle=cycle, early=True)

    return [[of(gate, half) for half in range(2)] for gate in range(GATES)]


def add_shifts(m: Module, config: NicConfig, load: Value, taps: Taps | None) -> list[Words]:
    """Shifts of both weight matrices, a memory for each gate; address {set, quad}.

    It is given in the first cycle. With few lanes one memory for all gates: {set, gate, quad}.
    """
    if Sizes(config).gates == 1:

        def anywhere(row: Value, word: Value, number: Value) -> tuple[Value, Value]:
            return row == SHIFT_ROW, Cat(word, number)

        depth = config.sets * GATES * QUADS
        return [Words(m, config, "shift", depth, anywhere, load, taps, cycle=0)]

    def of(gate: int) -> Words:
        def where(row: Value, word: Value, number: Value) -> tuple[Value, Value]:
            return (row == SHIFT_ROW) & (word[2:] == gate), Cat(word[:2], number)

        name, depth = f"shift_{gate}", config.sets * QUADS
        return Words(m, config, name, depth, where, load, taps, cycle=0)

    return [of(gate) for gate in range(GATES)]


def add_head_weights(m: Module, config: NicConfig, load: Value, taps: Taps | None) -> Words:
    """Wl; address {set, output, quad}, given in the first cycle."""

    def where(row: Value, word: Value, number: Value) -> tuple[Value, Value]:
        hit = (row >= HEAD_ROWS[0]) & (row < HEAD_ROWS[1])
        return hit, Cat(word[:2], word[2:], (row[:2] - HEAD_ROWS[0] % 4)[:2], number)

    return Words(m, config, "wl", config.sets * 64, where, load, taps, cycle=0)


def add_head_biases(m: Module, config: NicConfig, load: Value, taps: Taps | None) -> Words:
    """Head biases, two in a word; address {set, output // 2}, given in the first cycle."""

    def where(row: Value, word: Value, number: Value) -> tuple[Value, Value]:
        return (row == TAIL_ROW) & (word[3] == 0), Cat(word[:3], number)

    return Words(m, config, "bl", config.sets * 8, where, load, taps, cycle=0)


def add_head_shifts(m: Module, config: NicConfig, load: Value, taps: Taps | None) -> Words:
    """Head shifts, eight in a word; address {set, output // 8}, given in the first cycle."""

    def where(row: Value, word: Value, number: Value) -> tuple[Value, Value]:
        return (row == TAIL_ROW) & (word[1:] == 4), Cat(word[0], number)

    return Words(m, config, "sl", config.sets * 2, where, load, taps, cycle=0)


def pick_unit(word: Value, bits: int, config: NicConfig, sub: Value, column: int) -> Value:
    """Field of the unit in `column` of group `sub` of a quad, from a word of fields of `bits`.

    Or of half a quad, in one column, from a word that is as long.
    """
    if config.columns == 4:
        return word[column * bits : (column + 1) * bits]
    units = len(word) // bits
    fields = [
        word[unit * bits : (unit + 1) * bits] for unit in range(column, units, config.columns)
    ]
    wide = Cat(*fields)
    return wide.word_select(sub, bits)
