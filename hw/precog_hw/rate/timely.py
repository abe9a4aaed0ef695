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
        p, row = self.parameters, self.row
        ns3, patched = p.variant == Variant.NS3, p.variant == Variant.PATCHED
        first, falling, low, high, hyper, up = (
            Signal(name=name) for name in ("first", "falling", "low", "high", "hyper", "up")
        )
        difference = Signal(signed(Fmt.RTT.width + 1))
        gap = Signal(signed(VALUE_BITS))
        elapsed, share = Signal(Fmt.TIME.width), Signal(FRACTION.width)
        weight, over = Signal(FRACTION.width), Signal(signed(Fmt.RTT.width + 1))
        move = Signal(_RATE_BITS)
        wanted = Signal(_RATE_BITS + 2)

        with m.If(self.load):
            m.d.sync += row.eq(self.state)
        with m.FSM(name="timely"):
            with m.State("IDLE"), m.If(self.start):
                m.d.sync += [
                    first.eq(row.last_rtt == 0),
                    difference.eq(self.rtt - row.last_rtt),
                    elapsed.eq(self.t - row.last_t),
                    low.eq(self.rtt < p.low),
                    high.eq(self.rtt > p.high),
                    over.eq(self.rtt - p.reference),
                ]
                m.next = "GAP"
            with m.State("GAP"):
                change = Mux(first, 0, difference)
                m.d.sync += [
                    gap.eq((change << _FRAC) - row.mean),
                    falling.eq(change < 0),
                    row.last_rtt.eq(self.rtt),
                    row.last_t.eq(self.t),
                    wanted.eq(self.rate),
                ]
                m.next = "MEAN"
                with m.If(ns3 & first):
                    m.next = "CLAMP"
            with m.State("MEAN"):
                divide(m, self.fraction, elapsed, p.min_rtt)
                with m.If(~ns3):
                    m.d.sync += row.count.eq(Mux(falling, counted(row.count), 0))
                multiply(m, self.scale, _size(gap), p.alpha, "MEAN_WAIT")
            # The share has come by then: both take as long, or the division is shorter.
            with m.State("MEAN_WAIT"), m.If(self.scale.done):
                step = self.scale.p
                m.d.sync += [
                    row.mean.eq(row.mean + Mux(gap < 0, -step, step)),
                    share.eq(Mux(ns3 | first, _ONE, self.fraction.q)),
                    hyper.eq(row.count >= p.hai_count),
                ]
                m.next = "BRANCH"
            with m.State("BRANCH"):
                m.d.sync += up.eq(low | (~high & ~patched & (row.mean <= 0)))
                m.next = "GRADIENT"
                with m.If(low | (~high & ~patched & (row.mean <= 0))):
                    m.next = "UP"
                with m.Elif(high):
                    m.next = "HIGH"
                with m.Elif(patched):
                    m.next = "WEIGHT"

            with m.State("UP"):
                most = hyper & (ns3 | ~low) & ~patched
                multiply(m, self.scale, Mux(most, p.hai, p.ai), share, "UP_WAIT")
            self._then(m, "UP_WAIT", "LIMIT", lambda made: [wanted.eq(self.rate + made)])

            with m.State("HIGH"):
                divide(m, self.fraction, self.rtt - p.high, self.rtt, "HIGH_WAIT")
            with m.State("HIGH_WAIT"), m.If(self.fraction.done):
                m.next = "HIGH_BETA"
            with m.State("HIGH_BETA"):
                multiply(m, self.scale, self.fraction.q, p.beta, "HIGH_BETA_WAIT")
            self._then(m, "HIGH_BETA_WAIT", "HIGH_SHARE")
            with m.State("HIGH_SHARE"):
                multiply(m, self.scale, self.scale.p, share, "HIGH_SHARE_WAIT")
            self._then(m, "HIGH_SHARE_WAIT", "HIGH_CUT")
            with m.State("HIGH_CUT"):
                multiply(m, self.scale, self.rate, self.scale.p, "CUT_WAIT")
            self._then(m, "CUT_WAIT", "LIMIT", lambda made: [wanted.eq(self.rate - made)])

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

            with m.State("WEIGHT"):
                divide(m, self.fraction, _size(row.mean), p.min_rtt << _FRAC, "WEIGHT_WAIT")
            with m.State("WEIGHT_WAIT"), m.If(self.fraction.done):
                m.d.sync += weight.eq(_weight(row.mean < 0, self.fraction.q))
                m.next = "SLOPE"
            with m.State("SLOPE"):
                multiply(m, self.scale, weight, p.slope, "SLOPE_WAIT")
            self._then(m, "SLOPE_WAIT", "STEP")
            with m.State("STEP"):
                multiply(m, self.scale, _size(over) << _FRAC, self.scale.p, "STEP_WAIT")
            self._then(m, "STEP_WAIT", "STEP_DIVIDE")
            with m.State("STEP_DIVIDE"):
                divide(m, self.fraction, self.scale.p, p.reference << _FRAC, "STEP_DIVIDE_WAIT")
            with m.State("STEP_DIVIDE_WAIT"), m.If(self.fraction.done):
                m.next = "MOVE"
            with m.State("MOVE"):
                multiply(m, self.scale, self.rate, self.fraction.q, "MOVE_WAIT")
            self._then(m, "MOVE_WAIT", "PATCHED_SHARE", lambda made: [move.eq(made)])
            with m.State("PATCHED_SHARE"):
                m.d.sync += wanted.eq(Mux(over < 0, self.rate + move, self.rate - move))
                multiply(m, self.scale, _ONE - weight, share, "PATCHED_SHARE_WAIT")
            self._then(m, "PATCHED_SHARE_WAIT", "PATCHED_UP")
            with m.State("PATCHED_UP"):
                multiply(m, self.scale, p.ai, self.scale.p, "PATCHED_WAIT")
            self._then(m, "PATCHED_WAIT", "LIMIT", lambda made: [wanted.eq(wanted + made)])

            with m.State("LIMIT"):
                half = self.rate >> 1
                with m.If(ns3):
                    m.d.sync += row.count.eq(Mux(up, counted(row.count), 0))
                with m.Elif(wanted < half):
                    m.d.sync += wanted.eq(half)
                m.next = "CLAMP"
            with m.State("CLAMP"):
                m.d.sync += self.new_rate.eq(clamped(wanted, self.bounds))
                m.next = "DONE"
            with m.State("DONE"):
                m.d.comb += self.done.eq(1)
                m.next = "IDLE"
        return m

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
