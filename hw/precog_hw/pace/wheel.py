"""A timing wheel of two levels: queue pairs come back when they are due."""

from itertools import pairwise

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from precog_hw.rows import RowUpdate
from precog_hw.stream.held import Held
from precog_hw.stream.queue import Queue
from precog_spec.contract import TICK_FRAC_BITS, Fmt

from .chains import Chains, list_layout
from .layouts import file_layout

__all__ = ["BUCKET_LOG2", "TimingWheel", "check_slots"]

BUCKET_LOG2 = 2  # ticks
_COMMANDS = 16
_SETTLE = 8  # cycles after which what was filed last stands in the links


def check_slots(slots: int) -> None:
    """Raise `ValueError` if a wheel cannot have this many slots."""
    if slots < 4 or slots & (slots - 1):
        raise ValueError(f"slots must be a power of two, 4 or more, not {slots!r}")


def _bucket(due: Value) -> Value:
    """The first one in which a queue pair is due."""
    ticks = due[TICK_FRAC_BITS:]
    up = due[:TICK_FRAC_BITS].any() | ticks[:BUCKET_LOG2].any()
    return ticks[BUCKET_LOG2:] + up


def _placing_layout(qps: int) -> data.StructLayout:
    """A command of the relaxed form."""
    return data.StructLayout(
        {"qp": exact_log2(qps), "cut": 1, "bucket": Fmt.TIME.width - BUCKET_LOG2}
    )


