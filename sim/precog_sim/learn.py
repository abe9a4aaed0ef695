"""From nothing to a loadable model: simulate, train, judge, quantize.

    precog model train -o models/precog_models/pretrained/rtt-incast.safetensors

makes the model that comes with the package.
"""

from collections.abc import Callable
from dataclasses import dataclass

from precog_models.data.dataset import Dataset
from precog_models.image import Image
from precog_models.quantize import quantize
from precog_models.train.card import data_card
from precog_models.train.evaluate import Evaluation, evaluate
from precog_models.train.train import TrainedModel, train
from precog_sim.collect import collect, plan

__all__ = ["Learned", "Progress", "learn"]

Progress = Callable[[str, int, int], None]  # what is going on, done, of how many

_SOURCE = "Precog's packet-level simulator: one-switch incasts, one RTT sample per round trip"


@dataclass(frozen=True, eq=False)
class Learned:
    """What `learn` leaves behind."""

    image: Image
    trained: TrainedModel
    evaluation: Evaluation
    dataset: Dataset


def learn(
    data: str = "precog",
    preset: str = "precog",
    *,
    seed: int = 0,
    version: int = 1,
    workers: int = 1,
    progress: Progress | None = None,
) -> Learned:
    """Collect a data plan, train a preset on it, judge it, and quantize it.

    Parameters
    ----------
    data : str
        A name in `collect.PLANS`.
    preset : str
        A name in `precog_models.train.presets.RECIPES`.
    seed : int
        Of the training; the plan has its own seeds.
    version : int
        Version that the image carries.
    workers : int
        Processes that simulate.
    progress : callable, optional
        Called with (text, steps done, steps).

    Returns
    -------
    Learned

    Raises
    ------
    ValueError
        The plan or the preset does not exist.
    """

    def report(text: str, done: int, total: int) -> None:
        if progress is not None:
            progress(text, done, total)

    traces = collect(
        plan(data), workers=workers, progress=lambda done, total: report("simulate", done, total)
    )
    report("prepare", 0, 1)
    dataset = Dataset.from_traces(traces)
    trained = train(
        preset,
        dataset,
        seed=seed,
        progress=lambda done, total, text: report(f"train ({text})", done, total),
    )
    report("evaluate", 0, 1)
    weights_only = quantize(trained.model, version=version)
    evaluation = evaluate(dataset, trained.model, weights_only)
    card = data_card(dataset, evaluation, trained.card(), source=f"{_SOURCE}; plan {data!r}")
    report("evaluate", 1, 1)
    return Learned(
        image=quantize(trained.model, card=card, version=version),
        trained=trained,
        evaluation=evaluation,
        dataset=dataset,
    )
