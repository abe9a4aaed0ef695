"""Numbers of one queue of many, as a register block shows them: the sequencer of its commands."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.measure.queue_layouts import queue_read_layout

__all__ = ["ReadWindow"]


class ReadWindow(wiring.Component):
    """Carries commands on queue pairs out; unlike `RowWindow` it keeps nothing of these.

    Latency: a command reaches `o` 1 cycle after its strobe; `busy` falls a cycle after `done`.
    Throughput: one command at a time. Cost: 20 flip-flops.

    Parameters
    ----------
    rows : int
        Queue pairs, a power of two, 2 or more.

    Members
    -------
    index : In(16)
        Queue pair that a command is for.
    fetch, clear : In(1)
        Strobes; those of one cycle are one command.
    busy : Out(1)
        A command is being executed.
    range_error, overrun : Out(1)
        Strobes: a command for one that does not exist; a command while busy. Both are ignored.
    o : Out(stream.Signature(queue_read_layout(rows)))
    done : In(1)
        The command was executed.
    """

    o: stream.Interface

    def __init__(self, rows: int) -> None:
        self._rows = rows
        super().__init__(
            {
                "index": In(16),
                "fetch": In(1),
                "clear": In(1),
                "busy": Out(1),
                "range_error": Out(1),
                "overrun": Out(1),
                "o": Out(stream.Signature(queue_read_layout(rows))),
                "done": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        strobe = Signal()
        m.d.comb += [
            *(strobe.eq(self.fetch | self.clear), self.busy.eq(1)),
            self.overrun.eq(strobe & self.busy),
        ]
        with m.FSM(name="command"):
            with m.State("IDLE"):
                m.d.comb += self.busy.eq(0)
                m.d.sync += [
                    self.o.payload.qp.eq(self.index),
                    self.o.payload.clear.eq(self.clear),
                ]
                with m.If(strobe):
                    with m.If(self.index >= self._rows):
                        m.d.comb += self.range_error.eq(1)
                    with m.Else():
                        m.next = "ISSUE"
            with m.State("ISSUE"):
                m.d.comb += self.o.valid.eq(1)
                with m.If(self.o.ready):
                    m.next = "WAIT"
            with m.State("WAIT"), m.If(self.done):
                m.next = "IDLE"
        return m
