"""DCQCN's reaction point (SIGCOMM 2015, source 004), with the timers of the vendor and of ns-3.

A congestion notification raises alpha and cuts the rate: at once (``cut_us = 0``, the paper), or at
the next tick of a periodic check (vendor, ns-3). A timer and a byte counter then drive recovery:
fast recovery R = (R + R_T) / 2 for `recovery` rounds, then additive and hyper increase of R_T.
"""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from precog_models.rate.reference.common import pack

from ...jit import njit

__all__ = [
    "PRESETS",
    "DcqcnParams",
    "Param",
    "State",
    "dcqcn_alpha_timer",
    "dcqcn_bytes",
    "dcqcn_cut_timer",
    "dcqcn_notify",
    "dcqcn_rate_timer",
    "dcqcn_reset",
]


class Param(IntEnum):
    """Places in the parameter vector."""

    G = 0
    ALPHA_US = 1
    CUT_US = 2
    RATE_US = 3
    RECOVERY = 4
    BYTES = 5
    AI_BPS = 6
    HAI_BPS = 7
    CLAMP_TARGET = 8
    MIN_BPS = 9
    MAX_BPS = 10
    WHOLE_BPS = 11


class State(IntEnum):
    """Columns of the state table."""

    ALPHA = 0
    TARGET_BPS = 1
    STARTED = 2  # a notification has come
    ALPHA_CNP = 3
    CUT_CNP = 4
    TIMER_STAGE = 5
    BYTE_STAGE = 6
    BYTES = 7


