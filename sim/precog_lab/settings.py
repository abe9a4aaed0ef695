"""What a run of the lab is asked for."""

from dataclasses import dataclass

from precog_sim.backtoback.wire import WireSettings

from .workloads import WORKLOADS

__all__ = ["Settings"]

_NO_QUEUE = 1 << 40  # bytes: such a queue there is not
_LATE_FRAMES = 4  # by how many frames' time a reordered one is late
_MTU_WIRE = 1114
_SENDERS_MAX = 8
_REST_MAX_S = 3600


@dataclass(frozen=True)
class Settings:
    """Guests, cards, wire and work.

    Parameters
    ----------
    workloads : tuple of str
        Names of `WORKLOADS`, one after the other.
    rtl : bool
        Verilated cards, each compared with its golden twin, instead of golden ones alone.
    iterations : int or None
        Messages of each queue pair; None: few enough for some seconds.
    pairs : int
        Queue pairs of a workload between two guests.
    senders : int
        Guests that send to the first one.
    ce, loss, reorder : float
        Chance that a frame on the wire is marked, lost, overtaken by others.
    delay_us : float
        Of the wire, card time.
    link_gbps : float
        Of each guest's link, card time.
    mark_bytes : int or None
        Depth of the link's queue from which on frames are marked; None: by `ce` alone.
    pace : bool
        Frames wait at the sender's card as its law says.
    algorithm : str
        Law of all queue pairs.
    seed : int
        Of the wire's chances.
    soak_s : float
        The workloads run one after the other again and again, until this time has passed.
    rest_s : float
        After each workload nothing is begun for so long.
    tick_ns : int
        Nanoseconds of the guests in a tick of the cards, which is a nanosecond of theirs.

    Raises
    ------
    ValueError
        A value is none that the lab can work with.
    """

    workloads: tuple[str, ...] = ("write", "read", "send", "atomic")
    rtl: bool = False
    iterations: int | None = None
    pairs: int = 1
    senders: int = 1
    ce: float = 0.0
    loss: float = 0.0
    reorder: float = 0.0
    delay_us: float = 0.0
    link_gbps: float = 100.0
    mark_bytes: int | None = None
    pace: bool = False
    algorithm: str = "dcqcn"
    seed: int = 1
    soak_s: float = 0.0
    rest_s: float = 0.0
    tick_ns: int = 1000

    def __post_init__(self) -> None:
        known = ", ".join(WORKLOADS)
        for name in self.workloads:
            if name not in WORKLOADS:
                raise ValueError(f"workload must be one of {known}, not {name!r}")
        if not self.workloads:
            raise ValueError(f"workload must be one or more of {known}, not none")
        for name, value in (("ce", self.ce), ("loss", self.loss), ("reorder", self.reorder)):
            if not 0 <= value < 1:
                raise ValueError(f"{name} must be a chance of 0 to below 1, not {value:g}")
        if not 1 <= self.senders <= _SENDERS_MAX:
            raise ValueError(f"incast must have 1..{_SENDERS_MAX} senders, not {self.senders}")
        if not 0 <= self.delay_us <= 10_000:
            raise ValueError(f"delay must be 0..10000 µs, not {self.delay_us:g}")
        if not 0.01 <= self.link_gbps <= 400:
            raise ValueError(f"link must be 0.01..400 Gb/s, not {self.link_gbps:g}")
        if self.iterations is not None and not 5 <= self.iterations <= 10**7:
            raise ValueError(f"iterations must be 5..10000000, not {self.iterations}")
        if self.mark_bytes is not None and self.mark_bytes < 1:
            raise ValueError(f"mark-bytes must be positive, not {self.mark_bytes}")
        if not 0 <= self.soak_s <= 86_400:
            raise ValueError(f"soak must be 0..1440 minutes, not {self.soak_s / 60:g}")
        once = [name for name in self.workloads if name in ("nvme", "fio")]
        if self.soak_s and once:
            raise ValueError(f"soak must be without {once[0]}: its target is set up once")
        if not 0 <= self.rest_s <= _REST_MAX_S:
            raise ValueError(f"rest must be 0..{_REST_MAX_S} s, not {self.rest_s:g}")
        if not 1 <= self.tick_ns <= 1000:
            raise ValueError(f"tick must be 1..1000 ns of the guests, not {self.tick_ns}")
        if not 1 <= self.pairs <= 16:
            raise ValueError(f"pairs must be 1..16, not {self.pairs}")
        if self.rtl and self.pairs * self.senders > 4:
            raise ValueError(
                f"pairs must be at most 4 with --rtl, not {self.pairs * self.senders}: "
                "the Verilated card has 4 slots"
            )
        if self.rtl and self.pace:
            raise ValueError("--pace must be left out with --rtl: the golden pacer does it")

    @property
    def clean(self) -> bool:
        """Nothing happens on the wire that makes an endpoint send again."""
        return not self.loss and not self.reorder

    @property
    def messages(self) -> int:
        """Messages of each queue pair."""
        return self.iterations or (20 if self.rtl else 200)

    @property
    def wire(self) -> WireSettings:
        """Each link, in ticks of a nanosecond."""
        rate = self.link_gbps / 8
        return WireSettings(
            rate=rate,
            delay=round(self.delay_us * 1000),
            jitter=0,
            loss=self.loss,
            reorder=self.reorder,
            late=round(_LATE_FRAMES * _MTU_WIRE / rate) + 2000,
            mark_bytes=self.mark_bytes or _NO_QUEUE,
            mark=self.ce,
        )
