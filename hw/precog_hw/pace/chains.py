"""The links of the timing wheel's lists, and the lists that are being given back."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from precog_hw.rows import plain_memory
from precog_hw.stream.queue import Queue
from precog_hw.stream.skid import SkidBuffer

__all__ = ["Chains", "list_layout"]

_WAITING = 4  # chains of level 0
_UNDER_WAY = 2  # as many may come after there is no more room


def list_layout(qps: int) -> data.StructLayout:
    """A list, or an empty one."""
    return data.StructLayout({"valid": 1, "first": exact_log2(qps), "last": exact_log2(qps)})


class Chains(wiring.Component):
    """Next, previous and slot of every queue pair; chains given back one by one.

    ::

        near_stb ─► queue ─► chain ─┐
        far_stb ───────────► chain ─┴─► its first ─► o
                               ▲            │
                               └── [next] ◄─┘

    The chain of level 1 goes on only while there is none of level 0. Taking a queue pair out of
    the middle of a list (a cut) reads its links, asks the wheel to look at the first of its slot,
    and closes the gap.

    Latency: 4 cycles from `near_stb` to `o`. Throughput: one per 2 cycles. A cut: 7 cycles.
    Cost at 1024 queue pairs: 3 DP16KD.

    Parameters
    ----------
    qps, slots : int
        Powers of two; `slots` is that of both levels.

    Members
    -------
    file_stb, file_qp, file_slot : In
        A queue pair has become the last of a slot.
    near_stb, far_stb : In(1)
        The list `old` was taken off, of level 0 or 1.
    old : In(list_layout(qps))
        What was in the slot before.
    room_near, room_far : Out(1)
        Another list may be taken off; of level 0, even if some are under way.
    some_near : Out(1)
        There is something of level 0, or a queue pair stands at `o`.
    hold : In(1)
        Level 1 stops.
    cut_begin : In(1)
        Take out `cut_qp`, which must hold until `cut_done`.
    cut_slot_stb, cut_slot, cut_next, cut_before : Out
        Take it out of the list of that slot, if it is its first or last; these are its neighbours.
    cut_stb : In(1)
        That was done; `old` was the list.
    cut_done : Out(1)
    o : Out(stream.Signature(range(qps)))
    """

    o: stream.Interface

    def __init__(self, qps: int, slots: int) -> None:
        self._qps, self._slots = qps, slots
        qp, slot = exact_log2(qps), exact_log2(slots)
        super().__init__(
            {
                **{name: In(1) for name in ("file_stb", "near_stb", "far_stb", "hold")},
                "file_qp": In(qp),
                "file_slot": In(slot),
                "old": In(list_layout(qps)),
                **{name: Out(1) for name in ("room_near", "room_far", "some_near")},
                "cut_begin": In(1),
                "cut_qp": In(qp),
                "cut_slot_stb": Out(1),
                "cut_slot": Out(slot),
                "cut_next": Out(qp),
                "cut_before": Out(qp),
                "cut_stb": In(1),
                "cut_done": Out(1),
                "o": Out(stream.Signature(qp)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        chain, qp = list_layout(self._qps), exact_log2(self._qps)
        m.submodules.next = following = plain_memory(qp, self._qps)
        m.submodules.previous = previous = plain_memory(qp, self._qps)
        m.submodules.where = where = plain_memory(exact_log2(self._slots), self._qps)
        m.submodules.queue = waiting = Queue(chain, _WAITING)
        m.submodules.following = coming = SkidBuffer(chain)  # the queue hears of no chain's end
        wiring.connect(m, waiting.o, coming.i)
        next_in, next_out = following.write_port(), following.read_port()
        before_in, before_out = previous.write_port(), previous.read_port()
        where_in, where_out = where.write_port(), where.read_port()
        near = Signal(chain)
        far = Signal(chain)
        taking = Signal()  # its first stands at `o`
        far_turn = Signal()
        cutting = Signal()

        # Where a chain goes on is read while it stands in its register.
        shown = Mux(Mux(taking, far_turn, ~near.valid), far.first, near.first)
        m.d.comb += [
            waiting.i.valid.eq(self.near_stb),
            waiting.i.payload.eq(self.old),
            self.room_near.eq(waiting.level <= _WAITING - _UNDER_WAY),
            self.room_far.eq(~far.valid),
            self.some_near.eq(near.valid | (waiting.level != 0) | coming.o.valid | taking),
            next_out.addr.eq(Mux(cutting, self.cut_qp, shown)),
            before_out.addr.eq(self.cut_qp),
            where_out.addr.eq(self.cut_qp),
            where_in.en.eq(self.file_stb),
            where_in.addr.eq(self.file_qp),
            where_in.data.eq(self.file_slot),
            self.o.payload.eq(Mux(far_turn, far.first, near.first)),
            self.o.valid.eq(taking),
        ]
        with m.If(self.far_stb):
            m.d.sync += far.eq(self.old)

        near_ends = near.first == near.last
        with m.If(~near.valid & ~taking):
            m.d.comb += coming.o.ready.eq(1)
            m.d.sync += near.eq(coming.o.payload)
            m.d.sync += near.valid.eq(coming.o.valid)
        with m.If(taking & self.o.ready):
            m.d.sync += taking.eq(0)
            with m.If(far_turn):
                m.d.sync += [far.first.eq(next_out.data), far.valid.eq(far.first != far.last)]
            with m.Elif(~near_ends):
                m.d.sync += near.first.eq(next_out.data)
            with m.Else():
                m.d.comb += coming.o.ready.eq(1)
                m.d.sync += near.eq(coming.o.payload)
                m.d.sync += near.valid.eq(coming.o.valid)
        with m.Elif(~taking & ~cutting):
            m.d.sync += [
                taking.eq(near.valid | (far.valid & ~self.hold)),
                far_turn.eq(~near.valid),
            ]

        self._cut(m, cutting, next_out.data, before_out.data, where_out.data)
        # Whether the one that is cut out is the first or the last, of its slot or of the chain.
        first, last = Signal(), Signal()
        for held in (self.old, far):
            with m.If(held.valid & (held.first == self.cut_qp)):
                m.d.comb += first.eq(1)
            with m.If(held.valid & (held.last == self.cut_qp)):
                m.d.comb += last.eq(1)
        with m.If(self.cut_stb & far.valid & (far.first == self.cut_qp)):
            m.d.sync += [far.first.eq(self.cut_next), far.valid.eq(far.first != far.last)]
        with m.If(self.cut_stb & far.valid & (far.last == self.cut_qp)):
            m.d.sync += far.last.eq(self.cut_before)
        appends = self.file_stb & self.old.valid
        m.d.comb += [
            next_in.en.eq(appends | (self.cut_stb & ~first)),
            next_in.addr.eq(Mux(self.file_stb, self.old.last, self.cut_before)),
            next_in.data.eq(Mux(self.file_stb, self.file_qp, self.cut_next)),
            before_in.en.eq(appends | (self.cut_stb & ~last)),
            before_in.addr.eq(Mux(self.file_stb, self.file_qp, self.cut_next)),
            before_in.data.eq(Mux(self.file_stb, self.old.last, self.cut_before)),
        ]
        return m

    def _cut(
        self,
        m: Module,
        cutting: Signal,
        behind: Signal,
        before: Signal,
        slot: Signal,
    ) -> None:
        """Read the links, have the slot looked at, and wait for that."""
        with m.FSM(name="cut"):
            with m.State("IDLE"), m.If(self.cut_begin):
                m.d.sync += cutting.eq(1)
                m.next = "ADDRESS"
            with m.State("ADDRESS"):
                m.next = "READ"
            with m.State("READ"):
                m.d.sync += [
                    self.cut_next.eq(behind),
                    self.cut_before.eq(before),
                    self.cut_slot.eq(slot),
                ]
                m.next = "ASK"
            with m.State("ASK"):
                m.d.comb += self.cut_slot_stb.eq(1)
                m.next = "WAIT"
            with m.State("WAIT"), m.If(self.cut_stb):
                m.d.sync += cutting.eq(0)
                m.d.comb += self.cut_done.eq(1)
                m.next = "IDLE"
