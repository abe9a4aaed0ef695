"""PIDNN: the law of `pid` on the RTT that a model predicts, thesis (12)-(20).

The prediction is clamped to RTT (1 +- advice_limit), unless `advice_clamp` is 0. It is followed
while the predictor's errors over some 64 samples and one RTT are at most three quarters of
persistence's errors, unless `skill_monitor` is 0. It is judged all the same, so that it can win its
way. Without a prediction, or while advice is held, the law is `pid`.

`skill_error` and `skill_persistence` are 64 times the mean error of the prediction made with a
sample, and of saying that the next RTT will be this sample's.
"""

from precog_spec.contract import SKILL_PART_SHIFT, SKILL_SHIFT

from .language import Field, Fmt, Parameter, Preset, Q, Record, clamp
from .pid import PARAMETERS as PID_PARAMETERS
from .pid import STATE as PID_STATE
from .pid import adjusted, stepped, windowed

__all__ = ["PARAMETERS", "PRESETS", "STATE", "WINDOWED"]

_FLAG = Q(1, 0, signed=False)
_SUM = Q(32, 8, signed=False)

PARAMETERS = (
    *PID_PARAMETERS,
    Parameter("advice_limit", Q(0, 16, signed=False), "", 0.25, "greatest move by a prediction"),
    Parameter("advice_clamp", _FLAG, "", 1, "1: predictions are clamped"),
    Parameter("skill_monitor", _FLAG, "", 1, "1: predictions must show skill"),
)
STATE = (
    *PID_STATE,
    Field("skill_valid", _FLAG, "the last sample came with a prediction"),
    Field("skill_pred", Fmt.SRTT, "it"),
    Field("skill_rtt", Fmt.RTT, "last RTT"),
    Field("skill_error", _SUM, "errors of predictions"),
    Field("skill_persistence", _SUM, "errors of persistence"),
)
WINDOWED = True
PRESETS = {
    "thesis": Preset(
        "Precog's thesis, chapter 4: the prediction as it comes",
        {"kd": 0.040, "from_base": 0, "target": 5.0, "advice_clamp": 0, "skill_monitor": 0},
    ),
    "precog": Preset("advice is bounded, and followed only with skill", {}),
}

_FRAC = Fmt.SRTT.frac_bits
_SRTT_MAX = Fmt.SRTT.max
_LIMIT_DROP = 16 - Fmt.SRTT.frac_bits
_SKILL_SHIFT = SKILL_SHIFT
_PART_SHIFT = SKILL_PART_SHIFT
_SUM_MAX = _SUM.max


def _skilled(s: Record, e: Record) -> bool:
    """Judge the last prediction by this sample, and keep this one; whether to follow it."""
    if s.skill_valid != 0:
        error = abs((e.rtt << _FRAC) - s.skill_pred)
        persistence = abs(e.rtt - s.skill_rtt) << _FRAC
        after = s.skill_error + error - (s.skill_error >> _SKILL_SHIFT)
        s.skill_error = clamp(after, 0, _SUM_MAX)
        after = s.skill_persistence + persistence - (s.skill_persistence >> _SKILL_SHIFT)
        s.skill_persistence = clamp(after, 0, _SUM_MAX)
    s.skill_valid = e.predicted
    s.skill_pred = e.prediction if e.predicted != 0 else 0
    s.skill_rtt = e.rtt
    most = s.skill_persistence - (s.skill_persistence >> _PART_SHIFT)
    return s.skill_error + (e.rtt << _FRAC) <= most


def _advised(p: Record, e: Record) -> int:
    """The prediction within its limits."""
    if p.advice_clamp == 0:
        return e.prediction
    fine = e.rtt << _FRAC
    reach = (e.rtt * p.advice_limit) >> _LIMIT_DROP
    return clamp(e.prediction, fine - reach, min(fine + reach, _SRTT_MAX))


def on_sample(p: Record, s: Record, e: Record) -> tuple[int, int]:
    """One completed RTT sample, perhaps with a prediction of the next one."""
    target = adjusted(p, s, e)
    skilled = _skilled(s, e)
    value = e.rtt << _FRAC
    if e.predicted != 0 and e.held == 0 and (skilled or p.skill_monitor == 0):
        value = _advised(p, e)
    rate = stepped(p, s, e, value, target)
    return rate, windowed(p, e, rate)
