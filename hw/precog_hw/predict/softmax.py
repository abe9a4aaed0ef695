"""Logits to probabilities that sum to exactly 1; golden model `precog_models.predict.softmax`.

One ring of 16 words is input, working store and output. It goes round four times:

::

    logits ─► largest ─► e**-(largest - logit), their sum ─► [reciprocal] ─► share of the sum ─┐
                              o ◄─ the most likely bin gets the rest, tail is summed ◄─────────┘
"""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from precog_spec.contract import (
    CHORD_GUARD_BITS,
    EXP_CHORDS,
    EXP_FRAC_BITS,
    LOG2E,
    LOG2E_FRAC_BITS,
    MAX_OUTPUTS,
    PROBABILITY,
    Fmt,
    exp_table,
)

from ..dsp import Multiplier
from ..measure.reciprocal import Reciprocal
from ..rows import plain_memory
from .layouts import OUTPUTS
from .pipeline import Delays

__all__ = ["DISTRIBUTION", "SOFTMAX_INPUT", "SOFTMAX_OUTPUT", "Softmax"]

DISTRIBUTION = data.ArrayLayout(PROBABILITY.width, MAX_OUTPUTS)
SOFTMAX_INPUT = data.StructLayout({"logits": OUTPUTS, "outputs": 4})  # O - 1
SOFTMAX_OUTPUT = data.StructLayout({"p": DISTRIBUTION, "tail": PROBABILITY.width})

_WORD_BITS = EXP_FRAC_BITS + 1  # e**0 = 2**16 is the largest that the ring holds
_DROP = Fmt.OUT.frac_bits + LOG2E_FRAC_BITS - EXP_FRAC_BITS
_CHORD_BITS = (EXP_CHORDS - 1).bit_length()
_X_BITS = EXP_FRAC_BITS - _CHORD_BITS  # position inside a chord
_POWER_BITS = 5  # 2**-x: x < 16 log2(e) < 32
_BASE_BITS = max(base for base, _ in exp_table()).bit_length()
_FALL_BITS = max(fall for _, fall in exp_table()).bit_length()
_LAST = MAX_OUTPUTS - 1
_EXP_CYCLES = 8  # from the ring's head back to its tail
_SHARE_CYCLES = 4
_ZEROS = 15  # leading zeros of the smallest sum, 2**16, in 32 bits
_SHARE_DROP = 17  # bits of a share below the half LSB, for that sum


class _Round:
    """The ring and its place in a round, and what the rounds find out."""

    def __init__(self, m: Module) -> None:
        self.delay = Delays(m)
        self.ring = [
            Signal(_WORD_BITS, name=f"ring_{n}", reset_less=True) for n in range(MAX_OUTPUTS)
        ]
        self.head = self.ring[0]
        self.tail = Signal(_WORD_BITS)  # bits after the last word
        self.turn = Signal()
        self.count = Signal(range(MAX_OUTPUTS + _EXP_CYCLES))
        self.at = Signal(4)  # the bin at the head
        self.outputs = Signal(4, reset_less=True)
        self.inside = self.count <= self.outputs  # the word at the head is one of the model's bins
        self.logit = self.head[: Fmt.OUT.width].as_signed()
        self.largest = Signal(OUTPUTS.elem_shape)
        self.top = Signal(4, reset_less=True)  # its bin
        self.sharing = Signal()  # the multiplier works on shares, not on exponents
        self.total = Signal(21, reset_less=True)  # 1..16 times 2**16 at most
        self.exponential = Signal(_WORD_BITS)
        self.share = Signal(PROBABILITY.width)
        self.rest = Signal(PROBABILITY.width, reset_less=True)
        self.over = Signal(PROBABILITY.width, reset_less=True)  # the tail of the distribution


