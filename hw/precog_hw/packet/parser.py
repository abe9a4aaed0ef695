"""The parser: watches a packet stream and says once for each packet what its headers hold.

Gateware of `precog_models.packet.parser`: the same descriptor, the same reasons in the same order.
Headers: IEEE 802.3 and 802.1Q, RFC 791, 8200 and 768, InfiniBand Architecture Specification 1 with
annex A17, as `precog_models.packet.wire.headers` declares them.
"""

from amaranth.hdl import Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.packet.fields import field, octets
from precog_hw.packet.headers import (
    IP_STOPS,
    LINK,
    NETWORK,
    PORT_STOPS,
    STOPS,
    WINDOW_BYTES,
    extension_field,
    ipv4,
    ipv6,
    link_layer,
)
from precog_hw.packet.layouts import LENGTH_BITS, PARSED, TAIL
from precog_hw.packet.window import HeaderWindow
from precog_hw.stream.packet import beat_layout
from precog_models.contract import Fmt
from precog_models.packet.wire.cps import NS_BITS, SHIM
from precog_models.packet.wire.descriptor import Direction, Reason
from precog_models.packet.wire.headers import (
    AETH,
    BTH,
    CNP_PAYLOAD,
    ICRC_BYTES,
    IPV4,
    RETH,
    UDP,
)

__all__ = ["Parser"]

_FIXED = UDP.size + BTH.size + ICRC_BYTES  # of the UDP length, besides shim and extensions
_SUM = signed(IPV4["total_length"].bits + 1)

#: What stages only pass on.
_BESIDE = data.StructLayout({"time": unsigned(Fmt.TIME.width), "ns": unsigned(NS_BITS)})

#: The second stage's registers.
_MIDDLE = data.StructLayout(
    {
        **{name: LINK[name].shape for name in ("reason", "tags", "ipv6", "macs", "behind_macs")},
        "network": NETWORK,
        "ip_checksum": unsigned(IPV4["checksum"].bits),
        "end": unsigned(LENGTH_BITS),  # if IP is understood
        "ip_payload": _SUM,
        "room": _SUM,  # UDP's bytes for extension headers, payload and padding
        "beside": _BESIDE,
    }
)

#: A packet's last beat.
_END = data.StructLayout({"stb": 1, "error": 1, "length": unsigned(LENGTH_BITS + 1)})


def _assign(view: data.View, values: dict[str, Value]) -> list[object]:
    """Statements that give each field of `view` its value."""
    return [view[name].eq(values[name]) for name in dict(view.shape())]


def _middle(link: data.View, network: data.View, beside: data.View) -> dict[str, Value]:
    """`_MIDDLE`: the version of IP is chosen; sums of lengths that need nothing else."""
    passed = ("reason", "tags", "ipv6", "macs", "behind_macs")
    return {
        **{name: link[name] for name in passed},
        "network": network,
        "ip_checksum": field(link.l3, IPV4, "checksum"),
        "end": link.base + network.length,
        "ip_payload": network.length - Mux(link.ipv6, 0, IPV4.size),
        "room": field(network.udp, UDP, "length") - Mux(network.shim, _FIXED + SHIM.size, _FIXED),
        "beside": beside,
    }


def _headers(middle: data.View) -> dict[str, Value]:
    """`HEADERS`."""
    network = middle.network
    resv = BTH["fecn"].byte
    return {
        "macs": middle.macs,
        "tags": middle.behind_macs,
        "local": network.local,
        "ip_length": network.length,
        "ip_checksum": middle.ip_checksum,
        "udp_source": field(network.udp, UDP, "source_port"),
        "udp_length": field(network.udp, UDP, "length"),
        "udp_checksum": field(network.udp, UDP, "checksum"),
        "shim": octets(network.behind_udp, 0, SHIM.size),
        "resv": octets(network.transport, resv, resv + 2),
        "cnp": octets(network.transport, BTH.size, BTH.size + CNP_PAYLOAD["score"].end),
    }


