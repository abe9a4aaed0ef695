"""What headers say, layer by layer: the logic between the parser's registers.

Ethernet and its tags choose where the IP header begins; IPv4 and IPv6 are both read there, each
with UDP and BTH in the place that it would give them, and the EtherType chooses one. All offsets
follow from `precog_spec.frames`.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate

from amaranth.hdl import Cat, Const, Mux, Value, unsigned
from amaranth.lib import data

from precog_hw.packet.fields import field, octets
from precog_hw.packet.layouts import DESCRIPTOR
from precog_spec.frames.cps import SHIM
from precog_spec.frames.descriptor import Direction, Reason
from precog_spec.frames.headers import (
    AETH,
    BTH,
    ETHERNET,
    ETHERTYPE_IPV4,
    ETHERTYPE_IPV6,
    IPV4,
    IPV4_WORDS,
    IPV6,
    IPV6_EXTENSIONS,
    MAX_TAGS,
    PROTOCOL_UDP,
    RETH,
    ROCE_PORT,
    TPIDS,
    UDP,
    VLAN,
)
from precog_spec.frames.layout import Header
from precog_spec.frames.opcodes import EXTENSIONS, extension_bytes
from precog_spec.frames.qp_key import IPV4_MAPPED

__all__ = [
    "EXTENSION",
    "IP_STOPS",
    "L3",
    "LINK",
    "NETWORK",
    "PORT_STOPS",
    "STOPS",
    "TYPES",
    "WINDOW_BYTES",
    "extension",
    "extension_field",
    "ipv4",
    "ipv6",
    "link_layer",
    "types",
]


def _places(header: Header) -> dict[int, list[int]]:
    """Byte behind the BTH where the header begins: opcodes that have it there."""
    places: dict[int, list[int]] = {}
    for opcode, headers in EXTENSIONS.items():
        begins = accumulate((other.size for other in headers), initial=0)
        for other, at in zip(headers, begins, strict=False):
            if other is header:
                places.setdefault(at, []).append(opcode)
    return places


_PLACES = {header.name: _places(header) for header in (AETH, RETH)}
#: BTH and the extension headers that the descriptor has fields of, wherever these stand.
_TRANSPORT_BYTES = BTH.size + max(
    at + header.size for header in (AETH, RETH) for at in _PLACES[header.name]
)
_EXTENSION_MAX = max(extension_bytes(opcode) for opcode in EXTENSIONS)
L3 = tuple(ETHERNET.size + n * VLAN.size for n in range(MAX_TAGS + 1))  # byte of IP, by the tags
_L3_BYTES = IPV6.size + UDP.size + SHIM.size + _TRANSPORT_BYTES
WINDOW_BYTES = L3[-1] + _L3_BYTES  # what the parser has to see of a packet
_COUNT_BITS = WINDOW_BYTES.bit_length()
_MACS = ETHERNET["source"].end

#: Reasons to stop behind Ethernet, in the order of the headers.
STOPS = (
    Reason.TRUNCATED,  # in IP
    Reason.IP_HEADER,
    Reason.IPV4_OPTIONS,
    Reason.FRAGMENT,
    Reason.IPV6_EXTENSION,
    Reason.PROTOCOL,
    Reason.TRUNCATED,  # in UDP
    Reason.PORT,
    Reason.TRUNCATED,  # in the BTH
)
IP_STOPS = 6  # the first of them, IP's
PORT_STOPS = 8  # the first of them, up to the port's

#: To which port a UDP header in a certain place would be.
_PORT = data.StructLayout({"roce": 1, "shim": 1})
_PORTS = data.ArrayLayout(_PORT, len(L3))  # by the number of tags

#: What the types and ports in fixed places are.
TYPES = data.StructLayout(
    {
        "reason": DESCRIPTOR["reason"].shape,
        "tags": data.ArrayLayout(unsigned(1), len(L3)),  # one-hot: how many
        "ipv6": data.ArrayLayout(unsigned(1), len(L3)),  # by the number of tags
        "port4": _PORTS,  # if it is IPv4
        "port6": _PORTS,
    }
)

#: Ethernet's, and everything from IP on in a fixed place.
LINK = data.StructLayout(
    {
        "reason": DESCRIPTOR["reason"].shape,
        "tags": DESCRIPTOR["tags"].shape,
        "ipv6": unsigned(1),
        "macs": unsigned(8 * _MACS),  # number whose most significant byte is the packet's first
        "behind_macs": unsigned(8 * MAX_TAGS * VLAN.size),  # as above, the next bytes
        "base": unsigned((L3[-1] + IPV6.size).bit_length()),  # byte where IP's length counts from
        "present": unsigned(_COUNT_BITS),  # how many of the bytes in `l3` the packet has
        "l3": unsigned(8 * _L3_BYTES),
        "port4": _PORT,
        "port6": _PORT,
    }
)

#: From IP to the transport's headers, each in a fixed place.
NETWORK = data.StructLayout(
    {
        "stops": unsigned(len(STOPS)),
        "length": unsigned(IPV6["payload_length"].bits),  # IP's
        "ecn": unsigned(IPV6["ecn"].bits),
        "remote": unsigned(IPV6["source"].bits),
        "local": unsigned(IPV6["source"].bits),
        "udp": unsigned(8 * UDP.size),
        "shim": unsigned(1),  # the UDP destination port is the shim's
        "behind_udp": unsigned(8 * SHIM.size),
        "transport": unsigned(8 * _TRANSPORT_BYTES),
    }
)

#: What the opcode says.
EXTENSION = data.StructLayout(
    {
        "bytes": unsigned(_EXTENSION_MAX.bit_length()),  # between BTH and payload
        "aeth": unsigned(len(_PLACES[AETH.name])),  # one bit for each place: it stands there
        "reth": unsigned(len(_PLACES[RETH.name])),
    }
)


def _counts(tagged: Sequence[Value]) -> Iterator[Value]:
    """For each number of tags whether it is the packet's."""
    all_before: Value = Const(1, 1)
    for tag in tagged:
        yield all_before & ~tag
        all_before &= tag
    yield all_before


