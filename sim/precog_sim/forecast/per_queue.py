"""A model for each queue against the shared one, on the last part of each queue's own history."""

import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from precog_models.data.queue_trace import QueueTrace
from precog_models.data.windows import BLOCKS, HORIZONS, make_windows
from precog_models.forecast.forecaster import Forecaster
from precog_models.forecast.metrics import crps, skill
from precog_models.image import Image
from precog_models.train.fit_queues import fit_queues
from precog_models.train.queue import QueueRecipe
from precog_sim.forecast.learn import Progress
from precog_sim.forecast.scenarios import QueueRun, queue_trace
from precog_spec.contract import PROBABILITY

__all__ = ["compare_per_queue", "own_traces"]

_TUNE_UNTIL, _CHECK_UNTIL = 6, 8  # of ten blocks: tuned on six, checked on two, judged on two
_STRIDE = 4


def own_traces(runs: Sequence[QueueRun], progress: Progress) -> list[QueueTrace]:
    """The queues' histories."""
    traces = []
    for done, spec in enumerate(runs):
        traces.append(queue_trace(spec)[0])
        progress("simulate queues", done + 1, len(runs))
    return traces


def compare_per_queue(
    base: Image, traces: Sequence[QueueTrace], recipe: QueueRecipe, progress: Progress
) -> dict[str, Any]:
    """Tune on the first six tenths of each queue's time, check on two, judge on the last two.

    No window reaches over a border. The figures are of all queues together; `queues_better` and
    `queues_worse` count queues whose own model has the smaller or larger mean CRPS on the test.
    """
    dense = make_windows(traces, stride=_STRIDE)
    dense = dense.select(dense.whole)
    part = dense.block % BLOCKS
    history = dense.select(part < _TUNE_UNTIL)
    check = dense.select((part >= _TUNE_UNTIL) & (part < _CHECK_UNTIL))
    test = make_windows(traces)
    test = test.select(test.whole & (test.block % BLOCKS >= _CHECK_UNTIL))
    forecaster = Forecaster(base)
    settings = forecaster.settings
    began = time.monotonic()
    fits = fit_queues(
        base,
        history,
        check,
        recipe,
        progress=lambda done, total, text: progress(f"tune queues, {text}", done, total),
    )
    seconds = time.monotonic() - began
    y = settings.bins(test.later[:, HORIZONS.index(settings.horizon)])
    shared = crps(forecaster.distributions(test.signals) / PROBABILITY.one, y)
    own = shared.copy()
    better = worse = 0
    for fit in fits:
        mine = (test.run == fit.run) & (test.queue == fit.queue)
        if not (fit.own and mine.any()):
            continue
        p = Forecaster(fit.image).distributions(test.signals[mine]) / PROBABILITY.one
        own[mine] = crps(p, y[mine])
        better += int(own[mine].mean() < shared[mine].mean())
        worse += int(own[mine].mean() > shared[mine].mean())
    return {
        "queues": len(fits),
        "queues_with_own": sum(fit.own for fit in fits),
        "queues_better": better,
        "queues_worse": worse,
        "history_windows": float(np.mean([fit.windows for fit in fits])),
        "windows": len(test),
        "shared_crps": float(shared.mean()),
        "own_crps": float(own.mean()),
        "skill_over_shared": asdict(skill(own, shared, test.block)),
        "seconds": round(seconds, 1),
        "recipe": recipe.card(),
    }
