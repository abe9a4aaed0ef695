"""The rate unit: from a sample and, perhaps, a prediction to a decision. Thesis (14)-(20), RTTch.

    target adjuster ─► in = prediction, clamped to RTT (1 +- limit), or the RTT itself
                   ─► PID ─► rate = rate (1 + delta), clamped to [min, max] ─► window

A queue pair of another law than pid and predpid keeps its initial rate here, without a window.

A prediction only replaces the law's input, and bounds come last: the advice cannot push a rate
beyond [min, max], nor move the input further than the advice limit from what was measured.
"""

import numpy as np
from numpy.typing import NDArray

from precog_spec.contract import Algorithm, Flag, Fmt

from ..fixed import clamp, shift_half_up
from ..jit import njit
from .pid import PID_STATE, pid_delta, pid_error
from .skill import SKILL_STATE, skill_step
from .target_adjuster import TARGET_STATE, nominal_target, target_step
from .window import window_bytes

__all__ = ["QP_CONFIG", "RATE_PARAMETERS", "RATE_STATE", "advice_limits", "rate_step"]

#: Parameters shared by all queue pairs, in the order of a parameter row. GAIN's format: kp, ki, kd;
#: DELTA's: dmin, dmax; UQ0.16: advice_limit; SRTT's: queue_budget, rttch_margin; bytes: mtu.
#: `advice_hold` and `advice_deadline` are not read here: `rate_step` is told what was held or late.
RATE_PARAMETERS = (
    "kp",
    "ki",
    "kd",
    "dmin",
    "dmax",
    "advice_limit",
    "advice_clamp",
    "skill_monitor",
    "advice_hold",
    "advice_deadline",
    "queue_budget",
    "rttch_threshold",
    "rttch_margin",
    "mtu",
)

#: A queue pair's configuration, in the order of a configuration row. `target` has SRTT's format,
#: the rates RATE's; `enable`, `model_enable` and `model_slot` concern the core around this unit,
#: the last three `rate.psched`.
QP_CONFIG = (
    "enable",
    "algorithm",
    "target_mode",
    "rttch",
    "win",
    "model_enable",
    "model_slot",
    "target",
    "min_rate",
    "max_rate",
    "init_rate",
    "psched",
    "sla_priority",
    "sla_latency",
)

#: A queue pair's row of state: the rate (valid once the PID counts), PID, target adjuster, skill.
RATE_STATE = ("rate", *PID_STATE, *TARGET_STATE, *SKILL_STATE)

# Places in a parameter row and in a configuration row.
(
    _KP,
    _KI,
    _KD,
    _DMIN,
    _DMAX,
    _ADVICE_LIMIT,
    _ADVICE_CLAMP,
    _SKILL_MONITOR,
    _ADVICE_HOLD,
    _ADVICE_DEADLINE,
    _QUEUE_BUDGET,
    _RTTCH_THRESHOLD,
    _RTTCH_MARGIN,
    _MTU,
) = range(len(RATE_PARAMETERS))
_ALGORITHM, _TARGET_MODE, _RTTCH, _WIN = (
    QP_CONFIG.index(name) for name in ("algorithm", "target_mode", "rttch", "win")
)
_TARGET, _MIN_RATE, _MAX_RATE, _INIT_RATE = (
    QP_CONFIG.index(name) for name in ("target", "min_rate", "max_rate", "init_rate")
)

_PID_AT = 1
_TARGET_AT = _PID_AT + len(PID_STATE)
_SKILL_AT = _TARGET_AT + len(TARGET_STATE)
_FRAC = Fmt.SRTT.frac_bits
_MAX = Fmt.SRTT.max
_LIMIT_DROP = 16 - Fmt.SRTT.frac_bits
_DELTA_FRAC = Fmt.DELTA.frac_bits
_PID = int(Algorithm.PID)
_PREDPID = int(Algorithm.PREDPID)
_PREDICTED = 1 << Flag.PREDICTED
_NO_MODEL = 1 << Flag.NO_MODEL
_ADVICE_CLAMPED = 1 << Flag.ADVICE_CLAMPED
_DELTA_CLAMPED = 1 << Flag.DELTA_CLAMPED
_RATE_CLAMPED = 1 << Flag.RATE_CLAMPED
_TARGET_MOVED = 1 << Flag.TARGET_MOVED
_UNSKILLED = 1 << Flag.UNSKILLED
_LATE = 1 << Flag.LATE
_HELD = 1 << Flag.HELD


