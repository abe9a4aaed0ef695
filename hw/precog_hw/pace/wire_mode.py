"""Wire mode in the NIC: the transport's packets wait here for the grants of their queue pairs."""

from amaranth.hdl import Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.packet.qp_lookup import table_access_layout
from precog_hw.store.layouts import StoreConfig
from precog_hw.stream.packet import packet_signature

from .layouts import CONFIG, EventKind, log_layout, request_layout
from .router import PacketRouter
from .wire_path import WirePath, store_members

__all__ = ["WireMode"]


class WireMode(wiring.Component):
    """`PacketRouter`, then `WirePath`.

    ::

        i ─► router ─► path ─► o
                      │ ▲ o_request, i_grant, pace_log: `Grants`

    Latency: the sum of both. Throughput: a beat per cycle. Cost: the sum of both.

    Parameters
    ----------
    config : StoreConfig

    Members
    -------
    i, o : packet streams
    shim_port, acks_pass, i_table
        Of `PacketRouter`.
    o_request, refused, i_grant, calm, ready
        Of `WirePath`.
    pace_log_stb, pace_log : In(1), In(log_layout(qps))
        Of the pacer.
    i_look, look_stb, look, i_quota, quota, limit, hold, free, shared, log_stb, log, events
        Of `WirePath`.
    """

    i: stream.Interface
    o: stream.Interface
    i_table: stream.Interface
    o_request: stream.Interface
    i_grant: stream.Interface
    i_look: stream.Interface
    i_quota: stream.Interface

    def __init__(self, config: StoreConfig) -> None:
        self._config = config
        qps, packets = config.qps, packet_signature(config.width)
        super().__init__(
            {
                "i": In(packets),
                "o": Out(packets),
                "shim_port": In(16),
                "acks_pass": In(1),
                "i_table": In(stream.Signature(table_access_layout(qps))),
                "o_request": Out(stream.Signature(request_layout(qps))),
                "refused": In(1),
                "i_grant": In(stream.Signature(range(qps))),
                "calm": Out(1),
                "ready": Out(1),
                "pace_log_stb": In(1),
                "pace_log": In(log_layout(qps)),
                **store_members(config),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.router = router = PacketRouter(self._config.width, self._config.qps)
        m.submodules.path = path = WirePath(self._config)
        flipped = wiring.flipped(self)
        wiring.connect(m, flipped.i, router.i)
        wiring.connect(m, flipped.i_table, router.i_table)
        wiring.connect(m, router.o, path.i)
        wiring.connect(m, router.o_route, path.i_route)
        wiring.connect(m, path.o, flipped.o)
        wiring.connect(m, path.o_request, flipped.o_request)
        for name in ("i_grant", "i_look", "i_quota"):
            wiring.connect(m, getattr(flipped, name), getattr(path, name))
        did = self.pace_log.commit
        # The receiver's word on a priority begins no connection: nothing is forgotten.
        raises = (did.kind == EventKind.CONFIG) & (
            data.View(CONFIG, did.argument[: CONFIG.size]).raises
        )
        inward = ("refused", "quota", "limit", "hold")
        outward = ("calm", "ready", "look_stb", "look", "free", "shared", "log_stb", "log")
        m.d.comb += [
            *(getattr(router, name).eq(getattr(self, name)) for name in ("shim_port", "acks_pass")),
            *(getattr(path, name).eq(getattr(self, name)) for name in inward),
            *(getattr(self, name).eq(getattr(path, name)) for name in (*outward, "events")),
            path.commit_stb.eq(self.pace_log_stb & ~raises),
            *(path.commit[name].eq(did[name]) for name in ("qp", "kind")),
            path.commit.state.eq(did.row.state),
        ]
        return m
