"""The rows of all queues: who has how many packets and cells, and who may have more."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from precog_hw.rows import RowMemory, plain_memory

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

        cycle  0          1       2          3              4                5
        i ─► event ─► RAM ─► row ─► quota ─► share needed ─► decide ─► row to RAM, commit

    An event waits while one of the same queue is ahead and not written yet. A queue has `own` cells
    up to its quota; what goes beyond is borrowed, up to `limit` cells by all queues together, and
    given back first. The golden model is `precog_models.store.packet_store`.

    Latency: 6 cycles from the transfer to `commit`. Throughput: one event per cycle, one in 6
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

    LATENCY = 6

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
        config, last = self._config, self.LATENCY - 1
        e = [Signal(event_layout(config), name=f"e{n}") for n in range(last + 1)]
        valid = [Signal(name=f"valid{n}") for n in range(last + 1)]
        meets = Cat(valid[n] & (e[n].qp == self.i.payload.qp) for n in range(last))
        m.d.comb += self.i.ready.eq(self.ready & ~meets.any())
        m.d.sync += [valid[0].eq(self.i.valid & self.i.ready), e[0].eq(self.i.payload)]
        for n in range(1, last + 1):
            m.d.sync += [e[n].eq(e[n - 1]), valid[n].eq(valid[n - 1])]

        # Rows become zero after reset, and quotas the default.
        wiped = Signal(range(config.qps))
        m.d.sync += wiped.eq(wiped + ~self.ready)
        with m.If(wiped == config.qps - 1):
            m.d.sync += self.ready.eq(1)

        m.submodules.rows = rows = plain_memory(row_layout(config), config.qps)
        write, read = rows.write_port(), rows.read_port()
        row = [Signal(row_layout(config), name=f"row{n}") for n in range(last + 1)]
        m.submodules.quotas = quotas = RowMemory(config.count_bits, config.qps)
        told = self.i_quota.payload
        m.d.comb += [
            *(read.addr.eq(e[0].qp), write.addr.eq(Mux(self.ready, e[5].qp, wiped))),
            write.data.eq(Mux(self.ready, row[5].as_value(), 0)),
            write.en.eq(valid[5] | ~self.ready),
            self.i_quota.ready.eq(self.ready),
            quotas.read_row.eq(e[0].qp),
            quotas.write_stb.eq(self.i_quota.valid | ~self.ready),
            quotas.write_row.eq(Mux(self.ready, told.qp, wiped)),
            quotas.write_data.eq(Mux(self.ready, told.quota, 0)),
        ]
        m.d.sync += [row[2].eq(read.data), row[3].eq(row[2]), row[4].eq(row[3])]
        self._decide(m, e, row, valid[4], quotas.read_data)
        m.d.comb += [
            self.commit.valid.eq(valid[5]),
            self.commit.payload.row.eq(row[5]),
        ]
        return m

    def _decide(
        self,
        m: Module,
        e: list[data.View],
        row: list[data.View],
        valid: Signal,
        of_row: Signal,
    ) -> None:
        """Cycles 2 to 4."""
        config, count = self._config, self._config.count_bits
        quota3, quota4, spare, back3, back4 = (
            Signal(count, name=n) for n in ("quota3", "quota4", "spare", "back3", "back4")
        )
        quota = Mux(of_row.any(), of_row, self.quota)
        ceiling = e[2].bytes + (config.cell_bytes - 1)
        cells3, cells4 = Signal(count), Signal(count)
        m.d.sync += [
            quota3.eq(quota),
            spare.eq(Mux(quota > row[2].own, quota - row[2].own, 0)),
            back3.eq(Mux(row[2].borrowed < row[2].cells, row[2].borrowed, row[2].cells)),
            cells3.eq(ceiling >> exact_log2(config.cell_bytes)),
        ]

        need, taken, kept = (Signal(count, name=n) for n in ("need", "taken", "kept"))
        fits = Signal()
        over = e[3].cells > spare
        m.d.sync += [
            *(quota4.eq(quota3), back4.eq(back3), cells4.eq(cells3)),
            need.eq(Mux(over, e[3].cells - spare, 0)),
            taken.eq(Mux(over, spare, e[3].cells)),
            kept.eq(row[3].cells - back3),
            fits.eq(e[3].cells <= quota3 + self.limit),
        ]

        old, new, event = row[4], row[5], e[4]
        shared = Signal(count)
        some, room, stored, popped = (Signal(name=n) for n in ("some", "room", "stored", "popped"))
        appends = event.kind == EventKind.APPEND
        outcome = Signal(Outcome)
        m.d.comb += [
            some.eq(old.packets != 0),
            room.eq((need == 0) | (need + shared <= self.limit)),
            outcome.eq(event.outcome),
            stored.eq(appends & (outcome == Outcome.STORED)),
            popped.eq((event.kind == EventKind.POP) & some),
        ]
        with m.If(appends & (event.outcome == Outcome.STORED) & ~room):
            m.d.comb += outcome.eq(Mux(event.may_wait & fits, Outcome.WAITS, Outcome.QUOTA))
        first = stored & ~some
        m.d.sync += [
            new.eq(old),
            self.joins.eq(some),
            self.behind.eq(old.tail),
            self.commit.payload.event.eq(event),
            self.commit.payload.event.outcome.eq(outcome),
            self.commit.payload.quota.eq(quota4),
            self.commit.payload.limit.eq(self.limit),
        ]
        m.d.comb += self.commit.payload.shared.eq(shared)
        with m.If(stored):
            m.d.sync += [
                new.packets.eq(old.packets + 1),
                new.own.eq(old.own + taken),
                new.borrowed.eq(old.borrowed + need),
                new.queued.eq(old.queued + event.bytes),
                new.tail.eq(event.cell),
            ]
        with m.If(appends & (outcome != Outcome.STORED) & (outcome != Outcome.WAITS)):
            m.d.sync += new.drops.eq(old.drops + 1)
        with m.If(popped):
            m.d.sync += [
                new.packets.eq(old.packets - 1),
                new.own.eq(old.own - kept),
                new.borrowed.eq(old.borrowed - back4),
                new.queued.eq(old.queued - old.bytes),
            ]
        with m.If(first | (event.kind == EventKind.HEAD)):
            m.d.sync += [
                *(new.head.eq(event.cell), new.bytes.eq(event.bytes)),
                *(new.cells.eq(cells4), new.label.eq(event.label)),
            ]
        with m.If(valid & stored):
            m.d.sync += shared.eq(shared + need)
        with m.Elif(valid & popped):
            m.d.sync += shared.eq(shared - back4)
