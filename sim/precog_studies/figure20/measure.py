"""Slowdowns by size of flow, with intervals over paired seeds; and what the thesis says of them.

Sizes are cut where each twentieth of all ordinary flows ends. Of a law's flows that did not finish
the slowdown counts as infinite: a percentile among those is None.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precog_net.job import Outcome
from precog_net.summary import percentile
from precog_sim.network.metrics import estimate

__all__ = ["CLAIMS", "PARTS", "PERCENTILES", "Claim", "bounds", "claims", "figures"]

PARTS = 20
PERCENTILES = {"p95": 0.95, "p99": 0.99}
_SMALL, _LARGE = 7_000, 336_000  # bytes: where the thesis sees its curves cross
_Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Claim:
    """A sentence of the thesis (section 4.4.2) as a ratio of two laws' p95 over a range of sizes.

    Parameters
    ----------
    text : str
    law, rival : str
        The ratio is that of `law` to `rival`; both are keys of `laws.LAWS`.
    above, up_to : float
        Sizes in bytes, the first excluded.
    below_one : bool
        Whether the thesis says that the ratio is below one.
    """

    text: str
    law: str
    rival: str
    above: float
    up_to: float
    below_one: bool


_PID, _RTTCH, _WIN = "predpid", "predpid-rttch", "predpid-rttch-win"
CLAIMS = (
    Claim("PREDPID / TIMELY, up to 336 KB", _PID, "timely", 0, _LARGE, True),
    Claim("PREDPID / DCQCN, up to 336 KB", _PID, "dcqcn", 0, _LARGE, True),
    Claim("PREDPID / TIMELY, larger", _PID, "timely", _LARGE, math.inf, False),
    Claim("PREDPID / DCQCN, larger", _PID, "dcqcn", _LARGE, math.inf, False),
    # it costs "some small flows", which are those up to 7 KB in the next sentences
    Claim("with RTTch / without, up to 7 KB", _RTTCH, _PID, 0, _SMALL, False),
    Claim("with RTTch / without, larger", _RTTCH, _PID, _LARGE, math.inf, True),
    Claim("with WIN / HPCC, up to 7 KB", _WIN, "hpcc", 0, _SMALL, True),
    Claim("with WIN / DCQCN, up to 7 KB", _WIN, "dcqcn", 0, _SMALL, True),
    Claim("with WIN / HPCC, larger than 7 KB", _WIN, "hpcc", _SMALL, math.inf, False),
)


def _ordinary(outcome: Outcome) -> tuple[NDArray[np.int64], _Reals]:
    """Sizes and slowdowns of the flows that are of no incast; infinite: it did not finish."""
    chosen = np.asarray(outcome.flows["class"]) != "incast"
    slowdown = np.asarray(outcome.flows["slowdown"], dtype=np.float64)[chosen]
    size = np.asarray(outcome.flows["bytes"], dtype=np.int64)[chosen]
    return size, np.where(np.isnan(slowdown), math.inf, slowdown)


def bounds(outcomes: Sequence[Outcome]) -> list[int]:
    """Greatest size of each part, ascending; fewer than `PARTS` where many sizes are the same."""
    sizes = np.sort(np.concatenate([_ordinary(outcome)[0] for outcome in outcomes]))
    ends = [int(sizes[-(-sizes.size * k // PARTS) - 1]) for k in range(1, PARTS + 1)]
    return sorted(set(ends))


def _told(values: Sequence[float]) -> dict[str, float] | None:
    """Mean and half width; None where a value is not finite."""
    if not all(math.isfinite(value) for value in values):
        return None
    found = estimate(values)
    return {"mean": found.mean, "half_width": found.half_width}


def _of(values: _Reals, share: float) -> float:
    return percentile(np.sort(values), share) if values.size else math.nan


def figures(runs: Sequence[Outcome], ends: Sequence[int]) -> dict[str, Any]:
    """Percentiles of one law over its seeds: of all ordinary flows, of each part, of incasts."""
    each = [_ordinary(run) for run in runs]
    part_of = [np.searchsorted(ends, size, side="left") for size, _ in each]
    incast = [
        np.nan_to_num(run.flows["slowdown"][np.asarray(run.flows["class"]) == "incast"], nan=np.inf)
        for run in runs
    ]
    found: dict[str, Any] = {
        "flows": sum(size.size for size, _ in each),
        "unfinished": sum(int(np.isinf(slow).sum()) for _, slow in each),
        "pauses": sum(int(run.counts["pauses"]) for run in runs),
        "drops": sum(int(run.counts["drops"]) for run in runs),
        "cpu_s": sum(run.counts["cpu_s"] for run in runs),
    }
    for name, share in PERCENTILES.items():
        found[name] = {
            "all": _told([_of(slow, share) for _, slow in each]),
            "incast": _told([_of(slow, share) for slow in incast]),
            "parts": [
                _told(
                    [
                        _of(slow[part == k], share)
                        for part, (_, slow) in zip(part_of, each, strict=True)
                    ]
                )
                for k in range(len(ends))
            ],
        }
    return found


def _p95(run: Outcome, claim: Claim) -> float:
    size, slow = _ordinary(run)
    return _of(slow[(size > claim.above) & (size <= claim.up_to)], PERCENTILES["p95"])


def claims(runs: Mapping[str, Sequence[Outcome]]) -> list[dict[str, Any]]:
    """The thesis' sentences, each with the ratio's mean and half width over paired seeds.

    ``holds``: true or false where the interval leaves no doubt, otherwise None.
    """
    found = []
    for claim in CLAIMS:
        if claim.law not in runs or claim.rival not in runs:
            continue
        pairs = zip(runs[claim.law], runs[claim.rival], strict=True)
        ratio = _told([_p95(ours, claim) / _p95(theirs, claim) for ours, theirs in pairs])
        holds = None
        if ratio and abs(ratio["mean"] - 1) > ratio["half_width"]:
            holds = (ratio["mean"] < 1) == claim.below_one
        found.append(
            {"text": claim.text, "below_one": claim.below_one, "ratio": ratio, "holds": holds}
        )
    return found
