"""DCQCN's recovery: fast recovery, additive increase, hyper increase (SIGCOMM 2015, source 004)."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from precog_hw.rate.law_layouts import BOUNDS, DCQCN, clamped
from precog_spec.contract import Fmt

__all__ = ["Recovery"]

_RATE_BITS = Fmt.RATE.width


class Recovery(wiring.Component):
    """One increase, by the stages of both clocks before it.

    Latency: 5 cycles from `start` to `done`; the inputs must hold until then, and the results are
    those of the inputs for as long as they do. Throughput: one per 5 cycles.

    Members
    -------
    start : In(1)
    timer_stage, byte_stage : In(8)
        Increases since the last cut, by the timer and by the byte counter.
    target, rate : In(32)
        RATE's format.
    bounds : In(BOUNDS)
    parameters : In(DCQCN)
    done : Out(1)
        Strobe: the new target and rate are there.
    new_target, new_rate : Out(32)
    """

    CYCLES = 5

    start: In(1)
    timer_stage: In(8)
    byte_stage: In(8)
    target: In(_RATE_BITS)
    rate: In(_RATE_BITS)
    bounds: In(BOUNDS)
    parameters: In(DCQCN)
    done: Out(1)
    new_target: Out(_RATE_BITS)
    new_rate: Out(_RATE_BITS)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p, timer, byte = self.parameters, self.timer_stage, self.byte_stage
        timer_past, byte_past = timer > p.recovery, byte > p.recovery
        # Without a byte counter the timer alone goes through all three phases.
        both = Mux(p.byte_count != 0, timer_past & byte_past, timer_past | byte_past)
        adds, hypers = Signal(), Signal()
        raised, mean = Signal(_RATE_BITS + 1), Signal(_RATE_BITS)
        top = self.bounds.max_rate
        late = Signal(self.CYCLES - 1)
        m.d.sync += [
            late.eq(Cat(self.start, late)),
            self.done.eq(late[-1]),
            adds.eq((timer >= p.recovery) | (byte >= p.recovery)),
            hypers.eq(both & (p.hai != 0)),
            raised.eq(self.target + Mux(hypers, p.hai, p.ai)),
            self.new_target.eq(Mux(adds, Mux(raised > top, top, raised), self.target)),
            mean.eq((self.rate + self.new_target + 1) >> 1),
            self.new_rate.eq(clamped(mean, self.bounds)),
        ]
        return m
