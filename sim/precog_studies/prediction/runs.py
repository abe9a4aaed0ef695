"""The figures of one run."""

from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precog_models.forecast.starts import ENOUGH
from precog_sim.network import Result
from precog_studies.prediction.arms import ARMS, FALSE, Arm
from precog_studies.prediction.bounds import job_bounds
from precog_studies.prediction.cases import BACKGROUND, CASES, INCAST, Case, closed_loop
from precog_studies.prediction.receivers import receiver_queues
from precog_studies.prediction.starts.heeding import Hosts
from precog_studies.prediction.starts.predictors import Predictor, predictors
from precog_studies.prediction.trials import hosts_after, skill

__all__ = ["SMALL", "measure", "predicted"]

SMALL = 30_000  #: bytes: a background flow below is small
_MIDDLE = 300_000
_PARTS = {"small": (0, SMALL), "middle": (SMALL, _MIDDLE), "large": (_MIDDLE, 1 << 40)}
_KIB_KB = 1.024


def measure(name: str, arm_name: str, seed: int) -> dict[str, Any]:
    """One run: figures, and slowdowns of the background by size; ``skill``: in its trial.

    Guesses of a source that showed too little skill are not heeded: the run is that without them.
    """
    arm = {**ARMS, **FALSE}[arm_name]
    shown = skill(name, arm) if arm.guesses and arm.tried else None
    if shown is not None and shown <= ENOUGH:
        arm = ARMS["bulk" if arm.bulk else "echo"]
    chosen = predictors()[arm.predictor] if arm.predictor else None
    hosts = None if arm.earlier is None else hosts_after(name, arm)
    return predicted(name, arm, seed, chosen, hosts) | {"skill": shown}


def predicted(
    name: str, arm: Arm, seed: int, predictor: Predictor | None, hosts: Hosts | None = None
) -> dict[str, Any]:
    """One run in which each NIC predicts: figures; ``moving``, as `loop_of` counts."""
    result, traffic, moving = closed_loop(name, arm, seed, predictor, hosts)
    return _figures(result, np.array(traffic.kind), CASES[name]) | {"moving": moving}


def _figures(result: Result, kind: NDArray[np.str_], case: Case) -> dict[str, Any]:
    started = np.nan_to_num(result.start_us, nan=result.end_us)
    end = np.where(np.isnan(result.fct_us), result.end_us, result.start_us + result.fct_us)
    slow = np.maximum((end - started) / result.standalone_us, 1.0)
    found: dict[str, Any] = {
        "queue_max_kb": result.max_queue * 1e-3,
        "queue_p99_kb": result.queue_below(0.99) * _KIB_KB,
        "queue_p999_kb": result.queue_below(0.999) * _KIB_KB,
        "unfinished": int(np.isnan(result.fct_us).sum()),
        "cpu_s": result.cpu_s,
    }
    back = np.isin(kind, BACKGROUND)
    if back.any():
        to = np.array([flow.dst for flow in result.scenario.flows])
        apart = back & np.isin(to, case.apart)
        others = back & ~apart
        parts = {
            part: others & (result.size >= low) & (result.size < high)
            for part, (low, high) in _PARTS.items()
        }
        if case.apart:
            parts["apart"] = apart
        found["background"] = {
            part: np.round(slow[mine], 4).tolist() for part, mine in parts.items()
        }
    cast = kind == INCAST
    if cast.any():
        fct = (end - started)[cast]
        found["incast_p99_us"] = float(np.percentile(fct, 99))
        found["incast_mean_us"] = float(fct.mean())
        found["incast_last_us"] = float(fct.max())
        waiting = receiver_queues(result, cast)
        found["receiver_p99_kb"] = float(np.percentile(waiting, 99)) * 1e-3
    if case.job:
        mine = kind == case.job
        found["job_us"] = float(end[mine].max() - started[mine].min())
        found["bounds"] = asdict(job_bounds(result, mine)) if result.finished else None
    return found
