"""The parser: watches a packet stream and says once for each packet what its headers hold.

Gateware of `precog_models.packet.parser`: the same descriptor, the same reasons in the same order.
Headers: IEEE 802.3 and 802.1Q, RFC 791, 8200 and 768, InfiniBand Architecture Specification 1 with
annex A17, as `precog_spec.frames.headers` declares them.
"""

from itertools import pairwise
from typing import Any

from amaranth.hdl import Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.packet.fields import field, octets
from precog_hw.packet.headers import (
    EXTENSION,
    IP_STOPS,
    LINK,
    NETWORK,
    PORT_STOPS,
    STOPS,
    TYPES,
    WINDOW_BYTES,
    extension,
    extension_field,
    ipv4,
    ipv6,
    link_layer,
    types,
)
from precog_hw.packet.layouts import HEADERS, LENGTH_BITS, PARSED, TAIL
from precog_hw.packet.window import HeaderWindow
from precog_hw.stream.packet import beat_layout
from precog_spec.contract import Fmt
from precog_spec.frames.cps import NS_BITS, SHIM
from precog_spec.frames.descriptor import Direction, Reason
from precog_spec.frames.headers import AETH, BTH, CNP_PAYLOAD, ICRC_BYTES, IPV4, RETH, UDP

__all__ = ["Parser"]

_FIXED = UDP.size + BTH.size + ICRC_BYTES  # of the UDP length, besides shim and extensions
_SUM = signed(IPV4["total_length"].bits + 1)

#: What stages only pass on.
_STAMPS = data.StructLayout({"time": unsigned(Fmt.TIME.width), "ns": unsigned(NS_BITS)})

#: What is known when IPv4 or IPv6 is chosen; it passes on.
_CHOSEN = data.StructLayout(
    {
        **{name: LINK[name].shape for name in ("reason", "tags", "ipv6", "macs", "behind_macs")},
        "network": NETWORK,
        "ip_head": HEADERS["ip_head"].shape,
        "ip_checksum": unsigned(IPV4["checksum"].bits),
        "base": LINK["base"].shape,
        "stamps": _STAMPS,
    }
)

#: The registers before the last: what follows from the choice.
_MIDDLE = data.StructLayout(
    {
        "chosen": _CHOSEN,
        "extension": EXTENSION,
        "end": unsigned(LENGTH_BITS),  # if IP is understood
        "understood": unsigned(1),
        "ip_payload": _SUM,
        "room": _SUM,  # UDP's bytes for extension headers, payload and padding
    }
)

#: A packet's last beat.
_END = data.StructLayout({"stb": 1, "error": 1, "length": unsigned(LENGTH_BITS + 1)})


def _assign(view: data.View, values: dict[str, Value]) -> list[object]:
    """Statements that give each field of `view` its value."""
    return [view[name].eq(values[name]) for name in dict(view.shape())]


def _chosen(link: data.View, network: data.View, stamps: data.View) -> dict[str, Value]:
    """`_CHOSEN`."""
    passed = ("reason", "tags", "ipv6", "macs", "behind_macs", "base")
    return {
        **{name: link[name] for name in passed},
        "network": network,
        "ip_head": octets(link.l3, 0, 2),
        "ip_checksum": field(link.l3, IPV4, "checksum"),
        "stamps": stamps,
    }


def _middle(chosen: data.View, found: data.View) -> dict[str, Value]:
    """`_MIDDLE`: sums of lengths that need nothing else."""
    network = chosen.network
    fixed = Mux(network.shim, _FIXED + SHIM.size, _FIXED)
    return {
        "chosen": chosen,
        "extension": found,
        "end": chosen.base + network.length,
        "understood": (chosen.reason == Reason.NONE) & ~network.stops[:IP_STOPS].any(),
        "ip_payload": network.length - Mux(chosen.ipv6, 0, IPV4.size),
        "room": field(network.udp, UDP, "length") - fixed,
    }


def _headers(chosen: data.View) -> dict[str, Value]:
    """`HEADERS`."""
    network = chosen.network
    resv = BTH["fecn"].byte
    return {
        "macs": chosen.macs,
        "tags": chosen.behind_macs,
        "local": network.local,
        "ip_head": chosen.ip_head,
        "ip_length": network.length,
        "ip_checksum": chosen.ip_checksum,
        "udp_source": field(network.udp, UDP, "source_port"),
        "udp_length": field(network.udp, UDP, "length"),
        "udp_checksum": field(network.udp, UDP, "checksum"),
        "shim": octets(network.behind_udp, 0, SHIM.size),
        "resv": octets(network.transport, resv, resv + 2),
        "cnp": octets(network.transport, BTH.size, BTH.size + CNP_PAYLOAD["score"].end),
    }