@dataclass(frozen=True)
class DcqcnParams:
    """Constants of the law.

    Parameters
    ----------
    g : float
        Gain of alpha.
    alpha_us : float
        Period of the alpha update.
    cut_us : float
        Period of the rate-decrease check; 0: every notification cuts.
    rate_us : float
        Period of the rate-increase timer T.
    recovery : int
        Rounds of fast recovery F.
    byte_count : int
        Bytes per step of the byte counter B; 0: no byte counter.
    ai_bps, hai_bps : float
        Additive and hyper increase of the target rate; hai 0: additive only.
    clamp_target : bool
        Every cut sets the target; False: only the first after an increase does.
    cnp_us : float
        Least time N between a flow's notifications; 0: each marked acknowledgement is one.
    mark_min_kb, mark_max_kb, mark_max : float
        K_min, K_max and P_max of the switches (1 KB = 1000 B).
    """

    g: float = 1 / 256
    alpha_us: float = 55.0
    cut_us: float = 0.0
    rate_us: float = 55.0
    recovery: int = 5
    byte_count: int = 10_000_000
    ai_bps: float = 40e6
    hai_bps: float = 0.0
    clamp_target: bool = True
    cnp_us: float = 50.0
    mark_min_kb: float = 5.0
    mark_max_kb: float = 200.0
    mark_max: float = 0.01

    def __post_init__(self) -> None:
        for name in ("alpha_us", "rate_us"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be positive, not {getattr(self, name)!r}")
        if not 0 < self.g <= 1:
            raise ValueError(f"g must be in (0, 1], not {self.g!r}")

    def vector(
        self, *, min_bps: float, max_bps: float, whole_bps: bool = False
    ) -> NDArray[np.float64]:
        """The parameter vector for a link."""
        return pack(
            {
                Param.G: self.g,
                Param.ALPHA_US: self.alpha_us,
                Param.CUT_US: self.cut_us,
                Param.RATE_US: self.rate_us,
                Param.RECOVERY: self.recovery,
                Param.BYTES: self.byte_count,
                Param.AI_BPS: self.ai_bps,
                Param.HAI_BPS: self.hai_bps,
                Param.CLAMP_TARGET: float(self.clamp_target),
                Param.MIN_BPS: min_bps,
                Param.MAX_BPS: max_bps,
                Param.WHOLE_BPS: float(whole_bps),
            }
        )


_NS3 = DcqcnParams(
    alpha_us=1.0,
    cut_us=4.0,
    rate_us=300.0,
    recovery=1,
    byte_count=0,
    ai_bps=20e6,
    hai_bps=200e6,
    clamp_target=False,
    cnp_us=0.0,
    mark_min_kb=400.0,
    mark_max_kb=1600.0,
    mark_max=0.2,
)

PRESETS: dict[str, DcqcnParams] = {
    "paper": DcqcnParams(),
    "vendor": DcqcnParams(
        alpha_us=1.0,
        cut_us=4.0,
        rate_us=300.0,
        recovery=1,
        byte_count=32767,
        ai_bps=5e6,
        hai_bps=50e6,
        clamp_target=False,
    ),
    "ns3": _NS3,
    # the ns-3 code with the paper's timers
    "ns3-paper-timers": DcqcnParams(
        **{**_NS3.__dict__, "alpha_us": 50.0, "cut_us": 50.0, "rate_us": 55.0}
    ),
}


@njit
def dcqcn_reset(state: NDArray[np.float64], flow: int, rate_bps: float) -> None:
    """Make `flow` new at `rate_bps`; alpha starts at 1."""
    state[flow, :] = 0.0
    state[flow, State.ALPHA] = 1.0
    state[flow, State.TARGET_BPS] = rate_bps


@njit
def _cut(state: NDArray[np.float64], flow: int, p: NDArray[np.float64], rate_bps: float) -> float:
    """Fall by alpha / 2 and start recovery anew."""
    increased = state[flow, State.TIMER_STAGE] > 0 or state[flow, State.BYTE_STAGE] > 0
    if p[Param.CLAMP_TARGET] != 0 or increased:
        state[flow, State.TARGET_BPS] = rate_bps
    new = rate_bps * (1 - state[flow, State.ALPHA] / 2)
    if p[Param.WHOLE_BPS] != 0:
        new = np.floor(new)
    state[flow, State.TIMER_STAGE] = 0
    state[flow, State.BYTE_STAGE] = 0
    state[flow, State.BYTES] = 0
    return float(max(p[Param.MIN_BPS], new))


@njit
def _increase(
    state: NDArray[np.float64], flow: int, p: NDArray[np.float64], rate_bps: float
) -> float:
    """One step of fast recovery, additive or hyper increase, by the two stages."""
    high = max(state[flow, State.TIMER_STAGE], state[flow, State.BYTE_STAGE])
    low = min(state[flow, State.TIMER_STAGE], state[flow, State.BYTE_STAGE])
    # Without a byte counter the timer alone goes through all three phases.
    hyper = low if p[Param.BYTES] != 0 else high
    target = state[flow, State.TARGET_BPS]
    if high >= p[Param.RECOVERY]:
        if hyper > p[Param.RECOVERY] and p[Param.HAI_BPS] > 0:
            target += p[Param.HAI_BPS]
        else:
            target += p[Param.AI_BPS]
        target = min(target, p[Param.MAX_BPS])
        state[flow, State.TARGET_BPS] = target
    if p[Param.WHOLE_BPS] != 0:
        return float(np.floor(rate_bps / 2) + np.floor(target / 2))
    return float((rate_bps + target) / 2)


@njit
def dcqcn_notify(
    state: NDArray[np.float64], flow: int, p: NDArray[np.float64], rate_bps: float
) -> tuple[float, int]:
    """A congestion notification has come.

    Returns
    -------
    rate : float
        The rate in bit/s after it.
    timers : int
        Timers that the caller must (re)start: 1 alpha, 2 cut, 4 rate; the sum of them.
    """
    if p[Param.CUT_US] == 0:
        # The paper's order: cut with the old alpha, then raise it.
        rate_bps = _cut(state, flow, p, rate_bps)
        state[flow, State.ALPHA] = (1 - p[Param.G]) * state[flow, State.ALPHA] + p[Param.G]
        state[flow, State.STARTED] = 1
        return rate_bps, 1 + 4
    state[flow, State.ALPHA_CNP] = 1
    state[flow, State.CUT_CNP] = 1
    if state[flow, State.STARTED] != 0:
        return rate_bps, 0
    state[flow, State.STARTED] = 1
    state[flow, State.ALPHA] = 1
    state[flow, State.ALPHA_CNP] = 0
    state[flow, State.TARGET_BPS] = rate_bps
    return rate_bps, 1 + 2


@njit
def dcqcn_alpha_timer(state: NDArray[np.float64], flow: int, p: NDArray[np.float64]) -> None:
    """The alpha timer has run out: alpha decays, or rises if a notification came meanwhile."""
    alpha = (1 - p[Param.G]) * state[flow, State.ALPHA]
    if state[flow, State.ALPHA_CNP] != 0:
        alpha += p[Param.G]
    state[flow, State.ALPHA] = alpha
    state[flow, State.ALPHA_CNP] = 0


@njit
def dcqcn_cut_timer(
    state: NDArray[np.float64], flow: int, p: NDArray[np.float64], rate_bps: float
) -> tuple[float, bool]:
    """The rate-decrease check; returns the rate and whether it was cut (restart the rate timer)."""
    if state[flow, State.CUT_CNP] == 0:
        return rate_bps, False
    state[flow, State.CUT_CNP] = 0
    return _cut(state, flow, p, rate_bps), True


@njit
def dcqcn_rate_timer(
    state: NDArray[np.float64], flow: int, p: NDArray[np.float64], rate_bps: float
) -> float:
    """The rate-increase timer has run out: the rate after the step.

    The stage counts after the step, so that F = 1 gives one round of fast recovery.
    """
    rate_bps = _increase(state, flow, p, rate_bps)
    state[flow, State.TIMER_STAGE] += 1
    return rate_bps


@njit
def dcqcn_bytes(
    state: NDArray[np.float64], flow: int, p: NDArray[np.float64], sent: int, rate_bps: float
) -> float:
    """`sent` more bytes have left: the rate after the byte counter's steps, if any."""
    if p[Param.BYTES] == 0 or state[flow, State.STARTED] == 0:
        return rate_bps
    state[flow, State.BYTES] += sent
    if state[flow, State.BYTES] >= p[Param.BYTES]:
        state[flow, State.BYTES] -= p[Param.BYTES]
        rate_bps = _increase(state, flow, p, rate_bps)
        state[flow, State.BYTE_STAGE] += 1
    return rate_bps
