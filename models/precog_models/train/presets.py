"""How a predictor is trained: the thesis' recipe, and ours."""

import math
from dataclasses import dataclass

from precog_spec.contract import MAX_STEPS

__all__ = ["RECIPES", "Recipe", "recipe"]


@dataclass(frozen=True)
class Recipe:
    """One way of training.

    Parameters
    ----------
    name : str
        The preset's name.
    epochs : int
        Stretches of training, each with a row in the history.
    updates : int
        Optimizer steps in an epoch.
    batch : int
        Pairs in a step, drawn near-equally from the four bins of |K_t|.
    rate : float
        Adam's learning rate; the peak, if it is scheduled.
    steps : int
        Window length T.
    loss : str
        ``"l1"``: |out - L| (11); ``"mape"``: |out - L| / (1 + L), the quantity that is judged (13).
    scheduled : bool
        Warm up over the first tenth, then follow a cosine to zero; while freezing, a tenth of it.
    averaged : bool
        The result is the running mean of the last weights (decay 0.999).
    varied_share : float
        Share of every batch that comes from other scenarios than the core ones.
    freeze_share : float
        Share of all updates, the last, in which weights are moved to the quantizer's grid.
    input_scale : float
        Initial input weights, times torch's.
    pool : int
        Pairs drawn once, to which training is confined; 0: every training pair.
    history_pairs : int
        Random pairs behind each epoch's errors.

    Raises
    ------
    ValueError
        A value is outside its range.
    """

    name: str
    epochs: int
    updates: int
    batch: int
    rate: float
    steps: int = 3
    loss: str = "mape"
    scheduled: bool = True
    averaged: bool = True
    varied_share: float = 0.0
    freeze_share: float = 0.0
    input_scale: float = 1.0
    pool: int = 0
    history_pairs: int = 2000

    def __post_init__(self) -> None:
        for name in ("epochs", "updates", "batch", "history_pairs"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be positive, not {getattr(self, name)!r}")
        if not 0.0 < self.rate < math.inf:
            raise ValueError(f"rate must be a positive number, not {self.rate!r}")
        if not 1 <= self.steps <= MAX_STEPS:
            raise ValueError(f"steps must be in 1..{MAX_STEPS}, not {self.steps!r}")
        if self.loss not in ("l1", "mape"):
            raise ValueError(f"loss must be 'l1' or 'mape', not {self.loss!r}")
        for name in ("varied_share", "freeze_share"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ValueError(f"{name} must be in 0..1, not {getattr(self, name)!r}")


RECIPES: dict[str, Recipe] = {
    # §3.4.2: L1, 0.001, 19 epochs of 800 training and 200 test pairs out of 19 058.
    "thesis": Recipe(
        name="thesis",
        epochs=19,
        updates=800,
        batch=1,
        rate=1e-3,
        loss="l1",
        scheduled=False,
        averaged=False,
        pool=19_058,
        history_pairs=200,
    ),
    "precog": Recipe(
        name="precog",
        epochs=24,
        updates=500,
        batch=512,
        rate=2e-2,
        varied_share=0.4,
        freeze_share=0.25,
        input_scale=4.0,
    ),
}


def recipe(name: str) -> Recipe:
    """The preset of that name.

    Raises
    ------
    ValueError
        There is none.
    """
    if name not in RECIPES:
        raise ValueError(f"training preset must be one of {', '.join(RECIPES)}, not {name!r}")
    return RECIPES[name]
