"""PIDNN rate control on a measured or predicted round-trip time: thesis section 3.5, (14)-(28).

``e = (rtt - target) / target`` (14); the step is ``Kp e + Ki mean(e) + Kd (e - e')`` (15)-(18), the
integral term being a long-run average; ``rate *= 1 + step`` (19) with the step clamped (20).
Options: the RTT-target adjuster (27)-(28), a target that follows the flow's own base RTT, and the
on-line training of the three gains (21)-(26).

Units: the law sees microseconds and, inside (24)-(26), Gb/s; the caller's rates are bit/s. In
those units the gradient is clipped at nearly every step, so that (21)-(26) is sign descent slowed
by the learning-rate schedule, not convergence.

The first sample: with ``first = "use"`` it makes a step whose derivative term is 0. With
``first = "store"`` it is passed over, as TIMELY's ns-3 code does, from which the thesis' program
was made; the second sample then sees e' = 0 and opens the mean. With that, the thesis' PID run is
reproduced to every printed digit.
"""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from precog_models.rate.reference.common import clamp, pack

from ...jit import njit

__all__ = ["PRESETS", "Param", "PidParams", "State", "pid_reset", "pid_step"]


class Param(IntEnum):
    """Places in the parameter vector."""

    KP = 0
    KI = 1
    KD = 2
    TARGET_US = 3
    BUDGET_US = 4  # queue budget above the base RTT; used when TARGET_US is 0
    STEP_MIN = 5
    STEP_MAX = 6
    LEAK = 7  # weight of the newest e in the integral; 0: running mean
    ADJUST = 8  # target adjuster: 0 off, 1 thesis, 2 precog
    ADJUST_COUNT = 9
    BASE_WINDOW_US = 10
    TRAIN = 11
    LEARNING_RATE = 12
    GRADIENT_CLIP = 13
    BETA = 14
    SIGMA = 15  # EWMA weight of (2), used by the predictor
    ADVICE_LIMIT = 16  # prediction clamped to rtt (1 +- limit); 0: not clamped
    STEPS = 17  # window of the predictor
    STORE_FIRST = 18
    WHOLE_BPS = 19  # 1: rates are whole bit/s, cut off, as ns-3's DataRate


class State(IntEnum):
    """Columns of the state table."""

    COUNT = 0
    ERROR = 1
    ERROR_MEAN = 2
    TARGET_US = 3
    ADJUST_COUNT = 4
    DEVIATION_MEAN = 5
    KP = 6
    KI = 7
    KD = 8
    OUT_P = 9
    OUT_I = 10
    OUT_D = 11
    RATE_GBPS = 12  # the rate on which the last step acted
    BASE_US = 13  # minimum over this and the last base window
    BASE_OLD_US = 14
    BASE_NEW_US = 15
    BASE_END_US = 16
    SRTT_US = 17
    PREDICTED_US = 18
    STEP = 19
    FEATURE = 20  # K of (3), oldest first; up to 8


_DEVIATION_WEIGHT = 0.125  # of the newest sample in the precog adjuster's decaying mean
_ADJUST_MARGIN_US = 0.2  # the precog adjuster keeps the target in [base + 0.2, base + 2 base]


