"""HPCC: inflight-utilisation control on in-band telemetry (SIGCOMM 2019, algorithm 1).

Per acknowledgement and hop: u = txRate / line + min(q, q') / (line T); U is an EWMA with weight
dt / T of the most loaded hop's u; with C = U / eta >= 1, or after `max_stage` increases, the rate
is base / C + AI, else base + AI. The base moves once per round trip, every acknowledgement in
between reacts from it.
"""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from precog_models.rate.reference.common import clamp, pack

from ...jit import njit

__all__ = ["HOPS", "PRESETS", "HpccParams", "Param", "State", "hpcc_ack", "hpcc_reset"]

HOPS = 5
_BYTES_UNIT, _BYTES_BITS = 128, 20
_QUEUE_UNIT = 80
_TIME_BITS = 24


class Param(IntEnum):
    """Places in the parameter vector."""

    ETA = 0
    MAX_STAGE = 1
    AI_BPS = 2
    MIN_BPS = 3
    MAX_BPS = 4
    T_NS = 5  # base RTT of the network
    WINDOW = 6  # bytes: MAX_BPS x T
    MULTI = 7  # telemetry units are multiplied by this
    WHOLE_BPS = 8


class State(IntEnum):
    """Columns of the state table."""

    U = 0
    BASE_BPS = 1
    STAGE = 2
    STARTED = 3
    HOP = 4  # per hop: time ns, bytes, queue bytes as last reported


@dataclass(frozen=True)
class HpccParams:
    """Constants of the law: target utilisation, increases before MI, step, telemetry units."""

    eta: float = 0.95
    max_stage: int = 0
    ai_bps: float = 40e6
    multi: int = 4

    def __post_init__(self) -> None:
        if not 0 < self.eta <= 1:
            raise ValueError(f"eta must be in (0, 1], not {self.eta!r}")

    def vector(
        self,
        *,
        min_bps: float,
        max_bps: float,
        t_ns: float,
        window: float,
        whole_bps: bool = False,
    ) -> NDArray[np.float64]:
        """The parameter vector for a network with base RTT `t_ns` and window in bytes."""
        return pack(
            {
                Param.ETA: self.eta,
                Param.MAX_STAGE: self.max_stage,
                Param.AI_BPS: self.ai_bps,
                Param.MIN_BPS: min_bps,
                Param.MAX_BPS: max_bps,
                Param.T_NS: t_ns,
                Param.WINDOW: window,
                Param.MULTI: self.multi,
                Param.WHOLE_BPS: float(whole_bps),
            }
        )


PRESETS: dict[str, HpccParams] = {
    "ns3": HpccParams(),  # the thesis' configuration
    "paper": HpccParams(max_stage=5, multi=1),
}


@njit
def hpcc_reset(state: NDArray[np.float64], flow: int, rate_bps: float) -> None:
    """Make `flow` new at `rate_bps`, with U = 1."""
    state[flow, :] = 0.0
    state[flow, State.U] = 1.0
    state[flow, State.BASE_BPS] = rate_bps


@njit
def hpcc_ack(
    state: NDArray[np.float64],
    flow: int,
    p: NDArray[np.float64],
    telemetry: NDArray[np.int64],
    row: int,
    window_done: bool,
    rate_bps: float,
) -> float:
    """The rate after one acknowledgement.

    Parameters
    ----------
    telemetry, row
        ``telemetry[row]`` = hops, then per hop: time in ns, bytes sent, queue bytes, line rate in
        Mb/s; wider than the header's fields, which this function cuts out.
    window_done : bool
        The acknowledgement is of a packet sent after the last move of the base rate.
    """
    hops = telemetry[row, 0]
    started = state[flow, State.STARTED] != 0
    multi = int(p[Param.MULTI])
    bytes_unit = _BYTES_UNIT * multi
    queue_unit = _QUEUE_UNIT * multi
    bytes_mask = (1 << _BYTES_BITS) - 1
    time_mask = (1 << _TIME_BITS) - 1
    most = 0.0
    span = 0.0
    for hop in range(hops):
        t = telemetry[row, 1 + 4 * hop] & time_mask
        sent = (telemetry[row, 2 + 4 * hop] // bytes_unit) & bytes_mask
        queue = (telemetry[row, 3 + 4 * hop] // queue_unit) * queue_unit
        column = State.HOP + 3 * hop
        if started:
            line = telemetry[row, 4 + 4 * hop] * 1e6
            tau = (t - int(state[flow, column])) & time_mask
            moved = ((sent - int(state[flow, column + 1])) & bytes_mask) * bytes_unit
            shortest = min(float(queue), state[flow, column + 2])
            tx = moved * 8 / (tau * 1e-9) if tau > 0 else 0.0
            u = tx / line + shortest * p[Param.MAX_BPS] / line / p[Param.WINDOW]
            if u > most:
                most = u
                span = float(tau)
        state[flow, column] = t
        state[flow, column + 1] = sent
        state[flow, column + 2] = queue
    if not started:
        state[flow, State.STARTED] = 1
        return rate_bps
    period = p[Param.T_NS]
    span = min(span, period)
    state[flow, State.U] = (state[flow, State.U] * (period - span) + most * span) / period
    c = state[flow, State.U] / p[Param.ETA]
    base = state[flow, State.BASE_BPS]
    if c >= 1 or state[flow, State.STAGE] >= p[Param.MAX_STAGE]:
        new = base / c
        if p[Param.WHOLE_BPS] != 0:
            new = np.floor(new)
        new += p[Param.AI_BPS]
        stage = 0.0
    else:
        new = base + p[Param.AI_BPS]
        stage = state[flow, State.STAGE] + 1
    new = clamp(new, p[Param.MIN_BPS], p[Param.MAX_BPS])
    if window_done:
        state[flow, State.BASE_BPS] = new
        state[flow, State.STAGE] = stage
    return float(new)
