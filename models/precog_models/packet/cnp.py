"""DCQCN's notification point: CNPs for marked data, at most one per flow in N ticks.

    CE-marked data ─► slot known? ─► N ticks since the flow's last CNP? ─► CNP to the sender

Source: DCQCN (004, spec/README.md); the packet of annex A17: opcode 0x81, BECN, 16 reserved bytes
and a valid ICRC. Answers without payload and CNPs never cause one: there is no data to slow down.
Mode C puts a mark and the slot's score into the reserved bytes, where a standard RP ignores them.
"""

from dataclasses import dataclass

from precog_spec.contract import Fmt
from precog_spec.frames.cps import CNP_MARK
from precog_spec.frames.descriptor import Direction, Reason
from precog_spec.frames.headers import (
    BTH,
    CNP_PAYLOAD,
    ETHERNET,
    ICRC_BYTES,
    IPV4,
    IPV4_WORDS,
    IPV6,
    PROTOCOL_UDP,
    ROCE_PORT,
    UDP,
    Ecn,
)
from precog_spec.frames.opcodes import CNP, NO_DATA

from .checksum import ipv4_checksum
from .icrc import icrc
from .parser import Parsed, parse
from .qp_table import QpTable

__all__ = ["CnpConfig", "NotificationPoint", "make_cnp"]

_DEFAULT_P_KEY = 0xFFFF


@dataclass(frozen=True)
class CnpConfig:
    """Registers of the notification point.

    Raises
    ------
    ValueError
        A number is out of its range.
    """

    enabled: bool = True
    interval_ticks: int = 50_000  # N of DCQCN: 50 us at 1 ns
    dscp: int = 48  # CNPs belong into a class that overtakes data
    ecn: Ecn = Ecn.ECT0  # a switch may mark a CNP but should not drop it
    ttl: int = 64  # IPv6: hop limit
    mode_c: bool = False

    def __post_init__(self) -> None:
        for name, value, top in (
            ("interval_ticks", self.interval_ticks, 0xFFFFFFFF),
            ("dscp", self.dscp, 63),
            ("ttl", self.ttl, 255),
        ):
            if not 0 <= value <= top:
                raise ValueError(f"{name} must be 0..{top}, not {value!r}")


class NotificationPoint:
    """State: time of each flow's last CNP.

    Parameters
    ----------
    table : QpTable
        Knows the sender's QPN, which a data packet does not carry.
    config : CnpConfig
        Registers.
    """

    def __init__(self, table: QpTable, config: CnpConfig) -> None:
        self.table = table
        self.config = config
        self.sent = 0
        self.limited = 0  # within N ticks of the flow's last
        self.unknown = 0  # marked, but of no slot
        self.busy = 0  # due, but too many CNPs wait to be made
        self._last: list[int | None] = [None] * table.slots

    def notify(
        self,
        frame: bytes | bytearray,
        parsed: Parsed,
        slot: int | None,
        t: int,
        score: int | None = None,
        *,
        room: bool = True,
    ) -> bytes | None:
        """Take a received packet, its shim extracted.

        Parameters
        ----------
        frame, parsed, slot
            As `cps_rx.receive` gives them.
        t : int
            Ticks in 40 bits. After a pause close to a multiple of the counter's 2**40 ticks one CNP
            may be held back for N ticks.
        score : int or None
            Slot's score for mode C.
        room : bool
            Event of the gateware's order: its queue took the CNP. If it did not, the flow's next
            marked packet asks again.

        Returns
        -------
        bytes or None
            A CNP without FCS for the transmit side.
        """
        found = parsed.descriptor
        if (
            not self.config.enabled
            or found.error
            or found.reason is not Reason.NONE
            or found.ecn != Ecn.CE
            or found.opcode in NO_DATA
        ):
            return None
        remote_qp = None if slot is None else self.table.remote_qp[slot]
        if slot is None or remote_qp is None:
            self.unknown += 1
            return None
        last = self._last[slot]
        if last is not None and (t - last) & Fmt.TIME.max < self.config.interval_ticks:
            self.limited += 1
            return None
        if not room:
            self.busy += 1
            return None
        self._last[slot] = t
        self.sent += 1
        return make_cnp(frame, parsed, remote_qp, self.config, score)


def make_cnp(
    frame: bytes | bytearray,
    parsed: Parsed,
    remote_qp: int,
    config: CnpConfig,
    score: int | None = None,
) -> bytes:
    """The CNP that answers a data packet: addresses swapped, VLAN tags and UDP source port kept."""
    source = ETHERNET["source"]
    l2 = bytes(frame[source.byte : source.end]) + bytes(frame[: source.byte])
    l2 += bytes(frame[source.end : parsed.l3])  # tags and EtherType
    length = UDP.size + BTH.size + CNP_PAYLOAD.size + ICRC_BYTES
    udp = UDP.pack(
        source_port=UDP.get(frame, parsed.l4, "source_port"),
        destination_port=ROCE_PORT,
        length=length,
    )
    bth = BTH.pack(opcode=CNP, p_key=_DEFAULT_P_KEY, becn=1, dest_qp=remote_qp)
    payload = CNP_PAYLOAD.pack()
    if config.mode_c and score is not None:
        payload = CNP_PAYLOAD.pack(mark=CNP_MARK, score=score)
    ip = _ipv6 if parsed.descriptor.ipv6 else _ipv4
    cnp = l2 + ip(frame, parsed, length, config) + udp + bth + payload + bytes(ICRC_BYTES)
    checked = icrc(cnp, parse(cnp, Direction.TX))
    return cnp[:-ICRC_BYTES] + checked.to_bytes(ICRC_BYTES, "little")


def _ipv4(frame: bytes | bytearray, parsed: Parsed, length: int, config: CnpConfig) -> bytes:
    ip = bytearray(
        IPV4.pack(
            version=4,
            ihl=IPV4_WORDS,
            dscp=config.dscp,
            ecn=config.ecn,
            total_length=IPV4.size + length,
            dont_fragment=1,
            ttl=config.ttl,
            protocol=PROTOCOL_UDP,
            source=IPV4.get(frame, parsed.l3, "destination"),
            destination=IPV4.get(frame, parsed.l3, "source"),
        )
    )
    IPV4.put(ip, 0, "checksum", ipv4_checksum(ip))
    return bytes(ip)


def _ipv6(frame: bytes | bytearray, parsed: Parsed, length: int, config: CnpConfig) -> bytes:
    """The IPv6 header of a CNP that answers `frame`: its addresses are swapped."""
    return IPV6.pack(
        version=6,
        dscp=config.dscp,
        ecn=config.ecn,
        payload_length=length,
        next_header=PROTOCOL_UDP,
        hop_limit=config.ttl,
        source=IPV6.get(frame, parsed.l3, "destination"),
        destination=IPV6.get(frame, parsed.l3, "source"),
    )
