"""How losses are noticed and repaired, and how often data is acknowledged."""

import math
from dataclasses import dataclass

__all__ = ["Answers", "Recovery"]

_MODES = ("go-back-n", "selective")
_MOST_WINDOW = 1 << 16
_MOST_EVERY = 1 << 10
_SECOND_US = 1e6


@dataclass(frozen=True)
class Recovery:
    """Loss recovery of every flow.

    Parameters
    ----------
    nack_us : float
        Go-back-N: least time between two NACKs for the same missing packet.
    timeout_us : float
        Retransmission time-out of a flow without progress; 0: none (as ns-3, where a lost last
        acknowledgement is for ever).
    mode : str
        ``"go-back-n"``: the receiver drops packets out of order. ``"selective"``: it keeps those
        within `window`, and acknowledgements list them; the sender repeats lost packets alone
        (IRN: Mittal et al., SIGCOMM 2018, section 3).
    window : int
        Selective: packets that the receiver's bitmap holds; the sender never has more outstanding.
    reorder : int
        Selective: a packet is lost when one that stands `reorder` places behind it has come. 1: any
        gap is a loss, as in IRN; more suits networks that spray packets. Each packet is repeated
        once for that, and after a time-out again.
    low_timeout_us : float
        Selective: the time-out while at most `few` packets are outstanding, which may be too few
        for a gap to show; 0: the same as `timeout_us`. IRN has 100 us, and 3 packets.
    few : int

    Raises
    ------
    ValueError
        An unknown mode, or a number out of range.
    """

    nack_us: float = 500.0
    timeout_us: float = 20_000.0
    mode: str = "go-back-n"
    window: int = 512
    reorder: int = 1
    low_timeout_us: float = 0.0
    few: int = 3

    def __post_init__(self) -> None:
        if self.mode not in _MODES:
            raise ValueError(f"recovery must be one of {', '.join(_MODES)}, not {self.mode!r}")
        for name in ("nack_us", "timeout_us", "low_timeout_us"):
            value = getattr(self, name)
            if not 0 <= value < math.inf:
                raise ValueError(f"recovery {name} must be >= 0 and finite, not {value!r}")
        if not 1 <= self.window <= _MOST_WINDOW:
            raise ValueError(
                f"recovery window must be in 1..{_MOST_WINDOW} packets, not {self.window!r}"
            )
        if not 1 <= self.reorder <= self.window:
            raise ValueError(
                f"recovery reorder must be in 1..{self.window}, its window, not {self.reorder!r}"
            )
        if self.few < 0:
            raise ValueError(f"recovery few must be >= 0, not {self.few!r}")

    @property
    def selective(self) -> bool:
        """Whether single packets are repeated."""
        return self.mode == "selective"


@dataclass(frozen=True)
class Answers:
    """How receivers acknowledge.

    Parameters
    ----------
    every : int
        Packets in order for each acknowledgement. The receiver answers at once to the last packet
        of a flow, to a packet out of order, to a repeated one and to one that fills a gap. As in
        RFC 8257 (section 3.2), it also answers when congestion marks change.
    delay_us : float
        Longest time from a packet's arrival to its acknowledgement. An acknowledgement's RTT leaves
        out how long its packet waited in the receiver.
    first : bool
        Acknowledgements have a class of their own: like notifications they go before all data in
        hosts and switches, whatever priority their flow has. PFC does not pause them, and they take
        no room in switches' buffers.

    Raises
    ------
    ValueError
        A number is out of range.
    """

    every: int = 1
    delay_us: float = 10.0
    first: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.every <= _MOST_EVERY:
            raise ValueError(f"answers every must be in 1..{_MOST_EVERY}, not {self.every!r}")
        if not 0 < self.delay_us <= _SECOND_US:
            raise ValueError(f"answers delay_us must be in 0..1e6, above 0, not {self.delay_us!r}")