@dataclass(frozen=True)
class PidParams:
    """Constants of the law.

    Parameters
    ----------
    kp, ki, kd : float
        Gains of (15)-(18).
    target_us : float or None
        Fixed RTT target; None: the flow's base RTT plus `budget_us`.
    budget_us : float
        Queueing delay allowed above the base RTT.
    step_min, step_max : float
        The clamp (20).
    leak : float
        Weight of the newest error in the integral term; 0 for the running mean (17).
    adjuster : str
        ``"off"``, ``"thesis"`` (table 2: can only ever raise the target) or ``"precog"`` (signed
        counter, decaying mean, bounded target).
    adjuster_count : int
        Consecutive samples on one side that the adjuster lets pass.
    base_window_us : float
        Length of one of the two windows of the base-RTT minimum.
    train : bool
        Train the gains on line, (21)-(26).
    learning_rate, gradient_clip, beta : float
        Constants of (23)-(26).
    first : str
        What a flow's first sample does: ``"use"`` or ``"store"`` (module docstring).

    Raises
    ------
    ValueError
        The target is not positive, the clamp is not around zero, or a choice is unknown.
    """

    kp: float = -0.358
    ki: float = -0.060
    kd: float = 0.040
    target_us: float | None = 5.0
    budget_us: float = 0.8
    step_min: float = -0.6
    step_max: float = 0.5
    leak: float = 0.0
    adjuster: str = "off"
    adjuster_count: int = 6
    base_window_us: float = 10_000.0
    train: bool = False
    learning_rate: float = 0.01
    gradient_clip: float = 0.1
    beta: float = 1.0
    first: str = "use"

    def __post_init__(self) -> None:
        if self.target_us is not None and not self.target_us > 0:
            raise ValueError(f"target_us must be positive, not {self.target_us!r}")
        if not -1 < self.step_min <= 0 <= self.step_max:
            raise ValueError(
                f"step clamp must satisfy -1 < min <= 0 <= max, not {self.step_min}, "
                f"{self.step_max}"
            )
        if self.adjuster not in _ADJUSTERS:
            raise ValueError(
                f"adjuster must be one of {', '.join(_ADJUSTERS)}, not {self.adjuster!r}"
            )
        if self.first not in ("use", "store"):
            raise ValueError(f"first must be use or store, not {self.first!r}")

    def vector(
        self,
        *,
        sigma: float = 0.2,
        advice_limit: float = 0.0,
        steps: int = 3,
        whole_bps: bool = False,
    ) -> NDArray[np.float64]:
        """The parameter vector; `sigma`, `advice_limit` and `steps` belong to the predictor."""
        return pack(
            {
                Param.KP: self.kp,
                Param.KI: self.ki,
                Param.KD: self.kd,
                Param.TARGET_US: self.target_us or 0.0,
                Param.BUDGET_US: self.budget_us,
                Param.STEP_MIN: self.step_min,
                Param.STEP_MAX: self.step_max,
                Param.LEAK: self.leak,
                Param.ADJUST: _ADJUSTERS.index(self.adjuster),
                Param.ADJUST_COUNT: self.adjuster_count,
                Param.BASE_WINDOW_US: self.base_window_us,
                Param.TRAIN: float(self.train),
                Param.LEARNING_RATE: self.learning_rate,
                Param.GRADIENT_CLIP: self.gradient_clip,
                Param.BETA: self.beta,
                Param.SIGMA: sigma,
                Param.ADVICE_LIMIT: advice_limit,
                Param.STEPS: steps,
                Param.STORE_FIRST: float(self.first == "store"),
                Param.WHOLE_BPS: float(whole_bps),
            }
        )


_ADJUSTERS = ("off", "thesis", "precog")

PRESETS: dict[str, PidParams] = {
    "thesis": PidParams(first="store"),
    "thesis-rttch": PidParams(first="store", adjuster="thesis"),
    # where on-line training starts (section 3.5.3)
    "thesis-untrained": PidParams(kp=-0.2, ki=-0.05, kd=0.1, first="store"),
    # Kd <= 0: the thesis' +0.040 raises the rate while the RTT rises
    "precog": PidParams(kd=-0.040, target_us=None),
    "precog-rttch": PidParams(kd=-0.040, target_us=None, adjuster="precog"),
}


@njit
def pid_reset(state: NDArray[np.float64], flow: int, p: NDArray[np.float64]) -> None:
    """Make `flow` new: no sample seen, the target and gains of the parameters."""
    state[flow, :] = 0.0
    state[flow, State.TARGET_US] = p[Param.TARGET_US]
    state[flow, State.KP] = p[Param.KP]
    state[flow, State.KI] = p[Param.KI]
    state[flow, State.KD] = p[Param.KD]
    state[flow, State.BASE_US] = np.inf
    state[flow, State.BASE_OLD_US] = np.inf
    state[flow, State.BASE_NEW_US] = np.inf


@njit
def _track_base(
    state: NDArray[np.float64], flow: int, p: NDArray[np.float64], rtt_us: float, t_us: float
) -> None:
    """Windowed minimum over the running and the last whole window."""
    if t_us >= state[flow, State.BASE_END_US]:
        state[flow, State.BASE_OLD_US] = state[flow, State.BASE_NEW_US]
        state[flow, State.BASE_NEW_US] = rtt_us
        state[flow, State.BASE_END_US] = t_us + p[Param.BASE_WINDOW_US]
    state[flow, State.BASE_NEW_US] = min(state[flow, State.BASE_NEW_US], rtt_us)
    state[flow, State.BASE_US] = min(state[flow, State.BASE_NEW_US], state[flow, State.BASE_OLD_US])