class _Registers:
    """What each stage leaves for the next, in the order of the stages.

    All but the strobes take something in every cycle, because hundreds of them with one enable
    would need long wires; data without a strobe is ignored. In the relaxed form, whose clock has
    time for such wires, the window stays, and so does what follows from it.
    """

    def __init__(self, window: data.View, *, relaxed: bool) -> None:
        self.stays = Const(relaxed)
        # The window counts in the only cycle in which it is whole.
        self.whole = Signal.like(window, reset_less=True)
        self.place = Signal(LINK["present"].shape, reset_less=True)
        self.found = Signal(TYPES, reset_less=True)
        self.stamps = Signal(_STAMPS, reset_less=True)
        self.found_stb = Signal()
        # The tags are out.
        self.link = Signal(LINK, reset_less=True)
        self.link_stamps = Signal(_STAMPS, reset_less=True)
        self.link_stb = Signal()
        # IPv4 or IPv6.
        self.chosen = Signal(_CHOSEN, reset_less=True)
        self.chosen_stb = Signal()
        # What follows from that.
        self.middle = Signal(_MIDDLE, reset_less=True)
        self.middle_stb = Signal()
        # For the packet's end, which comes together with `middle` or much later.
        self.understood = Signal()
        self.end = Signal(LENGTH_BITS)


