"""Queue pairs that have been notified of congestion and wait until the law is told."""

from itertools import pairwise

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from precog_hw.rows import BitMemory

__all__ = ["Notices"]


class Notices(wiring.Component):
    """A queue of queue pairs, in which each waits once.

    ::

        heard ─► [waits already?] ─► [queue] ─► first ─► [cleared meanwhile?] ─► untold

    A queue pair waits while its bits `heard` and `told` differ; each has one writer. What is
    cleared while it waits is not told; only many clears of one that goes on being heard can fill
    the queue, and what finds it full is not heard.

    Latency: 4 cycles from `heard` to `first`. Throughput: one per cycle. Cost at 1024 queue pairs:
    6 DP16KD.

    Parameters
    ----------
    qps : int
        Queue pairs, a power of two, 2 or more.

    Members
    -------
    heard, qp : In
        A notification.
    counts : In(1)
        A cycle later: the queue pair listens.
    clear_stb, clear_qp : In
        Forget what was heard of this queue pair up to now.
    first, first_qp, next_qp : Out
        One waits, or waited until a clear: whose it is, and whose in the next cycle. Not two
        cycles after a clear.
    untold : Out(1)
        With `first`: it has not been told or cleared.
    takes : In(1)
        With `first`: the next one, please.
    """

    def __init__(self, qps: int) -> None:
        self._qps = qps
        self._bits = (qps - 1).bit_length()
        super().__init__(
            {
                "heard": In(1),
                "qp": In(self._bits),
                "counts": In(1),
                "clear_stb": In(1),
                "clear_qp": In(self._bits),
                "first": Out(1),
                "first_qp": Out(self._bits),
                "next_qp": Out(self._bits),
                "untold": Out(1),
                "takes": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.waiting = waiting = SyncFIFOBuffered(width=self._bits, depth=self._qps)
        heard, told = (BitMemory(m, name, unsigned(1), self._qps) for name in ("heard", "told"))
        # Bits are known a cycle after they are asked for; a clear waits as long.
        comes, qp = Signal(), Signal(self._bits)
        clears, cleared = Signal(2), [self.clear_qp, Signal(self._bits), Signal(self._bits)]
        m.d.sync += [
            comes.eq(self.heard),
            qp.eq(self.qp),
            clears.eq(Cat(self.clear_stb, clears)),
            *(late.eq(early) for early, late in pairwise(cleared)),
        ]
        was_heard, was_told = heard.read(m, self.qp), told.read(m, self.qp)
        new = comes & self.counts & (was_heard == was_told) & waiting.w_rdy

        # A clear has its cycle: nothing is taken in it.
        some, next_qp = Signal(), self.next_qp
        m.d.comb += [
            waiting.r_en.eq(~some | self.takes),
            self.first.eq(some & ~clears[1]),
            next_qp.eq(Mux(waiting.r_en, waiting.r_data, self.first_qp)),
        ]
        m.d.sync += self.first_qp.eq(next_qp)
        with m.If(waiting.r_en):
            m.d.sync += some.eq(waiting.r_rdy)
        leaves, left = heard.read(m, next_qp), told.read(m, next_qp)

        m.d.comb += [
            self.untold.eq(leaves != left),
            heard.write.en.eq(new),
            heard.write.addr.eq(qp),
            heard.write.data.eq(~was_told),
            waiting.w_en.eq(new),
            waiting.w_data.eq(qp),
            told.write.en.eq(self.takes | clears[1]),
            told.write.addr.eq(Mux(clears[1], cleared[2], self.first_qp)),
            told.write.data.eq(Mux(clears[1], heard.read(m, cleared[1]), leaves)),
        ]
        return m
