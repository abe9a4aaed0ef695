"""A queue model in use: from profiler samples to a distribution and a score, as the card does it.

The image's data card says what the bins mean and how the inputs were normalised; `Settings` reads
it, and is what a host writes to the registers of profiler and score.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precog_spec.contract import (
    CALIBRATION_KNOTS,
    PROFILE_CENTER,
    PROFILE_GAIN,
    PROFILE_INPUTS,
    HeadKind,
)

from ..data.windows import Normaliser
from ..image import Image, ModelImageError
from ..predict.cps import check_knots, scores, tails
from ..predict.lstm import forward_windows
from ..predict.softmax import distributions
from ..predict.tree import tree_predict
from ..tree_image import TreeImage

__all__ = ["CARD_KEY", "Forecaster", "Settings"]

Ints = NDArray[np.int64]
CARD_KEY = "forecast"  #: of a queue model's data card: its calibration


@dataclass(frozen=True, eq=False)
class Settings:
    """What a queue model's integers do not say.

    Parameters
    ----------
    bin_edges : tuple of int
        Bytes, ascending; bin k is [edge k-1, edge k).
    horizon : int
        Base RTTs to look ahead; samples are one base RTT apart.
    normaliser : Normaliser
        Centers and gains of the profiler's inputs.
    threshold_bin : int
        First bin that counts as congestion.
    knots : ndarray of int64, shape (65,)
        Calibration table of the score.

    Raises
    ------
    ValueError
        A number is outside its range, or there are not as many as there must be.
    """

    bin_edges: tuple[int, ...]
    horizon: int
    normaliser: Normaliser
    threshold_bin: int
    knots: Ints

    def __post_init__(self) -> None:
        edges = self.bin_edges
        if not edges or edges[0] < 1 or any(b <= a for a, b in pairwise(edges)):
            raise ValueError(f"bin_edges must be ascending and positive, not {edges!r}")
        if self.horizon < 1:
            raise ValueError(f"horizon must be at least 1 base RTT, not {self.horizon!r}")
        if not 1 <= self.threshold_bin <= len(edges):
            raise ValueError(
                f"threshold_bin must be in 1..{len(edges)}, not {self.threshold_bin!r}"
            )
        for name, fmt in (("centers", PROFILE_CENTER), ("gains", PROFILE_GAIN)):
            values = getattr(self.normaliser, name)
            if len(values) != len(PROFILE_INPUTS):
                raise ValueError(f"{name} must be {len(PROFILE_INPUTS)} numbers, not {values!r}")
            if min(values) < fmt.min or max(values) > fmt.max:
                raise ValueError(f"{name} must lie in {fmt.min}..{fmt.max}, not {values!r}")
        check_knots(self.knots)

    @property
    def threshold_bytes(self) -> int:
        """Where congestion begins."""
        return self.bin_edges[self.threshold_bin - 1]

    def bins(self, size: Ints) -> Ints:
        """Bins of queue lengths in bytes."""
        return np.searchsorted(np.array(self.bin_edges), size, side="right").astype(np.int64)

    def card(self) -> dict[str, Any]:
        """JSON data for an image's card."""
        return {
            CARD_KEY: {
                "bin_edges": list(self.bin_edges),
                "centers": list(self.normaliser.centers),
                "gains": list(self.normaliser.gains),
                "horizon_base_rtts": self.horizon,
                "knots": self.knots.tolist(),
                "threshold_bin": self.threshold_bin,
            }
        }

    @classmethod
    def from_card(cls, card: dict[str, Any]) -> "Settings":
        """The settings of an image's card.

        Raises
        ------
        ModelImageError
            The card has none, or they are not valid.
        """
        told = card.get(CARD_KEY)
        if not isinstance(told, dict):
            raise ModelImageError(
                f"the data card must have an object {CARD_KEY!r}: train the model with Precog"
            )
        try:
            return cls(
                bin_edges=tuple(int(e) for e in told["bin_edges"]),
                horizon=int(told["horizon_base_rtts"]),
                normaliser=Normaliser(
                    tuple(int(c) for c in told["centers"]), tuple(int(g) for g in told["gains"])
                ),
                threshold_bin=int(told["threshold_bin"]),
                knots=np.array(told["knots"], dtype=np.int64).reshape(CALIBRATION_KNOTS),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ModelImageError(f"the data card's {CARD_KEY!r} is invalid: {error}") from error


class Forecaster:
    """Forecasts of one image, bit for bit the card's.

    Parameters
    ----------
    image : Image or TreeImage
        A `queue` head.

    Attributes
    ----------
    settings : Settings

    Raises
    ------
    ModelImageError
        Another head, other inputs, or a card without settings.
    """

    def __init__(self, image: Image | TreeImage) -> None:
        weights = image.header
        if weights.kind is not HeadKind.QUEUE or weights.inputs != len(PROFILE_INPUTS):
            raise ModelImageError(
                f"a forecaster needs a queue head of {len(PROFILE_INPUTS)} inputs, "
                f"not a {weights.kind.name.lower()} head of {weights.inputs}"
            )
        self.settings = Settings.from_card(image.card)
        if weights.outputs != len(self.settings.bin_edges) + 1:
            raise ModelImageError(
                f"the model has {weights.outputs} bins, its card {len(self.settings.bin_edges) + 1}"
            )
        self._image = image

    def distributions(self, signals: Ints) -> Ints:
        """Distributions of windows `signals` [n, T, 4], oldest first: [n, 16], each 32768 in all.

        Raises
        ------
        ValueError
            The window has another length than the model's; a tree takes longer ones, too.
        """
        x = self.settings.normaliser(signals)
        if isinstance(self._image, TreeImage):
            return tree_predict(self._image.model.tree, x)
        weights = self._image.weights
        return distributions(forward_windows(weights, x), weights.outputs)

    def tails(self, p: Ints) -> Ints:
        """P(bin >= threshold bin) of distributions, 0..32768."""
        return tails(p, self.settings.threshold_bin)

    def scores(self, p: Ints) -> Ints:
        """Congestion scores 0..100 of distributions."""
        return scores(self.settings.knots, self.tails(p))