class Softmax(wiring.Component):
    """Distribution over the bins of a model, and its part from a threshold on.

    Latency: `LATENCY` cycles, 90, whatever the logits. Throughput: one in 91 cycles.
    Cost: 2 multipliers, about 1,000 LUTs (tables of 64 x 35 and 128 x 35 bits in LUTs).

    Parameters
    ----------
    dsp : str
        `NicConfig.dsp`.
    relaxed : bool
        The table of chords is in block RAM, with the same latency.

    Members
    -------
    i : In(stream of SOFTMAX_INPUT)
        Logits in OUT's format, those beyond the model's `outputs` being ignored.
    threshold : In(4)
        First bin of the tail; must hold from an input's transfer to its result.
    o : Out(stream of SOFTMAX_OUTPUT)
        Probabilities in PROBABILITY's format, 32768 in all, zero beyond the model's outputs; and
        the sum of those from `threshold` on.
    """

    LATENCY = 90

    i: stream.Interface
    threshold: Signal
    o: stream.Interface

    def __init__(self, *, dsp: str = "generic", relaxed: bool = False) -> None:
        self._dsp, self._relaxed = dsp, relaxed
        self._reciprocal = Reciprocal()
        super().__init__(
            {
                "i": In(stream.Signature(SOFTMAX_INPUT)),
                "threshold": In(4),
                "o": Out(stream.Signature(SOFTMAX_OUTPUT)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.inverse = inverse = self._reciprocal
        w = _Round(m)
        with m.If(w.turn):
            m.d.sync += [w.ring[n].eq(w.ring[n + 1]) for n in range(_LAST)]
            m.d.sync += w.ring[_LAST].eq(w.tail)
        product = self._multiply(m, w)
        self._exponential(m, w.delay, product, w.exponential)
        self._share(m, w, product)
        m.d.comb += [
            w.at.eq(w.count),
            inverse.v.eq(w.total),
            self.o.payload.p.eq(Cat(word[: PROBABILITY.width] for word in w.ring)),
            self.o.payload.tail.eq(w.over),
        ]
        m.d.sync += w.count.eq(w.count + 1)
        with m.FSM(name="pass"):
            self._find_largest(m, w)
            self._add_up(m, w)
            self._divide(m, w)
            self._finish(m, w)
        return m

    def _multiply(self, m: Module, w: _Round) -> Signal:
        """One multiplier for the exponents and for the shares."""
        factor = Signal(_WORD_BITS, reset_less=True)
        m.submodules.product = product = Multiplier(_WORD_BITS + 1, _WORD_BITS + 1, dsp=self._dsp)
        distance = Signal(_WORD_BITS)
        m.d.comb += distance.eq(w.largest - w.logit)
        m.d.sync += factor.eq(Mux(w.sharing, w.head, distance))
        m.d.comb += [product.a.eq(factor), product.b.eq(Mux(w.sharing, self._reciprocal.y, LOG2E))]
        return product.p

    def _share(self, m: Module, w: _Round, product: Signal) -> None:
        """A word's share of the sum, four cycles after its head; none for the most likely bin."""
        shifted = Signal(_WORD_BITS, reset_less=True)
        for zeros in range(_ZEROS - 4, _ZEROS + 1):
            with m.If(self._reciprocal.n == zeros):
                m.d.sync += shifted.eq(product[_SHARE_DROP:] >> (_ZEROS - zeros))
        is_top = w.delay(w.at == w.top, _SHARE_CYCLES - 1)
        rounded = Signal(PROBABILITY.width, reset_less=True)
        m.d.sync += rounded.eq(Mux(is_top, 0, (shifted + 1) >> 1))
        m.d.comb += w.share.eq(rounded)

    def _find_largest(self, m: Module, w: _Round) -> None:
        """IDLE and LARGEST, the first round."""
        with m.State("IDLE"):
            m.d.comb += self.i.ready.eq(1)
            m.d.sync += [
                w.count.eq(0),
                w.outputs.eq(self.i.payload.outputs),
                w.largest.eq(self.i.payload.logits[0]),
                w.top.eq(0),
            ]
            with m.If(self.i.valid):
                m.d.sync += [
                    word.eq(self.i.payload.logits[n].as_unsigned()) for n, word in enumerate(w.ring)
                ]
                m.next = "LARGEST"
        with m.State("LARGEST"):
            m.d.comb += [w.turn.eq(1), w.tail.eq(w.head)]
            with m.If(w.inside & (w.logit > w.largest)):
                m.d.sync += [w.largest.eq(w.logit), w.top.eq(w.at)]
            m.d.sync += w.total.eq(0)
            with m.If(w.count == _LAST):
                m.d.sync += w.count.eq(0)
                m.next = "EXPONENTIAL"

    def _add_up(self, m: Module, w: _Round) -> None:
        """EXPONENTIAL and INVERT, the second round: e**-(largest - logit), and 1 / their sum."""
        inverse = self._reciprocal
        weight = Mux(w.delay(w.inside, _EXP_CYCLES), w.exponential, 0)
        with m.State("EXPONENTIAL"):
            m.d.comb += [w.turn.eq(1), w.tail.eq(weight)]
            with m.If(w.count >= _EXP_CYCLES):
                m.d.sync += w.total.eq(w.total + weight)
            with m.If(w.count == _LAST + _EXP_CYCLES):
                m.d.sync += w.count.eq(0)
                m.next = "INVERT"
        with m.State("INVERT"):
            m.d.comb += inverse.stb.eq(w.count == 0)
            with m.If(w.count == inverse.latency):
                m.d.sync += w.count.eq(0)
                m.next = "SHARE"

    def _divide(self, m: Module, w: _Round) -> None:
        """SHARE, the third round: what shares leave of 1 is the most likely bin's."""
        with m.State("SHARE"):
            m.d.comb += [w.turn.eq(1), w.tail.eq(w.share), w.sharing.eq(1)]
            with m.If(w.count < _SHARE_CYCLES):
                m.d.sync += w.rest.eq(PROBABILITY.one)
            with m.Else():
                m.d.sync += w.rest.eq(w.rest - w.share)
            m.d.sync += w.over.eq(0)
            with m.If(w.count == _LAST + _SHARE_CYCLES):
                m.d.sync += w.count.eq(0)
                m.next = "REST"

    def _finish(self, m: Module, w: _Round) -> None:
        """REST and DONE, the fourth round: that bin gets the rest, and the tail is summed."""
        final = Mux(w.at == w.top, w.rest, w.head[: PROBABILITY.width])
        with m.State("REST"):
            m.d.comb += [w.turn.eq(1), w.tail.eq(final)]
            with m.If(w.at >= self.threshold):
                m.d.sync += w.over.eq(w.over + final)
            with m.If(w.count == _LAST):
                m.next = "DONE"
        with m.State("DONE"):
            m.d.comb += self.o.valid.eq(1)
            with m.If(self.o.ready):
                m.next = "IDLE"

    def _exponential(self, m: Module, delay: Delays, product: Signal, result: Signal) -> None:
        """e**-d, six cycles after the product of d and log2(e)."""
        x = product[_DROP:]
        chord = x[_X_BITS:EXP_FRAC_BITS]
        base, fall = Signal(_BASE_BITS, reset_less=True), Signal(_FALL_BITS, reset_less=True)
        place = Signal(_X_BITS, reset_less=True)
        power = Signal(_POWER_BITS, reset_less=True)
        rows = exp_table()
        if self._relaxed:
            words = [base | fall << _BASE_BITS for base, fall in rows]
            m.submodules.table = table = plain_memory(
                _BASE_BITS + _FALL_BITS, len(words), words, block=True
            )
            read = table.read_port()
            m.d.comb += [read.addr.eq(chord), Cat(base, fall).eq(read.data)]
        else:
            m.d.sync += [
                base.eq(Array(Const(value, _BASE_BITS) for value, _ in rows)[chord]),
                fall.eq(Array(Const(value, _FALL_BITS) for _, value in rows)[chord]),
            ]
        m.d.sync += [
            place.eq(x[:_X_BITS]),
            power.eq(x[EXP_FRAC_BITS : EXP_FRAC_BITS + _POWER_BITS]),
        ]
        m.submodules.slope = slope = Multiplier(_FALL_BITS + 1, _X_BITS + 1, dsp=self._dsp)
        m.d.comb += [slope.a.eq(fall), slope.b.eq(place)]
        value = Signal(_BASE_BITS, reset_less=True)
        m.d.sync += value.eq(delay(base, 1) - (slope.p >> _X_BITS))
        # 2**-n is a shift, with one bit kept that rounds.
        coarse = Signal(_WORD_BITS + 1, reset_less=True)
        fine = Signal(_WORD_BITS + 1, reset_less=True)
        late = Signal(_WORD_BITS, reset_less=True)
        most, least = delay(power, 2)[2:], delay(power, 3)[:2]
        m.d.sync += [
            coarse.eq(value[CHORD_GUARD_BITS - 1 :] >> (most << 2)),
            fine.eq(coarse >> least),
            late.eq((fine + 1) >> 1),
        ]
        m.d.comb += result.eq(late)
