"""Queue pairs that may send: a list for every priority, and the choice of the next one."""

from amaranth.hdl import Array, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from precog_hw.rows import plain_memory
from precog_spec.contract import PRIORITIES

from .layouts import PRIORITY_BITS

__all__ = ["ReadyLists", "ready_layout"]


def ready_layout(qps: int) -> data.StructLayout:
    """A queue pair that may send."""
    return data.StructLayout({"qp": exact_log2(qps), "priority": PRIORITY_BITS})


class ReadyLists(wiring.Component):
    """Strict priority between the lists, first in first out within one.

    ::

        i ─► append to a list ─► [next of every queue pair]
                                         │ behind the one that was taken
        pause ─► highest list ─► first of it ─► o

    A queue pair stands in at most one list, so one `next` for each is enough: the lists are linked
    through the queue pairs themselves.

    Latency: 3 cycles from `i` to `o`. Throughput: one in per cycle, one out in 3 cycles. Cost at
    1024 queue pairs: 1 DP16KD, two registers per priority.

    Parameters
    ----------
    qps : int
        Power of two.

    Members
    -------
    i : In(stream.Signature(ready_layout(qps), always_ready=True))
        Queue pairs that are in no list.
    pause : In(8)
        Priorities from which no queue pair is taken (PFC); the one at `o` stays there.
    room : In(1)
        One may be taken.
    taken : Out(1)
        One is.
    o : Out(stream.Signature(ready_layout(qps)))
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, qps: int) -> None:
        self._qps = qps
        layout = ready_layout(qps)
        super().__init__(
            {
                "i": In(stream.Signature(layout, always_ready=True)),
                "pause": In(PRIORITIES),
                "room": In(1),
                "taken": Out(1),
                "o": Out(stream.Signature(layout)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        qp_shape = exact_log2(self._qps)
        m.submodules.links = links = plain_memory(qp_shape, self._qps)
        write, read = links.write_port(), links.read_port()
        heads = Array(Signal(qp_shape, name=f"head{n}") for n in range(PRIORITIES))
        tails = Array(Signal(qp_shape, name=f"tail{n}") for n in range(PRIORITIES))
        some = Signal(PRIORITIES)  # lists with somebody in them
        one = Signal(PRIORITIES)  # of them those with one: comparing head and tail takes too long

        put, to = self.i.payload, self.i.payload.priority
        m.d.comb += [write.addr.eq(tails[to]), write.data.eq(put.qp)]
        level, first = Signal(PRIORITY_BITS, name="level"), Signal(qp_shape)
        takes, last, renew = (Signal(name=n) for n in ("takes", "last", "renew"))
        after = Signal(qp_shape)
        tail, joined = Signal(qp_shape), Signal()  # of the list at hand, a cycle ago
        may = some & ~self.pause
        highest = Signal(PRIORITY_BITS)
        for n in range(PRIORITIES):
            with m.If(may[n]):
                m.d.comb += highest.eq(n)
        m.d.comb += [first.eq(heads[level]), last.eq(one.bit_select(level, 1)), read.addr.eq(first)]
        m.d.sync += [after.eq(read.data), tail.eq(tails[level])]
        m.d.sync += joined.eq(self.i.valid & (to == level))

        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.FSM(name="take"):
            with m.State("CHOOSE"):
                m.d.sync += [level.eq(highest), renew.eq(0)]
                with m.If(renew):
                    m.d.sync += heads[level].eq(after)
                    m.d.sync += one.bit_select(level, 1).eq((after == tail) & ~joined)
                with m.If(may.any() & self.room & (~self.o.valid | self.o.ready)):
                    m.next = "TAKE"
            with m.State("TAKE"):
                m.d.comb += takes.eq(1)
                m.d.sync += [
                    self.o.valid.eq(1),
                    self.o.payload.qp.eq(first),
                    self.o.payload.priority.eq(level),
                ]
                m.next = "CHOOSE"
                with m.If(~last):
                    m.next = "FOLLOW"
            with m.State("FOLLOW"):
                m.d.sync += renew.eq(1)
                m.next = "CHOOSE"
        m.d.comb += self.taken.eq(takes)

        gone = Signal(PRIORITIES)  # lists that are empty from now on
        m.d.comb += gone.eq((takes & last) << level)
        joins = Signal(PRIORITIES)
        m.d.comb += joins.eq(self.i.valid << to)
        m.d.sync += some.eq((some & ~gone) | joins)
        # A list that ends in this cycle, too: a queue pair that is taken needs no link any more.
        m.d.comb += write.en.eq((joins & some).any())
        for n in range(PRIORITIES):
            with m.If(joins[n]):
                m.d.sync += [tails[n].eq(put.qp), one[n].eq(~some[n] | gone[n])]
                with m.If(~some[n] | gone[n]):
                    m.d.sync += heads[n].eq(put.qp)
        return m
