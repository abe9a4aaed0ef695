"""What to make of others' statistics when some lie, and of their silence.

Of one destination, each reporter has one voice, however much it says. A voice counts while it is
young, within physical bounds, and only in company: with fewer than five there is no answer. The
answer is a median, so as long as liars are fewer than half it lies within what honest ones say.

Everything here is a pure function of reports and a time.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from .bodies import Statistics

__all__ = ["QUORUM", "Shared", "Voice", "congestion", "median", "shared", "start_rate"]

#: Reporters without which nothing is believed.
QUORUM = 5
_FULL = 100


@dataclass(frozen=True)
class Voice:
    """A reporter's statistics of a destination.

    Parameters
    ----------
    origin : str
    t0 : int
        When it said so, ms.
    statistics : Statistics
    """

    origin: str
    t0: int
    statistics: Statistics


@dataclass(frozen=True)
class Shared:
    """What a destination is like, by the word of many.

    Parameters
    ----------
    reporters : int
    n : int
        Active queue pairs of all reporters: the median of theirs times their number.
    rate : int
        Of one queue pair, kb/s.
    mean, p99 : int
        RTT, ns.
    """

    reporters: int
    n: int
    rate: int
    mean: int
    p99: int


def median(values: Iterable[int]) -> int:
    """The lower median: always one of the values.

    Raises
    ------
    ValueError
        There is none.
    """
    ordered = sorted(values)
    if not ordered:
        raise ValueError("median must be of one value or more, not of none")
    return ordered[(len(ordered) - 1) // 2]


def shared(
    voices: Iterable[Voice], now: int, *, age_ms: int, skew_ms: int = 0, quorum: int = QUORUM
) -> Shared | None:
    """What voices agree on; None with fewer than `quorum` young ones.

    Parameters
    ----------
    voices : iterable of Voice
        Of one destination. Of each origin the newest counts.
    now : int
        Milliseconds of Unix time.
    age_ms : int
        Older ones are silent.
    skew_ms : int
        How far ahead a reporter's clock may be; beyond it, it is silent.
    """
    newest: dict[str, Voice] = {}
    for voice in voices:
        if -skew_ms <= now - voice.t0 <= age_ms:
            before = newest.get(voice.origin)
            if before is None or before.t0 < voice.t0:
                newest[voice.origin] = voice
    if len(newest) < max(1, quorum):
        return None

    def of(field: Callable[[Statistics], int]) -> int:
        return median(field(voice.statistics) for voice in newest.values())

    return Shared(
        reporters=len(newest),
        n=of(lambda s: s.n) * len(newest),
        rate=of(lambda s: s.rate),
        mean=of(lambda s: s.mean),
        p99=of(lambda s: s.p99),
    )


def start_rate(known: Shared | None, *, own: int, least: int, most: int) -> int:
    """Rate at which a new queue pair to a destination starts, kb/s.

    The queue pairs that are there share its capacity: n at the shared rate. One more gets an equal
    part, rate · n / (n + 1).

    Parameters
    ----------
    known : Shared or None
        None: `own` it is.
    own : int
        Rate without the fleet's word.
    least, most : int
        Clamp; a sixteenth of the line keeps a lie from costing more than that.

    Raises
    ------
    ValueError
        The clamp is empty or negative.
    """
    if not 0 <= least <= most:
        raise ValueError(f"clamp must be 0 <= least <= most, not {least}..{most}")
    wanted = own if known is None or known.n == 0 else known.rate * known.n // (known.n + 1)
    return min(max(wanted, least), most)


def congestion(known: Shared | None, *, base_ns: int, budget_ns: int) -> int | None:
    """Score 0..100 of a destination: queueing delay by the word of many, against a budget.

    Parameters
    ----------
    known : Shared or None
        None: there is no score.
    base_ns : int
        RTT of the path when it is idle.
    budget_ns : int
        Queueing delay that counts as full congestion.

    Raises
    ------
    ValueError
        The budget is not positive.
    """
    if budget_ns < 1:
        raise ValueError(f"budget_ns must be at least 1, not {budget_ns!r}")
    if known is None:
        return None
    return min(max(_FULL * (known.mean - base_ns) // budget_ns, 0), _FULL)
