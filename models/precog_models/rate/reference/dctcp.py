"""DCTCP as a rate law with a rate-scaled window (SIGCOMM 2010; ns-3 form of the HPCC authors).

Once per window: alpha = (1 - g) alpha + g F with F the marked share of the window's
acknowledgements; on the first mark of a window the rate falls by alpha / 2; in an unmarked state
it rises by a fixed step per window.
"""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from precog_models.rate.reference.common import pack

from ...jit import njit

__all__ = ["PRESETS", "DctcpParams", "Param", "State", "dctcp_ack", "dctcp_reset"]


class Param(IntEnum):
    """Places in the parameter vector."""

    G = 0
    AI_BPS = 1
    MIN_BPS = 2
    MAX_BPS = 3
    MTU = 4
    WHOLE_BPS = 5


class State(IntEnum):
    """Columns of the state table; sequence numbers are bytes."""

    ALPHA = 0
    MARKS = 1
    BATCH = 2  # packets expected in this window
    CUT = 3  # 1 until the window of the last cut is acknowledged
    CUT_SEQ = 4
    STARTED = 5


@dataclass(frozen=True)
class DctcpParams:
    """Constants of the law: EWMA gain and increase per window in bit/s."""

    g: float = 1 / 16
    ai_bps: float = 615e6
    mark_kb: float = 300.0  # switches mark above this queue length (1 KB = 1000 B)

    def __post_init__(self) -> None:
        if not 0 < self.g <= 1:
            raise ValueError(f"g must be in (0, 1], not {self.g!r}")

    def vector(
        self, *, min_bps: float, max_bps: float, mtu: int, whole_bps: bool = False
    ) -> NDArray[np.float64]:
        """The parameter vector for a link."""
        return pack(
            {
                Param.G: self.g,
                Param.AI_BPS: self.ai_bps,
                Param.MIN_BPS: min_bps,
                Param.MAX_BPS: max_bps,
                Param.MTU: mtu,
                Param.WHOLE_BPS: float(whole_bps),
            }
        )


PRESETS: dict[str, DctcpParams] = {
    "ns3": DctcpParams(),
    # one packet per 4.16 us round trip, the step of the original window law
    "packet-per-rtt": DctcpParams(ai_bps=1923e6),
}


@njit
def dctcp_reset(state: NDArray[np.float64], flow: int) -> None:
    """Make `flow` new: alpha = 1, so that the first mark halves the rate."""
    state[flow, :] = 0.0
    state[flow, State.ALPHA] = 1.0


@njit
def dctcp_ack(
    state: NDArray[np.float64],
    flow: int,
    p: NDArray[np.float64],
    marked: bool,
    window_done: bool,
    ack_seq: int,
    next_seq: int,
    rate_bps: float,
) -> float:
    """The rate after one acknowledgement.

    Parameters
    ----------
    marked : bool
        The acknowledged packet carried a congestion mark.
    window_done : bool
        The acknowledgement completes the window in flight at the last update.
    ack_seq, next_seq : int
        Bytes acknowledged, and the next byte to be sent.
    """
    if marked:
        state[flow, State.MARKS] += 1
    if window_done:
        if state[flow, State.STARTED] == 0:
            state[flow, State.STARTED] = 1
            state[flow, State.BATCH] = next_seq // p[Param.MTU] + 1
        else:
            share = min(1.0, state[flow, State.MARKS] / state[flow, State.BATCH])
            state[flow, State.ALPHA] = (1 - p[Param.G]) * state[flow, State.ALPHA] + p[
                Param.G
            ] * share
            state[flow, State.MARKS] = 0
            state[flow, State.BATCH] = (next_seq - ack_seq) // p[Param.MTU] + 1
    if state[flow, State.CUT] != 0 and ack_seq > state[flow, State.CUT_SEQ]:
        state[flow, State.CUT] = 0
    if marked and state[flow, State.CUT] == 0:
        rate_bps *= 1 - state[flow, State.ALPHA] / 2
        if p[Param.WHOLE_BPS] != 0:
            rate_bps = np.floor(rate_bps)
        rate_bps = max(p[Param.MIN_BPS], rate_bps)
        state[flow, State.CUT] = 1
        state[flow, State.CUT_SEQ] = next_seq
    if state[flow, State.CUT] == 0 and window_done:
        rate_bps = min(p[Param.MAX_BPS], rate_bps + p[Param.AI_BPS])
    return rate_bps
