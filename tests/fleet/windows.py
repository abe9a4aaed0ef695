"""Telemetry of made-up queues."""

import numpy as np

from precog_fleet.telemetry import Observation
from precog_models.contract import PROBABILITY

from .support import NOW

__all__ = ["observation"]


def observation(
    rng: np.random.Generator,
    *,
    t: int = NOW,
    device: str = "emu0",
    qp: int = 0,
    destination: str = "",
    model: int = 0x1234_5678,
) -> Observation:
    """Random numbers in their ranges; a distribution if a model ran."""
    shares = rng.dirichlet(np.ones(16)) if model else np.zeros(16)
    predicted = np.floor(shares * PROBABILITY.one).astype(np.int64)
    if model:
        predicted[-1] += PROBABILITY.one - predicted.sum()
    return Observation(
        t=t,
        device=device,
        qp=qp,
        destination=destination,
        set=3 if model else 0,
        version=7 if model else 0,
        model=model,
        signals=rng.integers(0, 1 << 20, (8, 4)),
        predicted=predicted,
        later=rng.integers(0, 1 << 20, 2),
        highest=rng.integers(0, 1 << 20, 2),
    )