class TimingWheel(wiring.Component):
    """Files queue pairs by due time, takes them out again, and gives them back.

    ::

        i ─► queue ─► slot ─► [list of every slot] ─► chain ─► one after another ─► o
                       ▲           ▲      │              │  [next, previous of every queue pair]
                       │      cursors ◄── now            │
                       └──── not due yet: the taker of o files it again

    A bucket is 4 ticks. Level 0 has `slots` buckets ahead of its cursor; a slot of level 1 stands
    for `slots` / 2 buckets and is emptied one such time early, so that its queue pairs have all
    that time to go to level 0. One that is due later than level 1 reaches waits in its last slot.
    Work for a packet is constant: filed and given back once, and once more for each slot of level
    1.

    A slot is a list, linked in both directions through the queue pairs themselves: first in, first
    out, so that queue pairs of one bucket keep their order from packet to packet. The cursor takes
    off a whole list at once (the chain), so that filing never meets a list that is being given
    back.

    `i` with `cut` takes the queue pair out of where it is before it is filed again. That is only
    allowed from `quiet` on while `hold` is up: only those of level 1 come back then, and they
    stop, too.

    Latency: a queue pair that is already due is back after at most 2 buckets and 14 cycles; one
    that is due in d ticks, `BUCKET_LOG2` buckets and 11 cycles after it was due at the latest, if
    no others are given back at that time, and never before its bucket. Throughput: one filed
    and one bucket per 2 cycles at the same time; one given back per 2 cycles. A cut: 17 cycles.
    Cost at 1024 queue pairs and 4096 slots: 12 DP16KD for the slots, 4 for the links.

    Parameters
    ----------
    qps : int
        Power of two.
    slots : int
        Slots of each level, a power of two, 4 or more.
    relaxed : bool, optional
        One command at a time waits behind `i`; there is no `level`.

    Members
    -------
    now : In(40)
        Ticks; grows by at most 1 per cycle.
    wipes : In(1)
        Slot `wiped` of both levels is emptied, and the cursors come to `now`; no queue pair is
        filed.
    wiped : In(range(2 * slots))
    i : In(stream.Signature(file_layout(qps)))
        Queue pairs that are not in the wheel, or `cut`.
    level : Out(range)
        How many wait behind `i`.
    hold : In(1)
        No other queue pair comes back.
    quiet : Out(1)
        With `hold`: all that was due has been given back.
    cut : Out(1)
        A cut is done.
    o : Out(stream.Signature(range(qps)))

    Raises
    ------
    ValueError
        `slots` is not as above.
    """

    COMMANDS = _COMMANDS

    i: stream.Interface
    o: stream.Interface

    def __init__(self, qps: int, slots: int, *, relaxed: bool = False) -> None:
        check_slots(slots)
        self._qps, self._slots, self._relaxed = qps, slots, relaxed
        super().__init__(
            {
                "now": In(Fmt.TIME.width),
                "wipes": In(1),
                "wiped": In(range(2 * slots)),
                "i": In(stream.Signature(file_layout(qps))),
                **({} if relaxed else {"level": Out(range(_COMMANDS + 2))}),
                "hold": In(1),
                "quiet": Out(1),
                "cut": Out(1),
                "o": Out(stream.Signature(exact_log2(qps))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bits = exact_log2(self._slots)
        m.submodules.commands = commands = self._commands()
        m.submodules.slots = slots = RowUpdate(list_layout(self._qps), 2 * self._slots)
        m.submodules.chains = chains = Chains(self._qps, 2 * self._slots)
        self._take(m, commands)
        wiring.connect(m, chains.o, wiring.flipped(self.o))
        if not self._relaxed:
            m.d.comb += self.level.eq(commands.level)

        # Cursors: the next bucket, and the next slot of level 1, whose units are half a turn.
        near = Signal(Fmt.TIME.width - BUCKET_LOG2)
        far = Signal(len(near) - (bits - 1))
        reached, early = Signal(), Signal()  # the clock is at the cursor
        holds = Signal()  # `hold`, late: `quiet` sees what is detached meanwhile
        since = Signal(len(near))
        m.d.comb += since.eq(self.now[BUCKET_LOG2:] - near)
        distance = Signal(len(far))
        m.d.comb += distance.eq(near[bits - 1 :] + 1 - far)

        # What an operation on a slot is about travels with it.
        flags = dict.fromkeys(("files", "detaches", "far", "cuts", "wipes"), 1)
        about = data.StructLayout({**flags, "qp": exact_log2(self._qps)})
        choice = Signal(about)
        its_row = Signal(bits + 1)
        op = [Signal(about, name=f"op{n}") for n in range(RowUpdate.CYCLES + 1)]
        row = Signal(bits + 1)  # of `op[0]`: the way to all of the slots' memory is a long one
        m.d.sync += [later.eq(sooner) for sooner, later in pairwise([choice, *op])]
        m.d.sync += row.eq(its_row)
        under_way = Cat(one.detaches for one in op).any()
        far_under_way = Cat(one.far for one in op).any()
        m.d.comb += [
            slots.i_stb.eq(op[0].files | op[0].detaches | op[0].cuts | op[0].wipes),
            slots.i_row.eq(row),
        ]

        placed = Signal()
        slot = Signal(bits + 1)
        whose = Signal(exact_log2(self._qps))
        cutting = Signal()
        with m.If(self.wipes):
            m.d.sync += [
                near.eq(self.now[BUCKET_LOG2:]),
                far.eq(self.now[BUCKET_LOG2 + bits - 1 :]),
            ]
        m.d.sync += [
            reached.eq(~since[-1] & ~choice.detaches & ~self.wipes),
            early.eq(~distance[-1] & ~choice.detaches & ~self.wipes),
            holds.eq(self.hold),
        ]
        with m.If(chains.cut_slot_stb):
            m.d.comb += [choice.cuts.eq(1), choice.qp.eq(commands.o.payload.qp)]
            m.d.comb += its_row.eq(chains.cut_slot)
        with m.Elif(placed):
            m.d.comb += [choice.files.eq(1), choice.qp.eq(whose), its_row.eq(slot)]
        with m.Elif(reached & ~holds & chains.room_near):
            m.d.comb += [choice.detaches.eq(1), its_row.eq(near[:bits])]
            m.d.sync += near.eq(near + 1)
        with m.Elif(early & ~holds & chains.room_far & ~far_under_way):
            m.d.comb += [choice.detaches.eq(1), choice.far.eq(1)]
            m.d.comb += its_row.eq(Cat(far[:bits], Const(1, 1)))
            m.d.sync += far.eq(far + 1)
        with m.Elif(self.wipes):
            m.d.comb += [choice.wipes.eq(1), its_row.eq(self.wiped)]

        self._place(m, commands, near, far, cutting, placed, slot, whose)
        self._cut(m, commands, chains, cutting)

        # The slot's new list; links and chains follow from the old one.
        old, new, about3 = slots.old, slots.new, op[3]
        m.d.comb += new.eq(old)
        with m.If(about3.files):
            m.d.comb += [new.valid.eq(1), new.last.eq(about3.qp)]
            with m.If(~old.valid):
                m.d.comb += new.first.eq(about3.qp)
        with m.If(about3.detaches | about3.wipes):
            m.d.comb += new.valid.eq(0)
        with m.If(about3.cuts & (old.first == about3.qp)):
            m.d.comb += [
                new.first.eq(chains.cut_next),
                new.valid.eq(old.valid & (old.first != old.last)),
            ]
        with m.If(about3.cuts & (old.last == about3.qp)):
            m.d.comb += new.last.eq(chains.cut_before)
        m.d.comb += [
            chains.file_stb.eq(op[3].files),
            chains.file_qp.eq(op[3].qp),
            chains.file_slot.eq(slots.row),
            chains.near_stb.eq(op[3].detaches & ~op[3].far & old.valid),
            chains.far_stb.eq(op[3].far & old.valid),
            chains.cut_stb.eq(op[3].cuts),
            chains.old.eq(old),
            chains.hold.eq(self.hold),
        ]
        m.d.sync += self.quiet.eq(self.hold & ~choice.detaches & ~under_way & ~chains.some_near)
        return m

    def _commands(self) -> Held | Queue:
        if self._relaxed:
            return Held(_placing_layout(self._qps))
        return Queue(file_layout(self._qps), _COMMANDS)

    def _take(self, m: Module, commands: Held | Queue) -> None:
        """The relaxed form keeps the bucket, not the due time."""
        if not self._relaxed:
            wiring.connect(m, wiring.flipped(self.i), commands.i)
            return
        command = commands.i.payload
        m.d.comb += [
            commands.i.valid.eq(self.i.valid),
            self.i.ready.eq(commands.i.ready),
            *(command[name].eq(self.i.payload[name]) for name in ("qp", "cut")),
            command.bucket.eq(_bucket(self.i.payload.due)),
        ]

    def _place(
        self,
        m: Module,
        commands: Held | Queue,
        near: Signal,
        far: Signal,
        cutting: Signal,
        placed: Signal,
        slot: Signal,
        whose: Signal,
    ) -> None:
        """Which slot: a cycle after the distances, used in the next one.

        A cursor moves once in these at most, to a bucket that is still ahead.
        """
        bits = exact_log2(self._slots)
        bucket = Signal(len(near))
        ready = Signal()  # `bucket` is that of the command
        if self._relaxed:
            m.d.comb += bucket.eq(commands.o.payload.bucket)
        else:
            m.d.sync += bucket.eq(_bucket(commands.o.payload.due))
        m.d.sync += ready.eq(0)

        away = Signal(len(near))
        unit = bucket[bits - 1 :]
        farther = Signal(len(far))
        m.d.comb += [away.eq(bucket - near), farther.eq(unit - far)]
        # The command's next cycle: how far it is, and whose.
        about = data.StructLayout(
            {
                **dict.fromkeys(("valid", "past", "near", "far"), 1),
                **{"bucket": bits, "unit": bits, "qp": len(whose)},
            }
        )
        found = Signal(about)
        m.d.sync += [
            found.valid.eq(ready),
            found.past.eq(away[-1] | (away == 0)),
            found.near.eq(~away[bits:].any()),
            found.far.eq(~farther[bits:].any()),
            found.bucket.eq(bucket),
            found.unit.eq(unit),
            found.qp.eq(commands.o.payload.qp),
        ]
        with m.If(commands.o.valid & ~ready & (~commands.o.payload.cut | cutting)):
            m.d.sync += ready.eq(1)
        with m.If(ready):
            m.d.comb += commands.o.ready.eq(1)
        m.d.sync += [placed.eq(found.valid), whose.eq(found.qp)]
        with m.If(found.past):
            m.d.sync += slot.eq(Cat((near + 1)[:bits], Const(0, 1)))
        with m.Elif(found.near):
            m.d.sync += slot.eq(Cat(found.bucket, Const(0, 1)))
        with m.Elif(found.far):
            m.d.sync += slot.eq(Cat(found.unit, Const(1, 1)))
        with m.Else():
            m.d.sync += slot.eq(Cat((far - 1)[:bits], Const(1, 1)))

    def _cut(self, m: Module, commands: Held | Queue, chains: Chains, cutting: Signal) -> None:
        """Take out the queue pair of the first command, then let it be filed."""
        wait = Signal(range(_SETTLE + 1))
        m.d.comb += chains.cut_qp.eq(commands.o.payload.qp)
        with m.FSM(name="cut"):
            with m.State("IDLE"):
                m.d.sync += wait.eq(_SETTLE)
                with m.If(commands.o.valid & commands.o.payload.cut):
                    m.next = "SETTLE"
            with m.State("SETTLE"):
                m.d.sync += wait.eq(wait - 1)
                with m.If(wait == 0):
                    m.d.comb += chains.cut_begin.eq(1)
                    m.next = "CUT"
            with m.State("CUT"), m.If(chains.cut_done):
                m.d.sync += cutting.eq(1)
                m.next = "FILE"
            with m.State("FILE"), m.If(commands.o.ready):
                m.d.sync += cutting.eq(0)
                m.d.comb += self.cut.eq(1)
                m.next = "IDLE"
