"""TIMELY in integers: source 002's routine line by line, its ns-3 form, and patched TIMELY.

    002                                             here
    if(prevRTT_ == 0) prevRTT_ = rtt                difference = 0 at the first sample
    rtt_diff = rtt - prevRTT_
    if (rtt_diff < 0) negGradientCount_++ else 0    count, up to 255
    avgRTTDiff_ = (1-a) avgRTTDiff_ + a rtt_diff    mean += scale(difference - mean, a)
    delta_factor = min((now - last)/minRTT_, 1)     share = fraction(now - last, min_rtt)
    rtt < t_low:   rate + ai delta_factor           rate + scale(ai, share)
    rtt > t_high:  rate (1 - delta_factor b (1 - t_high/rtt))
                                                    fraction(rtt - high, rtt), scaled twice
    gradient <= 0: rate + N ai delta_factor         mean <= 0; N ai is a parameter, `hai`
    else:          rate (1 - b avgRTTDiff_/minRTT_) fraction(scale(mean, b), min_rtt)
    max(new_rate, rate * 0.5)                       rate / 2 rounded down
    min(new_rate, maxRate), max(.., minRate)        clamp; if the bounds cross, the upper one counts

``ns3``: weight by parameter (0.875), no share, the first sample is only remembered, `hai` after
`hai_count` increases in a row, no limit of one half. ``patched`` (Zhu et al., CoNEXT 2016,
algorithm 2): between the thresholds

    w    = clip(2 gradient + 1/2, 0, 1)
    rate = rate (1 - slope w (rtt - ref)/ref) + ai (1 - w)        slope 0.008

in 002's frame, so its step up has the share, too (1 where a sample takes a round trip).

At the first sample the source's share is min(now / minRTT_, 1) for a clock that starts at 0 with
the sender. The NIC's clock wraps; the share is 1 then.

One step against the same step in real numbers, from the same state: the mean is within 0.5 LSB
(2**-13 ticks), and a mean within 0.5 LSB of 0 may be taken for the other sign. The rate is within
``1.5 + (rate + ai + hai) * (2**-11 / min_rtt + 2**-22)`` LSB. ``patched``: the smaller of `min_rtt`
and `reference` for `min_rtt`, and `rate` times |rtt - ref| / ref if that is more than 1; the
product slope w (rtt - ref) / ref counts up to 1.
"""

import numpy as np
from numpy.typing import NDArray

from precog_spec.contract import Fmt
from precog_spec.law_fields import (
    COUNT_MAX,
    FRACTION,
    MEAN,
    TIMELY_PARAMETERS,
    TIMELY_STATE,
    Variant,
)

from ..fixed import clamp
from ..jit import njit
from .fractions import fraction, scale

__all__ = ["timely_step"]

(
    _VARIANT,
    _ALPHA,
    _BETA,
    _LOW,
    _HIGH,
    _MIN_RTT,
    _REFERENCE,
    _SLOPE,
    _AI,
    _HAI,
    _HAI_COUNT,
) = range(len(TIMELY_PARAMETERS))
_LAST_RTT, _LAST_T, _COUNT, _MEAN = range(len(TIMELY_STATE))

_TIME_MASK = Fmt.TIME.max
_FRAC = MEAN.frac_bits
_ONE = FRACTION.one
_NS3 = int(Variant.NS3)
_PATCHED = int(Variant.PATCHED)


@njit
def _patched_change(p: NDArray[np.int64], rtt: int, mean: int, share: int, rate: int) -> int:
    """Change of the rate between the thresholds."""
    gradient = fraction(abs(mean), p[_MIN_RTT] << _FRAC)
    weight = clamp(_ONE // 2 + (2 * gradient if mean >= 0 else -2 * gradient), 0, _ONE)
    up = scale(p[_AI], scale(_ONE - weight, share))
    gap = rtt - p[_REFERENCE]
    step = scale(abs(gap) << _FRAC, scale(weight, p[_SLOPE]))
    move = scale(rate, fraction(step, p[_REFERENCE] << _FRAC))
    return int(up - move if gap >= 0 else up + move)


@njit
def timely_step(
    state: NDArray[np.int64],
    p: NDArray[np.int64],
    min_rate: int,
    max_rate: int,
    rate: int,
    rtt: int,
    t: int,
) -> int:
    """The rate after a completed RTT sample.

    Parameters
    ----------
    state : ndarray of int64, shape (4,)
        `TIMELY_STATE` of the queue pair; zeros at the start. Changed in place.
    p : ndarray of int64, shape (11,)
        `TIMELY_PARAMETERS` in order. An unknown variant is taken for the source's.
    min_rate, max_rate, rate : int
        RATE's format.
    rtt : int
        Ticks, RTT's format.
    t : int
        When the sample was completed, ticks, TIME's format.
    """
    ns3 = p[_VARIANT] == _NS3
    patched = p[_VARIANT] == _PATCHED
    first = state[_LAST_RTT] == 0
    difference = 0 if first else rtt - state[_LAST_RTT]
    elapsed = (t - state[_LAST_T]) & _TIME_MASK
    state[_LAST_RTT] = rtt
    state[_LAST_T] = t
    if ns3 and first:
        return int(clamp(rate, min_rate, max_rate))

    gap = (difference << _FRAC) - state[_MEAN]
    step = scale(abs(gap), p[_ALPHA])
    mean = state[_MEAN] + (step if gap >= 0 else -step)
    state[_MEAN] = mean
    share = _ONE if ns3 or first else fraction(elapsed, p[_MIN_RTT])
    if not ns3:
        state[_COUNT] = min(state[_COUNT] + 1, COUNT_MAX) if difference < 0 else 0
    hyper = state[_COUNT] >= p[_HAI_COUNT]

    low = rtt < p[_LOW]
    high = not low and rtt > p[_HIGH]
    up = low or (not high and not patched and mean <= 0)
    if up:
        increase = p[_HAI] if hyper and (ns3 or not low) and not patched else p[_AI]
        wanted = rate + scale(increase, share)
    elif high:
        cut = scale(scale(fraction(rtt - p[_HIGH], rtt), p[_BETA]), share)
        wanted = rate - scale(rate, cut)
    elif patched:
        wanted = rate + _patched_change(p, rtt, mean, share, rate)
    else:
        wanted = rate - scale(rate, fraction(scale(mean, p[_BETA]), p[_MIN_RTT] << _FRAC))
    if ns3:
        state[_COUNT] = min(state[_COUNT] + 1, COUNT_MAX) if up else 0
    else:
        wanted = max(wanted, rate >> 1)
    return int(clamp(wanted, min_rate, max_rate))
