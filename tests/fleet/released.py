"""Sets of models and repositories of them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from precog_fleet.clock import now_ms
from precog_fleet.delta import head_delta
from precog_fleet.modelset import MANIFEST, Manifest, ModelSet, Queue
from precog_fleet.repository import Repository
from precog_models.image import Image, pretrained
from precog_models.predict.lstm import pack

__all__ = ["BASE", "model_set", "publish", "repository"]

BASE = pretrained("queue-1rtt")


def model_set(seed: int = 0, queues: tuple[Queue, ...] = (), base: Image = BASE) -> ModelSet:
    """A base and random heads of some queues; the seed changes the base's version, too."""
    rng = np.random.default_rng(seed)
    image = Image(replace(base.weights, version=100 + seed), base.card)
    heads = {}
    for queue in queues:
        wl = np.clip(image.weights.wl + rng.integers(-3, 4, image.weights.wl.shape), -128, 127)
        heads[queue] = head_delta(image.payload, pack(replace(image.weights, wl=wl)))
    return ModelSet(image, heads)


def repository(folder: Path, clock: Any = now_ms) -> Repository:
    """A new repository in a folder, with its keys."""
    return Repository.create(folder / "repository", folder / "keys", clock)


def publish(to: Repository, models: ModelSet, **about: Any) -> tuple[int, bytes]:
    """Release a set; its number and digest."""
    files = models.files() | {"evaluation.json": b'{"passed": true}'}
    return to.publish(files, about), Manifest.parse(files[MANIFEST]).digest
