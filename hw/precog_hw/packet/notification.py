"""DCQCN's notification point: CNPs for marked data, at most one per slot in N ticks.

DCQCN (004); rules are those of `precog_models.packet.cnp`.
"""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.packet.cnp_builder import CnpBuilder
from precog_hw.packet.cnp_limiter import CnpLimiter, remote_qp_layout, request_layout
from precog_hw.packet.layouts import CNP_CONFIG
from precog_hw.stream.packet import packet_signature
from precog_spec.contract import Fmt

__all__ = ["NotificationPoint"]


class NotificationPoint(wiring.Component):
    """Requests in, CNPs out.

    ::

        request ─► `CnpLimiter` ─► [8 jobs] ─► `CnpBuilder` ─► CNP

    Latency: 5 cycles and those of `CnpBuilder` from a request to its CNP's first beat, if no other
    waits. Throughput: one request per cycle; CNPs as fast as `CnpBuilder` makes them, and what is
    due while 9 are under way is `busy`: the slot's next marked packet asks again. Cost: at 64
    bits and 1024 slots 2370 LUT4, 244 TRELLIS_DPR16X4, 804 FF and 5 block RAMs, at 512 bits
    2337 LUT4, 356 TRELLIS_DPR16X4 and 751 FF.

    Parameters
    ----------
    width : int
        Bits of a beat.
    slots : int
        Queue pairs, a power of two.
    relaxed : bool
        Queues as `Queue` with `block`, a cycle longer each.
    ipv6 : bool
        As `CnpLimiter`.

    Members
    -------
    i_request : In(stream.Signature(request_layout(slots), always_ready=True))
        Every received packet at its end.
    i_remote : In(stream.Signature(remote_qp_layout(slots), always_ready=True))
        Writes of the host. No slot has a remote QPN at first.
    o : Out(packet_signature(width))
        CNPs for the wire; see `CnpBuilder`.
    config : In(CNP_CONFIG)
        Registers.
    now : In(40)
        Ticks, for the CNPs' `user`.
    sent, limited, unknown, busy : Out(1)
        Strobes: exactly one for a request that is marked data, 5 cycles later.

    Raises
    ------
    ValueError
        `width` is not one of `WIDTHS`, or `slots` is not a power of two.
    """

    i_request: stream.Interface
    i_remote: stream.Interface
    o: stream.Interface
    config: data.View
    now: Signal
    sent: Signal
    limited: Signal
    unknown: Signal
    busy: Signal

    def __init__(self, width: int, slots: int, *, relaxed: bool = False, ipv6: bool = True) -> None:
        self._limiter = CnpLimiter(slots, relaxed=relaxed, ipv6=ipv6)
        self._builder = CnpBuilder(width)
        super().__init__(
            {
                "i_request": In(stream.Signature(request_layout(slots), always_ready=True)),
                "i_remote": In(stream.Signature(remote_qp_layout(slots), always_ready=True)),
                "o": Out(packet_signature(width)),
                "config": In(CNP_CONFIG),
                "now": In(Fmt.TIME.width),
                "sent": Out(1),
                "limited": Out(1),
                "unknown": Out(1),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.limiter = limiter = self._limiter
        m.submodules.builder = builder = self._builder
        wiring.connect(m, wiring.flipped(self.i_request), limiter.i_request)
        wiring.connect(m, wiring.flipped(self.i_remote), limiter.i_remote)
        wiring.connect(m, limiter.o_job, builder.i_job)
        wiring.connect(m, builder.o, wiring.flipped(self.o))
        m.d.comb += [
            limiter.config.eq(self.config),
            builder.config.eq(self.config),
            builder.now.eq(self.now),
            self.sent.eq(limiter.sent),
            self.limited.eq(limiter.limited),
            self.unknown.eq(limiter.unknown),
            self.busy.eq(limiter.busy),
        ]
        return m
