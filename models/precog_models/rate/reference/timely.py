"""TIMELY: rate control on the RTT's gradient (source 002; ns-3 form of the HPCC authors' code).

Three forms, chosen by the parameters. ``source``: the routine of 002 line by line (EWMA of RTT
differences, steps scaled by the time since the last update, decrease at most by half). ``ns3``:
as in the public ns-3 codes (weight 0.875 on the newest difference, no scaling by time, the first
sample only remembered, HAI after five increases). ``patched``: 002's routine with the patch of
"ECN or Delay" (CoNEXT 2016, algorithm 2) between the thresholds: a weight instead of the gradient's
sign, and a decrease by the distance from a reference RTT, which makes the fixed point unique.
"""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from precog_models.rate.reference.common import clamp, pack

from ...jit import njit

__all__ = ["PRESETS", "Param", "State", "TimelyParams", "timely_step"]


class Param(IntEnum):
    """Places in the parameter vector."""

    FORM = 0  # 0 source 002, 1 ns-3, 2 patched
    ALPHA = 1
    BETA = 2
    LOW_US = 3
    HIGH_US = 4
    MIN_RTT_US = 5
    AI_BPS = 6
    HAI_BPS = 7
    HAI_COUNT = 8
    MIN_BPS = 9
    MAX_BPS = 10
    WHOLE_BPS = 11  # 1: rates are whole bit/s, truncated, as ns-3's DataRate
    REFERENCE_US = 12
    SLOPE = 13


class State(IntEnum):
    """Columns of the state table."""

    LAST_RTT_US = 0
    DIFFERENCE_US = 1
    COUNT = 2  # negative gradients in a row (002) or increases in a row (ns-3)
    LAST_T_US = 3


@dataclass(frozen=True)
class TimelyParams:
    """Constants of the law.

    Parameters
    ----------
    form : str
        ``"source"`` (002), ``"ns3"`` or ``"patched"``.
    alpha : float
        EWMA weight of the newest RTT difference.
    beta : float
        Multiplicative decrease factor.
    low_us, high_us, min_rtt_us : float
        T_low, T_high and the RTT that normalises the gradient.
    ai_bps, hai_bps : float
        Additive and hyperactive increase per update.
    hai_count : int
        Updates in a row after which increases are hyperactive.
    reference_us, slope : float
        Patched only: RTT_ref, and the decrease factor between the thresholds.

    Raises
    ------
    ValueError
        The form is unknown, a threshold is out of order, or alpha is not in (0, 1].
    """

    form: str = "source"
    alpha: float = 0.02
    beta: float = 0.8
    low_us: float = 0.0
    high_us: float = 1000.0
    min_rtt_us: float = 4.18
    ai_bps: float = 100e6
    hai_bps: float = 500e6
    hai_count: int = 5
    reference_us: float = 50.0
    slope: float = 0.008

    def __post_init__(self) -> None:
        if self.form not in _FORMS:
            raise ValueError(f"form must be one of {', '.join(_FORMS)}, not {self.form!r}")
        if not 0 < self.alpha <= 1:
            raise ValueError(f"alpha must be in (0, 1], not {self.alpha!r}")
        if not 0 <= self.low_us < self.high_us:
            raise ValueError(
                f"thresholds must satisfy 0 <= low < high, not {self.low_us}, {self.high_us}"
            )
        if not self.min_rtt_us > 0:
            raise ValueError(f"min_rtt_us must be positive, not {self.min_rtt_us!r}")
        if not self.reference_us > 0:
            raise ValueError(f"reference_us must be positive, not {self.reference_us!r}")

    def vector(
        self, *, min_bps: float, max_bps: float, whole_bps: bool = False
    ) -> NDArray[np.float64]:
        """The parameter vector for a link."""
        return pack(
            {
                Param.FORM: _FORMS.index(self.form),
                Param.ALPHA: self.alpha,
                Param.BETA: self.beta,
                Param.LOW_US: self.low_us,
                Param.HIGH_US: self.high_us,
                Param.MIN_RTT_US: self.min_rtt_us,
                Param.AI_BPS: self.ai_bps,
                Param.HAI_BPS: self.hai_bps,
                Param.HAI_COUNT: self.hai_count,
                Param.MIN_BPS: min_bps,
                Param.MAX_BPS: max_bps,
                Param.WHOLE_BPS: float(whole_bps),
                Param.REFERENCE_US: self.reference_us,
                Param.SLOPE: self.slope,
            }
        )


_FORMS = ("source", "ns3", "patched")

