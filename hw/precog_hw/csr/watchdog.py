"""Says when the host has not been heard of for too long."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Watchdog"]

_BITS = 32


class Watchdog(wiring.Component):
    """Counts the cycles since the last kick.

    Latency: `expired` rises `period` + 1 cycles after the last kick and falls 1 after the next; a
    decision that begins then is the base law's alone. Cost: 33 flip-flops, two carry chains.

    Members
    -------
    period : In(32)
        Cycles; 0: never.
    kick : In(1)
    expired : Out(1)
    """

    period: In(_BITS)
    kick: In(1)
    expired: Out(1)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        passed = Signal(_BITS)
        ends = (passed >= self.period) & (self.period != 0)
        m.d.sync += self.expired.eq(ends & ~self.kick)
        with m.If(self.kick | (self.period == 0)):
            m.d.sync += passed.eq(0)
        with m.Elif(~ends):
            m.d.sync += passed.eq(passed + 1)
        return m
