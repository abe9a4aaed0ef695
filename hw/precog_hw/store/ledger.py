"""The rows of all queues: who has how many packets and cells, and who may have more."""

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

    Parameters
    ----------
    config : StoreConfig

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

    i: stream.Interface
    i_quota: stream.Interface
    commit: stream.Interface

    def __init__(self, config: StoreConfig) -> None:
        self._config = config
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
        config, last = self._config, self.LATENCY - 2
        e = [Signal(event_layout(config), name=f"e{n}") for n in range(last + 1)]
        valid = [Signal(name=f"valid{n}") for n in range(last + 1)]
        m.submodules.following = following = SkidBuffer(event_layout(config))
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

        # Rows become zero after reset, and quotas the default.
        wiped, wipes = Signal(range(config.qps)), Signal(init=1)
        m.d.sync += [wiped.eq(wiped + wipes), self.ready.eq(~wipes)]
        with m.If(wiped == config.qps - 1):
            m.d.sync += wipes.eq(0)

        m.submodules.rows = rows = plain_memory(row_layout(config), config.qps)
        write, read = rows.write_port(), rows.read_port()
        row = [Signal(row_layout(config), name=f"row{n}") for n in range(last + 1)]
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
            row[2].eq(read.data),
            *(row[n].eq(row[n - 1]) for n in range(3, last)),
        ]
        self._decide(m, e, row, valid[4], quotas.read_data)
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

    def _decide(
        self,
        m: Module,
        e: list[data.View],
        row: list[data.View],
        valid: Signal,
        of_row: data.View,
    ) -> None:
        """Cycles 2 to 5."""
        config, count = self._config, self._config.count_bits
        quota3, quota4, spare, back3, back4 = (
            Signal(count, name=n) for n in ("quota3", "quota4", "spare", "back3", "back4")
        )
        quota = Mux(of_row.own, of_row.cells, self.quota)
        ceiling = e[2].bytes + (config.cell_bytes - 1)
        cells3, cells4 = Signal(count), Signal(count)
        m.d.sync += [
            quota3.eq(quota),
            spare.eq(Mux(quota > row[2].own, quota - row[2].own, 0)),
            back3.eq(Mux(row[2].borrowed < row[2].cells, row[2].borrowed, row[2].cells)),
            cells3.eq(ceiling >> exact_log2(config.cell_bytes)),
        ]

        need, taken, kept = (Signal(count, name=n) for n in ("need", "taken", "kept"))
        limit, borrows = Signal(count), Signal()
        following = Mux(valid, limit, self.limit)  # `limit` in the next cycle
        # What it is, as far as nobody else's cells decide it: they are known late in the cycle.
        some, wants, fails, holds, heads, popped = (
            Signal(name=n) for n in ("some", "wants", "fails", "holds", "heads", "popped")
        )
        appends = e[3].kind == EventKind.APPEND
        over = e[3].cells > spare
        m.d.sync += [
            quota4.eq(quota3),
            back4.eq(back3),
            cells4.eq(cells3),
            need.eq(Mux(over, e[3].cells - spare, 0)),
            taken.eq(Mux(over, spare, e[3].cells)),
            kept.eq(row[3].cells - back3),
            borrows.eq(over),
            limit.eq(following),
            some.eq(row[3].packets != 0),
            wants.eq(appends & (e[3].outcome == Outcome.STORED)),
            fails.eq(appends & (e[3].outcome != Outcome.STORED)),
            holds.eq(e[3].may_wait & (e[3].cells <= quota3 + following)),
            heads.eq(e[3].kind == EventKind.HEAD),
            popped.eq((e[3].kind == EventKind.POP) & (row[3].packets != 0)),
        ]

        shared = Signal(count)
        left = Signal(signed(count + 1))  # that may be borrowed; negative if `limit` was lowered
        room, stored = Signal(name="room"), Signal(name="stored")
        outcome = Signal(Outcome)
        m.d.comb += [
            room.eq(~borrows | (need <= left)),
            stored.eq(wants & room),
            outcome.eq(e[4].outcome),
        ]
        with m.If(wants & ~room):
            m.d.comb += outcome.eq(Mux(holds, Outcome.WAITS, Outcome.QUOTA))

        adds, drops, pops, heads5 = (Signal(name=n) for n in ("adds", "drops", "pops", "heads5"))
        need5, taken5, kept5, back5, cells5 = (
            Signal(count, name=n) for n in ("need5", "taken5", "kept5", "back5", "cells5")
        )
        old, new, event, done, some5 = row[5], row[6], e[5], Signal(Outcome), Signal()
        commit, quota5, limit5 = self.commit.payload, Signal(count), Signal(count)
        m.d.sync += [
            adds.eq(stored),
            drops.eq(fails | (wants & ~room & ~holds)),
            pops.eq(popped),
            heads5.eq(heads | (stored & ~some)),
            some5.eq(some),
            done.eq(outcome),
            need5.eq(need),
            taken5.eq(taken),
            kept5.eq(kept),
            back5.eq(back4),
            cells5.eq(cells4),
            quota5.eq(quota4),
            limit5.eq(limit),
        ]
        m.d.sync += [
            new.eq(old),
            self.joins.eq(some5),
            self.behind.eq(old.tail),
            commit.event.eq(event),
            commit.event.outcome.eq(done),
            commit.quota.eq(quota5),
            commit.limit.eq(limit5),
            commit.shared.eq(shared),
        ]
        with m.If(adds):
            m.d.sync += [
                new.packets.eq(old.packets + 1),
                new.own.eq(old.own + taken5),
                new.borrowed.eq(old.borrowed + need5),
                new.queued.eq(old.queued + event.bytes),
                new.tail.eq(event.cell),
            ]
        with m.If(drops):
            m.d.sync += new.drops.eq(old.drops + 1)
        with m.If(pops):
            m.d.sync += [
                new.packets.eq(old.packets - 1),
                new.own.eq(old.own - kept5),
                new.borrowed.eq(old.borrowed - back5),
                new.queued.eq(old.queued - old.bytes),
            ]
        with m.If(heads5):
            m.d.sync += [
                new.head.eq(event.cell),
                new.bytes.eq(event.bytes),
                new.cells.eq(cells5),
                new.label.eq(event.label),
            ]
        with m.If(~valid):
            m.d.sync += left.eq(self.limit - shared)
        with m.Elif(stored):
            m.d.sync += [shared.eq(shared + need), left.eq(left - need)]
        with m.Elif(popped):
            m.d.sync += [shared.eq(shared - back4), left.eq(left + back4)]
