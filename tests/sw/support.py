"""Models and devices for the host's tests."""

import numpy as np
import pytest

from precog_host import transport
from precog_host.emulator.device import Emulator
from precog_host.emulator.opening import open_emulator
from precog_models.image import Image
from precog_models.predict.lstm import LstmWeights
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
    monkeypatch.setattr(transport, "_BUILT_IN", {"emu": lambda _: emulator})
    return emulator
