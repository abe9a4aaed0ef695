"""DCQCN's reaction point (SIGCOMM 2015, source 004), its clocks run by the events that come.

The arithmetic is that of `precog_models.rate.dcqcn`, on multipliers and dividers of the caller.
"""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from precog_hw.rate.decay import DecayTable
from precog_hw.rate.fractions import FRACTION_CALL, SCALE_CALL, divide, multiply
from precog_hw.rate.law_layouts import BOUNDS, DCQCN, DCQCN_ROW, clamped, counted
from precog_hw.rate.recovery import Recovery
from precog_spec.contract import Fmt
from precog_spec.law_fields import ALPHA, DECAY_BITS, DECAY_LEVELS, FRACTION, MAX_STEPS

__all__ = ["Dcqcn"]

_ONE = FRACTION.one
_DROP = ALPHA.frac_bits - FRACTION.frac_bits
_PERIOD_BITS = DECAY_BITS * DECAY_LEVELS
_RATE_BITS = Fmt.RATE.width
_TIME_BITS = Fmt.TIME.width
_BYTES_MAX = (1 << 32) - 1


class Dcqcn(wiring.Component):
    """From a queue pair's row and an event to its new row and rate.

    ::

        start ─► [table] ─► until = the cut's time, if one is due, or t
              ┌─► alpha: [/ K] ─► k ─► raise? ─► [x (1-g)^k] ─► increases by the timer ─┐
              └──────────────── cut, until = t ◄── a cut was due ───────────────────────┤
        done ◄── bytes: increases by the counter ◄── notification: cut, or marks ◄──────┘

    Latency: from `start` to `done` 3 cycles before the first notification, then 9 if no clock has
    run out (12 with bytes; 35 for a first notification that cuts); 25 or more for alpha, 7 for each
    increase by the timer, 6 by the counter; at most 338. 720 more when `g` has changed.
    Throughput: one at a time.
    Cost on ECP5: 2063 LUTs, 403 carry cells, 685 flip-flops, no multiplier of its own.

    Members
    -------
    load : In(1)
        Take `state` as the row to work on; until then `row` keeps what the last event made.
    state : In(DCQCN_ROW)
    start : In(1)
        Work, from the next cycle on; what follows must hold until `done`.
    cnp, bytes : In(1)
        What the event is; neither: time has passed.
    rate : In(32)
        RATE's format.
    sent : In(32)
        With `bytes`: how many.
    t : In(40)
        Ticks.
    bounds : In(BOUNDS)
    parameters : In(DCQCN)
    done : Out(1)
        Strobe: `row` and `new_rate` are there.
    row : Out(DCQCN_ROW)
    new_rate : Out(32)
    scale : Out(SCALE_CALL)
    fraction : Out(FRACTION_CALL)
    """

    load: In(1)
    state: In(DCQCN_ROW)
    start: In(1)
    cnp: In(1)
    bytes: In(1)
    rate: In(_RATE_BITS)
    sent: In(32)
    t: In(_TIME_BITS)
    bounds: In(BOUNDS)
    parameters: In(DCQCN)
    done: Out(1)
    row: Out(DCQCN_ROW)
    new_rate: Out(_RATE_BITS)
    scale: Out(SCALE_CALL)
    fraction: Out(FRACTION_CALL)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.table = table = DecayTable()
        row, p, rate = self.row, self.parameters, self.new_rate
        until, elapsed = Signal(_TIME_BITS), Signal(_TIME_BITS)
        late = Signal(_TIME_BITS)  # how long ago the cut was due
        due = Signal()  # a cut, at `until`
        notified = Signal()  # the raise is that of a notification
        m.d.comb += [
            table.g.eq(p.g),
            self.scale.stb.eq(table.scale.stb),
            self.scale.value.eq(table.scale.value),
            self.scale.factor.eq(table.scale.factor),
            table.scale.p.eq(self.scale.p),
            table.scale.done.eq(self.scale.done),
        ]
        with m.If(self.load):
            m.d.sync += row.eq(self.state)
        with m.FSM(name="dcqcn"):
            with m.State("IDLE"), m.If(self.start):
                m.d.sync += [rate.eq(self.rate), notified.eq(0)]
                m.next = "TABLE"
            with m.State("TABLE"):
                m.d.comb += table.make.eq(1)
                m.d.sync += late.eq(self.t - row.cut_t)
                m.next = "MADE"
            with m.State("MADE"), m.If(table.made):
                reached = row.cut_cnp & ~late[-1]
                m.d.sync += [due.eq(reached), until.eq(Mux(reached, row.cut_t, self.t))]
                m.next = "CLOCKS"
                with m.If(~row.started):
                    m.next = "DONE"
                    with m.If(self.cnp):
                        m.next = "NOTIFY"

            self._alpha(m, until, elapsed, notified, table)
            self._increases(m, until, elapsed)

            with m.State("CLOCKED"):
                m.next = "DONE"
                with m.If(due):
                    m.d.sync += row.cut_cnp.eq(0)
                    m.next = "CUT"
                with m.Elif(self.cnp):
                    m.next = "NOTIFY"
                with m.Elif(self.bytes & (p.byte_count != 0)):
                    m.next = "BYTES"
            self._cut(m, until, due, notified)
            self._notify(m, until, elapsed, notified)
            with m.State("DONE"):
                m.d.comb += self.done.eq(1)
                m.next = "IDLE"
        return m

    def _alpha(
        self, m: Module, until: Signal, elapsed: Signal, notified: Signal, table: DecayTable
    ) -> None:
        """What alpha's clock has done up to `until`; also the raise by a notification."""
        row, p = self.row, self.parameters
        k, level = Signal(_PERIOD_BITS), Signal(range(DECAY_LEVELS))
        m.d.comb += [table.level.eq(level), table.digit.eq(k)]
        with m.State("CLOCKS"):
            m.d.sync += elapsed.eq(until - row.alpha_t)
            m.next = "PERIODS"
        with m.State("PERIODS"):
            m.next = "TIMER"
            with m.If((p.alpha_ticks != 0) & (elapsed >= p.alpha_ticks) & ~elapsed[-1]):
                divide(
                    m,
                    self.fraction,
                    elapsed,
                    p.alpha_ticks << _PERIOD_BITS,
                    "PERIODS_WAIT",
                    short=True,
                )
        with m.State("PERIODS_WAIT"), m.If(self.fraction.done):
            count = Mux(self.fraction.q[-1], (1 << _PERIOD_BITS) - 1, self.fraction.q)
            m.d.sync += [
                row.alpha_t.eq(until - self.fraction.rest),
                k.eq(count - row.alpha_cnp),
                level.eq(0),
            ]
            m.next = "DECAY"
            with m.If(row.alpha_cnp):
                m.next = "RAISE"
        with m.State("RAISE"):
            multiply(m, self.scale, row.alpha, _ONE - p.g, "RAISE_WAIT")
        with m.State("RAISE_WAIT"), m.If(self.scale.done):
            m.d.sync += row.alpha.eq(self.scale.p + (p.g << _DROP))
            m.next = "DECAY"
            with m.If(notified):
                m.next = "DONE"
            with m.Else():
                m.d.sync += row.alpha_cnp.eq(0)
        # A digit of 0 stands for a factor of 1: it is passed over.
        with m.State("DECAY"):
            m.next = "TIMER"
            with m.If(k[:DECAY_BITS] != 0):
                m.next = "POWER"
            with m.Elif(k != 0):
                m.d.sync += [k.eq(k >> DECAY_BITS), level.eq(level + 1)]
                m.next = "DECAY"
        with m.State("POWER"):
            multiply(m, self.scale, row.alpha, table.power, "POWER_WAIT")
        with m.State("POWER_WAIT"), m.If(self.scale.done):
            m.d.sync += [row.alpha.eq(self.scale.p), k.eq(k >> DECAY_BITS), level.eq(level + 1)]
            m.next = "DECAY"

    def _increases(self, m: Module, until: Signal, elapsed: Signal) -> None:
        """Steps of recovery, by the timer (from TIMER) and by the byte counter (from BYTES)."""
        row, p, rate = self.row, self.parameters, self.new_rate
        steps = Signal(range(MAX_STEPS + 1))
        by_bytes = Signal()  # the step is the byte counter's
        sent = Signal(33)
        m.submodules.recovery = step = Recovery()
        m.d.comb += [
            step.timer_stage.eq(row.timer_stage),
            step.byte_stage.eq(row.byte_stage),
            step.target.eq(row.target),
            step.rate.eq(rate),
            step.bounds.eq(self.bounds),
            step.parameters.eq(p),
        ]
        with m.State("TIMER"):
            m.d.sync += [steps.eq(0), by_bytes.eq(0)]
            m.next = "TIMER_ELAPSED"
        with m.State("TIMER_ELAPSED"):
            m.d.sync += elapsed.eq(until - row.rate_t)
            m.next = "TIMER_CHECK"
        with m.State("TIMER_CHECK"):
            running = row.timing & (p.rate_ticks != 0) & (steps != MAX_STEPS)
            m.next = "CLOCKED"
            with m.If(running & (elapsed >= p.rate_ticks) & ~elapsed[-1]):
                m.d.comb += step.start.eq(1)
                m.next = "INCREASE"
        with m.State("BYTES"):
            m.d.sync += [steps.eq(0), by_bytes.eq(1), sent.eq(row.bytes + self.sent)]
            m.next = "BYTES_COUNT"
        with m.State("BYTES_COUNT"):
            m.d.sync += row.bytes.eq(Mux(sent[-1], _BYTES_MAX, sent))
            m.next = "BYTES_CHECK"
        with m.State("BYTES_CHECK"):
            m.next = "DONE"
            with m.If((steps != MAX_STEPS) & (row.bytes >= p.byte_count)):
                m.d.comb += step.start.eq(1)
                m.next = "INCREASE"
        with m.State("INCREASE"), m.If(step.done):
            m.d.sync += [
                rate.eq(step.new_rate),
                row.target.eq(step.new_target),
                steps.eq(steps + 1),
            ]
            with m.If(by_bytes):
                m.d.sync += [
                    row.bytes.eq(row.bytes - p.byte_count),
                    row.byte_stage.eq(counted(row.byte_stage)),
                ]
                m.next = "BYTES_CHECK"
            with m.Else():
                m.d.sync += [
                    row.rate_t.eq(row.rate_t + p.rate_ticks),
                    row.timer_stage.eq(counted(row.timer_stage)),
                ]
                m.next = "TIMER_ELAPSED"

    def _cut(self, m: Module, until: Signal, due: Signal, notified: Signal) -> None:
        """Fall by alpha / 2 and start recovery, and the rate timer, anew."""
        row, p, rate = self.row, self.parameters, self.new_rate
        fallen = Signal(_RATE_BITS)
        with m.State("CUT"):
            with m.If(p.clamp_target | (row.timer_stage != 0) | (row.byte_stage != 0)):
                m.d.sync += row.target.eq(rate)
            m.d.sync += [
                row.timer_stage.eq(0),
                row.byte_stage.eq(0),
                row.bytes.eq(0),
                row.timing.eq(1),
                row.rate_t.eq(until),
            ]
            half = (row.alpha + (1 << _DROP)) >> (_DROP + 1)
            multiply(m, self.scale, rate, half, "CUT_WAIT")
        with m.State("CUT_WAIT"), m.If(self.scale.done):
            m.d.sync += fallen.eq(rate - self.scale.p)
            m.next = "CUT_LIMIT"
        with m.State("CUT_LIMIT"):
            m.d.sync += [rate.eq(clamped(fallen, self.bounds)), due.eq(0), until.eq(self.t)]
            m.next = "CLOCKS"
            with m.If(notified):
                m.next = "RAISE"

    def _notify(self, m: Module, until: Signal, elapsed: Signal, notified: Signal) -> None:
        """A notification: a cut and a raise at once, or marks for the clocks."""
        row, p = self.row, self.parameters
        first = ~row.started
        at_once = p.cut_ticks == 0
        with m.State("NOTIFY"):
            with m.If(first):
                m.d.sync += [
                    row.started.eq(1),
                    row.alpha.eq(ALPHA.one),
                    row.target.eq(self.new_rate),
                    row.cut_t.eq(Mux(at_once, row.cut_t, self.t)),
                ]
            with m.If(first | at_once):
                m.d.sync += row.alpha_t.eq(self.t)
            m.d.sync += elapsed.eq(Mux(first, 0, self.t - row.cut_t))
            with m.If(at_once):
                m.d.sync += notified.eq(1)
                m.next = "CUT"
            with m.Else():
                m.d.sync += row.alpha_cnp.eq(~first)
                m.next = "DONE"
                with m.If(~row.cut_cnp):
                    m.next = "CHECK"
        with m.State("CHECK"):
            divide(m, self.fraction, elapsed, p.cut_ticks << _PERIOD_BITS, "CHECK_WAIT", short=True)
        with m.State("CHECK_WAIT"), m.If(self.fraction.done):
            m.d.sync += row.cut_t.eq(until - self.fraction.rest)
            m.next = "CHECK_NEXT"
        with m.State("CHECK_NEXT"):
            m.d.sync += [row.cut_t.eq(row.cut_t + p.cut_ticks), row.cut_cnp.eq(1)]
            m.next = "DONE"
