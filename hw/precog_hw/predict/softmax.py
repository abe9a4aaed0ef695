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


class Softmax(wiring.Component):
    """Distribution over the bins of a model, and its part from a threshold on.

    Latency: `LATENCY` cycles, 90, whatever the logits. Throughput: one in 91 cycles.
    Cost: 2 multipliers, about 1,000 LUTs (tables of 64 x 35 and 128 x 35 bits in LUTs).

    Parameters
    ----------
    dsp : str
        `NicConfig.dsp`.

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

    def __init__(self, *, dsp: str = "generic") -> None:
        self._dsp = dsp
        self._reciprocal = Reciprocal(serial=True)
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
        delay = Delays(m)

        ring = [Signal(_WORD_BITS, name=f"ring_{n}", reset_less=True) for n in range(MAX_OUTPUTS)]
        head, tail = ring[0], Signal(_WORD_BITS)
        turn = Signal()
        with m.If(turn):
            m.d.sync += [ring[n].eq(ring[n + 1]) for n in range(_LAST)]
            m.d.sync += ring[_LAST].eq(tail)

        count = Signal(range(MAX_OUTPUTS + _EXP_CYCLES))
        outputs = Signal(4, reset_less=True)
        inside = count <= outputs  # the word at the head is one of the model's bins
        at, top = Signal(4), Signal(4, reset_less=True)
        m.d.comb += at.eq(count)
        largest = Signal(OUTPUTS.elem_shape)
        logit = head[: Fmt.OUT.width].as_signed()

        # One multiplier for the exponents and for the shares.
        sharing = Signal()
        factor = Signal(_WORD_BITS, reset_less=True)
        m.submodules.product = product = Multiplier(_WORD_BITS + 1, _WORD_BITS + 1, dsp=self._dsp)
        distance = Signal(_WORD_BITS)
        m.d.comb += distance.eq(largest - logit)
        m.d.sync += factor.eq(Mux(sharing, head, distance))
        m.d.comb += [product.a.eq(factor), product.b.eq(Mux(sharing, inverse.y, LOG2E))]

        exponential, share = Signal(_WORD_BITS), Signal(PROBABILITY.width)
        self._exponential(m, delay, product.p, exponential)
        shifted = Signal(_WORD_BITS, reset_less=True)
        for zeros in range(_ZEROS - 4, _ZEROS + 1):
            with m.If(inverse.n == zeros):
                m.d.sync += shifted.eq(product.p[_SHARE_DROP:] >> (_ZEROS - zeros))
        is_top = delay(at == top, _SHARE_CYCLES - 1)
        rounded = Signal(PROBABILITY.width, reset_less=True)
        m.d.sync += rounded.eq(Mux(is_top, 0, (shifted + 1) >> 1))
        m.d.comb += share.eq(rounded)

        total = Signal(21, reset_less=True)  # 1..16 times 2**16 at most
        rest = Signal(PROBABILITY.width, reset_less=True)
        over = Signal(PROBABILITY.width, reset_less=True)  # the tail of the distribution
        filled = delay(inside, _EXP_CYCLES)
        weight = Mux(filled, exponential, 0)
        m.d.comb += [
            inverse.v.eq(total),
            self.o.payload.p.eq(Cat(word[: PROBABILITY.width] for word in ring)),
            self.o.payload.tail.eq(over),
        ]
        final = Mux(at == top, rest, head[: PROBABILITY.width])

        m.d.sync += count.eq(count + 1)
        with m.FSM(name="pass"):
            with m.State("IDLE"):
                m.d.comb += self.i.ready.eq(1)
                m.d.sync += [
                    count.eq(0),
                    outputs.eq(self.i.payload.outputs),
                    largest.eq(self.i.payload.logits[0]),
                    top.eq(0),
                ]
                with m.If(self.i.valid):
                    m.d.sync += [
                        word.eq(self.i.payload.logits[n].as_unsigned())
                        for n, word in enumerate(ring)
                    ]
                    m.next = "LARGEST"
            with m.State("LARGEST"):
                m.d.comb += [turn.eq(1), tail.eq(head)]
                with m.If(inside & (logit > largest)):
                    m.d.sync += [largest.eq(logit), top.eq(at)]
                m.d.sync += total.eq(0)
                with m.If(count == _LAST):
                    m.d.sync += count.eq(0)
                    m.next = "EXPONENTIAL"
            with m.State("EXPONENTIAL"):
                m.d.comb += [turn.eq(1), tail.eq(weight)]
                with m.If(count >= _EXP_CYCLES):
                    m.d.sync += total.eq(total + weight)
                with m.If(count == _LAST + _EXP_CYCLES):
                    m.d.sync += count.eq(0)
                    m.next = "INVERT"
            with m.State("INVERT"):
                m.d.comb += inverse.stb.eq(count == 0)
                with m.If(count == inverse.latency):
                    m.d.sync += count.eq(0)
                    m.next = "SHARE"
            with m.State("SHARE"):
                m.d.comb += [turn.eq(1), tail.eq(share), sharing.eq(1)]
                with m.If(count < _SHARE_CYCLES):
                    m.d.sync += rest.eq(PROBABILITY.one)
                with m.Else():
                    m.d.sync += rest.eq(rest - share)
                m.d.sync += over.eq(0)
                with m.If(count == _LAST + _SHARE_CYCLES):
                    m.d.sync += count.eq(0)
                    m.next = "REST"
            with m.State("REST"):
                m.d.comb += [turn.eq(1), tail.eq(final)]
                with m.If(at >= self.threshold):
                    m.d.sync += over.eq(over + final)
                with m.If(count == _LAST):
                    m.next = "DONE"
            with m.State("DONE"):
                m.d.comb += self.o.valid.eq(1)
                with m.If(self.o.ready):
                    m.next = "IDLE"
        return m

    def _exponential(self, m: Module, delay: Delays, product: Signal, result: Signal) -> None:
        """e**-d, six cycles after the product of d and log2(e)."""
        x = product[_DROP:]
        chord = x[_X_BITS:EXP_FRAC_BITS]
        base, fall = Signal(_BASE_BITS, reset_less=True), Signal(_FALL_BITS, reset_less=True)
        place = Signal(_X_BITS, reset_less=True)
        power = Signal(_POWER_BITS, reset_less=True)
        rows = exp_table()
        m.d.sync += [
            base.eq(Array(Const(value, _BASE_BITS) for value, _ in rows)[chord]),
            fall.eq(Array(Const(value, _FALL_BITS) for _, value in rows)[chord]),
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