def types(
    window: Value, last_byte: Value, shim_port: Value, *, knows_ipv6: bool
) -> dict[str, Value]:
    """`TYPES` of a window.

    Parameters
    ----------
    window : Value
        First bytes of the packet.
    last_byte : Value
        Position of the packet's last byte in it.
    shim_port : Value
        UDP destination port of packets with a shim.
    knows_ipv6 : bool
        Otherwise IPv6 is an EtherType like any other.
    """
    found = [field(window, ETHERNET, "type")]
    found += [field(window, VLAN, "type", at) for at in L3[:-1]]
    tagged = [type_.matches(*TPIDS) for type_ in found]
    is_ipv6 = [(type_ == ETHERTYPE_IPV6) & knows_ipv6 for type_ in found]
    is_ipv4 = [type_ == ETHERTYPE_IPV4 for type_ in found]

    def ports(ip: Header) -> Value:
        fields = [field(window, UDP, "destination_port", at + ip.size) for at in L3]
        return Cat(Cat(port == ROCE_PORT, port == shim_port) for port in fields)

    reason: Value = Const(Reason.VLAN_DEPTH)
    for at, tag, known in zip(
        reversed(L3),
        reversed(tagged),
        reversed([four | six for four, six in zip(is_ipv4, is_ipv6, strict=True)]),
        strict=True,
    ):
        reason = Mux(tag, reason, Mux(known, Reason.NONE, Reason.ETHERTYPE))
        reason = Mux(last_byte < at - 1, Reason.TRUNCATED, reason)
    return {
        "reason": reason,
        "tags": Cat(_counts(tagged[:MAX_TAGS])),
        "ipv6": Cat(is_ipv6),
        "port4": ports(IPV4),
        "port6": ports(IPV6),
    }


def link_layer(window: Value, last_byte: Value, types: data.View) -> dict[str, Value]:
    """`LINK` of a window.

    Parameters
    ----------
    window, last_byte : Value
        As for `types`, which gave `types`.
    """

    def behind_tags(values: Sequence[Value]) -> Value:
        """The one of `values` that belongs to the number of tags."""
        chosen: Value = Const(0, 1)
        for tag, value in zip(types.tags, values, strict=True):
            chosen |= Mux(tag, value, 0)
        return chosen

    return {
        "reason": types.reason,
        "tags": behind_tags([Const(n, 2) for n in range(MAX_TAGS + 1)]),
        "ipv6": behind_tags(list(types.ipv6)),
        "macs": octets(window, 0, _MACS),
        "behind_macs": octets(window, _MACS, _MACS + MAX_TAGS * VLAN.size),
        "base": behind_tags(
            [Mux(six, at + IPV6.size, at) for six, at in zip(types.ipv6, L3, strict=True)]
        ),
        "present": last_byte - behind_tags([Const(at - 1, _COUNT_BITS) for at in L3]),
        "l3": behind_tags([window[8 * at : 8 * (at + _L3_BYTES)] for at in L3]),
        "port4": behind_tags([port.as_value() for port in types.port4]),
        "port6": behind_tags([port.as_value() for port in types.port6]),
    }


