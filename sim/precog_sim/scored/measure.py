"""Figures of a run, and how much better or worse than the law alone, seed by seed.

Definitions
-----------
slowdown
    Completion time / completion time alone in the network, of all flows of a run, or of all
    messages, where bytes come as messages; percentiles are numpy's default. One that the horizon
    cut short counts as if it had ended there, so that what is reported is too small, never too
    great.
queue p99
    99 % of the time the fullest of the watched egress queues is at most that; over the time until
    the last flow's end.
Jain
    (sum x)^2 / (n sum x^2) of x = size / completion time over the flows of the commonest size.
ratio
    Figure with scores / figure of the law alone with the same seed. Its mean over seeds with the
    95 % interval of a bootstrap that draws seeds with replacement (percentile method). A figure
    that is 0 in both counts as 1; where only the law alone has 0 there is no ratio.
ratio of means
    Mean over seeds of a figure with scores / mean of the law alone, the interval from a bootstrap
    that draws seeds, both runs of a seed together. Where a figure varies from seed to seed and the
    least difference leads a run elsewhere, the mean of ratios is above 1 though nothing changed:
    the mean of 1 / x is above 1 / the mean of x. The ratio of means is not.
by chance
    The mean of ratios of the law alone with each seed to itself with the next one: what the mean of
    ratios says where the distributions are the same, and runs have nothing else in common.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from precog_sim.network import Result, jain
from precog_spec.contract import DECISION_FIELDS, Flag

__all__ = ["BOUNDED", "LIMIT", "Figures", "Ratio", "by_chance", "measure", "of_means", "ratios"]

#: Figures that scores without sense must not make worse, and by how much they may.
BOUNDED = ("slowdown_p50", "slowdown_p99", "queue_p99_kb")
LIMIT = 1.05
_DRAWS = 4000
_FLAGS = len(DECISION_FIELDS) - 1


@dataclass(frozen=True)
class Figures:
    """One run.

    Attributes
    ----------
    unfinished : int
        Flows that the horizon cut short.
    followed : float
        Share of decisions that a score or a predicted RTT moved or would have moved.
    """

    slowdown_p50: float
    slowdown_p99: float
    queue_p99_kb: float
    pauses: int
    jain: float
    unfinished: int
    followed: float


def measure(result: Result) -> Figures:
    """The figures of a run whose log was kept.

    Raises
    ------
    ValueError
        There is no log, or no probe of the queues.
    """
    if not len(result.log) or result.probe_t_us.size < 2:
        raise ValueError("a run must have a log and probes of its queues to be measured")
    late = np.isnan(result.fct_us)
    fct = np.where(late, result.scenario.horizon_us - result.start_us, result.fct_us)
    p50, p99 = np.percentile(_slowdown(result, fct), [50, 99])
    busy = result.probe_t_us <= (result.start_us + fct).max()
    queue = result.probe_queue[busy].max(axis=1) * 1e-3
    alike = result.size == Counter(result.size.tolist()).most_common(1)[0][0]
    flags = result.log[:, -len(DECISION_FIELDS) :][:, _FLAGS]
    return Figures(
        slowdown_p50=float(p50),
        slowdown_p99=float(p99),
        queue_p99_kb=float(np.percentile(queue, 99)),
        pauses=result.pauses,
        jain=jain(result.size[alike] / fct[alike]),
        unfinished=int(late.sum()),
        followed=float((flags & (1 << Flag.SCORED | 1 << Flag.PREDICTED) != 0).mean()),
    )


def _slowdown(result: Result, fct: NDArray[np.float64]) -> NDArray[np.float64]:
    if not result.message_us.size:
        return np.asarray(fct / result.standalone_us)
    left = result.scenario.horizon_us - result.message_t_us
    took = np.where(np.isnan(result.message_us), left, result.message_us)
    return np.asarray(took / result.message_alone_us)


@dataclass(frozen=True)
class Ratio:
    """Mean of ratios, or ratio of means, and its 95 % interval; all None where there is none."""

    mean: float | None
    low: float | None
    high: float | None


def _ratio(ours: NDArray[np.float64], alone: NDArray[np.float64], seed: int) -> Ratio:
    both = (ours == 0) & (alone == 0)
    if ((alone == 0) & ~both).any():
        return Ratio(None, None, None)
    each = np.where(both, 1.0, ours / np.where(alone == 0, 1.0, alone))
    drawn = np.random.default_rng(seed).integers(0, each.size, (_DRAWS, each.size))
    low, high = np.percentile(each[drawn].mean(axis=1), [2.5, 97.5])
    return Ratio(float(each.mean()), float(low), float(high))


def _of_means(ours: NDArray[np.float64], alone: NDArray[np.float64], seed: int) -> Ratio:
    drawn = np.random.default_rng(seed).integers(0, ours.size, (_DRAWS, ours.size))
    totals = alone[drawn].sum(axis=1)
    if not totals.all():
        return Ratio(None, None, None)
    low, high = np.percentile(ours[drawn].sum(axis=1) / totals, [2.5, 97.5])
    return Ratio(float(ours.sum() / alone.sum()), float(low), float(high))


def _column(runs: Sequence[Figures], name: str) -> NDArray[np.float64]:
    return np.array([float(getattr(figures, name)) for figures in runs])


def _check(ours: Sequence[Figures], alone: Sequence[Figures]) -> None:
    if len(ours) != len(alone) or not ours:
        raise ValueError(f"runs must be as many as those alone, not {len(ours)}, {len(alone)}")


def ratios(
    ours: Sequence[Figures], alone: Sequence[Figures], *, seed: int = 0
) -> Mapping[str, Ratio]:
    """Ratios of each figure; both are of the same seeds in the same order.

    Raises
    ------
    ValueError
        They are not equally many.
    """
    _check(ours, alone)
    return {
        name: _ratio(_column(ours, name), _column(alone, name), seed)
        for name in (*BOUNDED, "pauses", "jain")
    }


def of_means(
    ours: Sequence[Figures], alone: Sequence[Figures], *, seed: int = 0
) -> Mapping[str, Ratio]:
    """Ratios of means of the figures that are bounded; otherwise like `ratios`."""
    _check(ours, alone)
    return {name: _of_means(_column(ours, name), _column(alone, name), seed) for name in BOUNDED}


def by_chance(alone: Sequence[Figures], *, seed: int = 0) -> Mapping[str, Ratio]:
    """Mean of ratios of the law alone to itself, of the figures that are bounded."""
    others = [*alone[1:], *alone[:1]]
    return {name: _ratio(_column(others, name), _column(alone, name), seed) for name in BOUNDED}
