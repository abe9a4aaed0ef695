"""The rows of all queues: how many packets and cells each has, and which may have more."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from precog_hw.rows import RowMemory, plain_memory
from precog_hw.stream.skid import SkidBuffer

from .layouts import (
    EventKind,
    Outcome,
    StoreConfig,
    commit_layout,
    event_layout,
    quota_layout,
    row_layout,
)

__all__ = ["Ledger"]


class _Registers:
    """What each cycle of an event leaves for the next; a number in a name is of that cycle."""

    def __init__(self, count: int) -> None:
        self.quota3 = Signal(count)
        self.spare = Signal(count)  # cells of its own that are free
        self.back3 = Signal(count)  # borrowed cells that the first packet gives back
        self.cells3 = Signal(count)  # of the packet
        self.quota4 = Signal(count)
        self.back4 = Signal(count)
        self.cells4 = Signal(count)
        self.need = Signal(count)  # cells to be borrowed
        self.taken = Signal(count)  # of its own
        self.kept = Signal(count)  # of its own that the first packet gives back
        self.limit = Signal(count)
        self.borrows = Signal()
        # The part of the event that depends on its own cells; the others' are known late.
        self.some = Signal()  # packets were there
        self.wants = Signal()  # to store a packet
        self.fails = Signal()  # the packet was not stored before
        self.holds = Signal()  # the packet may wait for room
        self.heads = Signal()
        self.popped = Signal()
        self.shared = Signal(count)  # cells that are borrowed
        self.left = Signal(signed(count + 1))  # that may be; negative if `limit` was lowered
        self.room = Signal()
        self.stored = Signal()
        self.adds = Signal()
        self.drops = Signal()
        self.pops = Signal()
        self.heads5 = Signal()
        self.need5 = Signal(count)
        self.taken5 = Signal(count)
        self.kept5 = Signal(count)
        self.back5 = Signal(count)
        self.cells5 = Signal(count)
        self.some5 = Signal()
        self.done = Signal(Outcome)
        self.quota5 = Signal(count)
        self.limit5 = Signal(count)


class Ledger(wiring.Component):
    """Events in, rows changed.

    ::

        cycle            0          1       2          3            4          5             6
        i ─► [skid] ─► event ─► RAM ─► row ─► quota ─► share ─► room? ─► change ─► row to RAM,
                                                                                   commit

    An event waits while one of the same queue is ahead and not written yet; which ones those are is
    found a cycle before, so that it is known at once whether an event is taken. A queue has `own`
    cells up to its quota; what goes beyond is borrowed, up to `limit` cells by all queues together,
    and given back first. A new `limit` counts from a cycle 4 without an event on. The golden model
    is `precog_models.store.packet_store`.

    Latency: 8 cycles from the transfer to `commit`. Throughput: one event per cycle, one in 7
    cycles of the same queue. Takes events after `qps` cycles.

    `relaxed`, one event is under way at a time: its registers and the row that was read stay until
    it has taken effect, where the other form has a copy of them in each cycle. Latency: 7 cycles.
    Throughput: an event in 8 cycles.

    Parameters
    ----------
    config : StoreConfig
    relaxed : bool
        `NicConfig.relaxed`.

    Members
    -------
    i : In(stream.Signature(event_layout(config)))
    i_quota : In(stream.Signature(quota_layout(config)))
        A queue's quota; after reset all have the default.
    quota : In(count_bits)
        The default.
    limit : In(count_bits)
        Cells that may be borrowed by all queues together.
    ready : Out(1)
        All rows are empty, but for what came after the reset.
    commit : Out(stream.Signature(commit_layout(config), always_ready=True))
        An event took effect.
    joins : Out(1)
        With `commit`: the queue had a packet before.
    behind : Out(cell_bits)
        With `joins`: first cell of the last of them.
    """

    LATENCY = 8
    _LAST = LATENCY - 2

    i: stream.Interface
    i_quota: stream.Interface
    commit: stream.Interface

    def __init__(self, config: StoreConfig, *, relaxed: bool = False) -> None:
        self._config, self._relaxed = config, relaxed
        count = config.count_bits
        super().__init__(
            {
                "i": In(stream.Signature(event_layout(config))),
                "i_quota": In(stream.Signature(quota_layout(config))),
                "quota": In(count),
                "limit": In(count),
                "ready": Out(1),
                "commit": Out(stream.Signature(commit_layout(config), always_ready=True)),
                "joins": Out(1),
                "behind": Out(config.cell_bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, last = self._config, self._LAST
        valid = [Signal(name=f"valid{n}") for n in range(last + 1)]
        e = self._one(m, valid) if self._relaxed else self._many(m, valid)

        # Rows become zero after reset, and quotas the default.
        wiped, wipes = Signal(range(config.qps)), Signal(init=1)
        m.d.sync += [wiped.eq(wiped + wipes), self.ready.eq(~wipes)]
        with m.If(wiped == config.qps - 1):
            m.d.sync += wipes.eq(0)

        shape = row_layout(config)
        m.submodules.rows = rows = plain_memory(shape, config.qps, block=self._relaxed)
        write, read = rows.write_port(), rows.read_port()
        row = [Signal(shape, name=f"row{n}") for n in range(last + 1)]
        quota = data.StructLayout({"own": 1, "cells": config.count_bits})  # not the default
        m.submodules.quotas = quotas = RowMemory(quota, config.qps)
        told = self.i_quota.payload
        m.d.comb += [
            read.addr.eq(e[0].qp),
            write.addr.eq(e[last].qp),
            write.data.eq(row[last]),
            write.en.eq(valid[last] | ~self.ready),
            self.i_quota.ready.eq(self.ready),
            quotas.read_row.eq(e[0].qp),
        ]
        m.d.sync += [
            quotas.write_stb.eq(self.i_quota.valid | wipes),
            quotas.write_row.eq(told.qp),
            quotas.write_data.own.eq(told.quota != 0),
            quotas.write_data.cells.eq(told.quota),
        ]
        passing = self._passing(m)
        passing += [row[2].eq(read.data), *(row[n].eq(row[n - 1]) for n in range(3, last))]
        at = _Registers(config.count_bits)
        self._measure(m, at, e[2], row[2], quotas.read_data, valid[2])
        self._classify(m, at, e[3], row[3], valid[3:5])
        self._borrow(m, at, e[4], valid[4])
        self._change(m, at, e[5], row[5], row[6])
        with m.If(wipes):
            m.d.sync += [
                row[last].eq(0),
                e[last].qp.eq(wiped),
                quotas.write_row.eq(wiped),
                quotas.write_data.eq(0),
            ]
        m.d.comb += [
            self.commit.valid.eq(valid[last]),
            self.commit.payload.row.eq(row[last]),
        ]
        return m

    def _passing(self, m: Module) -> Any:
        """The domain of what the relaxed form keeps where it is."""
        return m.d.comb if self._relaxed else m.d.sync

    def _during(self, m: Module, valid: Signal) -> AbstractContextManager[None]:
        """Relaxed: what changes meanwhile counts as it was in this cycle of the event."""
        return m.If(valid) if self._relaxed else nullcontext()

    def _one(self, m: Module, valid: list[Signal]) -> list[data.View]:
        """The event in each cycle, relaxed: the next one comes when it has been written."""
        event = Signal(event_layout(self._config), name="event")
        m.d.comb += self.i.ready.eq(self.ready & ~Cat(valid).any())
        m.d.sync += Cat(valid).eq(Cat(self.i.valid & self.i.ready, valid))
        with m.If(self.i.ready):
            m.d.sync += event.eq(self.i.payload)
        return [event] * len(valid)

    def _many(self, m: Module, valid: list[Signal]) -> list[data.View]:
        """The event in each cycle: one waits while one of its queue is ahead."""
        last, layout = self._LAST, event_layout(self._config)
        e = [Signal(layout, name=f"e{n}") for n in range(last + 1)]
        m.submodules.following = following = SkidBuffer(layout)
        wiring.connect(m, wiring.flipped(self.i), following.i)
        meets = Signal(last)  # bit n: the event in cycle n + 1 is of the same queue
        goes, free = Signal(), Signal()
        m.d.comb += [
            goes.eq(valid[0] & ~meets.any()),
            free.eq(~valid[0] | goes),
            following.o.ready.eq(free),
        ]
        m.d.sync += meets.eq(meets << 1)
        with m.If(free):
            same = Cat(valid[n] & (e[n].qp == following.o.payload.qp) for n in range(last))
            m.d.sync += [valid[0].eq(following.o.valid), e[0].eq(following.o.payload)]
            m.d.sync += meets.eq(same)
        m.d.sync += valid[1].eq(goes)
        for n in range(1, last + 1):
            m.d.sync += e[n].eq(e[n - 1])
            if n > 1:
                m.d.sync += valid[n].eq(valid[n - 1])
        return e

    def _measure(
        self,
        m: Module,
        at: _Registers,
        e: data.View,
        row: data.View,
        quota_of_row: data.View,
        valid: Signal,
    ) -> None:
        """Cycle 2: the packet's cells, and those that its queue has and gives back."""
        config = self._config
        quota = Mux(quota_of_row.own, quota_of_row.cells, self.quota)
        ceiling = e.bytes + (config.cell_bytes - 1)
        with self._during(m, valid):
            m.d.sync += [
                at.quota3.eq(quota),
                at.spare.eq(Mux(quota > row.own, quota - row.own, 0)),
            ]
        m.d.sync += [
            at.back3.eq(Mux(row.borrowed < row.cells, row.borrowed, row.cells)),
            at.cells3.eq(ceiling >> exact_log2(config.cell_bytes)),
        ]

    def _classify(
        self, m: Module, at: _Registers, e: data.View, row: data.View, valid: list[Signal]
    ) -> None:
        """Cycle 3: what the event wants, and how many cells it takes or gives back."""
        following = Mux(valid[1], at.limit, self.limit)  # `limit` in the next cycle
        appends = e.kind == EventKind.APPEND
        over = e.cells > at.spare
        passing = self._passing(m)
        passing += [
            at.quota4.eq(at.quota3),
            at.back4.eq(at.back3),
            at.cells4.eq(at.cells3),
        ]
        with self._during(m, valid[0]):
            m.d.sync += at.limit.eq(following)
        m.d.sync += [
            at.need.eq(Mux(over, e.cells - at.spare, 0)),
            at.taken.eq(Mux(over, at.spare, e.cells)),
            at.kept.eq(row.cells - at.back3),
            at.borrows.eq(over),
            at.some.eq(row.packets != 0),
            at.wants.eq(appends & (e.outcome == Outcome.STORED)),
            at.fails.eq(appends & (e.outcome != Outcome.STORED)),
            at.holds.eq(e.may_wait & (e.cells <= at.quota3 + following)),
            at.heads.eq(e.kind == EventKind.HEAD),
            at.popped.eq((e.kind == EventKind.POP) & (row.packets != 0)),
        ]

    def _borrow(self, m: Module, at: _Registers, e: data.View, valid: Signal) -> None:
        """Cycle 4: whether all queues together leave the cells that this one needs."""
        outcome = Signal(Outcome)
        m.d.comb += [
            at.room.eq(~at.borrows | (at.need <= at.left)),
            at.stored.eq(at.wants & at.room),
            outcome.eq(e.outcome),
        ]
        with m.If(at.wants & ~at.room):
            m.d.comb += outcome.eq(Mux(at.holds, Outcome.WAITS, Outcome.QUOTA))
        with self._during(m, valid):
            m.d.sync += [
                at.adds.eq(at.stored),
                at.drops.eq(at.fails | (at.wants & ~at.room & ~at.holds)),
                at.pops.eq(at.popped),
                at.heads5.eq(at.heads | (at.stored & ~at.some)),
                at.done.eq(outcome),
            ]
        passing = self._passing(m)
        passing += [
            at.some5.eq(at.some),
            at.need5.eq(at.need),
            at.taken5.eq(at.taken),
            at.kept5.eq(at.kept),
            at.back5.eq(at.back4),
            at.cells5.eq(at.cells4),
            at.quota5.eq(at.quota4),
            at.limit5.eq(at.limit),
        ]
        with m.If(~valid):
            m.d.sync += at.left.eq(self.limit - at.shared)
        with m.Elif(at.stored):
            m.d.sync += [at.shared.eq(at.shared + at.need), at.left.eq(at.left - at.need)]
        with m.Elif(at.popped):
            m.d.sync += [at.shared.eq(at.shared - at.back4), at.left.eq(at.left + at.back4)]

    def _change(
        self, m: Module, at: _Registers, event: data.View, old: data.View, new: data.View
    ) -> None:
        """Cycle 5: the row as the event leaves it."""
        commit = self.commit.payload
        m.d.sync += new.eq(old)
        passing = self._passing(m)
        passing += [
            self.joins.eq(at.some5),
            self.behind.eq(old.tail),
            commit.event.eq(event),
            commit.event.outcome.eq(at.done),
            commit.quota.eq(at.quota5),
            commit.limit.eq(at.limit5),
            commit.shared.eq(at.shared),
        ]
        with m.If(at.adds):
            m.d.sync += [
                new.packets.eq(old.packets + 1),
                new.own.eq(old.own + at.taken5),
                new.borrowed.eq(old.borrowed + at.need5),
                new.queued.eq(old.queued + event.bytes),
                new.tail.eq(event.cell),
            ]
        with m.If(at.drops):
            m.d.sync += new.drops.eq(old.drops + 1)
        with m.If(at.pops):
            m.d.sync += [
                new.packets.eq(old.packets - 1),
                new.own.eq(old.own - at.kept5),
                new.borrowed.eq(old.borrowed - at.back5),
                new.queued.eq(old.queued - old.bytes),
            ]
        with m.If(at.heads5):
            m.d.sync += [
                new.head.eq(event.cell),
                new.bytes.eq(event.bytes),
                new.cells.eq(at.cells5),
                new.label.eq(event.label),
            ]