class Parser(wiring.Component):
    """Watches a packet stream; a descriptor and header words as soon as the headers have passed.

    ::

        beat ─► window ─► tags out, ─► IPv4 or IPv6, ─► lengths, ─► o
                │         which IP?    shim out,        reason
                │                      opcode            │ end
                └► length ───────────────────────────────┴───────► tail

    Latency: `LATENCY` = 4 cycles. `o` from the beat that completes the header window (the packet's
    last, or the one that brings byte `WINDOW_BYTES` - 1 = 109), `tail` from the packet's last beat:
    a packet's tail comes together with its `o` or later. `o` does not wait for the packet's end.
    Throughput: one beat per cycle, and one packet per cycle where packets are single beats.
    Cost: 3708 LUT4 and 3699 flip-flops at 64 bits, 3728 and 3696 at 512 (ECP5), most of them three
    copies of the header window: fields can be picked only in the order of the headers.

    Parameters
    ----------
    width : int
        Bits of a beat: 8, 64, 128, 256 or 512.
    direction : Direction
        Says which of the addresses is the peer's.

    Members
    -------
    beat : In(beat_layout(width))
        The stream's payload; the parser never refuses one.
    taken : In(1)
        The beat is transferred in this cycle.
    now : In(40)
        Ticks; `o.time` is its value when the packet's first beat was taken.
    now_ns : In(40)
        Nanoseconds; `o.ns` likewise.
    shim_port : In(16)
        UDP destination port of packets with a shim, looked at in the cycle after the beat that
        completes the window.
    o : Out(PARSED)
        Stays until the next `o_valid`. `headers.tags` are the bytes behind the addresses whether
        tags or not; `ip_checksum` without IPv4 and `shim` without a shim are any bytes.
    o_valid : Out(1)
        One cycle for each packet.
    tail : Out(TAIL)
    tail_valid : Out(1)
        One cycle for each packet.

    Raises
    ------
    ValueError
        `width` is not one of `precog_hw.stream.packet.WIDTHS`.
    """

    LATENCY = 4

    beat: data.View
    taken: Signal
    now: Signal
    now_ns: Signal
    shim_port: Signal
    o: data.View
    o_valid: Signal
    tail: data.View
    tail_valid: Signal

    def __init__(self, width: int, direction: Direction) -> None:
        self._width = width
        self._direction = direction
        super().__init__(
            {
                "beat": In(beat_layout(width)),
                "taken": In(1),
                "now": In(Fmt.TIME.width),
                "now_ns": In(NS_BITS),
                "shim_port": In(16),
                "o": Out(PARSED),
                "o_valid": Out(1),
                "tail": Out(TAIL),
                "tail_valid": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.window = window = HeaderWindow(self._width, WINDOW_BYTES)
        m.d.comb += [
            window.beat.eq(self.beat),
            window.taken.eq(self.taken),
            window.now.eq(self.now),
            window.now_ns.eq(self.now_ns),
        ]

        # First registers: the window is read in the only cycle in which it is whole.
        link, link_beside, link_stb = Signal(LINK), Signal(_BESIDE), Signal()
        place = window.last_byte[: link.present.shape().width]
        m.d.sync += link_stb.eq(window.o_stb)
        with m.If(window.o_stb):
            m.d.sync += [
                *_assign(link, link_layer(window.o, place, self.shim_port)),
                link_beside.time.eq(window.time),
                link_beside.ns.eq(window.ns),
            ]

        # Second registers: IPv4 or IPv6, each with the transport where its own port puts it.
        four, six, network = Signal(NETWORK), Signal(NETWORK), Signal(NETWORK)
        middle, middle_stb = Signal(_MIDDLE), Signal()
        m.d.comb += [
            *_assign(four, ipv4(link, self._direction)),
            *_assign(six, ipv6(link, self._direction)),
            network.eq(Mux(link.ipv6, six, four)),
        ]
        m.d.sync += middle_stb.eq(link_stb)
        with m.If(link_stb):
            m.d.sync += _assign(middle, _middle(link, network, link_beside))

        # Third registers, the outputs.
        understood = Signal()  # middle.end is the packet's
        m.d.comb += understood.eq(
            (middle.reason == Reason.NONE) & ~middle.network.stops[:IP_STOPS].any()
        )
        m.d.sync += self.o_valid.eq(middle_stb)
        with m.If(middle_stb):
            m.d.sync += [
                *self._descriptor(middle),
                *_assign(self.o.headers, _headers(middle)),
                self.o.end.eq(Mux(understood, middle.end, 0)),
                self.o.time.eq(middle.beside.time),
                self.o.ns.eq(middle.beside.ns),
            ]

        # The packet's end keeps step with the stages above; `middle` stays until the next packet's.
        ends = [Signal(_END, name="end_link"), Signal(_END, name="end_middle")]
        m.d.sync += [
            ends[0].stb.eq(window.last_stb),
            ends[0].error.eq(window.error),
            ends[0].length.eq(window.last_byte + 1),
            ends[1].eq(ends[0]),
            self.tail_valid.eq(ends[1].stb),
            self.tail.error.eq(ends[1].error | (understood & (middle.end > ends[1].length))),
        ]
        return m

    def _descriptor(self, middle: data.View) -> list[object]:
        """Assignments to `o.descriptor`: lengths agree or not, so the reason is final."""
        o, network = self.o.descriptor, middle.network
        left = middle.room - network.extension
        # Extension headers are whole words, so that the padding's two bits fit below.
        payload = middle.room - (network.extension | field(network.transport, BTH, "pad"))
        wrong = (field(network.udp, UDP, "length") != middle.ip_payload) | (left < 0)
        reason: Value = Mux(wrong, Reason.LENGTH, Reason.NONE)
        for stop, bit in zip(reversed(STOPS), reversed(network.stops), strict=True):
            reason = Mux(bit, stop, reason)
        before = middle.reason != Reason.NONE
        values = {
            "direction": Const(self._direction, 1),
            "shim": network.shim & ~before & ~network.stops[:PORT_STOPS].any(),
            "reason": Mux(before, middle.reason, reason),
            "ipv6": middle.ipv6,
            "tags": middle.tags,
            "ecn": network.ecn,
            "remote": network.remote,
            **{
                name: field(network.transport, BTH, name)
                for name in ("opcode", "dest_qp", "psn", "ack_req")
            },
            "payload": Mux(payload < 0, 0, payload),
            "syndrome": extension_field(network, AETH, "syndrome"),
            "msn": extension_field(network, AETH, "msn"),
            "dma_length": extension_field(network, RETH, "dma_length"),
        }
        return _assign(o, values)
