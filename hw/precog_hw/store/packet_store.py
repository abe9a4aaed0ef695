"""Packets of many queue pairs in one memory, each queue in its own order."""

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from precog_hw.rows import plain_memory
from precog_hw.stream.packet import packet_signature
from precog_hw.stream.queue import Queue
from precog_hw.stream.skid import SkidBuffer

from .egress import Egress
from .free_list import FreeList
from .ingress import Ingress
from .layouts import (
    EventKind,
    Outcome,
    StoreConfig,
    cells_layout,
    commit_layout,
    event_layout,
    quota_layout,
    row_layout,
    size_layout,
)
from .ledger import Ledger
from .reclaim import Reclaim
from .release import Release

__all__ = ["EVENTS", "PacketStore"]

#: What is counted.
EVENTS = ("stored", "dropped_quota", "dropped_memory", "dropped_long", "sent", "held")

_REQUESTS = 16
_DROPPED = 16
_PATIENCE = 64  # cycles
#: Events between the look for room and their consequences: one in each of the ledger's cycles, one
#: that it holds, and two.
_COMING = Ledger.LATENCY + 3


class PacketStore(wiring.Component):
    """Linked lists of cells, a list of packets for each queue.

    ::

        i ─► ingress ─────────► [data, links, users] ────────► egress ─► o
               │ ▲ free cells         ▲                          ▲  │
               │ └─ free list ◄───────┼── cells of dropped ones  │  │
               │        ▲             │ link of the next packet  │  │
               │        └─────────────┼──────────────────────────┼──┘ cells that were read
               └─► APPEND ─► ledger ──┴─► requests ─► o_request  │
        i_grant ─► POP ──────►  │ ─────────────────────────► jobs ┘
                     HEAD ◄─────┘

    A packet is in its queue, or not at all, from its last beat on, when the ledger has found room
    in the queue's quota, or in the cells that all may borrow. Otherwise it is dropped and counted,
    or waits (`pause`), and with it whatever is behind it; one that could never be stored is dropped
    in any case. A queue's first packet is asked for by its bytes, one at a time; a grant lets it
    go, whole, and the next one is asked for. Its cells count for the queue until the grant, and are
    free as they are read. The golden model is `precog_models.store.packet_store`.

    Other queues lose nothing by one that is over its quota as long as all quotas, `limit`, and 8 of
    the longest packets fit into the memory.

    Latency: 12 cycles from a packet's last beat to its request, 17 from a grant to the first beat.
    Throughput: a beat per cycle in and out; a packet in 4 cycles, with `pause` in 10. Ready after
    `qps` or `cells` cycles, whichever are more. Cost: the memory, and some 240 bits of block RAM
    for a queue and a cell together.

    `relaxed`, it is 11 and 16 cycles, and a packet in 16, in 24 if others wait behind it. From 17
    rows on queues, links and free cells are in block RAM, however narrow.

    Parameters
    ----------
    config : StoreConfig
    relaxed : bool
        As `Ledger`.

    Members
    -------
    i : In(packet_signature(width))
    qp : In(range(qps))
        The queue of the packet; with each beat.
    label : In(config.label)
        As above.
    o : Out(packet_signature(width))
        The user bits of a packet are those of its last beat.
    o_request : Out(stream.Signature(size_layout(config)))
        Bytes and label of a queue's first packet.
    i_grant : In(stream.Signature(range(qps)))
        One for each request: the packet may leave.
    i_again : In(stream.Signature(range(qps)))
        The request was forgotten and is to be made again.
    i_look : In(stream.Signature(range(qps)))
        Host: show a row.
    look_stb, look : Out(1), Out(row_layout(config))
        It.
    i_quota, quota, limit : In
        As `Ledger`.
    pause : In(1)
        What has no room waits instead of being dropped.
    ready : Out(1)
        Nothing of before the reset is left; nothing is taken before.
    free : Out(range(cells + 1))
        Cells.
    shared : Out(range(cells + 1))
        Cells that are borrowed.
    log : Out(stream.Signature(commit_layout(config), always_ready=True))
        Each event as it takes effect.
    events : Out(len(EVENTS))
        Strobes; `held` in each cycle in which a beat waits.
    """

    i: stream.Interface
    o: stream.Interface
    o_request: stream.Interface
    i_grant: stream.Interface
    i_again: stream.Interface
    i_look: stream.Interface
    i_quota: stream.Interface
    log: stream.Interface

    def __init__(self, config: StoreConfig, *, relaxed: bool = False) -> None:
        self._config, self._relaxed = config, relaxed
        count, queue = config.count_bits, stream.Signature(range(config.qps))
        super().__init__(
            {
                "i": In(packet_signature(config.width)),
                "qp": In(range(config.qps)),
                "label": In(config.label),
                "o": Out(packet_signature(config.width)),
                "o_request": Out(stream.Signature(size_layout(config))),
                "i_grant": In(queue),
                "i_again": In(queue),
                "i_look": In(queue),
                "look_stb": Out(1),
                "look": Out(row_layout(config)),
                "i_quota": In(stream.Signature(quota_layout(config))),
                "quota": In(count),
                "limit": In(count),
                "pause": In(1),
                "ready": Out(1),
                "free": Out(count),
                "shared": Out(count),
                "log": Out(stream.Signature(commit_layout(config), always_ready=True)),
                "events": Out(len(EVENTS)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, relaxed = self._config, self._relaxed
        m.submodules.ingress = ingress = Ingress(config)
        m.submodules.ledger = ledger = Ledger(config, relaxed=relaxed)
        m.submodules.free_list = free = FreeList(config.cells, block=relaxed)
        m.submodules.reclaim = reclaim = Reclaim(config)
        m.submodules.egress = egress = Egress(config, block=relaxed)
        m.submodules.release = release = Release(config)
        m.submodules.dropped = dropped = Queue(cells_layout(config), _DROPPED)
        m.submodules.requests = requests = Queue(size_layout(config), _REQUESTS, block=relaxed)
        wiring.connect(m, requests.o, wiring.flipped(self.o_request))
        wiring.connect(m, dropped.o, reclaim.i)
        wiring.connect(m, egress.o, wiring.flipped(self.o))
        self._memory(m, ingress, egress, reclaim)

        m.d.comb += [
            self.ready.eq(ledger.ready & free.ready),
            ingress.i.payload.eq(self.i.payload),
            ingress.qp.eq(self.qp),
            ingress.label.eq(self.label),
            ingress.i.valid.eq(self.i.valid & self.ready),
            self.i.ready.eq(ingress.i.ready & self.ready),
            ingress.may_wait.eq(self.pause),
            ledger.quota.eq(self.quota),
            ledger.limit.eq(self.limit),
            self.free.eq(free.count),
            self.shared.eq(ledger.commit.payload.shared),
            # Cells that were read go first: there is not one in every cycle.
            free.put_stb.eq(egress.free_stb | reclaim.o.valid),
            free.put.eq(Mux(egress.free_stb, egress.free, reclaim.o.payload)),
            reclaim.o.ready.eq(~egress.free_stb),
        ]
        wiring.connect(m, free.o, ingress.i_free)
        wiring.connect(m, wiring.flipped(self.i_quota), ledger.i_quota)

        did, row = ledger.commit.payload.event, ledger.commit.payload.row
        happens = {
            kind: ledger.commit.valid & (did.kind == kind)
            for kind in (EventKind.APPEND, EventKind.POP, EventKind.HEAD, EventKind.ASK)
        }
        stored = happens[EventKind.APPEND] & (did.outcome == Outcome.STORED)
        waits = happens[EventKind.APPEND] & (did.outcome == Outcome.WAITS)
        drops = happens[EventKind.APPEND] & ~stored & ~waits
        popped = happens[EventKind.POP] & ledger.joins
        m.d.comb += [
            requests.i.valid.eq(
                (stored & ~ledger.joins)
                | happens[EventKind.HEAD]
                | (happens[EventKind.ASK] & ledger.joins)
            ),
            requests.i.payload.qp.eq(did.qp),
            requests.i.payload.size.eq(row.bytes),
            requests.i.payload.label.eq(row.label),
            dropped.i.valid.eq(drops),
            dropped.i.payload.cell.eq(did.cell),
            dropped.i.payload.cells.eq(did.cells),
            self.log.valid.eq(ledger.commit.valid),
            self.log.payload.eq(ledger.commit.payload),
            self.look_stb.eq(ledger.commit.valid & (did.kind == EventKind.READ)),
            self.look.eq(row),
        ]
        m.d.comb += [
            *(getattr(release, n).eq(getattr(ingress, n)) for n in ("user_stb", "user_cell")),
            release.user.eq(ingress.user),
            release.joins_stb.eq(stored & ledger.joins),
            release.joins_behind.eq(ledger.behind),
            *(release.joins[name].eq(did[name]) for name in ("qp", "cell", "bytes", "label")),
            release.popped_stb.eq(popped),
            release.popped_more.eq(row.packets != 0),
            release.popped.qp.eq(did.qp),
            release.popped.cell.eq(row.head),
            release.popped.bytes.eq(row.bytes),
        ]
        wiring.connect(m, release.o_job, egress.i)
        self._arbitrate(m, ledger, ingress, release, requests, dropped, egress, waits)

        events = {
            "stored": stored,
            "sent": popped,
            "held": self.i.valid & ~self.i.ready,
            "dropped_quota": drops & (did.outcome == Outcome.QUOTA),
            "dropped_memory": drops & (did.outcome == Outcome.MEMORY),
            "dropped_long": drops & (did.outcome == Outcome.LONG),
        }
        m.d.sync += self.events.eq(Cat(events[name] for name in EVENTS))
        return m

    def _memory(self, m: Module, ingress: Ingress, egress: Egress, reclaim: Reclaim) -> None:
        """Beats, and the links of cells: a packet is read after it was written."""
        config = self._config
        m.submodules.data = beats = Memory(
            shape=unsigned(config.width),
            depth=config.cells * config.beats,
            init=[],
            attrs={"ram_style": "block", "no_rw_check": 1},
        )
        write, read = beats.write_port(), beats.read_port()
        m.submodules.links = links = plain_memory(
            config.cell_bits, config.cells, block=self._relaxed
        )
        link, egress_link, reclaim_link = links.write_port(), links.read_port(), links.read_port()
        # Registers, one more for beats: the blocks of a large memory are far from each other.
        place, beat, stores = (Signal.like(v) for v in (write.addr, write.data, write.en))
        m.d.sync += [
            place.eq(ingress.place.as_value()),
            beat.eq(ingress.write),
            stores.eq(ingress.write_stb),
            write.addr.eq(place),
            write.data.eq(beat),
            write.en.eq(stores),
            link.addr.eq(ingress.link.cell),
            link.data.eq(ingress.link.next),
            link.en.eq(ingress.link_stb),
            reclaim.next.eq(reclaim_link.data),
        ]
        m.d.comb += [
            read.addr.eq(egress.place.as_value()),
            egress.read.eq(read.data),
            egress_link.addr.eq(egress.link_cell),
            egress.link_next.eq(egress_link.data),
            reclaim_link.addr.eq(reclaim.cell),
        ]

    def _arbitrate(
        self,
        m: Module,
        ledger: Ledger,
        ingress: Ingress,
        release: Release,
        requests: Queue,
        dropped: Queue,
        egress: Egress,
        waits: Signal,
    ) -> None:
        """HEAD first, of which there is one for a POP; packets that come; the rest."""
        did, followers = ledger.commit.payload, release.o_following
        pops = did.event.kind == EventKind.POP
        empty = ledger.commit.valid & pops & ~ledger.joins
        alone = ledger.commit.valid & pops & (did.row.packets == 0)  # no packet is behind
        begins = Signal()  # a POP
        heads = followers.valid & followers.ready
        coming, ahead = Signal(range(2 * Release.ROOM)), Signal(range(2 * Release.ROOM))
        m.d.sync += [
            coming.eq(coming + begins - heads - alone),
            ahead.eq(ahead + begins - empty - (egress.i.valid & egress.i.ready)),
        ]
        room = Signal()  # for what an event asks for or drops
        m.d.sync += room.eq(
            (requests.level <= _REQUESTS + 1 - _COMING) & (dropped.level <= _DROPPED + 1 - _COMING)
        )

        # A packet that may wait is offered until it is appended or dropped: again when one has
        # left, or after a while, since quotas may change.
        tried, holds, patience = Signal(), Signal(), Signal(range(_PATIENCE))
        records: stream.Interface = ingress.o
        grants: stream.Interface = wiring.flipped(self.i_grant)
        if not self._relaxed:
            # The choice of the next one is made here, and `ready` follows it a cycle later.
            m.submodules.records = records_skid = SkidBuffer(event_layout(self._config))
            m.submodules.granted = granted = SkidBuffer(range(self._config.qps))
            wiring.connect(m, records, records_skid.i)
            wiring.connect(m, grants, granted.i)
            records, grants = records_skid.o, granted.o
        retains = records.payload.may_wait
        appends = ledger.commit.valid & (did.event.kind == EventKind.APPEND) & did.event.may_wait
        settles = appends & ~waits

        # The first of these that has something.
        rooms = (coming != Release.ROOM) & (ahead != Release.ROOM) & self.ready
        ports = (followers, grants, records, self.i_again, self.i_look)
        allowed = (room, rooms, room & ~tried & ~holds, room & self.ready, self.ready)
        offers = [port.valid & may for port, may in zip(ports, allowed, strict=True)]
        events = [Signal(event_layout(self._config), name=f"event{n}") for n in range(len(ports))]
        head, pop, append, again, look = events
        m.d.comb += [
            head.kind.eq(EventKind.HEAD),
            *(head[name].eq(followers.payload[name]) for name in followers.payload.shape().members),
            pop.kind.eq(EventKind.POP),
            pop.qp.eq(grants.payload),
            append.eq(records.payload),
            again.kind.eq(EventKind.ASK),
            again.qp.eq(self.i_again.payload),
            look.kind.eq(EventKind.READ),
            look.qp.eq(self.i_look.payload),
        ]
        served = Signal(len(ports))
        m.d.comb += ledger.i.valid.eq(Cat(offers).any())
        for n in reversed(range(len(ports))):
            with m.If(offers[n]):
                m.d.comb += [served.eq(1 << n), ledger.i.payload.eq(events[n])]
        takes = [served[n] & ledger.i.ready for n in range(len(ports))]
        m.d.comb += [
            *(port.ready.eq(takes[n]) for n, port in enumerate(ports) if port is not records),
            begins.eq(takes[1]),
            records.ready.eq(Mux(retains, settles & tried, takes[2])),
        ]
        with m.If(takes[2] & retains):
            m.d.sync += tried.eq(1)
        with m.Elif(appends):  # that one: no other is under way that may wait
            m.d.sync += [tried.eq(0), holds.eq(waits), patience.eq(0)]
        with m.If(holds):
            m.d.sync += patience.eq(patience + 1)
            with m.If((patience == _PATIENCE - 1) | (ledger.commit.valid & pops)):
                m.d.sync += holds.eq(0)
