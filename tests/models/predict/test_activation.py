"""The activation table against the real functions."""

import math

import numpy as np

from precog_models.predict.activation import sigmoid_q, tanh_q
from precog_spec.contract import Fmt


def test_tanh_is_within_its_table_s_error():
    args = range(-5 << 12, 5 << 12)
    error = [tanh_q(a, 12) / Fmt.H.one - math.tanh(a / 4096) for a in args]
    # Half the sag of a chord of 1/16, and at 4.0 the step to the saturated value.
    assert max(map(abs, error)) < 1 - math.tanh(4.0) + 2**-14
    inner = [e for a, e in zip(args, error, strict=True) if abs(a) < 3 << 12]
    assert max(map(abs, inner)) < 3.6e-4


def test_tanh_is_odd_in_ones_complement_and_saturates():
    for frac_bits in (11, 12, 16):
        args = range(-(5 << frac_bits), 5 << frac_bits, 7)
        values = [tanh_q(a, frac_bits) for a in args]
        assert values == [~tanh_q(~a, frac_bits) for a in args]
        assert values[0] == Fmt.H.min
        assert values[-1] == Fmt.H.max


def test_tanh_saturates_for_any_size():
    assert tanh_q(1 << 40, 12) == Fmt.H.max
    assert tanh_q(-(1 << 40), 12) == Fmt.H.min
    assert tanh_q((4 << 12) - 1, 12) <= tanh_q(4 << 12, 12) == Fmt.H.max


def test_sigmoid():
    args = np.arange(-9 << 11, 9 << 11, 3)
    values = np.array([sigmoid_q(int(a)) for a in args])
    assert values.min() == 0
    assert values.max() == 65535
    assert np.abs(values / 65536 - 1 / (1 + np.exp(-args / 2048))).max() < 4e-4
