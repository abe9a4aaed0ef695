"""Splits: nothing that is tested was ever trained on."""

import numpy as np
import pytest

from precog_models.data.dataset import TEST_EVERY, Dataset
from precog_models.data.trace import Role, RttTrace


def trace(rng: np.random.Generator, role: Role, group: str, law: str = "pid") -> RttTrace:
    samples = 900
    # Distinct RTTs: each sample can be recognised in whichever pair it turns up.
    rtt = rng.permutation(samples) + 4000 + 10_000 * int(rng.integers(1, 1000))
    return RttTrace(
        flow=rng.integers(0, 4, samples),
        t=np.arange(samples),
        rtt=rtt,
        group=group,
        law=law,
        role=role,
    )


def test_no_test_sample_is_trained_on(seed: int) -> None:
    rng = np.random.default_rng(seed)
    traces = [
        trace(rng, Role.SPLIT, "core"),
        trace(rng, Role.TRAIN, "varied"),
        trace(rng, Role.SPLIT, "core", "timely"),
        trace(rng, Role.TEST, "unseen"),
    ]
    data = Dataset.from_traces(traces)
    assert data.varied is not None
    assert set(data.test) == {"core", "unseen"}
    assert set(data.core.trace.tolist()) == {0, 2}
    assert set(data.varied.trace.tolist()) == {1}
    assert set(data.test["unseen"].trace.tolist()) == {3}
    for index in (0, 2):
        train = data.core.select(data.core.trace == index)
        test = data.test["core"].select(data.test["core"].trace == index)
        assert len(train) > 2 * len(test) > 0
        assert not set(train.block.tolist()) & set(test.block.tolist())
        trained = set(train.rtt_next.tolist()) | set(train.rtt_previous.tolist())
        tested = set(test.rtt_next.tolist()) | set(test.rtt_previous.tolist())
        assert not trained & tested


def test_each_run_starts_its_test_blocks_elsewhere(seed: int) -> None:
    rng = np.random.default_rng(seed)
    data = Dataset.from_traces([trace(rng, Role.SPLIT, "core") for _ in range(TEST_EVERY)])
    first = [data.test["core"].select(data.test["core"].trace == k).block.min() for k in range(5)]
    assert sorted(first) == [0, 1, 2, 3, 4]


def test_laws_of_pairs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    data = Dataset.from_traces(
        [trace(rng, Role.SPLIT, "core"), trace(rng, Role.SPLIT, "core", "timely")]
    )
    laws = data.law_of(data.test["core"])
    assert set(laws[data.test["core"].trace == 1].tolist()) == {"timely"}


def test_mixed_up_roles_are_refused(seed: int) -> None:
    rng = np.random.default_rng(seed)
    with pytest.raises(ValueError, match=r"both trained on and kept away: \['core'\]"):
        Dataset.from_traces([trace(rng, Role.SPLIT, "core"), trace(rng, Role.TEST, "core")])
    with pytest.raises(ValueError, match="role 'split'"):
        Dataset.from_traces([trace(rng, Role.TRAIN, "core")])
