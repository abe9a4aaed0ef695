"""Wire mode in one block: packets and whose they are in, paced packets out."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.store.layouts import StoreConfig
from precog_hw.stream.packet import packet_signature
from precog_spec.contract import PRIORITIES, Fmt

from .expiry import PERIOD_BITS
from .layouts import (
    EventKind,
    ack_layout,
    commit_layout,
    config_layout,
    rate_layout,
    window_layout,
)
from .pacer import Pacer
from .pipeline import OVERHEAD_BITS
from .wire_path import WirePath, route_layout, store_members, tell

__all__ = ["Wire"]


class Wire(wiring.Component):
    """`WirePath` and a pacer: packets and their queue pairs in, paced packets out.

    A packet is charged for its bytes and `overhead`; at the pacer's rate, one at a time. What
    `i_route` says `counts` waits for its queue pair's window, too.

    Latency: 51 cycles from a packet's last beat to its first at the output if its queue pair is
    idle. Throughput: a beat per cycle; a packet in 4 cycles, of one queue pair in 48. Cost:
    `Pacer`, `WirePath`.

    Parameters
    ----------
    config : StoreConfig
    slots : int, optional
        As `Pacer`.
    dsp : str
        `NicConfig.dsp`.
    relaxed : bool, optional
        As `Pacer` and `WirePath`.

    Members
    -------
    i, o, i_route, hold, i_look, look_stb, look, i_quota, quota, limit, free, shared, log_stb, log,
    events
        Of `WirePath`.
    i_rate, i_window, i_ack, i_config, pause, overhead, now, expiry
        Of `Pacer`.
    pace_log_stb, pace_log : Out
        Each event of the pacer as it takes effect.
    ready : Out(1)
    """

    i: stream.Interface
    o: stream.Interface
    i_route: stream.Interface
    i_config: stream.Interface

    def __init__(
        self,
        config: StoreConfig,
        *,
        slots: int | None = None,
        dsp: str = "generic",
        relaxed: bool = False,
    ) -> None:
        self._config, self._relaxed = config, relaxed
        self._pacer = Pacer(config.qps, slots=slots, dsp=dsp, whole=True, relaxed=relaxed)
        qps = config.qps
        super().__init__(
            {
                "i": In(packet_signature(config.width)),
                "o": Out(packet_signature(config.width)),
                "i_route": In(stream.Signature(route_layout(qps))),
                "i_rate": In(stream.Signature(rate_layout(qps))),
                "i_window": In(stream.Signature(window_layout(qps))),
                "i_ack": In(stream.Signature(ack_layout(qps))),
                "i_config": In(stream.Signature(config_layout(qps))),
                "pause": In(PRIORITIES),
                "overhead": In(OVERHEAD_BITS),
                "now": In(Fmt.TIME.width),
                "expiry": In(PERIOD_BITS),
                "ready": Out(1),
                "pace_log_stb": Out(1),
                "pace_log": Out(commit_layout(qps)),
                **store_members(config),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.path = path = WirePath(self._config, relaxed=self._relaxed)
        m.submodules.pacer = pacer = self._pacer
        flipped = wiring.flipped(self)
        for name in ("i", "i_route", "i_look", "i_quota"):
            wiring.connect(m, getattr(flipped, name), getattr(path, name))
        wiring.connect(m, path.o, flipped.o)
        for name in ("i_rate", "i_window", "i_ack"):
            wiring.connect(m, getattr(flipped, name), getattr(pacer, name))
        wiring.connect(m, path.o_request, pacer.i_request)
        wiring.connect(m, pacer.o_grant, path.i_grant)
        did = pacer.commit.payload
        outward = ("look_stb", "look", "free", "shared", "log_stb", "log", "events")
        m.d.comb += [
            *(getattr(self, name).eq(getattr(path, name)) for name in outward),
            *(getattr(path, name).eq(getattr(self, name)) for name in ("quota", "limit", "hold")),
            *(
                getattr(pacer, n).eq(getattr(self, n))
                for n in ("pause", "overhead", "now", "expiry")
            ),
            self.ready.eq(path.ready & pacer.ready),
            path.window_events.eq(Cat(pacer.shuts, pacer.waits, pacer.expires)),
            path.commit_stb.eq(pacer.commit.valid),
            *tell(path.commit, did),
            self.pace_log_stb.eq(pacer.commit.valid),
            self.pace_log.eq(pacer.commit.payload),
        ]
        # One connection at a time: what it makes the pacer forget is asked for before the next.
        begins = Signal()
        done = pacer.commit.valid & (did.kind == EventKind.CONFIG)
        m.d.comb += [
            pacer.i_config.payload.eq(self.i_config.payload),
            pacer.i_config.valid.eq(self.i_config.valid & path.calm & ~begins),
            self.i_config.ready.eq(pacer.i_config.ready & path.calm & ~begins),
        ]
        with m.If(pacer.i_config.valid & pacer.i_config.ready):
            m.d.sync += begins.eq(1)
        with m.Elif(done):
            m.d.sync += begins.eq(0)
        return m
