"""Queue pairs that have been notified of congestion and wait until the law is told."""

from amaranth.hdl import Module, Mux, Signal, Value, unsigned
from amaranth.lib import wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from precog_hw.rows import BitMemory

__all__ = ["Notices", "hold_clear"]


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
        One waits, or waited until a clear: whose it is, and whose in the next cycle.
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
        clears, cleared = Signal(), Signal(self._bits)
        m.d.sync += [
            comes.eq(self.heard),
            qp.eq(self.qp),
            clears.eq(self.clear_stb),
            cleared.eq(self.clear_qp),
        ]
        was_heard, was_told = heard.read(m, self.qp), told.read(m, self.qp)
        new = comes & self.counts & (was_heard == was_told) & waiting.w_rdy

        next_qp = self.next_qp
        m.d.comb += [
            waiting.r_en.eq(~self.first | self.takes),
            next_qp.eq(Mux(waiting.r_en, waiting.r_data, self.first_qp)),
        ]
        m.d.sync += self.first_qp.eq(next_qp)
        with m.If(waiting.r_en):
            m.d.sync += self.first.eq(waiting.r_rdy)
        leaves, left = heard.read(m, next_qp), told.read(m, next_qp)

        forgets, forgotten, forgotten_next = hold_clear(m, "heard", clears, cleared, self.takes)
        m.d.comb += [
            self.untold.eq(leaves != left),
            heard.write.en.eq(new),
            heard.write.addr.eq(qp),
            heard.write.data.eq(~was_told),
            waiting.w_en.eq(new),
            waiting.w_data.eq(qp),
            told.write.en.eq(self.takes | forgets),
            told.write.addr.eq(Mux(self.takes, self.first_qp, forgotten)),
            told.write.data.eq(Mux(self.takes, leaves, heard.read(m, forgotten_next))),
        ]
        return m


def hold_clear(
    m: Module, name: str, stb: Value, qp: Signal, busy: Value
) -> tuple[Signal, Signal, Signal]:
    """A clear is kept until a cycle that is not `busy`: whether it is this; of whom; of whom next.

    One that comes meanwhile replaces it.
    """
    waits, now = Signal(name=f"{name}_clear_waits"), Signal(name=f"{name}_clears")
    of, of_next = (Signal.like(qp, name=f"{name}_clear_{n}") for n in ("of", "next"))
    m.d.comb += [now.eq(waits & ~busy), of_next.eq(Mux(stb, qp, of))]
    m.d.sync += of.eq(of_next)
    with m.If(stb):
        m.d.sync += waits.eq(1)
    with m.Elif(now):
        m.d.sync += waits.eq(0)
    return now, of, of_next
