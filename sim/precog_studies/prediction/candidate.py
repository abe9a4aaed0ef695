"""One model of starts in the closed loop, against no prediction, persistence, and its inversion."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from precog_models.forecast.starts import ENOUGH
from precog_models.image import Image
from precog_models.tree_image import TreeImage
from precog_studies.prediction.arms import ARMS, OFF
from precog_studies.prediction.cases import CASES
from precog_studies.prediction.guesses import inverted
from precog_studies.prediction.judged import SHOWN, ratios
from precog_studies.prediction.runs import predicted
from precog_studies.prediction.starts.predictors import Predictor, of_image, predictors
from precog_studies.prediction.trials import error_of, skill_of

__all__ = ["LAW", "start_row"]

LAW = "lockstep_hints"
_Ints = NDArray[np.int64]


def start_row(image: Image | TreeImage, case: str, *, seeds: int) -> dict[str, Any]:
    """A model of starts in one of `CASES`.

    Guesses of a source are heeded only if it showed skill in its trial (`trials`), those of the
    model, of persistence and of the inverted model alike. ``untried``: the inverted model's are
    heeded in any case.

    Returns
    -------
    dict
        ``network``, ``law``, ``offline`` (errors in levels, and skill, in the trial), ``tried``
        (skill of each source), and ratios by figure: of the model to the law ``alone`` and to
        ``persistence``; of it ``inverted`` and ``untried`` to the law alone.

    Raises
    ------
    ValueError
        There are fewer than two seeds, or no such case.
    """
    if case not in CASES:
        raise ValueError(f"case must be one of {', '.join(CASES)}, not {case!r}")
    model, persistence = of_image(image), predictors()["persistence"]
    sources: dict[str, Predictor] = {
        "model": model,
        "persistence": persistence,
        "inverted": lambda x: inverted(model(x)),
    }
    tried = {name: skill_of(case, one) for name, one in sources.items()}
    runs = {name: _runs(case, one, seeds, tried[name]) for name, one in sources.items()}
    alone = [predicted(case, ARMS[OFF], seed, None) for seed in range(seeds)]
    untried = _runs(case, sources["inverted"], seeds, 1.0)
    own, reference = error_of(case, model), error_of(case, persistence)
    return {
        "network": case,
        "law": LAW,
        "offline": {
            "error": own,
            "persistence": reference,
            "skill": 1.0 - own / reference if reference else 0.0,
        },
        "tried": tried,
        "alone": _ratios(alone, runs["model"]),
        "persistence": _ratios(runs["persistence"], runs["model"]),
        "inverted": _ratios(alone, runs["inverted"]),
        "untried": _ratios(alone, untried),
    }


def _runs(case: str, predictor: Predictor, seeds: int, skill: float) -> list[dict[str, Any]]:
    """Runs with a source's guesses, or, where it showed too little skill, without any."""
    heeded = predictor if skill > ENOUGH else None
    return [predicted(case, ARMS["echo"], seed, heeded) for seed in range(seeds)]


def _ratios(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        name: {"mean": one.ratio, "low": one.low, "high": one.high}
        for name, one in ratios(before, after).items()
        if name not in SHOWN
    }
