"""Pre-processing (2)-(3): against the equations, flow by flow, and against the feature unit."""

import numpy as np
import pytest

from precog_models.data.pairs import BLOCKS, make_pairs
from precog_models.data.trace import Role, RttTrace
from precog_models.measure.feature import feature_stream
from precog_spec.contract import Fmt


def random_trace(rng: np.random.Generator, samples: int = 700, flows: int = 5) -> RttTrace:
    return RttTrace(
        flow=rng.integers(0, flows, samples),
        t=np.sort(rng.integers(0, 10**7, samples)),
        rtt=rng.integers(4000, 9000, samples),
        group="g",
        law="pid",
        role=Role.SPLIT,
    )


def test_features_and_labels_follow_the_equations(seed: int) -> None:
    trace = random_trace(np.random.default_rng(seed))
    pairs = make_pairs(trace, index=3)
    row = 0
    for flow in np.unique(trace.flow):
        rtt = trace.rtt[trace.flow == flow].tolist()
        s = float(rtt[0])
        window = [0.0] * 8
        for t in range(len(rtt) - 1):
            if t:
                s = 0.2 * rtt[t] + 0.8 * s
            window = [*window[1:], (rtt[t] - s) / s]
            np.testing.assert_allclose(pairs.k[row], window, rtol=1e-6, atol=1e-7)
            np.testing.assert_allclose(pairs.label[row], (rtt[t + 1] - s) / s, rtol=1e-5, atol=1e-7)
            np.testing.assert_allclose(pairs.srtt[row], s, rtol=1e-12)
            assert pairs.rtt_next[row] == rtt[t + 1]
            assert pairs.rtt_previous[row] == rtt[max(t - 1, 0)]
            size = abs(window[-1])
            assert pairs.bin[row] == (size >= 0.02) + (size >= 0.08) + (size >= 0.15)
            row += 1
    assert row == len(pairs)
    assert (pairs.trace == 3).all()
    assert pairs.bin_counts.sum() == len(pairs)


def test_integer_features_are_the_feature_units(seed: int) -> None:
    trace = random_trace(np.random.default_rng(seed), flows=2)
    pairs = make_pairs(trace)
    start = 0
    for flow in (0, 1):
        srtt, k = feature_stream(trace.rtt[trace.flow == flow], Fmt.SIGMA.from_float(0.2))
        n = len(k) - 1
        padded = np.concatenate([np.zeros(7, dtype=np.int64), k])
        for t in range(n):
            np.testing.assert_array_equal(pairs.k_q[start + t], padded[t : t + 8])
        np.testing.assert_array_equal(pairs.srtt_q[start : start + n], srtt[:-1])
        start += n


def test_a_whole_pair_touches_one_block_only(seed: int) -> None:
    trace = random_trace(np.random.default_rng(seed), flows=3)
    pairs = make_pairs(trace)
    n = len(trace.rtt)
    block = np.arange(n) * BLOCKS // n
    row = 0
    for flow in range(3):
        blocks = block[trace.flow == flow]
        for t in range(len(blocks) - 1):
            touched = blocks[max(t - 7, 0) : t + 2]
            assert pairs.block[row] == touched[-1]
            assert pairs.whole[row] == (len(set(touched.tolist())) == 1)
            row += 1
    assert 0 < pairs.whole.sum() < len(pairs)


def test_a_trace_without_pairs_is_refused() -> None:
    trace = RttTrace(
        flow=np.arange(4),
        t=np.arange(4),
        rtt=np.full(4, 5000),
        group="g",
        law="pid",
        role=Role.SPLIT,
    )
    with pytest.raises(ValueError, match="flow with two samples"):
        make_pairs(trace)
