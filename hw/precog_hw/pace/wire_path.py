"""Bump in the wire: what the pacer delays waits in a packet memory of ours."""

from dataclasses import replace
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from precog_hw.rows import RowMemory
from precog_hw.store.layouts import StoreConfig, commit_layout, quota_layout, row_layout
from precog_hw.store.packet_store import EVENTS, PacketStore
from precog_hw.stream.packet import beat_layout, packet_signature
from precog_hw.stream.packet_arbiter import PacketArbiter
from precog_hw.stream.packet_fifo import PacketFifo
from precog_hw.stream.queue import Queue
from precog_hw.stream.skid import SkidBuffer

from .layouts import WHOLE_REQUEST, EventKind, grant_layout, request_layout
from .whole import waits_of

__all__ = [
    "BURST",
    "WINDOW_EVENTS",
    "WIRE_EVENTS",
    "WirePath",
    "queues",
    "route_layout",
    "store_members",
    "taken_layout",
    "tell",
]

#: Packets that pass by the pacer in a row while paced ones wait.
BURST = 8
_BYPASS = 32  # beats
_AGAIN = 4
_UNPACED = 4  # at least
#: Of the pacer: a packet found its window shut, cycles in which one did, windows that opened
#: without an acknowledgement.
WINDOW_EVENTS = ("shut", "waits", "expired")
#: What is counted: the store's events, packets that pass by, grants without the pacer, the pacer's.
WIRE_EVENTS = (*EVENTS, "bypassed", "unpaced", *WINDOW_EVENTS)
_LABEL = ("psn", "counts")  # of a packet, for the pacer


def route_layout(qps: int) -> data.StructLayout:
    """Whether a packet is paced, as whose, in which of its two queues; what the window must know.

    `counts` and `answers` as `precog_hw.pace.layouts.WHOLE_REQUEST`.
    """
    return data.StructLayout(
        {
            "paced": 1,
            "qp": exact_log2(qps),
            **{name: WHOLE_REQUEST[name].shape for name in ("answers", *_LABEL)},
        }
    )


def queues(config: StoreConfig) -> StoreConfig:
    """Packet memory with two queues for each queue pair: first all requests', then all answers'."""
    label = sum(WHOLE_REQUEST[name].width for name in _LABEL)
    return replace(config, qps=2 * config.qps, label=label)


def taken_layout(qps: int) -> data.StructLayout:
    """An event of the pacer, and of which queues it left a packet asked for; bit 1: of answers."""
    return data.StructLayout({"qp": exact_log2(qps), "kind": EventKind, "asked": 2})


def tell(commit: data.View, did: data.View) -> list[Any]:
    """An event of the pacer's log into one of `taken_layout`."""
    waits = waits_of(did.row)
    return [
        *(commit[name].eq(did[name]) for name in ("qp", "kind")),
        commit.asked.eq(Cat(waits.request != 0, waits.answer != 0)),
    ]


def _again_layout(qps: int) -> data.StructLayout:
    return data.StructLayout({"qp": exact_log2(qps), "asked": 2})


def store_members(config: StoreConfig) -> dict[str, wiring.Member]:
    """What the store has in common with whatever is around it; looks are at `queues`."""
    count, inside = config.count_bits, queues(config)
    return {
        "i_look": In(stream.Signature(range(inside.qps))),
        "look_stb": Out(1),
        "look": Out(row_layout(inside)),
        "i_quota": In(stream.Signature(quota_layout(config))),
        "quota": In(count),
        "limit": In(count),
        "hold": In(1),
        "free": Out(count),
        "shared": Out(count),
        "log_stb": Out(1),
        "log": Out(commit_layout(inside)),
        "events": Out(len(WIRE_EVENTS)),
    }


