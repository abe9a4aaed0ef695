"""Bump in the wire: what the pacer delays waits in a packet memory of ours."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from precog_hw.store.layouts import StoreConfig, commit_layout, quota_layout, row_layout
from precog_hw.store.packet_store import EVENTS, PacketStore
from precog_hw.stream.packet import packet_signature
from precog_hw.stream.packet_arbiter import PacketArbiter
from precog_hw.stream.packet_fifo import PacketFifo
from precog_hw.stream.queue import Queue

from .layouts import EventKind, State, request_layout

__all__ = ["BURST", "WIRE_EVENTS", "WirePath", "route_layout", "store_members", "taken_layout"]

#: Packets that pass by the pacer in a row while paced ones wait.
BURST = 8
_BYPASS = 32  # beats
_AGAIN = 4
#: What is counted: the store's events, packets that pass by, grants without the pacer.
WIRE_EVENTS = (*EVENTS, "bypassed", "unpaced")


def route_layout(qps: int) -> data.StructLayout:
    """Whether a packet is paced, and as whose."""
    return data.StructLayout({"paced": 1, "qp": exact_log2(qps)})


def taken_layout(qps: int) -> data.StructLayout:
    """An event of the pacer, and the state in which it left the queue pair."""
    return data.StructLayout({"qp": exact_log2(qps), "kind": EventKind, "state": State})


def store_members(config: StoreConfig) -> dict[str, wiring.Member]:
    """What the store has in common with whatever is around it."""
    count = config.count_bits
    return {
        "i_look": In(stream.Signature(range(config.qps))),
        "look_stb": Out(1),
        "look": Out(row_layout(config)),
        "i_quota": In(stream.Signature(quota_layout(config))),
        "quota": In(count),
        "limit": In(count),
        "hold": In(1),
        "free": Out(count),
        "shared": Out(count),
        "log_stb": Out(1),
        "log": Out(commit_layout(config)),
        "events": Out(len(WIRE_EVENTS)),
    }


class WirePath(wiring.Component):
    """Packets of a queue pair wait for its grants; the others pass by.

    ::

        i, i_route ─┬─ paced ─► [PacketStore] ─────────► arbiter ─► o
                    │        o_request ▼ ▲ i_grant           ▲
                    └─ others ─► [FIFO] ─────────────────────┘ first, up to `BURST` in a row

    Packets of one kind keep their order. A queue pair has at most one packet asked for; `commit`
    says when the pacer has forgotten it, because a connection began: then it is asked for again. A
    request that is `refused` lets its packet go without a grant, so that what a queue pair had
    stored when its pacing ended does not stay.

    Latency: of what passes by 4 cycles; else `PacketStore`. Throughput: a beat per cycle. Cost:
    `PacketStore`, a FIFO of 32 beats, an arbiter.

    Parameters
    ----------
    config : StoreConfig

    Members
    -------
    i, o : packet streams
    i_route : In(stream.Signature(route_layout(qps)))
        One for each packet, in order; no beat is taken before.
    o_request : Out(stream.Signature(request_layout(qps)))
        A queue pair's next packet.
    refused : In(1)
        With a transfer of `o_request`: there will be no grant.
    i_grant : In(stream.Signature(range(qps)))
    commit_stb, commit : In(1), In(taken_layout(qps))
        Events of the pacer, `Pacer.commit`.
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

    i: stream.Interface
    o: stream.Interface
    i_route: stream.Interface
    o_request: stream.Interface
    i_grant: stream.Interface
    i_look: stream.Interface
    i_quota: stream.Interface

    def __init__(self, config: StoreConfig) -> None:
        self._config = config
        qps = config.qps
        super().__init__(
            {
                "i": In(packet_signature(config.width)),
                "o": Out(packet_signature(config.width)),
                "i_route": In(stream.Signature(route_layout(qps))),
                "o_request": Out(stream.Signature(request_layout(qps))),
                "refused": In(1),
                "i_grant": In(stream.Signature(range(qps))),
                "commit_stb": In(1),
                "commit": In(taken_layout(qps)),
                "calm": Out(1),
                "ready": Out(1),
                **store_members(config),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.store = store = PacketStore(config)
        m.submodules.bypass = bypass = PacketFifo(config.width, _BYPASS)
        m.submodules.arbiter = arbiter = PacketArbiter(config.width, 2, burst=BURST)
        wiring.connect(m, bypass.o, arbiter.i[0])
        wiring.connect(m, store.o, arbiter.i[1])
        wiring.connect(m, arbiter.o, wiring.flipped(self.o))
        wiring.connect(m, wiring.flipped(self.i_look), store.i_look)
        wiring.connect(m, wiring.flipped(self.i_quota), store.i_quota)
        wiped = self._forgotten(m, store)
        unpaced = self._grants(m, store)

        route = self.i_route.payload
        goes = Signal()
        taken = self.i.valid & self.i.ready
        m.d.comb += [
            self.ready.eq(store.ready & wiped),
            goes.eq(self.i.valid & self.i_route.valid & self.ready),
            *(store.i.payload.eq(self.i.payload), bypass.i.payload.eq(self.i.payload)),
            *(store.i.valid.eq(goes & route.paced), bypass.i.valid.eq(goes & ~route.paced)),
            self.i.ready.eq(
                self.i_route.valid & self.ready & Mux(route.paced, store.i.ready, bypass.i.ready)
            ),
            self.i_route.ready.eq(taken & self.i.payload.last),
            store.qp.eq(route.qp),
            *(store.quota.eq(self.quota), store.limit.eq(self.limit), store.pause.eq(self.hold)),
            *(self.log_stb.eq(store.log.valid), self.log.eq(store.log.payload)),
            *(
                getattr(self, name).eq(getattr(store, name))
                for name in ("look_stb", "look", "free", "shared")
            ),
        ]
        passes = Signal()
        m.d.sync += passes.eq(bypass.i.valid & bypass.i.ready & self.i.payload.last)
        m.d.comb += self.events.eq(Cat(store.events, passes, unpaced))
        return m

    def _grants(self, m: Module, store: PacketStore) -> Signal:
        """Grants of the pacer, and of refused requests, in turn; a strobe for the latter."""
        m.submodules.unpaced = unpaced = Queue(range(self._config.qps), 2)
        turn, own, strobe = Signal(), Signal(), Signal()
        request = store.o_request
        m.d.comb += [
            self.o_request.valid.eq(request.valid & unpaced.i.ready),
            *(self.o_request.payload[n].eq(request.payload[n]) for n in ("qp", "size")),
            request.ready.eq(self.o_request.ready & unpaced.i.ready),
            unpaced.i.valid.eq(request.valid & request.ready & self.refused),
            unpaced.i.payload.eq(request.payload.qp),
            own.eq(unpaced.o.valid & (turn | ~self.i_grant.valid)),
            store.i_grant.valid.eq(unpaced.o.valid | self.i_grant.valid),
            store.i_grant.payload.eq(Mux(own, unpaced.o.payload, self.i_grant.payload)),
            unpaced.o.ready.eq(own & store.i_grant.ready),
            self.i_grant.ready.eq(~own & store.i_grant.ready),
        ]
        m.d.sync += strobe.eq(unpaced.o.valid & unpaced.o.ready)
        with m.If(store.i_grant.valid & store.i_grant.ready):
            m.d.sync += turn.eq(~own)
        return strobe

    def _forgotten(self, m: Module, store: PacketStore) -> Signal:
        """A connection that begins while a packet is asked for; gives whether that is known."""
        qps = self._config.qps
        asked = Memory(shape=1, depth=qps, init=[], attrs={"ram_style": "distributed"})
        m.submodules.asked = asked
        m.submodules.again = again = Queue(range(qps), _AGAIN)
        write, read = asked.write_port(), asked.read_port(domain="comb")
        wiped, wipes = Signal(range(qps)), Signal(init=1)
        did = self.commit
        asks = did.kind == EventKind.REQUEST
        granted = (did.kind == EventKind.GRANT) & (did.state == State.SENDING)
        forgets = did.kind == EventKind.CONFIG
        m.d.sync += wiped.eq(wiped + wipes)
        with m.If(wiped == qps - 1):
            m.d.sync += wipes.eq(0)
        m.d.comb += [
            read.addr.eq(did.qp),
            write.addr.eq(Mux(wipes, wiped, did.qp)),
            write.data.eq(asks & ~wipes),
            write.en.eq(wipes | (self.commit_stb & (asks | granted | forgets))),
            again.i.valid.eq(self.commit_stb & forgets & read.data),
            again.i.payload.eq(did.qp),
            self.calm.eq(again.level == 0),
        ]
        wiring.connect(m, again.o, store.i_again)
        return ~wipes
