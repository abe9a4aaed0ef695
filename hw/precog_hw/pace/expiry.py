"""When windows have been shut for too long."""

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from precog_spec.contract import Fmt

__all__ = ["PERIOD_BITS", "WindowExpiry"]

PERIOD_BITS = 32


class WindowExpiry(wiring.Component):
    """While a packet waits for its window, all queue pairs in turn, once in a period.

    The pacer marks a queue pair that waits, and opens the window of one that it has marked before:
    after one to two periods without an acknowledgement that moves anything.

    Latency: 2 cycles. Throughput: a queue pair per cycle. Cost: 90 flip-flops, two carry chains.
    With `relaxed` what is left of the period is counted down: 45 flip-flops, one carry chain.

    Parameters
    ----------
    qps : int
        Power of two.
    relaxed : bool, optional
        The smaller form; `now` grows by at most 1 per cycle.

    Members
    -------
    now : In(40)
        Ticks.
    period : In(32)
        Ticks; 0 as few as there can be.
    shuts, opens : In(1)
        A packet has begun to wait, or waits no more.
    o : Out(stream.Signature(range(qps)))
    waits : Out(1)
        A packet does.
    """

    o: stream.Interface

    def __init__(self, qps: int, *, relaxed: bool = False) -> None:
        self._qps, self._relaxed = qps, relaxed
        super().__init__(
            {
                "now": In(Fmt.TIME.width),
                "period": In(PERIOD_BITS),
                "shuts": In(1),
                "opens": In(1),
                "o": Out(stream.Signature(range(qps))),
                "waits": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count = Signal(range(self._qps + 1))
        m.d.sync += [count.eq(count + self.shuts - self.opens), self.waits.eq(count != 0)]
        if self._relaxed:
            left, last = Signal(PERIOD_BITS), Signal()
            over: Value = left == 0
            begins, walks, walked = [left.eq(self.period)], [left.eq(self.period)], []
            m.d.sync += last.eq(self.now[0])
            with m.If((self.now[0] != last) & ~over):
                m.d.sync += left.eq(left - 1)
        else:
            began, passed = (
                Signal(Fmt.TIME.width, name="began"),
                Signal(Fmt.TIME.width, name="passed"),
            )
            over = passed >= self.period
            begins, walks = [began.eq(self.now), passed.eq(0)], [began.eq(self.now)]
            walked = [passed.eq(self.now - began)]
            m.d.sync += passed.eq(self.now - began)
        with m.FSM():
            with m.State("IDLE"):
                m.d.sync += begins
                with m.If(self.waits):
                    m.next = "WAIT"
            with m.State("WAIT"):
                with m.If(~self.waits):
                    m.next = "IDLE"
                with m.Elif(over):
                    m.d.sync += walks
                    m.next = "WALK"
            with m.State("WALK"):
                m.d.comb += self.o.valid.eq(1)
                with m.If(self.o.ready):
                    m.d.sync += self.o.payload.eq(self.o.payload + 1)
                    with m.If(self.o.payload == self._qps - 1):
                        m.d.sync += walked
                        m.next = "WAIT"
        return m
