"""The table of errors: figures by hand, intervals, and the integer model bit for bit."""

import numpy as np
import pytest

from precog_models.data.dataset import Dataset
from precog_models.float_lstm import FloatLstm
from precog_models.measure.feature import feature_stream
from precog_models.predict.lstm import forward_stream
from precog_models.predict.rtt_head import rtt_pred
from precog_models.quantize import quantize
from precog_models.train.evaluate import METHODS, evaluate, integer_rtt
from precog_spec.contract import HIDDEN, Fmt


def constant_model(value: float) -> FloatLstm:
    """out = value, whatever the input."""
    return FloatLstm(
        w_ih=np.zeros((64, 1)),
        w_hh=np.zeros((64, HIDDEN)),
        bias=np.zeros(64),
        head_w=np.zeros((1, HIDDEN)),
        head_b=np.array([value]),
        steps=3,
    )


def random_model(seed: int, steps: int = 3) -> FloatLstm:
    rng = np.random.default_rng(seed)
    return FloatLstm(
        w_ih=rng.normal(0, 1.0, (64, 1)),
        w_hh=rng.normal(0, 0.5, (64, HIDDEN)),
        bias=rng.normal(0, 0.5, 64),
        head_w=rng.normal(0, 0.1, (1, HIDDEN)),
        head_b=np.zeros(1),
        steps=steps,
    )


def test_scores_by_hand(dataset: Dataset) -> None:
    table = evaluate(dataset, constant_model(0.125), draws=20)
    pairs = dataset.test["core"]
    laws = dataset.law_of(pairs)
    for law in ("all", "pid", "timely"):
        mask = np.ones(len(pairs), dtype=bool) if law == "all" else laws == law
        predicted = 1.125 * pairs.srtt[mask]
        errors = 100 * np.abs(predicted - pairs.rtt_next[mask]) / pairs.rtt_next[mask]
        bins = [errors[pairs.bin[mask] == b].mean() for b in range(4)]
        score = table.score("core", "float", law)
        assert score.pairs == mask.sum()
        np.testing.assert_allclose(score.bins, bins, rtol=1e-9)
        np.testing.assert_allclose(score.balanced, np.mean(bins), rtol=1e-9)
        np.testing.assert_allclose(score.unbalanced, errors.mean(), rtol=1e-9)
        assert score.interval[0] < score.balanced < score.interval[1]


def test_every_row_is_there_once(dataset: Dataset) -> None:
    model = constant_model(0.0)
    table = evaluate(dataset, model, quantize(model), draws=5)
    keys = [(s.group, s.law, s.method) for s in table.scores]
    expected = [("core", law, m) for law in ("all", "pid", "timely") for m in METHODS]
    expected += [("unseen", "all", m) for m in METHODS]  # one law only: no row of its own
    assert keys == expected
    assert table.to_dict()[0]["method"] == "float"
    assert "integer" not in {s.method for s in evaluate(dataset, model, draws=5).scores}
    with pytest.raises(KeyError, match="no score of 'float' for 'moon'"):
        table.score("moon", "float")


@pytest.mark.parametrize("steps", [1, 3, 8])
def test_integer_rtt_is_the_data_paths(dataset: Dataset, steps: int, seed: int) -> None:
    image = quantize(random_model(seed, steps))
    pairs = dataset.test["unseen"]
    got = integer_rtt(image, pairs)
    trace = dataset.traces[3]
    start = 0
    for flow in range(4):
        srtt, k = feature_stream(trace.rtt[trace.flow == flow], Fmt.SIGMA.from_float(0.2))
        x = np.zeros((len(k), 8), dtype=np.int64)
        x[:, 0] = k
        out = forward_stream(image.weights, x)[:, 0]
        expected = [rtt_pred(int(s), int(o)) for s, o in zip(srtt, out, strict=True)][:-1]
        np.testing.assert_array_equal(got[start : start + len(expected)], expected)
        start += len(expected)
    assert start == len(pairs)


def test_integer_scores_are_the_data_paths(dataset: Dataset, seed: int) -> None:
    model = random_model(seed)
    image = quantize(model)
    table = evaluate(dataset, model, image, draws=5)
    for group, pairs in dataset.test.items():
        predicted = integer_rtt(image, pairs) / Fmt.SRTT.one
        errors = 100 * np.abs(predicted - pairs.rtt_next) / pairs.rtt_next
        bins = [errors[pairs.bin == b].mean() for b in np.unique(pairs.bin)]
        score = table.score(group, "integer")
        np.testing.assert_allclose(score.balanced, np.mean(bins), rtol=1e-9)
        np.testing.assert_allclose(score.unbalanced, errors.mean(), rtol=1e-9)
        assert score.balanced != table.score(group, "float").balanced


def test_other_models_are_refused(dataset: Dataset) -> None:
    model = random_model(0)
    two = FloatLstm(
        w_ih=np.zeros((64, 2)),
        w_hh=model.w_hh,
        bias=model.bias,
        head_w=model.head_w,
        head_b=model.head_b,
        steps=3,
    )
    with pytest.raises(ValueError, match="one input, not 2"):
        integer_rtt(quantize(two), dataset.core)
