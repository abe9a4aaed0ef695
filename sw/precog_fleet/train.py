"""TRAIN: from a training set to a set of models, resumable, by any number of workers.

    training set ─► base, in rounds ─► calibrated on validation ─► heads, in shards ─► model set
                    round-N.npz        base.safetensors            shard-N.json

Each step leaves a file in the job's folder; who begins the same job again goes on from there. The
same set, start and recipe give the same models, however many workers there are and wherever.
"""

import hashlib
import io
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from precog_models.data.windows import Windows
from precog_models.durable import write_durably
from precog_models.float_lstm import FloatLstm
from precog_models.forecast.finish import calibrated
from precog_models.forecast.forecaster import Forecaster, Settings
from precog_models.image import Image
from precog_models.quantize import dequantize
from precog_models.train.queue import QUEUE_RECIPES, QueueRecipe

from . import places
from .dataset import Dataset
from .fitting import HeadData, HeadFit, column_of, crps_of, fit_base, fit_heads
from .modelset import Manifest, ModelSet
from .places import require_new
from .runner import Runner, Task

__all__ = ["TRAINING", "FleetRecipe", "train"]

Progress = Callable[[int, int, str], None]  # tasks done, of how many, what

TRAINING = "training.json"
_WORK = "work"
_ARRAYS = ("w_ih", "w_hh", "bias", "head_w", "head_b")


@dataclass(frozen=True)
class FleetRecipe:
    """How a fleet's models are trained.

    Parameters
    ----------
    base : QueueRecipe
        One round of the shared model, which goes on from the model that runs.
    rounds : int
        0: the shared model stays as it is.
    heads : QueueRecipe
    shard : int
        Queues whose heads are trained together.
    least : int
        Windows that a queue must have for a head of its own.
    most : int
        Windows that the shared model learns from, drawn at random if there are more.
    seed : int

    Raises
    ------
    ValueError
        A number is out of its range.
    """

    base: QueueRecipe = field(
        default_factory=lambda: QueueRecipe(updates=300, batch=512, rate=5e-3, rounded_share=0.5)
    )
    rounds: int = 4
    heads: QueueRecipe = QUEUE_RECIPES["tune"]
    shard: int = 64
    least: int = 64
    most: int = 200_000
    seed: int = 0

    def __post_init__(self) -> None:
        for name, low in (("rounds", 0), ("shard", 1), ("least", 1), ("most", 1), ("seed", 0)):
            if getattr(self, name) < low:
                raise ValueError(f"{name} must be at least {low}, not {getattr(self, name)!r}")


def train(
    data: Dataset,
    start: Image,
    out: Path,
    recipe: FleetRecipe,
    runner: Runner,
    progress: Progress | None = None,
) -> Manifest:
    """Train, and write a model set to a folder.

    Parameters
    ----------
    data : Dataset
    start : Image
        The shared model that runs; training goes on from it.
    out : Path
    recipe : FleetRecipe
    runner : Runner
    progress : callable, optional
        Called with (tasks done, tasks, text).

    Raises
    ------
    ModelImageError
        The start is no queue model.
    ValueError
        Its horizon is not that of windows, or `out` is something else.
    FleetError
        Workers die again and again.
    """
    require_new(out, places.MODELS)
    settings = Forecaster(start).settings
    column_of(settings)
    job = _Job(data, start, out, recipe, runner, progress or (lambda *_: None), settings)
    job.prepare()
    base, losses = job.base()
    fits = job.heads(base)
    heads = {data.queues[n]: fit.delta for n, fit in fits.items() if fit.delta}
    manifest = ModelSet(base, heads).save(out)
    told = {
        "digest": manifest.digest.hex(),
        "start_crc32": f"{start.crc32:#010x}",
        "base_crc32": f"{base.crc32:#010x}",
        "base_changed": base.crc32 != start.crc32,
        "losses": losses,
        "recipe": asdict(recipe),
        "data": {"sha256": data.card["sha256"], "windows": data.card["windows"]},
        "queues": [
            [*data.queues[n], fit.windows, fit.shared, fit.own, bool(fit.delta)]
            for n, fit in sorted(fits.items())
        ],
    }
    write_durably(out / TRAINING, (json.dumps(told, indent=1, sort_keys=True) + "\n").encode())
    shutil.rmtree(out / _WORK)
    return manifest


