"""TIMELY: source 002's routine, its ns-3 form, and patched TIMELY, one step at a time.

The arithmetic is that of `precog_models.rate.timely`, on multipliers and dividers of the caller.
"""

from collections.abc import Callable

from amaranth.hdl import Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from precog_hw.rate.fractions import FRACTION_CALL, SCALE_CALL, VALUE_BITS, divide, multiply
from precog_hw.rate.law_layouts import BOUNDS, TIMELY, TIMELY_ROW, clamped, counted
from precog_spec.contract import Fmt
from precog_spec.law_fields import FRACTION, MEAN, Variant

__all__ = ["Timely"]

_FRAC = MEAN.frac_bits
_ONE = FRACTION.one
_RATE_BITS = Fmt.RATE.width


class _Registers:
    """What one step finds out about a sample and later ones need."""

    def __init__(self) -> None:
        self.first = Signal()  # no sample before
        self.difference = Signal(signed(Fmt.RTT.width + 1))  # of the RTTs
        self.falling = Signal()  # the RTT is
        self.low = Signal()  # below all thresholds
        self.high = Signal()  # above them
        self.over = Signal(signed(Fmt.RTT.width + 1))  # the RTT minus patched TIMELY's reference
        self.elapsed = Signal(Fmt.TIME.width)  # since the last sample
        self.share = Signal(FRACTION.width)  # the time elapsed in minimum RTTs, at most 1
        self.gap = Signal(signed(VALUE_BITS))  # the difference of RTTs minus its mean
        self.hyper = Signal()  # `hai_count` samples in a row have fallen
        self.up = Signal()  # this sample raises the rate
        self.weight = Signal(FRACTION.width)
        self.move = Signal(_RATE_BITS)
        self.wanted = Signal(_RATE_BITS + 2)


