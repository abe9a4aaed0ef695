"""The figures of a forecast on independent test windows."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precog_models.data.windows import HORIZONS, Windows
from precog_models.forecast.calibrate import fit_knots
from precog_models.forecast.forecaster import Settings
from precog_models.forecast.metrics import (
    Calibration,
    Interval,
    brier_skill,
    crps,
    event_calibration,
    pit,
    reliability,
    skill,
)
from precog_models.predict.cps import scores, tails
from precog_spec.contract import PROBABILITY

__all__ = ["EventFigures", "Figures", "event_figures", "figures", "judge_event"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_PIT_SEED = 1


@dataclass(frozen=True)
class Figures:
    """How good the distributions of one method are.

    Attributes
    ----------
    windows : int
        Independent ones.
    crps : float
        Mean.
    skill, skill_of_transition : Interval
        Over persistence with its residuals; over the table of transitions between bins.
    reliability : tuple of Interval
        At each decile.
    """

    windows: int
    crps: float
    skill: Interval
    skill_of_transition: Interval
    reliability: tuple[Interval, ...]

    @property
    def worst_decile(self) -> float:
        """Largest distance from a decile."""
        return max(abs(gap.value) for gap in self.reliability)

    def to_dict(self) -> dict[str, Any]:
        """JSON data."""
        return asdict(self) | {"worst_decile": self.worst_decile}


@dataclass(frozen=True)
class EventFigures:
    """How good a score is: of an event with its rate, after the card's rounding to 0..100."""

    windows: int
    rate: float
    brier_skill: Interval
    calibration: Calibration
    uncalibrated_ece: float

    def to_dict(self) -> dict[str, Any]:
        """JSON data; a class without windows has no gap."""
        data = asdict(self)
        gaps = data["calibration"]["gap"]
        data["calibration"]["gap"] = [None if np.isnan(gap) else gap for gap in gaps]
        return data


def figures(p: Floats, persistence: Floats, transition: Floats, y: Ints, block: Ints) -> Figures:
    """Judge distributions [n, bins] of bins [n] that came, against two references."""
    own = crps(p, y)
    return Figures(
        windows=len(y),
        crps=float(own.mean()),
        skill=skill(own, crps(persistence, y), block),
        skill_of_transition=skill(own, crps(transition, y), block),
        reliability=reliability(pit(p, y, np.random.default_rng(_PIT_SEED)), block),
    )


def judge_event(
    fitted_on: tuple[Ints, NDArray[np.bool_]],
    position: Ints,
    event: NDArray[np.bool_],
    block: Ints,
) -> EventFigures:
    """Judge the score of positions [n] through the table that other windows gave.

    Parameters
    ----------
    fitted_on : tuple
        Positions and events of the validation.
    position, event, block : ndarray, shape (n,)
        Of the test.
    """
    score = scores(fit_knots(*fitted_on), position) / 100
    plain = event_calibration(position / PROBABILITY.one, event, block, draws=2)
    return EventFigures(
        windows=len(event),
        rate=float(event.mean()),
        brier_skill=brier_skill(score, event, block),
        calibration=event_calibration(score, event, block),
        uncalibrated_ece=plain.ece.value,
    )


def event_figures(
    validation: Windows, test: Windows, p_validation: Ints, p_test: Ints, settings: Settings
) -> EventFigures:
    """Judge the score of distributions in integers [n, 16]: the queue reaches the threshold."""
    column = HORIZONS.index(settings.horizon)
    found = []
    for windows, p in ((validation, p_validation), (test, p_test)):
        highest = windows.highest[:, column]
        found.append((tails(p, settings.threshold_bin), highest >= settings.threshold_bytes))
    return judge_event(found[0], *found[1], test.block)
