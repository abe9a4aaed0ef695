"""What receivers tell senders of the flows that share their link, as data."""

from dataclasses import dataclass

from precog_sim.network.layout import Lie
from precog_spec.frames.cps import LEVEL_MAX

__all__ = ["LIES", "Hints"]

#: What a receiver may say instead of the truth; the last one is an old truth.
LIES = tuple(lie.name.lower() for lie in Lie if lie != Lie.NONE)
_FLOW_MOST = 1 << 40


@dataclass(frozen=True)
class Hints:
    """What a network does with the number of flows that share a receiver's link.

    A level is that number's binary logarithm, rounded up, 0..15; 0: one at most, or nothing known.
    The law of a flow of more than `least` bytes that believes a level of 2 or more hears it before
    the first packet (`on_score`); the receiver's first word replaces it.

    Where a sender's own link is shared by more than half as many flows, the receiver's link is not
    what holds them back: laws and starts get 0 for such a level.

    Parameters
    ----------
    echo : bool
        Receivers count the flows that send to them and say the level on each acknowledgement. A law
        hears of it (`on_score`, ``e.senders``) when it rises, and when it falls below all that its
        flow was told in the last `hold_us`.
    least : int
        A flow that announces more bytes than these counts until all of them have come.
    first : int
        Bytes in flight until as many have been acknowledged, whatever a flow's law says; 0: no
        limit.
    table_us : float
        A sender keeps the greatest level that it has heard of each destination so long, and
        believes it at a start; 0: no table.
    guesses : tuple of int
        Level that each flow believes at its start, by its place: a forecast; empty: none.
    lie : str
        What receivers say: ``""``: the truth; one of `LIES`: ``most``: 15, always; ``nothing``: 0,
        always; ``random``: 0..15 each time; ``inverted``: 6 less the truth, 0 at least; ``stale``:
        what was true up to `stale_us` ago.
    liars : tuple of int
        Hosts that do so; empty: all.
    stale_us, hold_us : float

    Raises
    ------
    ValueError
        A number is out of range, a lie is unknown, or there is a table or a lie without an echo.
    """

    echo: bool = False
    least: int = 100_000
    first: int = 0
    table_us: float = 0.0
    guesses: tuple[int, ...] = ()
    lie: str = ""
    liars: tuple[int, ...] = ()
    stale_us: float = 200.0
    hold_us: float = 10.0

    def __post_init__(self) -> None:
        for name in ("least", "first"):
            if not 0 <= getattr(self, name) <= _FLOW_MOST:
                raise ValueError(f"hints {name} must be >= 0 bytes, not {getattr(self, name)!r}")
        for name in ("table_us", "stale_us", "hold_us"):
            if not 0 <= getattr(self, name) <= 1e6:
                raise ValueError(f"hints {name} must be in 0..1e6, not {getattr(self, name)!r}")
        if self.lie and self.lie not in LIES:
            raise ValueError(f"hints lie must be one of {', '.join(LIES)}, not {self.lie!r}")
        wrong = [level for level in self.guesses if not 0 <= level <= LEVEL_MAX]
        if wrong:
            raise ValueError(f"hints guesses must be in 0..{LEVEL_MAX}, not {wrong[0]!r}")
        if not self.echo and (self.table_us > 0 or self.lie or self.liars):
            raise ValueError("hints must be echoed where there is a table or a lie: set echo")
        if self.liars and not self.lie:
            raise ValueError("hints of liars must have a lie: one of " + ", ".join(LIES))

    @property
    def starts(self) -> bool:
        """Whether they change how flows start."""
        return bool(self.guesses) or self.table_us > 0 or self.first > 0
