"""The code: every single error is corrected, every double error detected, at every width used."""

from itertools import combinations

import numpy as np
import pytest

from precog_models.predict.ecc import Found, decode, decode_pairs, encode, guard, matrix
from precog_spec.secded import (
    PAIR_BITS,
    STORED_BITS,
    TAIL_PAIRS,
    TAIL_ROW,
    check_bits,
    columns,
    guarded_pairs,
)

WIDTHS = (1, 4, 8, 26, 32, 64, 120)


def random_words(seed: int, n: int, bits: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2, (n, bits), dtype=np.uint8)


def test_known_sizes() -> None:
    assert [check_bits(bits) for bits in (4, 8, 16, 32, 64)] == [4, 5, 6, 7, 8]
    with pytest.raises(ValueError, match="data bits must be 1 or more, not 0"):
        check_bits(0)


@pytest.mark.parametrize("bits", WIDTHS)
def test_columns_are_odd_and_different(bits: int) -> None:
    whole = matrix(bits)
    assert whole.shape == (check_bits(bits), bits + check_bits(bits))
    assert (whole.sum(axis=0) % 2 == 1).all()
    assert len({tuple(column) for column in whole.T}) == whole.shape[1]


def test_the_matrix_of_a_pair_has_few_ones_evenly_spread() -> None:
    weights = [column.bit_count() for column in columns(PAIR_BITS)]
    assert sorted(weights) == [3] * 56 + [5] * 8
    assert (matrix(PAIR_BITS)[:, :PAIR_BITS].sum(axis=1) == 26).all()


@pytest.mark.parametrize("bits", WIDTHS)
def test_single_errors_are_corrected(bits: int, seed: int) -> None:
    words = encode(random_words(seed, 3, bits))
    assert (decode(words, bits)[1] == Found.CLEAN).all()
    for place in range(words.shape[1]):
        wrong = words.copy()
        wrong[:, place] ^= 1
        fixed, found, at = decode(wrong, bits)
        assert (fixed == words).all()
        assert (found == Found.CORRECTED).all()
        assert (at == place).all()


@pytest.mark.parametrize("bits", WIDTHS)
def test_double_errors_are_detected(bits: int, seed: int) -> None:
    word = encode(random_words(seed, 1, bits))
    errors = [*combinations(range(word.shape[1]), 2)]
    wrong = np.repeat(word, len(errors), axis=0)
    for row, places in enumerate(errors):
        wrong[row, list(places)] ^= 1
    kept, found, at = decode(wrong, bits)
    assert (found == Found.UNCORRECTABLE).all()
    assert (at == -1).all()
    assert (kept == wrong).all()


def test_stored_pairs(seed: int) -> None:
    image = np.random.default_rng(seed).integers(0, 1 << 32, 512)
    stored = guard(image)
    assert (stored & 0xFFFF_FFFF == image).all()
    assert stored.max() < 1 << STORED_BITS
    pair = stored.reshape(-1, 2)
    clean, found, _ = decode_pairs(pair)
    assert (found == Found.CLEAN).all()
    assert (clean == pair).all()
    for which in range(2):
        for bit in range(STORED_BITS):
            wrong = pair.copy()
            wrong[:, which] ^= 1 << bit
            fixed, found, at = decode_pairs(wrong)
            assert (fixed == pair).all()
            assert (found == Found.CORRECTED).all()
            assert (at == STORED_BITS * which + bit).all()


def test_empty_memory_is_clean() -> None:
    assert decode_pairs([0, 0])[1] == Found.CLEAN


def test_every_stored_word_is_in_the_walk_once() -> None:
    walk = guarded_pairs()
    assert len(walk) == len(set(walk)) == 277
    rows = {(second, row) for second, row, _ in walk}
    assert rows == {(0, row) for row in range(32)} | {(1, row) for row in (24, 25, 26)}
    assert sum(row == TAIL_ROW for _, row, _ in walk) == TAIL_PAIRS
