"""What the CPS stages keep: configuration, rows of QP slots, destinations' enables, counters."""

from dataclasses import dataclass, field

from precog_spec.frames.cps import SHIM, SHIM_PORT, Mode, ShimFault
from precog_spec.frames.descriptor import Reason
from precog_spec.frames.headers import IPV4, MIN_FRAME, ROCE_PORT

from .qp_table import QpTable
from .turnaround import Turnaround

__all__ = ["CpsConfig", "CpsCounters", "CpsSlot", "CpsState"]


@dataclass(frozen=True)
class CpsConfig:
    """Registers of the CPS stages.

    Raises
    ------
    ValueError
        The port is RoCEv2's own or no port, the frame limit is out of range, or the DSCP does not
        fit.
    """

    shim_port: int = SHIM_PORT
    max_frame: int = 9216  # bytes without FCS, up to the end of the IP packet
    drop_malformed: bool = False  # frames to the shim's port that are not ours
    ack_enabled: bool = False  # acknowledgements to the wire get `ack_dscp`
    ack_dscp: int = 48  # CS6, as a CNP's
    echo_enabled: bool = False  # marks of data go back in acknowledgements

    def __post_init__(self) -> None:
        if not 0 < self.shim_port <= 0xFFFF or self.shim_port == ROCE_PORT:
            raise ValueError(
                f"shim port must be 1..65535 and not {ROCE_PORT}, not {self.shim_port}"
            )
        # The upper bound also keeps IP and UDP lengths within their 16 bits.
        if not MIN_FRAME + SHIM.size <= self.max_frame <= 0xFFFF:
            raise ValueError(
                f"max frame must be {MIN_FRAME + SHIM.size}..65535 bytes, not {self.max_frame}"
            )
        if not 0 <= self.ack_dscp < 1 << IPV4["dscp"].bits:
            raise ValueError(f"ack_dscp must be 0..63, not {self.ack_dscp!r}")


@dataclass
class CpsSlot:
    """A queue pair's row."""

    mode: Mode = Mode.OFF
    destination: int = 0  # index of the enable shared by all QPs to that destination
    score: int | None = None  # the host's, 0..100
    predicted: bool = False  # `forecast` is to be sent, not `score`
    forecast: int | None = None  # the newest one that was predicted, 0..100
    echo: int | None = None  # last score received from the peer QP
    turnaround: Turnaround = field(default_factory=Turnaround)
    marked: bool = False  # data with CE has come, and no acknowledgement has left since

    @property
    def carried(self) -> int | None:
        """The score to be sent."""
        return self.forecast if self.predicted else self.score


@dataclass
class CpsCounters:
    """Counted by packet unless it says otherwise."""

    inserted: int = 0
    extracted: int = 0
    resv6_written: int = 0
    resv6_read: int = 0
    resv6_faults: int = 0  # mode R's six bits hold 52..63
    clamped: int = 0  # scores and echoes of 101..254
    dropped: int = 0
    marks_heard: int = 0  # marked data of a slot, while marks are echoed
    marks_echoed: int = 0  # acknowledgements in which BECN was set
    passed_tx: dict[Reason, int] = field(default_factory=lambda: dict.fromkeys(Reason, 0))
    passed_rx: dict[Reason, int] = field(default_factory=lambda: dict.fromkeys(Reason, 0))
    faults: dict[ShimFault, int] = field(default_factory=lambda: dict.fromkeys(ShimFault, 0))


class CpsState:
    """State shared by both directions of a card.

    Parameters
    ----------
    table : QpTable
        Gives a packet its slot.
    config : CpsConfig
        Registers.
    destinations : int
        How many destination enables there are; all are on at first.
    ipv6 : bool
        Whether IPv6 packets are understood.
    """

    def __init__(
        self, table: QpTable, config: CpsConfig, destinations: int = 256, *, ipv6: bool = True
    ) -> None:
        self.table = table
        self.ipv6 = ipv6
        self.config = config
        self.slots = [CpsSlot() for _ in range(table.slots)]
        self.destination_enable = [True] * destinations
        self.counters = CpsCounters()
