"""Models of queues of their own, and trees and GRUs that learn the same things."""

import numpy as np
import pytest

from precog_models.data.windows import BIN_EDGES, STEPS, THRESHOLD_BIN, Normaliser, Windows
from precog_models.forecast.forecaster import Forecaster, Settings
from precog_models.predict.cps import identity_knots
from precog_models.predict.tree import tree_predict
from precog_models.quantize import quantize
from precog_models.train.distill import distill
from precog_models.train.fit_queues import fit_queues
from precog_models.train.gru import Gru
from precog_models.train.queue import QueueRecipe, fit, probabilities
from precog_models.train.stacked import Stack
from precog_spec.contract import PROBABILITY, Fmt


def _windows(seed: int, n: int) -> Windows:
    """Queue 0 is always empty later, queue 1 always full, whatever they are now."""
    rng = np.random.default_rng(seed)
    queue = rng.integers(0, 2, n)
    later = np.where(queue == 0, 0, 1 << 20)
    two = np.stack([later, later], axis=1)
    zeros = np.zeros(n, dtype=np.int64)
    signals = rng.integers(0, 1 << 20, (n, STEPS, 4))
    return Windows(signals, queue, zeros, zeros, zeros == 0, two, two, two)


def test_each_queue_gets_what_is_its_own(seed: int) -> None:
    train, check = _windows(seed, 200), _windows(seed + 1, 60)
    normaliser = Normaliser.fit(train.signals)
    settings = Settings(BIN_EDGES, 4, normaliser, THRESHOLD_BIN, identity_knots())
    stack = Stack(inputs=4, outputs=16, steps=STEPS, seed=seed)
    base = quantize(stack.to_float_lstm(), card=settings.card(), version=5)
    recipe = QueueRecipe(updates=120, batch=16, rate=3e-2)
    fits = fit_queues(base, train, check, recipe, seed=seed)
    assert [(one.run, one.queue, one.own) for one in fits] == [(0, 0, True), (0, 1, True)]
    for one, bin_ in zip(fits, (0, 15), strict=True):
        p = Forecaster(one.image).distributions(check.signals[check.queue == one.queue])
        assert (p[:, bin_] > 0.9 * PROBABILITY.one).all()
        assert one.own_crps < one.shared_crps
        assert one.image.weights.version == 5
        assert one.windows == (train.queue == one.queue).sum()


def test_the_shared_model_stays_where_the_own_one_is_worse(seed: int) -> None:
    """The history says the opposite of what comes."""
    train, check = _windows(seed, 200), _windows(seed, 60)
    later = (1 << 20) - check.later
    check = Windows(**{**vars(check), "later": later})
    settings = Settings(
        BIN_EDGES, 1, Normaliser.fit(train.signals), THRESHOLD_BIN, identity_knots()
    )
    stack = Stack(inputs=4, outputs=16, steps=STEPS, seed=seed)
    base = quantize(stack.to_float_lstm(), card=settings.card())
    recipe = QueueRecipe(updates=120, batch=16, rate=3e-2)
    fits = fit_queues(base, train, check, recipe, seed=seed)
    assert [one.own for one in fits] == [False, False]
    assert all(one.image is base for one in fits)


def test_a_tree_learns_what_it_is_told(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(-20_000, 20_000, (4000, 3, 8))
    # four distributions, by the newest input 2 and the input 1 of the step before
    kind = 2 * (x[:, 2, 2] >= 1000) + (x[:, 1, 1] >= -500)
    p = np.eye(4)[kind]
    tree = distill(x, p, depth=4)
    assert set(np.unique(tree.source)) <= {0, 1, 2, 3, 8, 9, 10, 11}
    got = tree_predict(tree, x) / PROBABILITY.one
    assert np.abs(got[:, :4] - p).sum(axis=1).mean() < 0.2
    assert not got[:, 4:].any()
    assert (tree.leaves.sum(axis=1) == PROBABILITY.one).all()


def test_a_tree_of_one_answer(seed: int) -> None:
    x = np.zeros((5, 2, 8), dtype=np.int64)
    p = np.tile([0.25, 0.75], (5, 1))
    tree = distill(x, p, depth=2)
    assert tree_predict(tree, x)[:, :2].tolist() == [[8192, 24576]] * 5


def test_a_gru_learns_and_is_torchs(seed: int) -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(seed)
    x = rng.integers(Fmt.X.min // 4, Fmt.X.max // 4, (300, 3, 8))
    label = (x[:, -1, 0] > 0).astype(np.int64)
    gru = Gru(inputs=2, outputs=2, steps=3, seed=seed)
    reference = torch.nn.GRU(2, 16, batch_first=True)
    with torch.no_grad():
        reference.weight_ih_l0.copy_(gru.w_ih[0].T)
        reference.weight_hh_l0.copy_(gru.w_hh[0].T)
        reference.bias_ih_l0.copy_(gru.b_ih[0, 0])
        reference.bias_hh_l0.copy_(gru.b_hh[0, 0])
        reals = torch.from_numpy((x[:, :, :2] / Fmt.X.one).astype(np.float32))
        last = reference(reals)[0][:, -1]
        want = last @ gru.head_w[0] + gru.head_b[0]
        assert torch.allclose(gru(reals[None])[0], want, atol=1e-5)
    recipe = QueueRecipe(updates=150, batch=64, rate=2e-2)
    fit(gru, x, label, [np.arange(300)], recipe, inputs=2, seed=seed)
    assert (probabilities(gru, x, inputs=2).argmax(axis=1) == label).mean() > 0.9


def test_refusals() -> None:
    x, p = np.zeros((3, 2, 8), dtype=np.int64), np.ones((3, 1))
    with pytest.raises(ValueError, match=r"depth must be in 1\.\.6, not 9"):
        distill(x, p, depth=9)
    with pytest.raises(ValueError, match=r"look_back must be in 1\.\.2, not 3"):
        distill(x, p, look_back=3)
    with pytest.raises(ValueError, match="windows to grow on, not none"):
        distill(x[:0], p[:0])
