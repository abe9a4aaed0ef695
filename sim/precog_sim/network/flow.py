"""Flows: who sends how many bytes to whom, and when they are handed over."""

from dataclasses import dataclass

from precog_sim.network.messages import Messages

__all__ = ["Flow"]

_SECOND_PS = 10**12
_MAX_FLOW_BYTES = 1 << 40  # 1 TiB: its time at the floor rate still fits the picosecond clock


@dataclass(frozen=True)
class Flow:
    """`size` bytes from host `src` to host `dst`, starting at `start_ps`.

    Parameters
    ----------
    src, dst, size, start_ps : int
    rtt_jitter_ps : int
        Acknowledgements are held back in the sending host, by a time drawn uniformly from 0 to
        this with the run's seed (whole nanoseconds).
    rtt_jitter_of : str
        ``"sample"``: the acknowledgement that completes an RTT sample is held back; ``"all"``: each
        one is, by a time of its own, so that they come in another order.
    messages : Messages, optional
        When the bytes are handed over; None: all of them at the start.
    after : tuple of int
        Flows, by their place in the scenario, that must have arrived before this one begins,
        `start_ps` later. Each begins or ends at this flow's source, which knows of no other.
    priority : int
        Its class of traffic (`Priorities`); its acknowledgements have the same.
    dst_port : int
        Only ns-3's hash of paths looks at it (`run`, ``ecmp="ns3"``).

    Raises
    ------
    ValueError
        The size is not in 1 byte..1 TiB, the start is negative, the jitter is not in 0..1 s, source
        and destination are the same, or the port is not in 0..65535.
    """

    src: int
    dst: int
    size: int
    start_ps: int = 0
    rtt_jitter_ps: int = 0
    rtt_jitter_of: str = "sample"
    messages: Messages | None = None
    dst_port: int = 100
    after: tuple[int, ...] = ()
    priority: int = 0

    def __post_init__(self) -> None:
        if not self.size > 0:
            raise ValueError(
                f"flow size must be at least 1 byte, not {self.size!r}: leave the flow out instead"
            )
        if self.size > _MAX_FLOW_BYTES:
            raise ValueError(
                f"flow size must be at most {_MAX_FLOW_BYTES} bytes (1 TiB), not {self.size!r}"
            )
        if self.start_ps < 0:
            raise ValueError(f"flow start must be >= 0 ps, not {self.start_ps!r}")
        if not 0 <= self.rtt_jitter_ps <= _SECOND_PS:
            raise ValueError(
                f"flow rtt_jitter_ps must be in 0..{_SECOND_PS} (1 s), not {self.rtt_jitter_ps!r}"
            )
        if self.rtt_jitter_of not in ("sample", "all"):
            raise ValueError(
                f"flow rtt_jitter_of must be sample or all, not {self.rtt_jitter_of!r}"
            )
        if self.src == self.dst:
            raise ValueError(f"flow destination must differ from its source, not {self.dst!r}")
        if self.after and self.messages is not None:
            raise ValueError("flow with messages must wait for no other flow: leave after out")
        if not 0 <= self.dst_port <= 65535:
            raise ValueError(f"flow dst_port must be in 0..65535, not {self.dst_port!r}")