@njit
def advice_limits(rtt: int, limit: int, on: bool) -> tuple[int, int]:
    """Ends of the range that a prediction is clamped to, SRTT's format.

    Parameters
    ----------
    rtt : int
        The sample, ticks.
    limit : int
        Relative half width, UQ0.16.
    on : bool
        False: no limit.
    """
    if not on:
        return 0, _MAX
    fine = rtt << _FRAC
    reach = (rtt * limit) >> _LIMIT_DROP
    return fine - reach, min(fine + reach, _MAX)


@njit
def _advised(
    algorithm: int,
    parameters: NDArray[np.int64],
    rtt: int,
    pred_valid: bool,
    rtt_pred: int,
    late: bool,
    held: bool,
    withheld: bool,
    trusted: bool,
) -> tuple[int, int]:
    """What the law controls, in SRTT's format: the sample, or its prediction; and the flags."""
    flags = 0
    value = rtt << _FRAC
    if held:
        flags |= _HELD
    if late:
        flags |= _LATE
    if algorithm == _PREDPID:
        if not pred_valid:
            flags |= 0 if late else _NO_MODEL
        elif not trusted:
            flags |= _UNSKILLED
        elif not held and not withheld:
            flags |= _PREDICTED
            low, high = advice_limits(
                rtt, parameters[_ADVICE_LIMIT], parameters[_ADVICE_CLAMP] != 0
            )
            value = clamp(rtt_pred, low, high)
            if value != rtt_pred:
                flags |= _ADVICE_CLAMPED
    return value, flags


@njit
def rate_step(
    state: NDArray[np.int64],
    config: NDArray[np.int64],
    parameters: NDArray[np.int64],
    rtt: int,
    base: int,
    pred_valid: bool,
    rtt_pred: int,
    late: bool,
    held: bool,
    withheld: bool = False,
) -> tuple[int, int, int, int]:
    """Decide.

    Parameters
    ----------
    state : ndarray of int64, shape (12,)
        `RATE_STATE` of the queue pair; zeros after a reset. Changed in place.
    config : ndarray of int64, shape (14,)
        `QP_CONFIG` of the queue pair.
    parameters : ndarray of int64, shape (14,)
        `RATE_PARAMETERS` in order.
    rtt, base : int
        The sample and the base RTT, ticks.
    pred_valid : bool
        There is a prediction.
    rtt_pred : int
        The prediction, SRTT's format.
    late : bool
        There would have been a prediction, but not in time; not with `pred_valid`.
    held : bool
        Advice is held.
    withheld : bool
        A trial holds it.

    Returns
    -------
    rate : int
        RATE's format.
    window : int
        Bytes; 0: no limit.
    target : int
        Target used, SRTT's format.
    flags : int
        Bits of `contract.Flag`.
    """
    algorithm = config[_ALGORITHM]
    flags = 0

    nominal = nominal_target(
        config[_TARGET_MODE] != 0, config[_TARGET], base, parameters[_QUEUE_BUDGET]
    )
    target, fired = target_step(
        state[_TARGET_AT:_SKILL_AT],
        rtt,
        base,
        nominal,
        config[_RTTCH] != 0,
        parameters[_RTTCH_THRESHOLD],
        parameters[_RTTCH_MARGIN],
    )
    if fired:
        flags |= _TARGET_MOVED

    trusted = skill_step(state[_SKILL_AT:], rtt, pred_valid, rtt_pred)
    trusted = trusted or parameters[_SKILL_MONITOR] == 0
    value, advice = _advised(
        algorithm, parameters, rtt, pred_valid, rtt_pred, late, held, withheld, trusted
    )
    flags |= advice

    moves = algorithm in (_PID, _PREDPID)
    start = not moves or state[_PID_AT] == 0
    rate = config[_INIT_RATE] if start else state[0]
    delta = pid_delta(
        state[_PID_AT:_TARGET_AT],
        pid_error(value, target),
        parameters[_KP],
        parameters[_KI],
        parameters[_KD],
    )
    wanted = rate
    if moves:
        step = clamp(delta, parameters[_DMIN], parameters[_DMAX])
        if delta < parameters[_DMIN] or delta > parameters[_DMAX]:
            flags |= _DELTA_CLAMPED
        wanted = rate + shift_half_up(rate * step, _DELTA_FRAC)
    rate = clamp(wanted, config[_MIN_RATE], config[_MAX_RATE])
    if wanted < config[_MIN_RATE] or wanted > config[_MAX_RATE]:
        flags |= _RATE_CLAMPED
    state[0] = rate
    limited = config[_WIN] and algorithm <= _PREDPID
    window = window_bytes(rate, base, parameters[_MTU]) if limited else 0
    return int(rate), int(window), target, flags
