"""A small world to learn: a clipped oscillation that a linear predictor cannot follow."""

import numpy as np
import pytest

from precog_models.data.dataset import Dataset
from precog_models.data.trace import Role, RttTrace


def oscillation(rng: np.random.Generator, role: Role, group: str, law: str) -> RttTrace:
    flows, samples = 4, 600
    rtt = np.empty((samples, flows), dtype=np.int64)
    for flow in range(flows):
        phase = np.cumsum(rng.uniform(0.3, 0.9, samples))
        noise = rng.normal(0.0, 0.01, samples)
        rtt[:, flow] = 4200 * (1.0 + np.maximum(0.0, np.sin(phase)) + noise).clip(0.5)
    return RttTrace(
        flow=np.tile(np.arange(flows), samples),
        t=np.arange(flows * samples),
        rtt=rtt.reshape(-1),
        group=group,
        law=law,
        role=role,
    )


@pytest.fixture(scope="session")
def dataset() -> Dataset:
    """Two laws, a varied run and an unseen one; always the same."""
    rng = np.random.default_rng(1)
    return Dataset.from_traces(
        [
            oscillation(rng, Role.SPLIT, "core", "pid"),
            oscillation(rng, Role.SPLIT, "core", "timely"),
            oscillation(rng, Role.TRAIN, "varied", "pid"),
            oscillation(rng, Role.TEST, "unseen", "pid"),
        ]
    )
