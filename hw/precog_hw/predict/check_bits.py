"""Check bits for what is loaded: a pair of image words waits for its second word.

Golden model `precog_models.predict.ecc.guard`.
"""

from functools import reduce
from operator import xor

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from precog_spec.config import NicConfig
from precog_spec.secded import PAIR_BITS, check_bits, columns

from .layouts import image_word_layout, load_layout
from .pipeline import Delays

__all__ = ["CHECK_LATENCY", "CheckBits", "damaged", "parity"]

CHECK_LATENCY = 2
_CHECK = check_bits(PAIR_BITS)
_LEAVES = 9  # inputs of an XOR before the register


def parity(m: Module, name: str, pair: Value) -> Value:
    """The check bits of a pair's 64 data bits, `CHECK_LATENCY` cycles later.

    Parameters
    ----------
    m : Module
        Gets the registers.
    name : str
    pair : Value
    """
    check = Signal(_CHECK, name=f"{name}_check", reset_less=True)
    for r in range(_CHECK):
        m.d.sync += check[r].eq(_part(m, f"{name}_part_{r}", _covered(pair, r)).xor())
    return check


def damaged(m: Module, name: str, word: Value, check: Value) -> Value:
    """Whether a word, or its check bits, are not as they were written, a cycle later.

    One wrong bit, or two, are always noticed. Cost: 16 or 24 flip-flops. Three levels of LUTs
    precede the flip-flops, three follow them.

    Parameters
    ----------
    m : Module
        Gets the registers.
    name : str
    word : Value
        At most 64 data bits; those that it lacks are zeros.
    check : Value
    """
    syndrome = [
        _part(m, f"{name}_syndrome_{r}", [*_covered(word, r), check[r]]).xor()
        for r in range(_CHECK)
    ]
    return Cat(syndrome).any()


def _covered(word: Value, r: int) -> list[Value]:
    """Bits that check bit r covers."""
    return [word[n] for n, column in enumerate(columns(PAIR_BITS)[: len(word)]) if column >> r & 1]


def _part(m: Module, name: str, bits: list[Value]) -> Signal:
    """Registered parities of some bits each, whose own parity is that of all."""
    parts = [reduce(xor, bits[n : n + _LEAVES]) for n in range(0, len(bits), _LEAVES)]
    part = Signal(len(parts), name=name, reset_less=True)
    m.d.sync += part.eq(Cat(parts))
    return part


class CheckBits(wiring.Component):
    """Between the loader and the memories.

    Latency: the first word of a pair leaves 4 cycles after the second one has come, that a cycle
    later. Throughput: a word a cycle, in 4 if `NicConfig.relaxed`: a pair stays until both words
    have left. Cost: about 100 LUTs, 300 flip-flops; relaxed, 110 flip-flops.

    Parameters
    ----------
    config : NicConfig
        With `ecc`.

    Members
    -------
    i : In(image_word_layout)
        Words of images, in their order.
    put, put_ready : In(load_layout), Out(1)
        Another word, guarded already, for a cycle in which none of an image leaves.
    o : Out(load_layout)
    """

    def __init__(self, config: NicConfig) -> None:
        self._config = config
        super().__init__(
            {
                "i": In(image_word_layout(config)),
                "put": In(load_layout(config)),
                "put_ready": Out(1),
                "o": Out(load_layout(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, i = self._config, self.i
        delay = Delays(m)
        layout = data.StructLayout(
            {"words": PAIR_BITS, "row": 5, "pair": 3, "set": config.set_bits}
        )
        even = Signal(32, reset_less=True)
        pair = Signal(layout, reset_less=True)
        whole = Signal()
        m.d.sync += whole.eq(i.en & i.word[0])
        with m.If(i.en):
            m.d.sync += [
                even.eq(i.data.as_value()),
                pair.words.eq(Cat(even, i.data.as_value())),
                pair.row.eq(i.row),
                pair.pair.eq(i.word[1:]),
                pair.set.eq(i.set),
            ]
        check = parity(m, "pair", pair.words)
        leaves = delay(whole, CHECK_LATENCY, reset=True)
        first, later, later_check = pair, pair, check
        if not config.relaxed:
            first = delay(pair, CHECK_LATENCY)
            later, later_check = delay(first, 1), delay(check, 1)
        second = delay(leaves, 1, reset=True)
        word = Signal(load_layout(config))
        now = Signal(layout)
        m.d.comb += [
            now.eq(Mux(second, later, first)),
            word.en.eq(leaves | second),
            word.copies.eq(~0),
            word.set.eq(now.set),
            word.row.eq(now.row),
            word.word.eq(Cat(second, now.pair)),
            word.data.eq(now.words.word_select(second, 32)),
            word.check.eq(Mux(second, later_check[4:], check[:4])),
            self.put_ready.eq(~word.en),
        ]
        m.d.sync += self.o.eq(Mux(word.en, word, self.put))
        return m