PRESETS: dict[str, TimelyParams] = {
    # 10 Mb/s of increase per 10 Gb/s of line rate, and five times that when hyperactive
    "paper": TimelyParams(),
    "ns3": TimelyParams(form="ns3", alpha=0.875, low_us=50.0, high_us=500.0, min_rtt_us=20.0),
    # the source's routine with thresholds meant for a 4 us network
    "scaled": TimelyParams(low_us=5.0, high_us=20.0),
    # the publication's constants: RTT_ref is T_low
    "patched": TimelyParams(
        form="patched", alpha=0.875, low_us=50.0, high_us=500.0, min_rtt_us=20.0
    ),
}


@njit
def _source_step(
    state: NDArray[np.float64],
    flow: int,
    p: NDArray[np.float64],
    rtt: float,
    t_us: float,
    rate: float,
) -> float:
    if state[flow, State.LAST_RTT_US] == 0:
        state[flow, State.LAST_RTT_US] = rtt
    difference = rtt - state[flow, State.LAST_RTT_US]
    state[flow, State.COUNT] = state[flow, State.COUNT] + 1 if difference < 0 else 0.0
    mean = (1 - p[Param.ALPHA]) * state[flow, State.DIFFERENCE_US] + p[Param.ALPHA] * difference
    gradient = mean / p[Param.MIN_RTT_US]
    share = min((t_us - state[flow, State.LAST_T_US]) / p[Param.MIN_RTT_US], 1.0)
    state[flow, State.DIFFERENCE_US] = mean
    state[flow, State.LAST_RTT_US] = rtt
    state[flow, State.LAST_T_US] = t_us
    if rtt < p[Param.LOW_US]:
        new = rate + p[Param.AI_BPS] * share
    elif rtt > p[Param.HIGH_US]:
        new = rate * (1 - share * p[Param.BETA] * (1 - p[Param.HIGH_US] / rtt))
    elif p[Param.FORM] == 2:
        weight = clamp(2 * gradient + 0.5, 0.0, 1.0)
        error = (rtt - p[Param.REFERENCE_US]) / p[Param.REFERENCE_US]
        new = rate * (1 - p[Param.SLOPE] * weight * error)
        new += (1 - weight) * p[Param.AI_BPS] * share
    elif gradient <= 0:
        hyper = state[flow, State.COUNT] >= p[Param.HAI_COUNT]
        new = rate + (p[Param.HAI_BPS] if hyper else p[Param.AI_BPS]) * share
    else:
        new = rate * (1 - p[Param.BETA] * gradient)
    new = max(new, rate * 0.5)
    return float(clamp(new, p[Param.MIN_BPS], p[Param.MAX_BPS]))


@njit
def _ns3_step(
    state: NDArray[np.float64], flow: int, p: NDArray[np.float64], rtt: float, rate: float
) -> float:
    last = state[flow, State.LAST_RTT_US]
    state[flow, State.LAST_RTT_US] = rtt
    if last == 0:
        return rate
    mean = (1 - p[Param.ALPHA]) * state[flow, State.DIFFERENCE_US] + p[Param.ALPHA] * (rtt - last)
    gradient = mean / p[Param.MIN_RTT_US]
    state[flow, State.DIFFERENCE_US] = mean
    if rtt < p[Param.LOW_US]:
        factor = -1.0
    elif rtt > p[Param.HIGH_US]:
        factor = 1 - p[Param.BETA] * (1 - p[Param.HIGH_US] / rtt)
    elif gradient <= 0:
        factor = -1.0
    else:
        factor = max(1 - p[Param.BETA] * gradient, 0.0)
    if factor < 0:
        hyper = state[flow, State.COUNT] >= p[Param.HAI_COUNT]
        new = rate + (p[Param.HAI_BPS] if hyper else p[Param.AI_BPS])
        state[flow, State.COUNT] += 1
        return float(min(new, p[Param.MAX_BPS]))
    state[flow, State.COUNT] = 0
    new = rate * factor
    if p[Param.WHOLE_BPS] != 0:
        new = np.floor(new)
    return float(max(new, p[Param.MIN_BPS]))


@njit
def timely_step(
    state: NDArray[np.float64],
    flow: int,
    p: NDArray[np.float64],
    rtt_us: float,
    t_us: float,
    rate_bps: float,
) -> float:
    """The rate in bit/s after one completed RTT sample; a new flow's state row is all zeros."""
    if p[Param.FORM] == 1:
        return float(_ns3_step(state, flow, p, rtt_us, rate_bps))
    return float(_source_step(state, flow, p, rtt_us, t_us, rate_bps))
