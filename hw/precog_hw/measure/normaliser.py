"""Numbers of a queue become inputs of a `queue` head."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.dsp import Multiplier
from precog_hw.fixed import quantize
from precog_spec.contract import PROFILE_CENTER, PROFILE_GAIN, PROFILE_INPUTS, Fmt

from .queue_layouts import CENTERS, GAINS, profile_layout, raw_sample_layout
from .reciprocal import leading_zeros

__all__ = ["Normaliser"]

_INPUTS = len(PROFILE_INPUTS)
_NUMBER_BITS = 32
_LOG_FRAC = PROFILE_CENTER.frac_bits


class Normaliser(wiring.Component):
    """(log2(number + 1) - center) * gain, one number after the other.

    ::

        number + 1 ─► leading one ─► bits below ─► - center ─► [x gain] ─► round, saturate
            1              2             3            4          5, 6             7

    The golden model is `precog_models.measure.profiler.normalise_one`.

    Latency: 11 cycles from the transfer to `o`. Throughput: one sample in 12 cycles. Cost: 1
    multiplier; see `Profiler`.

    Parameters
    ----------
    qps : int
        Power of two, 2 or more.
    dsp : str
        `NicConfig.dsp`.

    Members
    -------
    i : In(stream.Signature(raw_sample_layout(qps)))
    o : Out(stream.Signature(profile_layout(qps)))
    centers : In(CENTERS)
    gains : In(GAINS)
    """

    LATENCY = 11

    i: stream.Interface
    o: stream.Interface
    centers: data.View
    gains: data.View

    def __init__(self, qps: int, *, dsp: str = "generic") -> None:
        self._qps, self._dsp = qps, dsp
        super().__init__(
            {
                "i": In(stream.Signature(raw_sample_layout(qps))),
                "o": Out(stream.Signature(profile_layout(qps))),
                "centers": In(CENTERS),
                "gains": In(GAINS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        numbers = Signal(data.ArrayLayout(_NUMBER_BITS, _INPUTS))  # the first one has its turn
        step = Signal(range(self.LATENCY + 1))  # 0: nothing to do
        last = self.LATENCY - 1
        out = self.o.payload
        m.d.comb += self.i.ready.eq((step == 0) & ~self.o.valid)
        with m.If(self.i.valid & self.i.ready):
            sample = self.i.payload
            m.d.sync += [
                out.qp.eq(sample.qp),
                out.t.eq(sample.t),
                step.eq(1),
                Cat(numbers).eq(Cat(sample.numbers[name] for name in PROFILE_INPUTS)),
            ]
        with m.Elif(step != 0):
            m.d.sync += [
                step.eq(Mux(step == last, 0, step + 1)),
                Cat(numbers).eq(Cat(numbers[n] for n in range(1, _INPUTS))),
            ]

        n = Signal(_NUMBER_BITS + 1)
        m.d.sync += n.eq(numbers[0] + 1)

        full, whole, zeros = Signal(), Signal(_NUMBER_BITS), Signal(range(_NUMBER_BITS))
        m.d.sync += [
            full.eq(n[-1]),
            whole.eq(n),
            zeros.eq(leading_zeros(n[:_NUMBER_BITS])),
        ]

        log = Signal(PROFILE_CENTER.width)
        shifted = (whole << zeros)[_NUMBER_BITS - 1 - _LOG_FRAC : _NUMBER_BITS - 1]
        largest = Const(_NUMBER_BITS << _LOG_FRAC, PROFILE_CENTER.width)
        m.d.sync += log.eq(Mux(full, largest, Cat(shifted, ~zeros)))

        away, gain = Signal(signed(PROFILE_CENTER.width + 1)), Signal(PROFILE_GAIN.width)
        with m.Switch(step):
            for k in range(_INPUTS):
                with m.Case(4 + k):
                    m.d.sync += [away.eq(log - self.centers[k]), gain.eq(self.gains[k])]

        m.submodules.product = product = Multiplier(
            len(away), len(gain) + 1, dsp=self._dsp, input_register=True
        )
        m.d.comb += [product.a.eq(away), product.b.eq(gain)]

        made = quantize(product.p, PROFILE_CENTER.frac_bits + PROFILE_GAIN.frac_bits, Fmt.X)
        with m.If(step > last - _INPUTS):
            m.d.sync += Cat(out.x).eq(Cat(*(out.x[k] for k in range(1, _INPUTS)), made))
        with m.If(step == last):
            m.d.sync += self.o.valid.eq(1)
        with m.Elif(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        return m