class WirePath(wiring.Component):
    """Packets of a queue pair wait for its grants; the others pass by.

    ::

        i, i_route ─► [skid] ─┬─ paced ─► [PacketStore] ─────────► arbiter ─► o
                              │        o_request ▼ ▲ i_grant           ▲
                              └─ others ─► [FIFO] ─────────────────────┘ first, up to `BURST` in a
                                                                         row

    A queue pair has two queues in the store, one of answers that wait for no window; each keeps its
    order, has at most one packet asked for, and the queue pair's quota. `commit` says when the
    pacer has forgotten what was asked for, because a connection began: then it is asked for again.
    A request that is `refused` lets its packet go without a grant, so that what a queue pair had
    stored when its pacing ended does not stay.

    Latency: of what passes by 5 cycles; else `PacketStore` and 2. Throughput: a beat per cycle.
    Cost: `PacketStore`, a FIFO of 32 beats, an arbiter, a skid buffer; a block RAM of 2 bits per
    queue pair. For 16 queue pairs and 128 cells, `relaxed`, 2,183 LUTs, 2,174 flip-flops and 24
    DP16KD (yosys 0.66, mapped as for a board); else 3,772, 4,033 and 13.

    Parameters
    ----------
    config : StoreConfig
    relaxed : bool
        As `PacketStore`; what passes by waits in block RAM, too, and no beat in a skid buffer.

    Members
    -------
    i, o : packet streams
    i_route : In(stream.Signature(route_layout(qps)))
        One for each packet, in order; no beat is taken before.
    o_request : Out(stream.Signature(request_layout(qps, whole=True)))
        The next packet of a queue.
    refused : In(1)
        `CHECK` cycles after a transfer of `o_request`: there will be no grant.
    i_grant : In(stream.Signature(grant_layout(qps, whole=True)))
    commit_stb, commit : In(1), In(taken_layout(qps))
        Events of the pacer, `tell`.
    window_events : In(len(WINDOW_EVENTS))
        Of the pacer, to be counted with the others.
    calm : Out(1)
        A connection may begin.
    hold : In(1)
        `PacketStore.pause`.
    i_look, look_stb, look, i_quota, quota, limit, free, shared
        Of `PacketStore`.
    log_stb, log : Out
        `PacketStore.log`.
    ready : Out(1)
    events : Out(len(WIRE_EVENTS))
        Strobes, for counters.
    """

    CHECK = RowMemory.CYCLES

    i: stream.Interface
    o: stream.Interface
    i_route: stream.Interface
    o_request: stream.Interface
    i_grant: stream.Interface
    i_look: stream.Interface
    i_quota: stream.Interface

    def __init__(self, config: StoreConfig, *, relaxed: bool = False) -> None:
        self._config = config
        self._relaxed = relaxed
        qps = config.qps
        super().__init__(
            {
                "i": In(packet_signature(config.width)),
                "o": Out(packet_signature(config.width)),
                "i_route": In(stream.Signature(route_layout(qps))),
                "o_request": Out(stream.Signature(request_layout(qps, whole=True))),
                "refused": In(1),
                "i_grant": In(stream.Signature(grant_layout(qps, whole=True))),
                "commit_stb": In(1),
                "commit": In(taken_layout(qps)),
                "window_events": In(len(WINDOW_EVENTS)),
                "calm": Out(1),
                "ready": Out(1),
                **store_members(config),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, qps = self._config, self._config.qps
        m.submodules.store = store = PacketStore(queues(config), relaxed=self._relaxed)
        m.submodules.bypass = bypass = PacketFifo(config.width, _BYPASS, block=self._relaxed)
        m.submodules.arbiter = arbiter = PacketArbiter(config.width, 2, burst=BURST)
        wiring.connect(m, bypass.o, arbiter.i[0])
        wiring.connect(m, store.o, arbiter.i[1])
        wiring.connect(m, arbiter.o, wiring.flipped(self.o))
        wiring.connect(m, wiring.flipped(self.i_look), store.i_look)
        self._quotas(m, store)
        wiped = self._forgotten(m, store)
        unpaced = self._grants(m, store)

        # From here on each beat carries its route: no FIFO that feeds this waits for the store.
        came = data.StructLayout({"beat": beat_layout(config.width), "route": route_layout(qps)})
        source = stream.Signature(came).create(path=("came",))
        taken: stream.Interface = source
        if not self._relaxed:
            m.submodules.came = skid = SkidBuffer(came)
            wiring.connect(m, source, skid.i)
            taken = skid.o
        beat, route = taken.payload.beat, taken.payload.route
        goes = Signal()
        m.d.sync += self.ready.eq(store.ready & wiped)  # for ever: it may be a cycle late
        m.d.comb += [
            goes.eq(self.i_route.valid & self.ready),
            source.valid.eq(goes & self.i.valid),
            self.i.ready.eq(goes & source.ready),
            source.payload.beat.eq(self.i.payload),
            source.payload.route.eq(self.i_route.payload),
            self.i_route.ready.eq(self.i.valid & self.i.ready & self.i.payload.last),
            store.i.payload.eq(beat),
            bypass.i.payload.eq(beat),
            store.i.valid.eq(taken.valid & route.paced),
            bypass.i.valid.eq(taken.valid & ~route.paced),
            taken.ready.eq(Mux(route.paced, store.i.ready, bypass.i.ready)),
            store.qp.eq(Cat(route.qp, route.answers)),
            store.label.eq(Cat(route[name] for name in _LABEL)),
            store.quota.eq(self.quota),
            store.limit.eq(self.limit),
            store.pause.eq(self.hold),
            self.log_stb.eq(store.log.valid),
            self.log.eq(store.log.payload),
            *(
                getattr(self, name).eq(getattr(store, name))
                for name in ("look_stb", "look", "free", "shared")
            ),
        ]
        passes = Signal()
        m.d.sync += passes.eq(bypass.i.valid & bypass.i.ready & beat.last)
        m.d.comb += self.events.eq(Cat(store.events, passes, unpaced, self.window_events))
        return m

    def _quotas(self, m: Module, store: PacketStore) -> None:
        """A queue pair's quota is that of each of its queues."""
        second = Signal()
        told, given = self.i_quota, store.i_quota
        m.d.comb += [
            given.valid.eq(told.valid),
            told.ready.eq(given.ready & second),
            given.payload.qp.eq(Cat(told.payload.qp, second)),
            given.payload.quota.eq(told.payload.quota),
        ]
        with m.If(given.valid & given.ready):
            m.d.sync += second.eq(~second)

    def _grants(self, m: Module, store: PacketStore) -> Signal:
        """Grants of the pacer, and of refused requests, in turn; a strobe for the latter."""
        # Room for all queues: while a request waited here, the store would hold back the next ones,
        # and then grants, for ever.
        count = 2 * self._config.qps
        depth = max(count, _UNPACED)
        m.submodules.unpaced = unpaced = Queue(range(count), depth, block=True)
        turn, own, strobe = Signal(), Signal(), Signal()
        request, given = store.o_request, self.i_grant.payload
        asked, queue = self.o_request.payload, request.payload.qp
        before, room = queue, Signal()  # for this one, and those that are being checked
        for n in range(self.CHECK):
            late = Signal.like(queue, name=f"asked{n}")
            m.d.sync += late.eq(before)
            before = late
        m.d.comb += [
            room.eq(unpaced.level <= depth - self.CHECK),
            self.o_request.valid.eq(request.valid & room),
            asked.qp.eq(queue[:-1]),
            asked.answers.eq(queue[-1]),
            Cat(asked[name] for name in _LABEL).eq(request.payload.label),
            asked.size.eq(request.payload.size),
            request.ready.eq(self.o_request.ready & room),
            unpaced.i.valid.eq(self.refused),
            unpaced.i.payload.eq(before),
            own.eq(unpaced.o.valid & (turn | ~self.i_grant.valid)),
            store.i_grant.valid.eq(unpaced.o.valid | self.i_grant.valid),
            store.i_grant.payload.eq(Mux(own, unpaced.o.payload, Cat(given.qp, given.answers))),
            unpaced.o.ready.eq(own & store.i_grant.ready),
            self.i_grant.ready.eq(~own & store.i_grant.ready),
        ]
        m.d.sync += strobe.eq(unpaced.o.valid & unpaced.o.ready)
        with m.If(store.i_grant.valid & store.i_grant.ready):
            m.d.sync += turn.eq(~own)
        return strobe

    def _forgotten(self, m: Module, store: PacketStore) -> Signal:
        """A connection that begins while packets are asked for; gives whether that is known."""
        qps = self._config.qps
        m.submodules.asked = asked = RowMemory(2, qps)
        m.submodules.again = again = Queue(_again_layout(qps), _AGAIN)
        wiped, wipes = Signal(range(qps)), Signal(init=1)
        did = self.commit
        m.d.sync += wiped.eq(wiped + wipes)
        with m.If(wiped == qps - 1):
            m.d.sync += wipes.eq(0)
        # An event reads its row in the cycle before it writes it.
        m.d.comb += asked.read_row.eq(did.qp)
        m.d.sync += [
            asked.write_stb.eq(self.commit_stb | wipes),
            asked.write_row.eq(did.qp),
            asked.write_data.eq(did.asked),
        ]
        with m.If(wipes):
            m.d.sync += [asked.write_row.eq(wiped), asked.write_data.eq(0)]
        begins, forgets, qp = Signal(RowMemory.CYCLES), Signal(), Signal.like(did.qp)
        m.d.sync += [
            begins.eq(Cat(self.commit_stb & (did.kind == EventKind.CONFIG), begins)),
            qp.eq(asked.write_row),
            forgets.eq(begins[-1] & asked.read_data.any()),
            again.i.payload.qp.eq(qp),
            again.i.payload.asked.eq(asked.read_data),
        ]
        m.d.comb += again.i.valid.eq(forgets)
        # A register: whether a connection may begin decides which event the pacer takes.
        begun = self.commit_stb & (did.kind == EventKind.CONFIG)
        m.d.sync += self.calm.eq((again.level == 0) & ~begun & ~begins.any() & ~forgets)
        # One queue after the other; the queue does not wait for the store's choice in one cycle.
        m.submodules.asking = asking = SkidBuffer(store.i_again.payload.shape())
        wiring.connect(m, asking.o, store.i_again)
        waits, second = again.o.payload, Signal()
        both, given = waits.asked.all(), asking.i
        answers = Mux(both, second, waits.asked[1])
        m.d.comb += [
            given.valid.eq(again.o.valid),
            given.payload.eq(Cat(waits.qp, answers)),
            again.o.ready.eq(given.ready & (second | ~both)),
        ]
        with m.If(given.valid & given.ready):
            m.d.sync += second.eq(both & ~second)
        return ~wipes
