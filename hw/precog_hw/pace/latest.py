"""Decisions that wait for the pacer: of each queue pair the last one, in the order of the first."""

from amaranth.hdl import Cat, Module, Signal, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from precog_hw.rows import plain_memory
from precog_models.contract import Fmt

from .layouts import order_layout

__all__ = ["LatestOrders"]


class LatestOrders(wiring.Component):
    """A set of queue pairs, and the last order of each: none waits, none is lost.

    ::

        i ─┬─► [last order of every queue pair] ───────────────────┐
           └─► waits already? ─► [queue of queue pairs] ─► first ──┴─► o

    The pacer takes a rate in tens of cycles; decisions come faster. A queue pair stands in the
    queue once, and its order is read when its turn comes, so that the last one always wins.

    Latency: 4 cycles from `i_stb` to `o` when nothing else waits. Throughput: an order in every
    cycle in, one in 3 cycles out. After a reset it forgets who waited, for `qps` cycles in which no
    order may come. Cost at 1024 queue pairs: 4 DP16KD of orders, 1 of the queue, LUT RAM of 2 bits
    per queue pair.

    Parameters
    ----------
    qps : int
        Power of two, 2 or more.

    Members
    -------
    i_stb : In(1)
    i : In(order_layout(qps))
    tells : In(1)
        With `i_stb`: the queue pair shall have its turn. Otherwise the order counts if it waits.
    merged : Out(1)
        An order replaces one that waits.
    o : Out(stream.Signature(order_layout(qps)))
        While it is not taken, an order that comes replaces it, with a gap of one cycle.
    """

    o: stream.Interface

    def __init__(self, qps: int) -> None:
        self._qps = qps
        super().__init__(
            {
                "i_stb": In(1),
                "i": In(order_layout(qps)),
                "tells": In(1),
                "merged": Out(1),
                "o": Out(stream.Signature(order_layout(qps))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bits = exact_log2(self._qps)
        m.submodules.waiting = waiting = SyncFIFOBuffered(width=bits, depth=self._qps)
        m.submodules.orders = orders = plain_memory(Fmt.RATE.width + Fmt.WINDOW.width, self._qps)
        # A queue pair waits while its bits differ; each has one writer.
        told, taken = self._bits(m, "told"), self._bits(m, "taken")
        put, take = told.write_port(), taken.write_port()
        was_told, was_taken = (memory.read_port(domain="comb") for memory in (told, taken))
        leaves = told.read_port(domain="comb")

        walking, row = Signal(init=1), Signal(bits)
        m.d.sync += row.eq(row + walking)
        with m.If(row == self._qps - 1):
            m.d.sync += walking.eq(0)

        waits, joins = Signal(), Signal()
        m.d.comb += [
            *(was_told.addr.eq(self.i.qp), was_taken.addr.eq(self.i.qp)),
            waits.eq(was_told.data != was_taken.data),
            joins.eq(self.i_stb & self.tells & ~waits),
            self.merged.eq(self.i_stb & self.tells & waits),
            *(waiting.w_en.eq(joins), waiting.w_data.eq(self.i.qp)),
            *(put.en.eq(joins), put.addr.eq(self.i.qp), put.data.eq(~was_taken.data)),
        ]
        first, turns = Signal(bits), Signal()
        m.d.comb += [
            *(turns.eq(waiting.r_rdy & waiting.r_en), leaves.addr.eq(waiting.r_data)),
            *(take.en.eq(turns), take.addr.eq(waiting.r_data), take.data.eq(leaves.data)),
        ]
        with m.If(walking):
            for port in (put, take):
                m.d.comb += [port.en.eq(1), port.addr.eq(row), port.data.eq(0)]

        write, read = orders.write_port(), orders.read_port()
        m.d.comb += [
            *(write.en.eq(self.i_stb), write.addr.eq(self.i.qp), read.addr.eq(first)),
            write.data.eq(self.i.as_value()[bits:]),
            self.o.payload.as_value().eq(Cat(first, read.data)),
        ]
        changes = Signal()
        m.d.comb += changes.eq(self.i_stb & (self.i.qp == first))
        with m.FSM(name="turn") as turn:
            with m.State("NEXT"):
                m.d.comb += waiting.r_en.eq(1)
                m.d.sync += first.eq(waiting.r_data)
                with m.If(waiting.r_rdy):
                    m.next = "READ"
            # Block RAM does not give what is being written: then it is read again.
            with m.State("READ"), m.If(~changes):
                m.next = "OFFER"
            with m.State("OFFER"):
                m.d.comb += self.o.valid.eq(1)
                with m.If(self.o.ready):
                    m.next = "NEXT"
                with m.Elif(changes):
                    m.next = "READ"
        m.d.comb += read.en.eq(turn.ongoing("READ"))
        return m

    def _bits(self, m: Module, name: str) -> Memory:
        memory = Memory(
            shape=unsigned(1), depth=self._qps, init=[], attrs={"ram_style": "distributed"}
        )
        m.submodules[name] = memory
        return memory