@dataclass(frozen=True, eq=False)
class _Job:
    """The steps of one job, each with its file."""

    data: Dataset
    start: Image
    out: Path
    recipe: FleetRecipe
    runner: Runner
    progress: Progress
    settings: Settings

    @property
    def work(self) -> Path:
        return self.out / _WORK

    def prepare(self) -> None:
        """Keep the files of this very job; clear away those of another."""
        told = {
            "data": self.data.card["sha256"],
            "start": hashlib.sha256(self.start.to_bytes()).hexdigest(),
            "recipe": asdict(self.recipe),
        }
        name = json.dumps(told, sort_keys=True).encode()
        path = self.work / "job.json"
        if path.exists() and path.read_bytes() == name:
            return
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir(parents=True)
        write_durably(path, name)

    # --- the shared model ------------------------------------------------------------------------

    def base(self) -> tuple[Image, list[float]]:
        """The shared model and the losses of its rounds; the start, where it is no worse."""
        model, losses = dequantize(self.start.weights), []
        train = self.data.parts["train"]
        recipe = self.recipe
        rng = np.random.default_rng(recipe.seed)
        chosen = np.sort(rng.permutation(len(train))[: recipe.most])
        x, label = self._inputs(train.select(chosen))
        for n in range(recipe.rounds):
            path = self.work / f"round-{n}.npz"
            if not path.exists():
                arguments = (model, x, label, recipe.base, recipe.seed + n)
                ((_, result),) = self.runner.run([Task(f"round {n}", fit_base, arguments)])
                write_durably(path, _checkpoint(*result))
            model, loss = _restored(path, model)
            losses.append(loss)
            self.progress(n + 1, recipe.rounds, f"base, loss {loss:.4f}")
        if not losses:
            return self.start, losses
        validation = self.data.parts["validation"]
        image = calibrated(
            model,
            self.settings,
            validation,
            version=self.data.card["t1"] // 1000 % (1 << 32),
            source="telemetry of a fleet",
            training={"data": self.data.card["sha256"], "start": f"{self.start.crc32:#010x}"},
        )
        better = crps_of(image, validation).mean() < crps_of(self.start, validation).mean()
        return image if better else self.start, losses

    def _inputs(self, windows: Windows) -> tuple[Any, Any]:
        """Engine inputs and the bins that came."""
        x = self.settings.normaliser(windows.signals).astype(np.int16)
        return x, self.settings.bins(windows.later[:, column_of(self.settings)])

    # --- heads -----------------------------------------------------------------------------------

    def heads(self, base: Image) -> dict[int, HeadFit]:
        """What became of each queue that has enough windows, by its index."""
        train, check = self.data.parts["train"], self.data.parts["validation"]
        count = len(self.data.queues)
        enough = np.bincount(train.queue, minlength=count) >= self.recipe.least
        enough &= np.bincount(check.queue, minlength=count) > 0
        able = np.flatnonzero(enough)
        shards = [able[n : n + self.recipe.shard] for n in range(0, len(able), self.recipe.shard)]
        data = base.to_bytes()
        results = self.runner.run(self._head_tasks(data, shards))
        for done, (task, result) in enumerate(results, start=1):
            told = [[fit.delta.hex(), fit.windows, fit.shared, fit.own] for fit in result]
            write_durably(self.work / f"{task.name}.json", json.dumps(told).encode())
            self.progress(done, len(shards), "heads")
        fits: dict[int, HeadFit] = {}
        for n, queues in enumerate(shards):
            told = json.loads((self.work / f"shard-{n}.json").read_bytes())
            for queue, (delta, *figures) in zip(queues.tolist(), told, strict=True):
                fits[queue] = HeadFit(bytes.fromhex(delta), *figures)
        return fits

    def _head_tasks(self, base: bytes, shards: list[Any]) -> Iterator[Task]:
        for n, queues in enumerate(shards):
            if (self.work / f"shard-{n}.json").exists():
                continue
            parts = [self._head_data(self.data.parts[name], queues) for name in _HEAD_PARTS]
            arguments = (base, *parts, len(queues), self.recipe.heads, self.recipe.seed + n)
            yield Task(f"shard-{n}", fit_heads, arguments)

    def _head_data(self, windows: Windows, queues: Any) -> HeadData:
        chosen = windows.select(np.isin(windows.queue, queues))
        x, label = self._inputs(chosen)
        return HeadData(x, label, np.searchsorted(queues, chosen.queue))


_HEAD_PARTS = ("train", "validation")


def _checkpoint(model: FloatLstm, loss: float) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, loss=loss, **{name: getattr(model, name) for name in _ARRAYS})
    return buffer.getvalue()


def _restored(path: Path, like: FloatLstm) -> tuple[FloatLstm, float]:
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in _ARRAYS}
        return FloatLstm(**arrays, steps=like.steps, kind=like.kind), float(stored["loss"])
