"""Wire mode in the NIC: the transport's packets wait here for the grants of their queue pairs."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.latest import Latest
from precog_hw.packet.qp_lookup import table_access_layout
from precog_hw.rows import RowMemory
from precog_hw.store.layouts import StoreConfig
from precog_hw.stream.packet import packet_signature

from .layouts import EventKind, ack_layout, config_of, grant_layout, log_layout, request_layout
from .router import PacketRouter
from .wire_path import WINDOW_EVENTS, WirePath, store_members, tell

__all__ = ["WireMode"]


class WireMode(wiring.Component):
    """`PacketRouter`, then `WirePath`; acknowledgements of queue pairs with windows.

    ::

        i ─► router ─► path ─► o
               ▲      │ ▲ o_request, i_grant, pace_log: `Grants`
               └ with windows? ◄─ pace_log
                      └► acked ─► [last of every queue pair] ─► o_ack

    A queue pair has windows if the connection that began last says so: its requests of reliable
    services keep to them, its answers have a queue of their own, and its peer's
    acknowledgements go to the pacer through a queue that keeps the last of each queue pair.
    Replacing an older acknowledgement there costs nothing. One that arrives later and acknowledges
    less may make a window wait until the next one or `Pacer.expiry`.

    Latency: the sum of both; of an acknowledgement 9 cycles. Throughput: a beat per cycle; an
    acknowledgement per cycle in. Cost: the sum of both, `Latest`, two block RAMs of 1 bit per queue
    pair.

    Parameters
    ----------
    config : StoreConfig
    relaxed, ipv6 : bool
        As `PacketRouter`; `relaxed` as `WirePath`, too.

    Members
    -------
    i, o : packet streams
    shim_port, acks_pass, i_table
        Of `PacketRouter`.
    acked_stb, acked : In(1), In(ack_layout(qps))
        A peer has acknowledged.
    o_ack : Out(stream.Signature(ack_layout(qps)))
        For the pacer.
    o_request, refused, i_grant, window_events, calm, ready
        Of `WirePath`.
    pace_log_stb, pace_log : In(1), In(log_layout(qps))
        Of the pacer.
    i_look, look_stb, look, i_quota, quota, limit, hold, free, shared, log_stb, log, events
        Of `WirePath`.
    """

    i: stream.Interface
    o: stream.Interface
    i_table: stream.Interface
    o_ack: stream.Interface
    o_request: stream.Interface
    i_grant: stream.Interface
    i_look: stream.Interface
    i_quota: stream.Interface

    def __init__(self, config: StoreConfig, *, relaxed: bool = False, ipv6: bool = True) -> None:
        self._config = config
        self._router = PacketRouter(config.width, config.qps, relaxed=relaxed, ipv6=ipv6)
        self._path = WirePath(config, relaxed=relaxed)
        qps, packets = config.qps, packet_signature(config.width)
        super().__init__(
            {
                "i": In(packets),
                "o": Out(packets),
                "shim_port": In(16),
                "acks_pass": In(1),
                "i_table": In(stream.Signature(table_access_layout(qps))),
                "acked_stb": In(1),
                "acked": In(ack_layout(qps)),
                "o_ack": Out(stream.Signature(ack_layout(qps))),
                "o_request": Out(stream.Signature(request_layout(qps, whole=True))),
                "refused": In(1),
                "i_grant": In(stream.Signature(grant_layout(qps, whole=True))),
                "window_events": In(len(WINDOW_EVENTS)),
                "calm": Out(1),
                "ready": Out(1),
                "pace_log_stb": In(1),
                "pace_log": In(log_layout(qps)),
                **store_members(config),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.router = router = self._router
        m.submodules.path = path = self._path
        m.submodules.acks = acks = Latest(ack_layout(config.qps))
        m.submodules.of_route = of_route = RowMemory(1, config.qps)
        m.submodules.of_acked = of_acked = RowMemory(1, config.qps)
        flipped = wiring.flipped(self)
        wiring.connect(m, flipped.i, router.i)
        wiring.connect(m, flipped.i_table, router.i_table)
        wiring.connect(m, router.o, path.i)
        wiring.connect(m, router.o_route, path.i_route)
        wiring.connect(m, path.o, flipped.o)
        wiring.connect(m, path.o_request, flipped.o_request)
        wiring.connect(m, acks.o, flipped.o_ack)
        for name in ("i_grant", "i_look", "i_quota"):
            wiring.connect(m, getattr(flipped, name), getattr(path, name))
        did = self.pace_log.commit
        # The receiver's word on a priority begins no connection: nothing is forgotten.
        connection = config_of(did)
        begins = did.kind == EventKind.CONFIG
        inward = ("refused", "window_events", "quota", "limit", "hold")
        outward = ("calm", "ready", "look_stb", "look", "free", "shared", "log_stb", "log")
        m.d.comb += [
            *(getattr(router, name).eq(getattr(self, name)) for name in ("shim_port", "acks_pass")),
            *(getattr(path, name).eq(getattr(self, name)) for name in inward),
            *(getattr(self, name).eq(getattr(path, name)) for name in (*outward, "events")),
            path.commit_stb.eq(self.pace_log_stb & ~(begins & connection.raises)),
            *tell(path.commit, did),
        ]
        # No packet comes before each queue pair's connection has begun since reset.
        for rows in (of_route, of_acked):
            m.d.comb += [
                rows.write_row.eq(did.qp),
                rows.write_data.eq(connection.windows),
                rows.write_stb.eq(self.pace_log_stb & begins & ~connection.raises),
            ]
        told, acked = Signal(RowMemory.CYCLES), [self.acked]
        m.d.sync += told.eq(Cat(self.acked_stb, told))
        for n in range(RowMemory.CYCLES):
            acked.append(Signal.like(self.acked, name=f"acked{n}"))
            m.d.sync += acked[-1].eq(acked[-2])
        m.d.comb += [
            of_route.read_row.eq(router.slot),
            router.windows.eq(of_route.read_data),
            of_acked.read_row.eq(self.acked.qp),
            acks.i_stb.eq(told[-1] & of_acked.read_data),
            acks.tells.eq(1),
            acks.i.eq(acked[-1]),
        ]
        return m
