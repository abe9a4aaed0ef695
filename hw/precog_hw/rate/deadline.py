"""Advice that comes too late is none: the decision does not wait for it."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.rate.layouts import ADVICE

__all__ = ["DEADLINE_BITS", "AdviceDeadline"]

DEADLINE_BITS = 16


class AdviceDeadline(wiring.Component):
    """Passes advice on; if it does not come in time, says so in its place.

    After `cycles` of waiting, and never later, the output says that the advice is late. The advice
    itself is thrown away when it arrives, so that the next one is the next sample's.

    Latency: none. Throughput: one per cycle. Cost: 22 flip-flops.

    Parameters
    ----------
    flying : int
        Most samples whose advice may be outstanding.
    advice : StructLayout
        What it passes on, with bits `valid` and `late` in it.

    Members
    -------
    i : In(stream.Signature(advice))
    o : Out(stream.Signature(advice))
        As many as samples, in order; with `late`, and not `valid`, where advice has not come in
        time.
    cycles : In(16)
        How long `o.ready` may wait; 0: for ever.
    owing : Out(1)
        Advice is still to come for a sample that has had to do without.
    """

    i: stream.Interface
    o: stream.Interface
    cycles: Signal
    owing: Signal

    def __init__(self, flying: int, advice: data.StructLayout = ADVICE) -> None:
        self._flying = flying
        super().__init__(
            {
                "i": In(stream.Signature(advice)),
                "o": Out(stream.Signature(advice)),
                "cycles": In(DEADLINE_BITS),
                "owing": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        owed = Signal(range(self._flying + 1))
        turn = Signal(DEADLINE_BITS + 1, init=1)  # this cycle of waiting, the first being 1
        late = Signal()
        gives_up, discards = Signal(), Signal()
        m.d.comb += [
            self.owing.eq(owed != 0),
            self.o.valid.eq(late | (self.i.valid & ~self.owing)),
            # The rest of late advice means nothing: it is not in the way of the sums that follow.
            self.o.payload.eq(self.i.payload),
            self.o.payload.valid.eq(self.i.payload.valid & ~late),
            self.o.payload.late.eq(late),
            self.i.ready.eq(self.owing | (self.o.ready & ~late)),
            gives_up.eq(late & self.o.ready),
            discards.eq(self.i.valid & self.owing),
        ]
        m.d.sync += owed.eq(owed + gives_up - discards)
        waits = self.o.ready & ~self.o.valid
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += [turn.eq(1), late.eq(0)]
        with m.Elif(waits & (self.cycles != 0)):
            m.d.sync += [turn.eq(turn + 1), late.eq(turn >= self.cycles)]
        return m