@njit
def _train(
    state: NDArray[np.float64], flow: int, p: NDArray[np.float64], rtt_us: float, target_us: float
) -> None:
    """One gradient step of (21)-(26): `rtt_us` is the answer to the last step."""
    n = state[flow, State.COUNT] - p[Param.STORE_FIRST]  # steps made: t + 1
    if n < 1:
        return
    slope = (rtt_us - target_us) * p[Param.BETA] * state[flow, State.RATE_GBPS]
    clip = p[Param.GRADIENT_CLIP]
    rate = p[Param.LEARNING_RATE] / np.sqrt(n)
    for i in range(3):
        gradient = clamp(slope * state[flow, State.OUT_P + i], -clip, clip)
        state[flow, State.KP + i] -= rate * gradient


@njit
def _adjust_target(
    state: NDArray[np.float64], flow: int, p: NDArray[np.float64], rtt_us: float
) -> None:
    """The RTT-target adjuster, table 2 and (27)-(28), or its repaired form."""
    target = state[flow, State.TARGET_US]
    side = 1.0 if rtt_us > target else -1.0
    count = state[flow, State.ADJUST_COUNT]
    deviation = rtt_us - target
    mean = state[flow, State.DEVIATION_MEAN]
    if p[Param.ADJUST] == 1:
        count = count + 1 if count * side >= 0 else 0.0
        mean += (deviation - mean) / state[flow, State.COUNT]
        fired = count > p[Param.ADJUST_COUNT]
    else:
        count = count + side if count * side >= 0 else 0.0
        mean += (deviation - mean) * _DEVIATION_WEIGHT
        fired = abs(count) > p[Param.ADJUST_COUNT]
    if fired:
        target += mean
        count = 0.0
        if p[Param.ADJUST] == 2:
            base = state[flow, State.BASE_US]
            target = clamp(target, base + _ADJUST_MARGIN_US, 3 * base)
    state[flow, State.TARGET_US] = target
    state[flow, State.ADJUST_COUNT] = count
    state[flow, State.DEVIATION_MEAN] = mean


@njit
def pid_step(
    state: NDArray[np.float64],
    flow: int,
    p: NDArray[np.float64],
    rtt_us: float,
    signal_us: float,
    t_us: float,
    rate_bps: float,
) -> float:
    """One decision of (14)-(20).

    Parameters
    ----------
    state, flow, p
        State table, its row, and the parameter vector.
    rtt_us : float
        The measured RTT: it moves the base RTT, the target and the gains.
    signal_us : float
        The RTT that is controlled: the prediction (12), or `rtt_us` itself.
    t_us : float
        When the sample was completed.
    rate_bps : float
        The rate before the step.

    Returns
    -------
    float
        The new rate in bit/s, before the limits of the link.
    """
    _track_base(state, flow, p, rtt_us, t_us)
    if p[Param.TARGET_US] == 0 and (p[Param.ADJUST] == 0 or state[flow, State.COUNT] == 0):
        state[flow, State.TARGET_US] = state[flow, State.BASE_US] + p[Param.BUDGET_US]
    target = state[flow, State.TARGET_US]
    if p[Param.TRAIN] != 0:
        _train(state, flow, p, rtt_us, target)
    n = state[flow, State.COUNT] + 1
    state[flow, State.COUNT] = n
    if p[Param.STORE_FIRST] != 0:
        n -= 1
        if n == 0:
            return rate_bps
    error = (signal_us - target) / target
    last = state[flow, State.ERROR]
    if n == 1 and p[Param.STORE_FIRST] == 0:
        last = error
    mean = state[flow, State.ERROR_MEAN]
    weight = p[Param.LEAK] if p[Param.LEAK] > 0 and n > 1 else 1 / n
    mean += (error - mean) * weight
    step = (
        state[flow, State.KP] * error
        + state[flow, State.KI] * mean
        + state[flow, State.KD] * (error - last)
    )
    step = clamp(step, p[Param.STEP_MIN], p[Param.STEP_MAX])
    if p[Param.ADJUST] != 0:
        _adjust_target(state, flow, p, rtt_us)
    state[flow, State.OUT_P] = error
    state[flow, State.OUT_I] = mean
    state[flow, State.OUT_D] = error - last
    state[flow, State.RATE_GBPS] = rate_bps * 1e-9
    state[flow, State.ERROR] = error
    state[flow, State.ERROR_MEAN] = mean
    state[flow, State.STEP] = step
    new = rate_bps * (1 + step)
    return float(np.floor(new) if p[Param.WHOLE_BPS] != 0 else new)