def ipv4(link: data.View, direction: Direction) -> dict[str, Value]:
    """`NETWORK` of a packet whose EtherType is IPv4's."""
    ip = {name: field(link.l3, IPV4, name) for name in IPV4.fields}
    source, destination = (
        ip[name] | Const(IPV4_MAPPED, NETWORK["local"].shape) for name in ("source", "destination")
    )
    fragment = ip["more_fragments"] | ip["fragment_offset"].any()
    return {
        **_transport(
            link,
            IPV4,
            link.port4,
            {
                Reason.IP_HEADER: (ip["version"] != 4) | (ip["ihl"] < IPV4_WORDS),
                Reason.IPV4_OPTIONS: ip["ihl"] > IPV4_WORDS,
                Reason.FRAGMENT: fragment,
                Reason.PROTOCOL: ip["protocol"] != PROTOCOL_UDP,
            },
        ),
        "length": ip["total_length"],
        "ecn": ip["ecn"],
        "remote": source if direction is Direction.RX else destination,
        "local": destination if direction is Direction.RX else source,
    }


def ipv6(link: data.View, direction: Direction) -> dict[str, Value]:
    """`NETWORK` of a packet whose EtherType is IPv6's."""
    ip = {name: field(link.l3, IPV6, name) for name in IPV6.fields}
    source, destination = ip["source"], ip["destination"]
    return {
        **_transport(
            link,
            IPV6,
            link.port6,
            {
                Reason.IP_HEADER: ip["version"] != 6,
                Reason.IPV6_EXTENSION: ip["next_header"].matches(*IPV6_EXTENSIONS),
                Reason.PROTOCOL: ip["next_header"] != PROTOCOL_UDP,
            },
        ),
        "length": ip["payload_length"],
        "ecn": ip["ecn"],
        "remote": source if direction is Direction.RX else destination,
        "local": destination if direction is Direction.RX else source,
    }


def _transport(
    link: data.View, ip: Header, port: data.View, ip_stops: dict[Reason, Value]
) -> dict[str, Value]:
    """What follows the header `ip`, and every reason to stop."""
    at = ip.size + UDP.size
    transport = Mux(
        port.shim,
        link.l3[8 * (at + SHIM.size) : 8 * (at + SHIM.size + _TRANSPORT_BYTES)],
        link.l3[8 * at : 8 * (at + _TRANSPORT_BYTES)],
    )
    whole = at + BTH.size
    return {
        "stops": Cat(
            link.present < ip.size,
            (ip_stops.get(reason, Const(0, 1)) for reason in STOPS[1:IP_STOPS]),
            link.present < at,
            ~(port.roce | port.shim),
            Mux(port.shim, link.present < whole + SHIM.size, link.present < whole),
        ),
        "udp": link.l3[8 * ip.size : 8 * at],
        "shim": port.shim,
        "behind_udp": link.l3[8 * at : 8 * (at + SHIM.size)],
        "transport": transport,
    }


def extension(network: data.View) -> dict[str, Value]:
    """`EXTENSION` of a `NETWORK`."""
    opcode = field(network.transport, BTH, "opcode")
    return {
        "bytes": Cat(
            opcode.matches(*(code for code in EXTENSIONS if extension_bytes(code) >> bit & 1))
            for bit in range(_EXTENSION_MAX.bit_length())
        ),
        "aeth": Cat(opcode.matches(*codes) for codes in _PLACES[AETH.name].values()),
        "reth": Cat(opcode.matches(*codes) for codes in _PLACES[RETH.name].values()),
    }


def extension_field(network: data.View, found: data.View, header: Header, name: str) -> Value:
    """A field of an extension header; 0 where the packet has none.

    Parameters
    ----------
    network : View
        A `NETWORK`.
    found : View
        Its `EXTENSION`.
    header : Header
        AETH or RETH.
    name : str
        The field.
    """
    value: Value = Const(0, header[name].bits)
    for stands, at in zip(found[header.name.lower()], _PLACES[header.name], strict=True):
        value |= field(network.transport, header, name, BTH.size + at) & stands.replicate(
            header[name].bits
        )
    return value
