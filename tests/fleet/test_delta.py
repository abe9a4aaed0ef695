"""A queue's head as the difference to the shared base: exact, small, and refused elsewhere."""

import zlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from precog_fleet.compact import shrink
from precog_fleet.delta import MAX_DELTA_BYTES, apply_delta, head_delta
from precog_models.image import pretrained
from precog_models.predict.lstm import LstmWeights, pack
from precog_spec.contract import HIDDEN, MAX_OUTPUTS, Fmt

BASE = pretrained("queue-1rtt")
CRC = BASE.crc32


def retrained(seed: int, spread: int) -> LstmWeights:
    """The base with another head."""
    rng = np.random.default_rng(seed)
    weights = BASE.weights
    change = rng.integers(-spread, spread + 1, (MAX_OUTPUTS, HIDDEN))
    return replace(
        weights,
        wl=np.clip(weights.wl + change, -128, 127),
        bl=rng.integers(Fmt.OUT.min, Fmt.OUT.max + 1, MAX_OUTPUTS),
        sh_l=rng.integers(0, 8, MAX_OUTPUTS),
        version=int(rng.integers(1 << 32)),
    )


@given(st.integers(0, 1 << 32), st.integers(0, 255))
def test_a_delta_gives_the_image_back(seed: int, spread: int) -> None:
    own = pack(retrained(seed, spread))
    delta = head_delta(BASE.payload, own)
    assert len(delta) <= MAX_DELTA_BYTES
    assert apply_delta(BASE.payload, delta, base_crc=CRC) == own


def test_a_small_change_is_small(seed: int) -> None:
    own = replace(retrained(seed, 3), bl=BASE.weights.bl, sh_l=BASE.weights.sh_l, version=7)
    assert len(head_delta(BASE.payload, pack(own))) < 170


def test_what_is_no_delta(seed: int) -> None:
    base = BASE.payload
    recurrent = replace(BASE.weights, wh=BASE.weights.wh[::-1].copy())
    with pytest.raises(ValueError, match="must differ from its base in the head only"):
        head_delta(base, pack(recurrent))
    with pytest.raises(ValueError, match="payload must have 2048 bytes, not 3"):
        head_delta(base, b"abc")
    delta = head_delta(base, pack(retrained(seed, 5)))
    with pytest.raises(ValueError, match="made for another base"):
        apply_delta(pretrained("queue-4rtt").payload, delta, base_crc=CRC)
    for bad, message in (
        (b"", "one zstd frame"),
        (delta[:-1], "one zstd frame"),
        (shrink(bytes(299)), "must hold 300 bytes, not 299"),
        (shrink(bytes(301)), "at most 300 bytes, not 301"),
        (bytes(513), "at most 512 bytes, not 513"),
    ):
        with pytest.raises(ValueError, match=message):
            apply_delta(base, bad, base_crc=CRC)


def test_a_sum_that_is_no_image(seed: int) -> None:
    """Shifts above 7 pass every signature, but no image has them."""
    own = bytearray(pack(retrained(seed, 5)))
    own[2016] = 0xFF  # two shifts of 15
    delta = head_delta(BASE.payload, bytes(own))
    assert zlib.crc32(BASE.payload) == CRC
    with pytest.raises(ValueError, match="sh_l must lie in"):
        apply_delta(BASE.payload, delta, base_crc=CRC)
