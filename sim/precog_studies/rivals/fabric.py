"""The cases on the 320-host fat tree: ordinary flows with incasts, as `precog sim fabric`."""

from dataclasses import dataclass

import numpy as np

from precog_net.job import Job, Outcome
from precog_net.summary import percentile

__all__ = ["DURATION_MS", "FABRICS", "Slowdowns", "job", "slowdowns"]

#: Workloads by case: 30 % of ordinary flows, and 60:1 incasts of 500 KB at 2 %.
FABRICS = {
    "fabric-websearch": "websearch:0.3+incast:60x500k:0.02",
    "fabric-hadoop": "hadoop:0.3+incast:60x500k:0.02",
}
DURATION_MS = 1.0
_STOP_MS = 400.0


@dataclass(frozen=True)
class Slowdowns:
    """Of one run.

    Parameters
    ----------
    p50, p95, p99 : float or None
        Of ordinary flows' completion times over those alone; None: flows among them did not end.
    incast_p95 : float or None
        The same of incasts' flows.
    queue_p99_kb, queue_max_kb : float
        Of all switch ports.
    pauses, unfinished : float
        How many PFC frames, and flows that did not end.
    """

    p50: float | None
    p95: float | None
    p99: float | None
    incast_p95: float | None
    queue_p99_kb: float
    queue_max_kb: float
    pauses: float
    unfinished: float


def job(law: str, case: str, seed: int) -> Job:
    """The run of a law in a case."""
    return Job(
        topology="fat320",
        workload=FABRICS[case],
        flows="",
        law=law,
        seed=seed,
        duration_ms=DURATION_MS,
        stop_ms=_STOP_MS,
    )


def slowdowns(outcome: Outcome) -> Slowdowns:
    """The figures of a run; flows that did not end count as the slowest."""
    slow = np.nan_to_num(np.asarray(outcome.flows["slowdown"]), nan=np.inf)
    of_incast = np.asarray(outcome.flows["class"]) == "incast"
    ordinary, incast = np.sort(slow[~of_incast]), np.sort(slow[of_incast])

    def at(values: np.ndarray, share: float) -> float | None:
        value = percentile(values, share) if values.size else np.inf
        return value if np.isfinite(value) else None

    return Slowdowns(
        p50=at(ordinary, 0.5),
        p95=at(ordinary, 0.95),
        p99=at(ordinary, 0.99),
        incast_p95=at(incast, 0.95),
        queue_p99_kb=outcome.counts["queue_p99"] / 1e3,
        queue_max_kb=outcome.counts["queue_max"] / 1e3,
        pauses=outcome.counts["pauses"],
        unfinished=float(np.isinf(slow).sum()),
    )
