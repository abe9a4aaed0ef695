"""PIDNN's control law with constant gains, thesis (14)-(20), and its target adjuster, (27)-(28).

    target = fixed, or base RTT + budget, plus what the adjuster has learnt
    e      = RTT / target - 1                                 limited to +-32
    mean   = mean + (e - mean) / n,  n = 1, 2, ..., 256, 256, ...
    delta  = Kp e + Ki mean + Kd (e - e_before)               one rounding, then the clamp (20)
    rate   = rate (1 + delta)
    window = rate * base RTT, at least a packet; none if `win` is 0

The thesis' integral term is a long-run average. Here n stops at 256, so that the average forgets
with a time constant of 256 samples instead of freezing. It is kept with 8 more fraction bits than
e, which the product with Ki drops. Before the first sample e_before = e.

The adjuster (`rttch`): after more than `rttch_threshold` samples on one side of the target it moves
the target by the mean distance, to between base RTT + `rttch_margin` and three base RTTs.
"""

from precog_spec.contract import INVERSE_FRAC_BITS, MEAN_GUARD_BITS, MEAN_SAMPLES, inverse_table

from .language import Field, Fmt, Parameter, Preset, Q, Record, clamp, rounded
from .library import quotient

__all__ = ["PARAMETERS", "PRESETS", "STATE", "WINDOWED", "adjusted", "stepped", "windowed"]

_FLAG = Q(1, 0, signed=False)
_COUNT = Q(9, 0, signed=False)
_MEAN = Q(Fmt.ERR.int_bits, Fmt.ERR.frac_bits + MEAN_GUARD_BITS)
_MOVE = Q(24, 8)
_SIDE = Q(8, 0)

PARAMETERS = (
    Parameter("kp", Fmt.GAIN, "", -0.358, "Kp"),
    Parameter("ki", Fmt.GAIN, "", -0.060, "Ki"),
    Parameter("kd", Fmt.GAIN, "", -0.040, "Kd"),
    Parameter("dmin", Fmt.DELTA, "", -0.6, "least step (20)"),
    Parameter("dmax", Fmt.DELTA, "", 0.5, "greatest step (20)"),
    Parameter("from_base", _FLAG, "", 1, "1: the target is base RTT + queue_budget; 0: `target`"),
    Parameter("target", Fmt.SRTT, "us", 5.0, "fixed target"),
    Parameter("queue_budget", Fmt.SRTT, "us", 0.8, "target above the base RTT"),
    Parameter("rttch", _FLAG, "", 0, "1: the target adjuster is on"),
    Parameter("rttch_threshold", Q(8, 0, signed=False), "", 6, "samples that do not yet fire it"),
    Parameter("rttch_margin", Fmt.SRTT, "us", 0.2, "least distance of the target from the base"),
    Parameter("win", _FLAG, "", 1, "1: a window of one bandwidth-delay product"),
)
STATE = (
    Field("count", _COUNT, "samples, up to 256"),
    Field("mean", _MEAN, "mean of e"),
    Field("error", Fmt.ERR, "e before"),
    Field("offset", _MOVE, "what the adjuster adds to the target, ticks"),
    Field("deviation", _MOVE, "mean distance from the target, ticks"),
    Field("side", _SIDE, "samples in a row above the target; negative: below"),
)
WINDOWED = True

_THESIS = {"kd": 0.040, "from_base": 0, "target": 5.0}
PRESETS = {
    "thesis": Preset("Precog's thesis, chapter 4: fixed target, learned gains", _THESIS),
    "precog": Preset("Kd negative, the target follows the base RTT", {}),
}

_INVERSE = inverse_table()
_FRAC = Fmt.SRTT.frac_bits
_SRTT_MAX = Fmt.SRTT.max
_ERR_MIN = Fmt.ERR.min
_ERR_MAX = Fmt.ERR.max
_ERR_ONE = Fmt.ERR.one
_NEAR = Fmt.ERR.frac_bits - 2
_GUARD = MEAN_GUARD_BITS
_SAMPLES = MEAN_SAMPLES
_INVERSE_FRAC = INVERSE_FRAC_BITS
_MEAN_MIN = _MEAN.min
_MEAN_MAX = _MEAN.max
_MOVE_MIN = _MOVE.min
_MOVE_MAX = _MOVE.max
_SIDE_MOST = 255
_MEAN_SHIFT = 3
_DELTA_DROP = Fmt.GAIN.frac_bits + Fmt.ERR.frac_bits - Fmt.DELTA.frac_bits
_DELTA_FRAC = Fmt.DELTA.frac_bits
_RATE_FRAC = Fmt.RATE.frac_bits


def adjusted(p: Record, s: Record, e: Record) -> int:
    """The sample's target; a move counts from the next sample on."""
    nominal = min((e.base << _FRAC) + p.queue_budget, _SRTT_MAX) if p.from_base != 0 else p.target
    if p.rttch == 0:
        s.offset = 0
        s.deviation = 0
        s.side = 0
        return nominal
    low = min((e.base << _FRAC) + p.rttch_margin, _SRTT_MAX)
    high = min((3 * e.base) << _FRAC, _SRTT_MAX)
    target = clamp(nominal + s.offset, low, high)
    gap = (e.rtt << _FRAC) - target
    if gap > 0:
        s.side = min(s.side + 1, _SIDE_MOST) if s.side >= 0 else 0
    else:
        s.side = max(s.side - 1, -_SIDE_MOST) if s.side <= 0 else 0
    moved = s.deviation + rounded(gap - s.deviation, _MEAN_SHIFT)
    s.deviation = clamp(moved, _MOVE_MIN, _MOVE_MAX)
    if abs(s.side) > p.rttch_threshold:
        s.offset = clamp(target + s.deviation, low, high) - nominal
        s.side = 0
    return target


def _error(value: int, target: int) -> int:
    """e of (14); from 32 - 2**-10 on it is the format's greatest number."""
    if value >= 33 * target - (target >> _NEAR):
        return _ERR_MAX
    return clamp(quotient(value, target) - _ERR_ONE, _ERR_MIN, _ERR_MAX)


def stepped(p: Record, s: Record, e: Record, value: int, target: int) -> int:
    """The rate for an RTT `value`, measured or predicted, with 8 fraction bits."""
    error = _error(value, target)
    change = 0 if s.count == 0 else clamp(error - s.error, _ERR_MIN, _ERR_MAX)
    s.count = min(s.count + 1, _SAMPLES)
    gap = (error << _GUARD) - s.mean
    mean = s.mean + rounded(gap * _INVERSE[s.count - 1], _INVERSE_FRAC)
    s.mean = clamp(mean, _MEAN_MIN, _MEAN_MAX)
    s.error = error
    total = p.kp * error + p.ki * (s.mean >> _GUARD) + p.kd * change
    delta = clamp(rounded(total, _DELTA_DROP), p.dmin, p.dmax)
    return clamp(e.rate + rounded(e.rate * delta, _DELTA_FRAC), e.min_rate, e.max_rate)


def windowed(p: Record, e: Record, rate: int) -> int:
    """Bytes that may be outstanding at a rate."""
    return max((rate * e.base) >> _RATE_FRAC, e.mtu) if p.win != 0 else 0


def on_sample(p: Record, s: Record, e: Record) -> tuple[int, int]:
    """One completed RTT sample."""
    target = adjusted(p, s, e)
    rate = stepped(p, s, e, e.rtt << _FRAC, target)
    return rate, windowed(p, e, rate)
