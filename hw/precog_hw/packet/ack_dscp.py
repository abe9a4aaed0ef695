"""The DSCP of acknowledgements to the wire.

Gateware of `precog_models.packet.cps_tx.put_dscp`. RFC 2474 and 3168: the DSCP and the two ECN
bits, which stay, are IPv4's second byte; in IPv6 they stand four bits earlier.
"""

from amaranth.hdl import Cat, Mux, Value, signed, unsigned
from amaranth.lib import data

from precog_spec.frames.headers import IPV4, IPV6
from precog_spec.frames.layout import Header
from precog_spec.frames.opcodes import PLAIN_ACKNOWLEDGES

from .layouts import HEADERS

__all__ = ["REMARK", "remark"]

#: What becomes of a packet's DSCP.
REMARK = data.StructLayout(
    {
        "writes": unsigned(1),
        "ip_head": HEADERS["ip_head"].shape,  # with the new one
        "step": signed(IPV4["dscp"].bits + 1),  # new less old, 0 without `writes`; IPv4 only
    }
)


def remark(waiting: data.View, config: data.View) -> dict[str, Value]:
    """`REMARK` of a packet: its fields and their values.

    Parameters
    ----------
    waiting : View
        `eligible`, `opcode`, `ipv6` and `ip_head` of the packet.
    config : View
        A `CPS_CONFIG`.
    """
    writes = waiting.eligible & waiting.opcode.matches(*PLAIN_ACKNOWLEDGES) & config.ack_enabled
    old = waiting.ip_head[_lowest(IPV4) :][: len(config.ack_dscp)]
    return {
        "writes": writes,
        "ip_head": Mux(waiting.ipv6, _with(waiting, config, IPV6), _with(waiting, config, IPV4)),
        "step": Mux(writes, config.ack_dscp - old, 0),
    }


def _lowest(ip: Header) -> int:
    """Number of the DSCP's lowest bit in the header's first two bytes."""
    lowest: int = HEADERS["ip_head"].width - ip["dscp"].offset - ip["dscp"].bits
    return lowest


def _with(waiting: data.View, config: data.View, ip: Header) -> Value:
    """The header's first two bytes with the registers' DSCP."""
    at, head = _lowest(ip), waiting.ip_head
    return Cat(head[:at], config.ack_dscp, head[at + len(config.ack_dscp) :])
