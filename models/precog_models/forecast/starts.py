"""A model of starts in use: from a NIC's last starts to a destination to the next one's level.

    last starts (time, size, level told) ─► window of the engine's inputs ─► distribution ─► level

A step is a start to that destination by that NIC; the last step is the flow that starts now. Inputs
of a step: the time since the start before, the size, the level that the flow before was told, and
the size over that of the flow before. The study of predictions and the host use this module alike.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from precog_spec.contract import MAX_INPUTS, PROBABILITY, Fmt, HeadKind
from precog_spec.frames.cps import LEVEL_MAX

from ..image import Image, ModelImageError
from ..predict.lstm import forward_windows
from ..predict.softmax import distributions
from ..predict.tree import tree_predict
from ..tree_image import TreeImage

__all__ = [
    "BINS",
    "CROWDED",
    "ENOUGH",
    "INPUTS",
    "LEVEL",
    "LEVEL_ONE",
    "STEPS",
    "Start",
    "StartForecaster",
    "check_model",
    "quantile",
    "row",
    "skill",
    "window",
]

STEPS = 8
BINS = 8  #: levels 0..7
INPUTS = 4
_SPAN = 2  # levels and binary logarithms are halved to fit the inputs' format
LEVEL = 2  #: the input that is a level
LEVEL_ONE = Fmt.X.one // _SPAN  #: a level of 1 there
CROWDED = 2  #: the least level that a law heeds: a start with such a level is crowded
ENOUGH = 0.25  #: a source of guesses is heeded while its `skill` is greater

_US_PER_PS = 1e-6
_LONG_US = 16384.0
_GAP_CENTER = 7.0  # log2 of 128 us
_SIZE_ONE = 65536.0
_SHARE = 0.5

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Start:
    """A flow's start, as its NIC knows it then.

    Parameters
    ----------
    at_ps : int
        Time since any moment that all starts share.
    size : int
        Bytes, 1 or more.
    told : int
        Level that the flow before to the same destination had been told, 0..15; 0: nothing yet.

    Raises
    ------
    ValueError
        The size or the level is outside its range.
    """

    at_ps: int
    size: int
    told: int

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError(f"size of a start must be at least 1 byte, not {self.size!r}")
        if not 0 <= self.told <= LEVEL_MAX:
            raise ValueError(f"told must be a level, 0..{LEVEL_MAX}, not {self.told!r}")


def row(start: Start, before: Start | None) -> tuple[int, ...]:
    """Inputs of one step.

    Parameters
    ----------
    start : Start
    before : Start, optional
        The start before to the same destination; None: this is the first one.

    Returns
    -------
    tuple of int
        `INPUTS` numbers in X's format.
    """
    gap, ratio = _LONG_US, 1.0
    if before is not None:
        gap = (start.at_ps - before.at_ps) * _US_PER_PS
        ratio = start.size / before.size
    gap = min(max(gap, 1.0), _LONG_US)
    # numpy's logarithm, as in training: that of `math` may differ in the last bit
    values = (
        float(np.log2(gap)) - _GAP_CENTER,
        float(np.log2(start.size / _SIZE_ONE)),
        float(start.told),
        float(np.log2(ratio)),
    )
    exact = (math.floor(value / _SPAN * Fmt.X.one + 0.5) for value in values)
    return tuple(min(max(value, Fmt.X.min), Fmt.X.max) for value in exact)


def window(starts: Sequence[Start]) -> Ints:
    """Inputs of the last start.

    Parameters
    ----------
    starts : sequence of Start
        To one destination, oldest first. Of more than `STEPS` + 1 the last ones count: the first of
        these is only compared with.

    Returns
    -------
    ndarray of int64, shape (STEPS, 8)
        In X's format, oldest step first; steps before the first start are zero.
    """
    found = np.zeros((STEPS, MAX_INPUTS), dtype=np.int64)
    pairs = list(pairwise([None, *starts]))[-STEPS:]
    for step, (before, start) in enumerate(pairs, STEPS - len(pairs)):
        assert start is not None
        found[step, :INPUTS] = row(start, before)
    return found


def quantile(p: Ints, share: float) -> Ints:
    """The greatest level that is reached with a probability of more than `share`.

    Parameters
    ----------
    p : ndarray of int64, shape (n, 16)
        Distributions in PROBABILITY's format.

    Returns
    -------
    ndarray of int64, shape (n,)
    """
    beyond = np.cumsum(p[:, ::-1], axis=1)[:, ::-1][:, :BINS]
    return np.asarray((beyond > share * PROBABILITY.one).sum(axis=1) - 1).clip(0)


def skill(hits: float, alarms: float) -> float:
    """Skill of a source of guesses, -1..1: Peirce's score (1884).

    Guesses at random have a skill of 0, of whatever mean; false ones less.

    Parameters
    ----------
    hits : float
        Share of crowded starts that were guessed so, 0..1.
    alarms : float
        Share of the others that were guessed to be crowded, 0..1.
    """
    return hits - alarms


def check_model(image: Image | TreeImage) -> None:
    """Whether a model is one of starts.

    Raises
    ------
    ModelImageError
        It predicts RTTs, is calibrated for queues, or has other inputs, outputs or steps.
    """
    header = image.header
    if header.kind is not HeadKind.QUEUE:
        raise ModelImageError(
            f"model of starts must have the head queue, not {header.kind.name.lower()}"
        )
    if "forecast" in image.card:
        raise ModelImageError(
            "model of starts must have no calibration in its card, as models of queues do"
        )
    if (header.inputs, header.outputs) != (INPUTS, BINS):
        raise ModelImageError(
            f"model of starts must have {INPUTS} inputs and {BINS} outputs, "
            f"not {header.inputs} and {header.outputs}"
        )
    if isinstance(image, Image) and header.steps != STEPS:
        raise ModelImageError(f"model of starts must have {STEPS} steps, not {header.steps}")


class StartForecaster:
    """A model of starts, in the engine's integers.

    Parameters
    ----------
    image : Image or TreeImage

    Raises
    ------
    ModelImageError
        As `check_model`.
    """

    def __init__(self, image: Image | TreeImage) -> None:
        check_model(image)
        self._image = image

    def level(self, starts: Sequence[Start]) -> int:
        """The level of the last start, 0..7, from it and those before it; as `window`."""
        return int(self.levels(window(starts)[None])[0])

    def levels(self, x: Ints) -> Ints:
        """Levels of many windows.

        Parameters
        ----------
        x : ndarray of int64, shape (n, STEPS, 8)
            As `window` makes them.

        Returns
        -------
        ndarray of int64, shape (n,)
            0..7.
        """
        return quantile(self._distributions(x), _SHARE)

    def _distributions(self, x: Ints) -> Ints:
        if isinstance(self._image, TreeImage):
            return tree_predict(self._image.model.tree, x)
        weights = self._image.weights
        return distributions(forward_windows(weights, x), weights.outputs)
