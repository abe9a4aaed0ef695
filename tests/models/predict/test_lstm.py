"""The integer LSTM: its image, its arithmetic, its distance from a float LSTM."""

import dataclasses
import struct
from fractions import Fraction

import numpy as np
import pytest

from precog_models.fixed import saturate
from precog_models.predict.lstm import (
    cell,
    forward_stream,
    forward_windows,
    pack,
    recur,
    unpack,
)
from precog_models.predict.rtt_head import rtt_pred
from precog_spec.contract import CONTRACT_HASH, HEADER_OFFSET, IMAGE_BYTES, Fmt, HeadKind

from . import exact_lstm
from .weights import float_forward, random_weights, trained_like_weights


def test_image_keeps_every_field(seed):
    rng = np.random.default_rng(seed)
    w = dataclasses.replace(
        random_weights(rng, inputs=3, steps=5, outputs=7), kind=HeadKind.QUEUE, version=0xFEEDBEEF
    )
    image = pack(w)
    back = unpack(image)
    for field in dataclasses.fields(w):
        assert np.array_equal(getattr(back, field.name), getattr(w, field.name)), field.name
    # Spot checks of the layout itself, so that pack and unpack cannot be wrong together.
    assert image[5 * 64 + 37] == w.wh[37, 5] % 256
    assert image[(16 + 2) * 64 + 9] == w.wx[9, 2] % 256
    assert struct.unpack_from("<h", image, 24 * 64 + 2 * 41)[0] == w.b[41]
    assert image[26 * 64 + 50] == w.sh_h[50] | w.sh_x[50] << 4
    assert image[28 * 64 + 2 * 16 + 11] == w.wl[6, 11] % 256
    assert struct.unpack_from("<h", image, 31 * 64 + 2 * 4)[0] == w.bl[4]
    assert image[31 * 64 + 32 + 2] == w.sh_l[4] | w.sh_l[5] << 4
    assert image[HEADER_OFFSET : HEADER_OFFSET + 4] == bytes([3, 5, 7, HeadKind.QUEUE])


def changed(image: bytes, offset: int, value: int) -> bytes:
    return image[:offset] + bytes([value]) + image[offset + 1 :]


@pytest.mark.parametrize(
    ("offset", "value", "message"),
    [
        (HEADER_OFFSET, 0, "inputs must be in 1..8, not 0"),
        (HEADER_OFFSET + 1, 9, "steps must be in 1..8, not 9"),
        (HEADER_OFFSET + 2, 17, "outputs must be in 1..16, not 17"),
        (HEADER_OFFSET + 3, 9, "head kind must be one of"),
        (HEADER_OFFSET + 8, CONTRACT_HASH % 256 ^ 1, "contract hash must be"),
        (HEADER_OFFSET + 20, 1, "unused bytes of a model image must be zero"),
        (26 * 64, 8, "sh_h must lie in 0..7"),
        (17 * 64, 1, "wx must be zero from input 1 on"),
        (27 * 64 + 16, 1, "zero from output 1 on"),
    ],
)
def test_bad_images_are_refused(offset, value, message):
    image = pack(random_weights(np.random.default_rng(0)))
    with pytest.raises(ValueError, match=message):
        unpack(changed(image, offset, value))


@pytest.mark.parametrize("size", [0, IMAGE_BYTES - 1, IMAGE_BYTES + 1])
def test_images_of_wrong_size_are_refused(size):
    with pytest.raises(ValueError, match=f"must have {IMAGE_BYTES} bytes, not {size}"):
        unpack(bytes(size))


def test_weights_are_checked():
    w = random_weights(np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"wh must lie in -128\.\.127"):
        dataclasses.replace(w, wh=w.wh + 1000)
    with pytest.raises(ValueError, match=r"b must have shape \(64,\)"):
        dataclasses.replace(w, b=w.b[:3])
    with pytest.raises(TypeError, match="b must be an int64 array, not float64"):
        dataclasses.replace(w, b=w.b.astype(float))
    with pytest.raises(ValueError, match="version must be a 32-bit unsigned number"):
        dataclasses.replace(w, version=-1)


