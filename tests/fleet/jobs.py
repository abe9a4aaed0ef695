"""A worker that dies once, in the middle of a job."""

import os
from pathlib import Path
from typing import Any

from precog_fleet import fitting

__all__ = ["SMALL", "dies_once"]

from precog_fleet.train import FleetRecipe
from precog_models.train.queue import QueueRecipe

#: Seconds of work: enough updates to gain something on made-up queues.
SMALL = FleetRecipe(
    base=QueueRecipe(updates=60, batch=128, rate=1e-2, rounded_share=0.5),
    rounds=2,
    heads=QueueRecipe(updates=20, batch=32, rate=3e-3, rounded_share=0.5),
    shard=2,
    least=20,
)


def dies_once(mark: Path, *arguments: Any) -> Any:
    """As `fit_heads`, but the first process that comes here is gone, as by a kill -9."""
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return fitting.fit_heads(*arguments)
    os._exit(9)
