"""What passes between the packet path's blocks."""

from amaranth.hdl import unsigned
from amaranth.lib import data, enum

from precog_hw.csr.layouts import registers_layout
from precog_spec.contract import Fmt
from precog_spec.frames.cps import NS_BITS, SHIM
from precog_spec.frames.descriptor import DESCRIPTOR_FIELDS
from precog_spec.registers.model import Access
from precog_spec.registers.packet import PACKET_PARAMETERS
from precog_spec.registers.senders import SENDERS_PARAMETERS

__all__ = [
    "BECN_AT",
    "CARD_CONFIG",
    "CNP_CONFIG",
    "CPS_CONFIG",
    "DESCRIPTOR",
    "EDIT",
    "HEADERS",
    "LENGTH_BITS",
    "PARSED",
    "TAIL",
    "TRUST_CONFIG",
    "Edit",
]

BECN_AT = 14  # of `resv` in `HEADERS`
LENGTH_BITS = 17  # bytes up to the end of the IP packet: 16 bits of IP length and what is before

#: The golden parser's descriptor but for `error`, which only the end of the frame decides.
DESCRIPTOR = data.StructLayout(
    {name: unsigned(bits) for name, bits in DESCRIPTOR_FIELDS if name != "error"}
)

#: Words of the headers that later stages change or answer. Bytes in order of transmission, the
#: first in the most significant place, so that a word has the value that the standards give it.
HEADERS = data.StructLayout(
    {
        "macs": unsigned(96),  # destination, source
        "tags": unsigned(64),  # what follows the addresses: two VLAN tags, TPID first
        "local": unsigned(128),  # our address; the descriptor has the peer's
        "ip_head": unsigned(16),  # IP's first two bytes: DSCP and ECN among them
        "ip_length": unsigned(16),  # IPv4 total length, IPv6 payload length
        "ip_checksum": unsigned(16),  # IPv4 only
        "udp_source": unsigned(16),
        "udp_length": unsigned(16),
        "udp_checksum": unsigned(16),
        "shim": unsigned(8 * SHIM.size),  # the eight bytes behind UDP, if it is the shim's port
        "resv": unsigned(16),  # BTH bytes 4 and 5: FECN, BECN, resv6, upper byte of DestQP
        "cnp": unsigned(16),  # the two bytes behind the BTH: a CNP's mark and score
    }
)

#: One packet as the parser gives it. With a reason the fields after it are not to be looked at,
#: but for `time` and `ns`; `end` counts where the IP header was understood, otherwise it is 0.
PARSED = data.StructLayout(
    {
        "descriptor": DESCRIPTOR,
        "end": unsigned(LENGTH_BITS),  # byte behind the ICRC, from the frame's first
        "headers": HEADERS,
        "time": unsigned(Fmt.TIME.width),  # ticks, when the frame's first beat was taken
        "ns": unsigned(NS_BITS),  # as above
    }
)

#: The end of a packet.
TAIL = data.StructLayout(
    {
        "error": unsigned(1),  # the stream's error flag, or the frame ends before `end`
    }
)


_REGISTERS = registers_layout(PACKET_PARAMETERS, Access.RW)


def _chosen(*names: str) -> data.StructLayout:
    """Fields of the register block PACKET."""
    return data.StructLayout({name: _REGISTERS[name].shape for name in names})


#: Registers of the CPS stages, `precog_models.packet.cps_state.CpsConfig`.
CPS_CONFIG = _chosen(
    *("shim_port", "max_frame", "drop_malformed"),
    *("ack_enabled", "ack_dscp", "echo_enabled"),
)

#: Registers of the notification point, `precog_models.packet.cnp.CnpConfig`.
CNP_CONFIG = _chosen("enabled", "interval_ticks", "dscp", "ecn", "ttl", "mode_c")

#: Registers of `Trust`, `precog_models.packet.trust.TrustConfig`.
TRUST_CONFIG = _chosen("icrc_gate", "cnp_gap")

#: Registers of the whole packet path.
CARD_CONFIG = data.StructLayout(
    {
        "cps": CPS_CONFIG,
        "cnp": CNP_CONFIG,
        "trust": TRUST_CONFIG,
        **_chosen("timeout", "any_packet", "corrected", "rtt_floor").members,
        "senders": registers_layout(SENDERS_PARAMETERS, Access.RW),
    }
)


class Edit(enum.Enum, shape=2):  # type: ignore[call-arg]
    """What becomes of a packet's bytes."""

    KEEP = 0
    INSERT = 1  # the shim goes in behind UDP
    REMOVE = 2  # the eight bytes behind UDP go out
    DROP = 3


#: What the editor does to one packet; positions follow from `ipv6` and `tags`.
EDIT = data.StructLayout(
    {
        "edit": Edit,
        "ipv6": unsigned(1),
        "tags": unsigned(2),
        "lengths": unsigned(1),  # write ip_length, ip_checksum (IPv4), udp_length, udp_port
        "checksum": unsigned(1),  # write udp_checksum
        "reserved": unsigned(1),  # write resv; not together with REMOVE
        "dscp": unsigned(1),  # write ip_head and ip_checksum (IPv4)
        "ip_head": unsigned(16),
        "ip_length": unsigned(16),
        "ip_checksum": unsigned(16),
        "udp_port": unsigned(16),
        "udp_length": unsigned(16),
        "udp_checksum": unsigned(16),
        "resv": unsigned(16),
        "shim": unsigned(8 * SHIM.size),  # first byte in the most significant place
    }
)
