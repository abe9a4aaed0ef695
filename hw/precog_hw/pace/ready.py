"""Queue pairs that may send: a list for every priority, and the choice of the next one."""

from contextlib import nullcontext
from typing import Any

from amaranth.hdl import Array, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from precog_hw.rows import few_rows, plain_memory
from precog_spec.contract import PRIORITIES

from .layouts import PRIORITY_BITS

__all__ = ["ReadyLists", "ready_layout"]


def ready_layout(qps: int) -> data.StructLayout:
    """A queue pair that may send."""
    return data.StructLayout({"qp": exact_log2(qps), "priority": PRIORITY_BITS})


class _Registers:
    """The first and the last of each list."""

    def __init__(self, shape: int) -> None:
        self._heads = Array(Signal(shape, name=f"head{n}") for n in range(PRIORITIES))
        self._tails = Array(Signal(shape, name=f"tail{n}") for n in range(PRIORITIES))

    def head(self, m: Module, of: Value) -> Value:
        return self._heads[of]

    def tail(self, m: Module, of: Value) -> Value:
        return self._tails[of]

    def renew(self, m: Module, of: Value, qp: Value) -> None:
        """The list goes on with `qp`."""
        m.d.sync += self._heads[of].eq(qp)

    def append(self, m: Module, n: int, qp: Value) -> None:
        m.d.sync += self._tails[n].eq(qp)

    def begin(self, m: Module, n: int, qp: Value) -> None:
        m.d.sync += self._heads[n].eq(qp)


class _Ram(_Registers):
    """In LUT RAM: `append` and `begin` are for the list `to` and its new `qp` alone."""

    def __init__(self, m: Module, shape: int, to: Value, qp: Value) -> None:
        lists: list[Any] = [few_rows(shape, PRIORITIES) for _ in range(2)]
        m.submodules.heads, m.submodules.tails = self._heads, self._tails = lists
        self._head, self._tail = (one.write_port() for one in lists)
        for port in (self._head, self._tail):
            m.d.comb += [port.addr.eq(to), port.data.eq(qp)]

    def _read(self, m: Module, memory: Any, of: Value) -> Value:
        port = memory.read_port(domain="comb")
        m.d.comb += port.addr.eq(of)
        return port.data

    def head(self, m: Module, of: Value) -> Value:
        return self._read(m, self._heads, of)

    def tail(self, m: Module, of: Value) -> Value:
        return self._read(m, self._tails, of)

    def renew(self, m: Module, of: Value, qp: Value) -> None:
        m.d.comb += [self._head.en.eq(1), self._head.addr.eq(of), self._head.data.eq(qp)]

    def append(self, m: Module, n: int, qp: Value) -> None:
        m.d.comb += self._tail.en.eq(1)

    def begin(self, m: Module, n: int, qp: Value) -> None:
        m.d.comb += self._head.en.eq(1)


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

    With `relaxed` the ends of lists are in LUT RAM, which has one writer: a list whose first was
    taken goes on a cycle later if a queue pair is put into one meanwhile.

    Parameters
    ----------
    qps : int
        Power of two.
    relaxed : bool, optional
        The smaller form: `i` is valid in one of 2 cycles at most.

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

    def __init__(self, qps: int, *, relaxed: bool = False) -> None:
        self._qps, self._relaxed = qps, relaxed
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
        some = Signal(PRIORITIES)  # lists with somebody in them
        one = Signal(PRIORITIES)  # of them those with one: comparing head and tail takes too long

        put, to = self.i.payload, self.i.payload.priority
        ends = _Ram(m, qp_shape, to, put.qp) if self._relaxed else _Registers(qp_shape)
        m.d.comb += [write.addr.eq(ends.tail(m, to)), write.data.eq(put.qp)]
        level, first = Signal(PRIORITY_BITS, name="level"), Signal(qp_shape)
        takes, last, renew = (Signal(name=n) for n in ("takes", "last", "renew"))
        after = Signal(qp_shape)
        tail, joined = Signal(qp_shape), Signal()  # of the list at hand, a cycle ago
        may = some & ~self.pause
        highest = Signal(PRIORITY_BITS)
        for n in range(PRIORITIES):
            with m.If(may[n]):
                m.d.comb += highest.eq(n)
        m.d.comb += [
            first.eq(ends.head(m, level)),
            last.eq(one.bit_select(level, 1)),
            read.addr.eq(first),
        ]
        m.d.sync += [after.eq(read.data), tail.eq(ends.tail(m, level))]
        m.d.sync += joined.eq(self.i.valid & (to == level))

        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.FSM(name="take"):
            # One writer at a time.
            writes = m.If(~(renew & self.i.valid)) if self._relaxed else nullcontext()
            with m.State("CHOOSE"), writes:
                m.d.sync += [level.eq(highest), renew.eq(0)]
                with m.If(renew):
                    ends.renew(m, level, after)
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
                ends.append(m, n, put.qp)
                m.d.sync += one[n].eq(~some[n] | gone[n])
                with m.If(~some[n] | gone[n]):
                    ends.begin(m, n, put.qp)
        return m