@pytest.mark.parametrize("steps", [3, 8])
def test_distance_from_float(steps, seed):
    """Of one model, fixed: how far rounding carries depends on the weights."""
    rng = np.random.default_rng(seed)
    w = trained_like_weights(np.random.default_rng(0), steps=steps)
    x = np.zeros((4000, steps, 8), dtype=np.int64)
    x[:, :, 0] = np.clip(rng.normal(0, 0.3, (4000, steps)), -1, 4) * Fmt.X.one
    error = forward_windows(w, x)[:, 0] / Fmt.OUT.one - float_forward(w, x)[:, 0]
    print(f"rms {error.std():.2e}, largest {abs(error).max():.2e}, mean {error.mean():.1e}")
    assert abs(error).max() < 6e-4


@pytest.mark.parametrize("saturating", [False, True])
def test_every_output_is_that_of_exact_arithmetic(saturating, seed):
    rng = np.random.default_rng(seed)
    w = random_weights(rng, inputs=2, steps=3, outputs=16, saturating=saturating)
    x = rng.integers(-8192, 8192, (12, 3, 8))
    x[0], x[1] = Fmt.X.min, Fmt.X.max
    wanted = [exact_lstm.forward(w, window) for window in x]
    assert forward_windows(w, x).tolist() == wanted


def test_every_state_is_that_of_exact_arithmetic(seed):
    """h is floored, also where it is negative; c is rounded to nearest."""
    rng = np.random.default_rng(seed)
    w = random_weights(rng)
    for _ in range(20):
        p = rng.integers(-6000, 6000, 64)
        c = rng.integers(-4 * Fmt.C.one, 4 * Fmt.C.one, 16)
        new_c, new_h = exact_lstm.step(
            [Fraction(int(n), Fmt.PRE.one) for n in p], [Fraction(int(n), Fmt.C.one) for n in c]
        )
        h = np.zeros(16, dtype=np.int64)
        cell(w.wx * 0, w.sh_x, np.zeros(8, dtype=np.int64), p, c, h)
        assert c.tolist() == [n * Fmt.C.one for n in new_c]
        assert h.tolist() == [n * Fmt.H.one for n in new_h]


def test_the_past_of_a_stream_is_zero(seed):
    rng = np.random.default_rng(seed)
    w = random_weights(rng, inputs=2, steps=4, outputs=3)
    x = rng.integers(-4096, 4096, (6, 8))
    streamed = forward_stream(w, x)
    for n in range(len(x)):
        window = np.concatenate([np.zeros((3, 8), dtype=np.int64), x[: n + 1]])[-4:]
        assert np.array_equal(streamed[n], forward_windows(w, window[None])[0])


def test_partial_sums_saturate(seed):
    rng = np.random.default_rng(seed)
    w = random_weights(rng)
    h = np.full(16, Fmt.H.min, dtype=np.int64)
    p = np.zeros(64, dtype=np.int64)
    recur(np.full((64, 16), -128), w.b, np.zeros(64, dtype=np.int64), h, p)
    assert (p == Fmt.PRE.max).all()
    recur(np.full((64, 16), 127), w.b, np.zeros(64, dtype=np.int64), h, p)
    assert (p == Fmt.PRE.min).all()
    exact = (-128 * 16 * Fmt.H.min) / 2.0 ** (4 + 7)
    recur(np.full((64, 16), -128), w.b, np.full(64, 7), h, p)
    assert p.tolist() == [saturate(int(exact) + int(b), 16) for b in w.b]


@pytest.mark.parametrize("sign", [1, -1])
def test_cell_state_cannot_overflow_in_eight_steps(sign):
    # The gates wide open, the candidate at its end: |c| grows by 1 less an LSB or so a step.
    w = random_weights(np.random.default_rng(0))
    p = np.full(64, Fmt.PRE.max, dtype=np.int64)
    p[32:48] = Fmt.PRE.max * sign
    c, h, x = (np.zeros(n, dtype=np.int64) for n in (16, 16, 8))
    for _ in range(8):
        cell(w.wx * 0, w.sh_x, x, p, c, h)
    assert (abs(c) >= 7.99 * Fmt.C.one).all()
    assert (c >= Fmt.C.min).all()
    assert (c <= Fmt.C.max).all()


@pytest.mark.parametrize(
    ("srtt", "out", "expected"),
    [
        (1_280_000, 0, 1_280_000),
        (1_280_001, 2048, 1_920_001),  # 1.5 times, rounded down
        (1000, -4096, 0),
        (1000, -5000, 0),
        (2**32 - 1, 1, 2**32 - 1),
        (2**32 - 1, -1, (4095 * (2**32 - 1)) >> 12),
    ],
)
def test_rtt_pred(srtt, out, expected):
    assert rtt_pred(srtt, out) == expected
