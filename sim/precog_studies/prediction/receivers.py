"""Queues of the ports that lead to an incast's receivers, while the incast runs.

Most of a network's ports are idle in an incast, and with them the percentiles over all ports. The
incast waits in one queue: that of the last hop to its receiver.
"""

import numpy as np
from numpy.typing import NDArray

from precog_sim.network import Result

__all__ = ["receiver_queues"]


def receiver_queues(result: Result, cast: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Samples of the last hops' queues in bytes, of all receivers together.

    A sample counts while at least one of the receiver's incast flows has started and has not ended,
    its last acknowledgement included.

    Parameters
    ----------
    result : Result
        Of a run whose traces were kept.
    cast : ndarray of bool, shape (flows,)
        The flows that are part of an incast.
    """
    topology = result.scenario.topology
    to = np.array([flow.dst for flow in result.scenario.flows])
    ends = np.array([(link.a, link.b) for link in topology.links]).reshape(-1)
    column = {int(ends[port ^ 1]): k for k, port in enumerate(result.watched.tolist())}
    start = np.nan_to_num(result.start_us, nan=np.inf)
    end = np.nan_to_num(result.start_us + result.fct_us, nan=np.inf)
    found = [
        result.probe_queue[_during(result.probe_t_us, start[mine], end[mine]), column[host]]
        for host in np.unique(to[cast]).tolist()
        for mine in [cast & (to == host)]
    ]
    return np.concatenate(found)


def _during(
    t: NDArray[np.float64], start: NDArray[np.float64], end: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """The times at which some flow is under way."""
    begun = np.searchsorted(np.sort(start), t, side="right")
    ended = np.searchsorted(np.sort(end), t, side="right")
    return np.asarray(begun > ended)