class Timely(wiring.Component):
    """From a queue pair's row and an RTT sample to its new row and rate.

    ::

        difference ─► [x alpha] ─► mean ─┬─► up        [increase x share] ──────────► + ─┐
        elapsed ─► [/ min_rtt] ─► share ─┼─► high      [/] [x beta] [x share] [x] ──► - ─┼─► limits
                                         ├─► gradient  [x beta] [/] [x] ────────────► - ─┤
                                         └─► patched   [/] [x] [x] [/] [x] [x] [x] ► +/- ┘

    Latency: from `start` to `done` 23 cycles up, 68 high, 65 on the gradient, 113 patched; 12 more,
    but on the gradient, if the share is below 1; 3 at ns-3's first sample.
    Throughput: one at a time.
    Cost on ECP5: 1224 LUTs, 363 carry cells, 396 flip-flops, no multiplier of its own.

    Members
    -------
    load : In(1)
        Take `state` as the row to work on; until then `row` keeps what the last step made.
    state : In(TIMELY_ROW)
    start : In(1)
        Work, from the next cycle on; what follows must hold until `done`.
    rate : In(32)
        RATE's format.
    rtt : In(24)
    t : In(40)
        Ticks.
    bounds : In(BOUNDS)
    parameters : In(TIMELY)
    done : Out(1)
        Strobe: `row` and `new_rate` are there.
    row : Out(TIMELY_ROW)
    new_rate : Out(32)
    scale : Out(SCALE_CALL)
    fraction : Out(FRACTION_CALL)
    """

    load: In(1)
    state: In(TIMELY_ROW)
    start: In(1)
    rate: In(_RATE_BITS)
    rtt: In(Fmt.RTT.width)
    t: In(Fmt.TIME.width)
    bounds: In(BOUNDS)
    parameters: In(TIMELY)
    done: Out(1)
    row: Out(TIMELY_ROW)
    new_rate: Out(_RATE_BITS)
    scale: Out(SCALE_CALL)
    fraction: Out(FRACTION_CALL)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        at = _Registers()
        with m.If(self.load):
            m.d.sync += self.row.eq(self.state)
        with m.FSM(name="timely"):
            self._measure(m, at)
            self._rise(m, at)
            self._fall(m, at)
            self._follow_gradient(m)
            self._patch(m, at)
            self._limit(m, at)
        return m

    def _measure(self, m: Module, at: _Registers) -> None:
        """IDLE to BRANCH: the mean difference of RTTs, and which way the rate goes."""
        p, row = self.parameters, self.row
        ns3, patched = p.variant == Variant.NS3, p.variant == Variant.PATCHED
        with m.State("IDLE"), m.If(self.start):
            m.d.sync += [
                at.first.eq(row.last_rtt == 0),
                at.difference.eq(self.rtt - row.last_rtt),
                at.elapsed.eq(self.t - row.last_t),
                at.low.eq(self.rtt < p.low),
                at.high.eq(self.rtt > p.high),
                at.over.eq(self.rtt - p.reference),
            ]
            m.next = "GAP"
        with m.State("GAP"):
            change = Mux(at.first, 0, at.difference)
            m.d.sync += [
                at.gap.eq((change << _FRAC) - row.mean),
                at.falling.eq(change < 0),
                row.last_rtt.eq(self.rtt),
                row.last_t.eq(self.t),
                at.wanted.eq(self.rate),
            ]
            m.next = "MEAN"
            with m.If(ns3 & at.first):
                m.next = "CLAMP"
        with m.State("MEAN"):
            divide(m, self.fraction, at.elapsed, p.min_rtt)
            with m.If(~ns3):
                m.d.sync += row.count.eq(Mux(at.falling, counted(row.count), 0))
            multiply(m, self.scale, _size(at.gap), p.alpha, "MEAN_WAIT")
        # The share has come by then: both take as long, or the division is shorter.
        with m.State("MEAN_WAIT"), m.If(self.scale.done):
            step = self.scale.p
            m.d.sync += [
                row.mean.eq(row.mean + Mux(at.gap < 0, -step, step)),
                at.share.eq(Mux(ns3 | at.first, _ONE, self.fraction.q)),
                at.hyper.eq(row.count >= p.hai_count),
            ]
            m.next = "BRANCH"
        with m.State("BRANCH"):
            m.d.sync += at.up.eq(at.low | (~at.high & ~patched & (row.mean <= 0)))
            m.next = "GRADIENT"
            with m.If(at.low | (~at.high & ~patched & (row.mean <= 0))):
                m.next = "UP"
            with m.Elif(at.high):
                m.next = "HIGH"
            with m.Elif(patched):
                m.next = "WEIGHT"

    def _rise(self, m: Module, at: _Registers) -> None:
        """UP: the rate grows by an increment, a larger one after many samples that fell."""
        p = self.parameters
        ns3, patched = p.variant == Variant.NS3, p.variant == Variant.PATCHED
        with m.State("UP"):
            most = at.hyper & (ns3 | ~at.low) & ~patched
            multiply(m, self.scale, Mux(most, p.hai, p.ai), at.share, "UP_WAIT")
        self._then(m, "UP_WAIT", "LIMIT", lambda made: [at.wanted.eq(self.rate + made)])

    def _fall(self, m: Module, at: _Registers) -> None:
        """HIGH to CUT_WAIT: an RTT above the thresholds cuts the rate by its excess."""
        p = self.parameters
        with m.State("HIGH"):
            divide(m, self.fraction, self.rtt - p.high, self.rtt, "HIGH_WAIT")
        with m.State("HIGH_WAIT"), m.If(self.fraction.done):
            m.next = "HIGH_BETA"
        with m.State("HIGH_BETA"):
            multiply(m, self.scale, self.fraction.q, p.beta, "HIGH_BETA_WAIT")
        self._then(m, "HIGH_BETA_WAIT", "HIGH_SHARE")
        with m.State("HIGH_SHARE"):
            multiply(m, self.scale, self.scale.p, at.share, "HIGH_SHARE_WAIT")
        self._then(m, "HIGH_SHARE_WAIT", "HIGH_CUT")
        with m.State("HIGH_CUT"):
            multiply(m, self.scale, self.rate, self.scale.p, "CUT_WAIT")
        self._then(m, "CUT_WAIT", "LIMIT", lambda made: [at.wanted.eq(self.rate - made)])

    def _follow_gradient(self, m: Module) -> None:
        """GRADIENT to GRADIENT_CUT: between the thresholds the mean difference cuts the rate."""
        p, row = self.parameters, self.row
        with m.State("GRADIENT"):
            multiply(m, self.scale, row.mean[:-1], p.beta, "GRADIENT_BETA")
        with m.State("GRADIENT_BETA"), m.If(self.scale.done):
            m.next = "GRADIENT_DIVIDE"
        with m.State("GRADIENT_DIVIDE"):
            divide(m, self.fraction, self.scale.p, p.min_rtt << _FRAC, "GRADIENT_WAIT")
        with m.State("GRADIENT_WAIT"), m.If(self.fraction.done):
            m.next = "GRADIENT_CUT"
        with m.State("GRADIENT_CUT"):
            multiply(m, self.scale, self.rate, self.fraction.q, "CUT_WAIT")

    def _patch(self, m: Module, at: _Registers) -> None:
        """WEIGHT to PATCHED_WAIT: patched TIMELY weighs the reference's error with the gradient."""
        p, row = self.parameters, self.row
        with m.State("WEIGHT"):
            divide(m, self.fraction, _size(row.mean), p.min_rtt << _FRAC, "WEIGHT_WAIT")
        with m.State("WEIGHT_WAIT"), m.If(self.fraction.done):
            m.d.sync += at.weight.eq(_weight(row.mean < 0, self.fraction.q))
            m.next = "SLOPE"
        with m.State("SLOPE"):
            multiply(m, self.scale, at.weight, p.slope, "SLOPE_WAIT")
        self._then(m, "SLOPE_WAIT", "STEP")
        with m.State("STEP"):
            multiply(m, self.scale, _size(at.over) << _FRAC, self.scale.p, "STEP_WAIT")
        self._then(m, "STEP_WAIT", "STEP_DIVIDE")
        with m.State("STEP_DIVIDE"):
            divide(m, self.fraction, self.scale.p, p.reference << _FRAC, "STEP_DIVIDE_WAIT")
        with m.State("STEP_DIVIDE_WAIT"), m.If(self.fraction.done):
            m.next = "MOVE"
        with m.State("MOVE"):
            multiply(m, self.scale, self.rate, self.fraction.q, "MOVE_WAIT")
        self._then(m, "MOVE_WAIT", "PATCHED_SHARE", lambda made: [at.move.eq(made)])
        with m.State("PATCHED_SHARE"):
            m.d.sync += at.wanted.eq(Mux(at.over < 0, self.rate + at.move, self.rate - at.move))
            multiply(m, self.scale, _ONE - at.weight, at.share, "PATCHED_SHARE_WAIT")
        self._then(m, "PATCHED_SHARE_WAIT", "PATCHED_UP")
        with m.State("PATCHED_UP"):
            multiply(m, self.scale, p.ai, self.scale.p, "PATCHED_WAIT")
        self._then(m, "PATCHED_WAIT", "LIMIT", lambda made: [at.wanted.eq(at.wanted + made)])

    def _limit(self, m: Module, at: _Registers) -> None:
        """LIMIT to DONE: half the rate is left at least, but in ns-3; bounds come last."""
        row = self.row
        ns3 = self.parameters.variant == Variant.NS3
        with m.State("LIMIT"):
            half = self.rate >> 1
            with m.If(ns3):
                m.d.sync += row.count.eq(Mux(at.up, counted(row.count), 0))
            with m.Elif(at.wanted < half):
                m.d.sync += at.wanted.eq(half)
            m.next = "CLAMP"
        with m.State("CLAMP"):
            m.d.sync += self.new_rate.eq(clamped(at.wanted, self.bounds))
            m.next = "DONE"
        with m.State("DONE"):
            m.d.comb += self.done.eq(1)
            m.next = "IDLE"

    def _then(
        self,
        m: Module,
        state: str,
        then: str,
        keep: Callable[[Value], list[object]] = lambda made: [],
    ) -> None:
        """A state that waits for a product."""
        with m.State(state), m.If(self.scale.done):
            m.d.sync += keep(self.scale.p)
            m.next = then


def _size(value: Value) -> Value:
    """Magnitude of a signed number."""
    return Mux(value < 0, -value, value)[: len(value)]


def _weight(negative: Value, gradient: Value) -> Value:
    """clip(2 g + 1/2, 0, 1)."""
    steep = gradient >= _ONE // 4
    near = Mux(negative, _ONE // 2 - (gradient << 1), _ONE // 2 + (gradient << 1))
    return Mux(steep, Mux(negative, 0, _ONE), near)
