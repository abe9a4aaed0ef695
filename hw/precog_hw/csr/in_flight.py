"""How many samples and events have been counted and not yet decided on."""

from amaranth.hdl import Assert, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["InFlight"]


class InFlight(wiring.Component):
    """Counts what the core has taken and not yet answered.

    Latency: `idle` is of all cycles before, like a snapshot of the counters. Cost: 8 flip-flops.

    Parameters
    ----------
    most : int
        Samples and events that the core may hold at a time.

    Members
    -------
    sample, event : In(1)
        Strobes: the core takes one.
    decided, dropped, ignored : In(1)
        Strobes: a decision leaves the core; a sample, or an event, will have none.
    idle : Out(1)
        Every sample and event has had its decision, or was dropped or ignored.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        strobes = ("sample", "event", "decided", "dropped", "ignored")
        super().__init__({**{name: In(1) for name in strobes}, "idle": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count = Signal(range(self._most + 1))
        more, fewer = self.sample + self.event, self.decided + self.dropped + self.ignored
        m.d.sync += [
            count.eq(count + more - fewer),
            Assert(count + more >= fewer, "more decisions than samples and events"),
            Assert(count + more - fewer <= self._most, "too many samples and events in flight"),
        ]
        m.d.comb += self.idle.eq(count == 0)
        return m