class Parser(wiring.Component):
    """Watches a packet stream; a descriptor and header words as soon as the headers have passed.

    ::

        beat ─► window ─► types, ─► tags out ─► IPv4 or IPv6, ─► opcode, ─► reason ─► o
                │         ports                 shim out         lengths
                │                                                 │ end
                └► length ────────────────────────────────────────┴─────────────► tail

    Latency: `LATENCY` = 7 cycles, `relaxed` 5. `o` from the beat that ends the window (the packet's
    last, or the one that brings byte `WINDOW_BYTES` - 1 = 109), `tail` from the packet's last beat:
    a packet's tail comes together with its `o` or later. `o` does not wait for the packet's end.
    Throughput: one beat per cycle, and one packet per cycle where packets are single beats.
    Cost: 2673 LUT4 and 5749 flip-flops at 64 bits, 3441 and 6182 at 512 (ECP5), most of them three
    copies of the header window: fields can be picked only in the order of the headers.

    Parameters
    ----------
    width : int
        Bits of a beat: 8, 64, 128, 256 or 512.
    direction : Direction
        Says which of the addresses is the peer's.
    relaxed : bool
        One packet at a time, for slow clocks: no packet begins while `o` of the one before is still
        read. `o` stays from `o_valid` until the third cycle after the next packet's
        first beat. Without the second and the fourth registers, and those of what stays.
    ipv6 : bool
        Whether IPv6 packets are understood. Otherwise all but 32 bits of the addresses are
        constants, which synthesis removes here and wherever they go.

    Attributes
    ----------
    latency : int
        Cycles.

    Members
    -------
    beat : In(beat_layout(width))
        The stream's payload; the parser never refuses one.
    taken : In(1)
        The beat is transferred in this cycle.
    now : In(40)
        Ticks; `o.time` is its value when the packet's first beat was taken.
    now_ns : In(40)
        Nanoseconds; `o.ns` is its value in the same cycle.
    shim_port : In(16)
        UDP destination port of packets with a shim, looked at in the second cycle after the beat
        that completes the window.
    o : Out(PARSED)
        With `o_valid`, in no other cycle. `headers.tags` are the bytes behind the addresses whether
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

    LATENCY = 7

    beat: data.View
    taken: Signal
    now: Signal
    now_ns: Signal
    shim_port: Signal
    o: data.View
    o_valid: Signal
    tail: data.View
    tail_valid: Signal

    def __init__(
        self, width: int, direction: Direction, *, relaxed: bool = False, ipv6: bool = True
    ) -> None:
        self._width = width
        self._direction = direction
        self._relaxed = relaxed
        self._ipv6 = ipv6
        self.latency = self.latency_of(relaxed=relaxed)
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

    @classmethod
    def latency_of(cls, *, relaxed: bool) -> int:
        """Cycles, with all registers or without some."""
        return cls.LATENCY - 2 * relaxed

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.window = window = HeaderWindow(self._width, WINDOW_BYTES)
        m.d.comb += [
            window.beat.eq(self.beat),
            window.taken.eq(self.taken),
            window.now.eq(self.now),
            window.now_ns.eq(self.now_ns),
        ]
        at = _Registers(window.o, relaxed=self._relaxed)
        self._find_types(m, at, window)
        self._remove_tags(m, at)
        self._choose_network(m, at)
        self._extend(m, at)
        self._give(m, at)
        self._follow_end(m, at, window)
        return m

    def _passing(self, m: Module) -> Any:
        """The domain of registers that the relaxed form does without."""
        return m.d.comb if self._relaxed else m.d.sync

    def _find_types(self, m: Module, at: _Registers, window: HeaderWindow) -> None:
        """First registers: the window, and which headers follow its addresses."""
        passing = self._passing(m)
        passing += at.whole.eq(window.o)
        m.d.sync += [
            at.found_stb.eq(window.o_stb),
            at.place.eq(window.last_byte),
            *_assign(
                at.found,
                types(
                    window.o,
                    window.last_byte[: len(at.place)],
                    self.shim_port,
                    knows_ipv6=self._ipv6,
                ),
            ),
            at.stamps.time.eq(window.time),
            at.stamps.ns.eq(window.ns),
        ]

    def _remove_tags(self, m: Module, at: _Registers) -> None:
        """Second registers: the tags are out."""
        passing = self._passing(m)
        passing += [
            at.link_stb.eq(at.found_stb),
            *_assign(at.link, link_layer(at.whole, at.place, at.found)),
            at.link_stamps.eq(at.stamps),
        ]

    def _choose_network(self, m: Module, at: _Registers) -> None:
        """Third registers: IPv4 or IPv6, each with the transport where its own port puts it."""
        four, six, network = Signal(NETWORK), Signal(NETWORK), Signal(NETWORK)
        m.d.comb += [
            *_assign(four, ipv4(at.link, self._direction)),
            *_assign(six, ipv6(at.link, self._direction)),
            network.eq(Mux(at.link.ipv6, six, four)),
        ]
        m.d.sync += at.chosen_stb.eq(at.link_stb)
        with m.If(at.link_stb | ~at.stays):
            m.d.sync += _assign(at.chosen, _chosen(at.link, network, at.link_stamps))

    def _extend(self, m: Module, at: _Registers) -> None:
        """Fourth registers: what follows from the choice."""
        passing = self._passing(m)
        extended = Signal(EXTENSION)
        m.d.comb += _assign(extended, extension(at.chosen.network))
        middle_of = _middle(at.chosen, extended)
        passing += [at.middle_stb.eq(at.chosen_stb), *_assign(at.middle, middle_of)]
        if self._relaxed:
            m.d.comb += [at.understood.eq(at.middle.understood), at.end.eq(at.middle.end)]
        else:
            with m.If(at.chosen_stb):
                m.d.sync += [at.understood.eq(middle_of["understood"]), at.end.eq(middle_of["end"])]

    def _give(self, m: Module, at: _Registers) -> None:
        """The last registers, the outputs."""
        passing = self._passing(m)
        descriptor = Signal(PARSED["descriptor"].shape, reset_less=True)
        frame_end = Signal(LENGTH_BITS, reset_less=True)
        late, late_stamps = Signal(HEADERS, reset_less=True), Signal(_STAMPS, reset_less=True)
        m.d.comb += [
            self.o.descriptor.eq(descriptor),
            self.o.headers.eq(late),
            self.o.end.eq(frame_end),
            self.o.time.eq(late_stamps.time),
            self.o.ns.eq(late_stamps.ns),
        ]
        m.d.sync += self.o_valid.eq(at.middle_stb)
        with m.If(at.middle_stb | ~at.stays):
            m.d.sync += [
                *self._descriptor(descriptor, at.middle),
                frame_end.eq(Mux(at.middle.understood, at.middle.end, 0)),
            ]
        passing += [
            *_assign(late, _headers(at.middle.chosen)),
            late_stamps.eq(at.middle.chosen.stamps),
        ]

    def _follow_end(self, m: Module, at: _Registers, window: HeaderWindow) -> None:
        """The packet's end keeps step with the stages above."""
        ends = [
            Signal(_END, name=f"end{n}") for n in range(self.latency - HeaderWindow.LATENCY - 1)
        ]
        m.d.sync += [
            ends[0].stb.eq(window.last_stb),
            ends[0].error.eq(window.error),
            ends[0].length.eq(window.last_byte + 1),
            *(late.eq(end) for end, late in pairwise(ends)),
            self.tail_valid.eq(ends[-1].stb),
            self.tail.error.eq(ends[-1].error | (at.understood & (at.end > ends[-1].length))),
        ]

    def _descriptor(self, o: data.View, middle: data.View) -> list[object]:
        """Assignments to the descriptor: lengths agree or not, so the reason is final."""
        chosen, network = middle.chosen, middle.chosen.network
        left = middle.room - middle.extension.bytes
        # Extension headers are whole words, so that the padding's two bits fit below.
        payload = middle.room - (middle.extension.bytes | field(network.transport, BTH, "pad"))
        wrong = (field(network.udp, UDP, "length") != middle.ip_payload) | (left < 0)
        reason: Value = Mux(wrong, Reason.LENGTH, Reason.NONE)
        for stop, bit in zip(reversed(STOPS), reversed(network.stops), strict=True):
            reason = Mux(bit, stop, reason)
        before = chosen.reason != Reason.NONE
        values = {
            "direction": Const(self._direction, 1),
            "shim": network.shim & ~before & ~network.stops[:PORT_STOPS].any(),
            "reason": Mux(before, chosen.reason, reason),
            "ipv6": chosen.ipv6,
            "tags": chosen.tags,
            "ecn": network.ecn,
            "remote": network.remote,
            **{
                name: field(network.transport, BTH, name)
                for name in ("opcode", "dest_qp", "psn", "ack_req")
            },
            "payload": Mux(payload < 0, 0, payload),
            "syndrome": extension_field(network, middle.extension, AETH, "syndrome"),
            "msn": extension_field(network, middle.extension, AETH, "msn"),
            "dma_length": extension_field(network, middle.extension, RETH, "dma_length"),
        }
        return _assign(o, values)
