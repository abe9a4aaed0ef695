"""Features of RTT samples: the smoothed RTT S_t (2), its relative deviation K_t (3), the base RTT.

Thesis section 3.3; arithmetic and state are those of `precog_models.measure.feature`. Latency is
what this unit is about: it stands between the sample and the prediction.
"""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from precog_hw.measure.base_rtt import BaseRtt
from precog_hw.measure.division import Division
from precog_hw.measure.layouts import feature_layout, measured_layout
from precog_hw.measure.split import HALF_BITS, SplitMultiplier
from precog_hw.near import near
from precog_spec.config import NicConfig
from precog_spec.contract import Fmt

__all__ = ["Feature"]

_STATE = data.StructLayout({"valid": unsigned(1), "srtt": unsigned(Fmt.SRTT.width)})
_FRAC = Fmt.SRTT.frac_bits
_SIGMA_BITS = Fmt.SIGMA.frac_bits
_SMALL = 256  # queue pairs whose state is read from LUT RAM


class Feature(wiring.Component):
    """One sample at a time, from the RTT to S_t, K_t and the base RTT.

    ::

        cycle   0     1      2     3                                8
        rtt ─► [sigma R] ─► + ──┐
        qp ──► S ─► [(1-sigma) S] ─► S' ─► R - S' ─► [Division] ─► K
        qp, t ─► windowed minimum ─► base

    Latency: `latency` = 8 cycles from the sample's transfer to the feature's offer with up to 256
    queue pairs, 9 above (block RAM).
    Throughput: one sample every 9 (10) cycles. Cost: 9 multipliers, qps x 122 bits of memory.

    Parameters
    ----------
    config : NicConfig
    lead : int
        Cycles by which the feature is announced, at most `latency` - 2.

    Members
    -------
    i : In(stream.Signature(measured_layout(config)))
    o : Out(stream.Signature(feature_layout(config)))
    o_lead : Out(stream.Signature(qp_bits))
        The queue pair whose feature `o` will offer at the latest `lead` cycles after this transfer.
    cancel : In(1)
        In the cycle after a sample's transfer: the sample was none, nothing comes of it.
    idle : Out(1)
        No sample is being worked on.
    clear : In(stream.Signature(qp_bits))
        Forget a queue pair. Taken between two samples, before the next one.
    sigma : In(16)
        Weight of a new sample, UQ0.16.
    base_window : In(32)
        See `BaseRtt`.

    Raises
    ------
    ValueError
        `lead` is out of range.
    """

    i: stream.Interface
    o: stream.Interface
    o_lead: stream.Interface
    cancel: Signal
    idle: Signal
    clear: stream.Interface
    sigma: Signal
    base_window: Signal

    def __init__(self, config: NicConfig, *, lead: int = 4) -> None:
        self._config, self._lead = config, lead
        if not 1 <= lead <= self.latency - 2:
            raise ValueError(f"lead must be in 1..{self.latency - 2} cycles, not {lead!r}")
        super().__init__(
            {
                "i": In(stream.Signature(measured_layout(config))),
                "o": Out(stream.Signature(feature_layout(config))),
                "o_lead": Out(stream.Signature(config.qp_bits)),
                "cancel": In(1),
                "idle": Out(1, init=1),
                "clear": In(stream.Signature(config.qp_bits)),
                "sigma": In(Fmt.SIGMA.width),
                "base_window": In(32),
            }
        )

    @property
    def latency(self) -> int:
        """Cycles from a sample's transfer to its feature's offer."""
        return 8 if self._config.qps <= _SMALL else 9

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i, o = self.i, self.o
        small = self._config.qps <= _SMALL

        accept, clear = Signal(), Signal()
        m.d.comb += [
            self.clear.ready.eq(self.idle),
            clear.eq(self.clear.valid & self.idle),
            i.ready.eq(self.idle & ~self.clear.valid),
            accept.eq(i.valid & i.ready),
            self.o_lead.payload.eq(o.payload.qp),
        ]
        step = Signal(self.latency - 1)  # bit n - 1: cycle n
        go = step & ~self.cancel.replicate(len(step))
        m.d.sync += step.eq(Cat(accept, go))
        with m.If(accept):
            m.d.sync += [
                self.idle.eq(0),
                o.payload.qp.eq(i.payload.qp),
                o.payload.rtt.eq(i.payload.rtt),
            ]
            if self._config.trials:
                m.d.sync += o.payload.t.eq(i.payload.t)
        with m.If(self.o_lead.ready):
            m.d.sync += self.o_lead.valid.eq(0)
        with m.If(step[self.latency - self._lead - 2]):
            m.d.sync += self.o_lead.valid.eq(1)
        with m.If(step[-1]):
            m.d.sync += o.valid.eq(1)
        with m.If(o.valid & o.ready):
            m.d.sync += [o.valid.eq(0), self.idle.eq(1)]
        with m.If(self.cancel):
            m.d.sync += self.idle.eq(1)

        m.submodules.base = base = BaseRtt(self._config)
        m.d.comb += [
            base.stb.eq(accept),
            base.qp.eq(Mux(clear, self.clear.payload, i.payload.qp)),
            base.rtt.eq(i.payload.rtt),
            base.t.eq(i.payload.t),
            base.window.eq(self.base_window),
            base.clear.eq(clear),
            base.cancel.eq(self.cancel),
            o.payload.base.eq(base.base),
        ]

        # The state's read. A block RAM's output is too late to be used in the same cycle.
        m.submodules.states = states = Memory(
            shape=_STATE,
            depth=self._config.qps,
            init=[],
            attrs={"ram_style": "distributed" if small else "block"},
        )
        write, read = states.write_port(), states.read_port()
        m.d.comb += read.addr.eq(i.payload.qp)
        old, sampled = Signal(_STATE), Signal(Fmt.RTT.width)
        read_at = 0 if small else 1
        if small:
            m.d.comb += [old.eq(read.data), sampled.eq(i.payload.rtt)]
        else:
            m.d.sync += [old.eq(read.data), sampled.eq(i.payload.rtt)]

        srtt = self._smooth(m, old, sampled, step[read_at + 1])
        m.d.comb += [
            o.payload.srtt.eq(srtt),
            write.en.eq(step[read_at + 2] | clear),
            write.addr.eq(Mux(clear, self.clear.payload, o.payload.qp)),
            write.data.eq(Mux(clear, 0, Cat(Const(1, 1), srtt))),
        ]
        self._deviation(m, srtt)
        return m

    def _smooth(self, m: Module, old: data.View, sampled: Signal, stb: Value) -> Signal:
        """S_t of (2), 3 cycles after `sampled`, 2 after `old`, 1 after `stb`; then it holds."""
        dsp = self._config.dsp
        weight = Signal(_SIGMA_BITS + 1)
        m.d.sync += weight.eq((1 << _SIGMA_BITS) - self.sigma)
        m.submodules.new = new = SplitMultiplier(Fmt.RTT.width, unsigned(_SIGMA_BITS), dsp=dsp)
        m.submodules.old = kept = SplitMultiplier(
            Fmt.SRTT.width, unsigned(_SIGMA_BITS + 1), dsp=dsp
        )
        m.d.comb += [
            new.a.eq(sampled),
            new.b.eq(self.sigma),
            kept.a.eq(old.srtt),
            kept.b.eq(weight),
        ]

        # sigma * R and the rounding half; the first sample counts in full.
        half = Const(1 << (_SIGMA_BITS - 1 - _FRAC), HALF_BITS)
        fresh = Signal(Fmt.RTT.width + _SIGMA_BITS)
        m.d.sync += fresh.eq(
            Mux(
                old.valid,
                new.low + Cat(half, new.high),
                Cat(half[:_SIGMA_BITS], self.o.payload.rtt),
            )
        )
        srtt = Signal(Fmt.SRTT.width)
        total = kept.low + Cat(Const(0, HALF_BITS), kept.high) + (fresh << _FRAC)
        with m.If(stb):
            m.d.sync += srtt.eq(total >> _SIGMA_BITS)
        return srtt

    def _deviation(self, m: Module, srtt: Signal) -> None:
        """K_t of (3), 5 cycles after `srtt`; both hold until the next sample."""
        m.submodules.division = division = Division(dsp=self._config.dsp)
        gap = Signal(signed(Fmt.SRTT.width + 1))
        bound = Signal(Fmt.SRTT.width + Fmt.X.int_bits)
        past, beyond = Signal(signed(len(bound) + 1)), Signal()
        m.d.sync += [
            gap.eq((self.o.payload.rtt << _FRAC) - srtt),
            bound.eq((srtt << Fmt.X.int_bits) - (srtt >> Fmt.X.frac_bits)),
            past.eq(gap - bound),
            beyond.eq((gap > 0) & ~past[-1]),
        ]
        m.d.comb += [division.v.eq(srtt), division.d.eq(gap)]
        # No logic after the sum.
        k = near(m, "k", division.o, dsp=self._config.dsp, when=beyond, to=Fmt.X.max)
        m.d.comb += self.o.payload.k.eq(k)
