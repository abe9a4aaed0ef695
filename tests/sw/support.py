"""Models and devices for the host's tests."""

import numpy as np
import pytest

from precog_host import opening
from precog_host.device import Device
from precog_host.emulator.device import Emulator
from precog_host.emulator.opening import open_emulator
from precog_models.image import Image
from precog_models.nic import GoldenNic
from precog_models.predict.lstm import LstmWeights
from precog_models.presets import law_preset
from precog_spec.contract import HIDDEN, MAX_INPUTS, MAX_OUTPUTS, Fmt, HeadKind


def random_image(
    seed: int, *, version: int = 1, steps: int = 3, kind: HeadKind = HeadKind.RTT
) -> Image:
    """A valid model of random integers with one input and one output."""
    rng = np.random.default_rng(seed)
    gates = 4 * HIDDEN
    wx = np.zeros((gates, MAX_INPUTS), dtype=np.int64)
    wx[:, 0] = rng.integers(-128, 128, gates)
    wl = np.zeros((MAX_OUTPUTS, HIDDEN), dtype=np.int64)
    wl[0] = rng.integers(-128, 128, HIDDEN)
    bl = np.zeros(MAX_OUTPUTS, dtype=np.int64)
    bl[0] = rng.integers(-200, 200)
    sh_l = np.zeros(MAX_OUTPUTS, dtype=np.int64)
    sh_l[0] = 7
    return Image(
        LstmWeights(
            wh=rng.integers(-128, 128, (gates, HIDDEN)),
            wx=wx,
            b=rng.integers(Fmt.PRE.min // 8, Fmt.PRE.max // 8, gates),
            sh_h=rng.integers(4, 8, gates),
            sh_x=rng.integers(4, 8, gates),
            wl=wl,
            bl=bl,
            sh_l=sh_l,
            inputs=1,
            steps=steps,
            outputs=1,
            kind=kind,
            version=version,
        ),
        {"origin": "random integers"},
    )


def random_samples(seed: int, n: int, qps: list[int]) -> np.ndarray:
    """Samples [n, 3] of an RTT that wanders between 4 and 12 µs, in ticks of 1 ns."""
    rng = np.random.default_rng(seed)
    t = np.cumsum(rng.integers(100, 2000, n))
    rtt = rng.integers(4000, 12000, n)
    return np.stack([rng.choice(qps, n), rtt, t], axis=1).astype(np.int64)


def keep_emulator(monkeypatch: pytest.MonkeyPatch, argument: str) -> Emulator:
    """Let every ``emu:`` be one device, which keeps its state between commands."""
    emulator = open_emulator(argument)
    monkeypatch.setattr(opening, "_BUILT_IN", {"emu": lambda _: emulator})
    return emulator


def golden_decisions(device: Device, image: Image, samples: np.ndarray) -> np.ndarray:
    """What the golden core decides, set up without any register."""
    nic = GoldenNic(qps=device.sizes.qps, sets=device.sizes.sets)
    preset = law_preset("precog")
    nic.set_parameters(preset.parameters(device.tick_ps) | {"skill_monitor": 0})
    nic.load_set(0, image.weights)
    nic.map_slot(1, 0)
    for qp in range(device.sizes.qps):
        nic.configure(
            qp,
            preset.configuration(device.tick_ps)
            | {"enable": 1, "algorithm": 2, "model_enable": 1, "model_slot": 1},
        )
    return nic.decide_many(samples)


def prepare(device: Device, image: Image) -> None:
    """Let every queue pair follow the predictions of `image`, in slot 1."""
    device.apply_preset("precog")
    device.set_parameters(skill_monitor=0)  # a random model on random RTTs is worse than none
    device.model.load(image, slot=1)
    for qp in range(device.sizes.qps):
        device.qp(qp).configure(preset="precog", enable=True, algorithm="predpid", model_slot=1)


def assert_live(device: Device, image: Image, samples: np.ndarray) -> None:
    """The device decides as the golden core does with `image`, from a fresh history on."""
    for qp in range(device.sizes.qps):
        device.qp(qp).clear()
    expected = golden_decisions(device, image, samples)
    assert np.array_equal(device.decide(samples), expected)
    assert (expected[:, 7] & 1).all(), "every decision must come from a prediction"
