"""Sixty models live at once: each queue pair's predictions are those of its own."""

import numpy as np
import pytest

from precog_host.device import Device
from precog_models.image import Image
from precog_models.measure.feature import FEATURE_STATE, feature_step
from precog_models.predict.lstm import forward_windows
from precog_models.predict.rtt_head import rtt_pred
from precog_spec.contract import DECISION_FIELDS, MAX_INPUTS, MAX_STEPS

from .support import random_image

_MODELS, _SETS, _SAMPLES = 60, 64, 6
_NAMES = [name for name, _ in DECISION_FIELDS]


def _expected(images: list[Image], rtts: np.ndarray, sigma: int) -> np.ndarray:
    """Predictions [n, m] of queue pair k = row k by its own model, from the RTTs [n, m]."""
    found = np.zeros(rtts.shape, dtype=np.int64)
    for k, image in enumerate(images):
        state = np.zeros(len(FEATURE_STATE), dtype=np.int64)
        history = np.zeros(MAX_STEPS, dtype=np.int64)
        for n, rtt in enumerate(rtts[k].tolist()):
            history = np.append(history[1:], feature_step(state, rtt, sigma))
            steps = image.weights.steps
            window = np.zeros((1, steps, MAX_INPUTS), dtype=np.int64)
            window[0, :, 0] = history[-steps:]
            out = int(forward_windows(image.weights, window)[0, 0])
            found[k, n] = rtt_pred(int(state[FEATURE_STATE.index("srtt")]), out)
    return found


@pytest.mark.parametrize("kind", ["emu", pytest.param("sim", marks=pytest.mark.cosim)])
def test_each_queue_pair_has_a_model_of_its_own(kind: str, seed: int, volume: int) -> None:
    if kind == "sim" and volume == 1:
        pytest.skip("a NIC of its own with 64 sets to be built: --volume 2")
    rng = np.random.default_rng(seed)
    images = [random_image(seed % (1 << 30) + k, version=1 + k) for k in range(_MODELS)]
    with Device.open(f"{kind}:lanes=16,columns=1,steps=3,qps={_SETS},sets={_SETS}") as device:
        device.set_parameters("precog")
        for k, image in enumerate(images):
            assert device.model.load(image, slot=k).version == 1 + k
            device.qp(k).configure(preset="precog", enable=True, algorithm="predpid", model_slot=k)
        samples = np.array(
            [
                [qp, int(rng.integers(4_000, 12_000)), 10_000 * (n + 1)]
                for n in range(_SAMPLES)
                for qp in rng.permutation(_MODELS)
            ]
        )
        decisions = device.decide(samples)
        sigma = device.registers.fields("MEASURE", "SIGMA")["sigma"]
    rtts, made = (np.zeros((_MODELS, _SAMPLES), dtype=np.int64) for _ in range(2))
    for k in range(_MODELS):
        rtts[k] = samples[samples[:, 0] == k, 1]
        made[k] = decisions[decisions[:, 0] == k, _NAMES.index("rtt_pred")]
    np.testing.assert_array_equal(made, _expected(images, rtts, sigma))
    # The next one's model would have said something else.
    assert (made != _expected(images[1:] + images[:1], rtts, sigma)).mean() > 0.9
