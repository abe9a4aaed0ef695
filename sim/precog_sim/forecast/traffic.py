"""Traffic of senders that share a bottleneck, to drive emulated cards with.

The entry point of the group ``precog.traffic``: the fleet's demo asks for it by name, so that the
host software imports no simulator.
"""

import numpy as np
from numpy.typing import NDArray

from precog_models.data.queue_trace import QueueTrace
from precog_sim.forecast.scenarios import QueueRun, queue_trace

__all__ = ["traffic"]

_TICKS_A_US = 1000
_PS_A_TICK = 1000


def traffic(
    *,
    group: str,
    law: str,
    senders: int,
    load: float,
    seed: int,
    horizon_us: float,
    delay_us: float,
) -> tuple[QueueTrace, NDArray[np.int64]]:
    """Changes of all send queues of one run, and its RTTs.

    Parameters
    ----------
    group, law, senders, load, seed, horizon_us, delay_us
        As `QueueRun`.

    Returns
    -------
    trace : QueueTrace
        In ticks of 1 ns.
    rtts : ndarray of int64, shape (n, 3)
        Sender, RTT in ticks, time in ticks; one of each sender and round trip, in order of time.

    Raises
    ------
    ValueError
        There is no such run.
    """
    trace, result = queue_trace(QueueRun(group, law, senders, load, seed, horizon_us, delay_us))
    rtts = np.stack(
        [
            result.sample_flow.astype(np.int64),
            result.sample_rtt_ps // _PS_A_TICK,
            np.round(result.sample_t_us * _TICKS_A_US).astype(np.int64),
        ],
        axis=1,
    )
    return trace, rtts[np.argsort(rtts[:, 2], kind="stable")]
