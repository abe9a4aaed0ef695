"""How long a transfer takes alone in the network: what slowdowns are measured against."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from precog_sim.network.scenario import Scenario
from precog_sim.network.topology import Link

__all__ = ["alone_us", "one_way_us"]

_Table = NDArray[np.int64]


def alone_us(
    scenario: Scenario, flow: _Table, size: _Table, header: _Table, ack_bytes: _Table
) -> NDArray[np.float64]:
    """Time from the first byte to the last acknowledgement at line rate, in exact timing.

    Parameters
    ----------
    scenario : Scenario
    flow, size : ndarray of int64, shape (n,)
        Whose way each transfer goes, and its bytes.
    header, ack_bytes : ndarray of int64, shape (flows,)
        Header bytes of each flow's data packets; bytes of its acknowledgements.

    Returns
    -------
    ndarray, shape (n,)
        Microseconds.
    """
    known: dict[tuple[int, ...], float] = {}
    times = np.empty(len(flow))
    for k, (f, bytes_) in enumerate(zip(flow.tolist(), size.tolist(), strict=True)):
        ends = scenario.flows[f].src, scenario.flows[f].dst
        key = (*ends, bytes_, int(header[f]), int(ack_bytes[f]))
        if key not in known:
            known[key] = _alone_us(scenario, *key)
        times[k] = known[key]
    return times


def _alone_us(
    scenario: Scenario, src: int, dst: int, size: int, header: int, ack_bytes: int
) -> float:
    links = scenario.topology.path(src, dst)
    before_ns, last_ns = _there_ns(links, size, scenario.payload, header)
    for link in reversed(links):
        before_ns += ack_bytes * 8 / link.gbps if size > scenario.payload else 0.0
        last_ns = max(last_ns, before_ns) + ack_bytes * 8 / link.gbps
    return last_ns * 1e-3 + sum(2 * link.delay_ps for link in links) * 1e-6


def one_way_us(links: Sequence[Link], size: int, payload: int, header: int) -> float:
    """Until the last of `size` bytes has arrived, alone in the network at line rate."""
    _, last_ns = _there_ns(links, size, payload, header)
    return last_ns * 1e-3 + sum(link.delay_ps for link in links) * 1e-6


def _there_ns(links: Sequence[Link], size: int, payload: int, header: int) -> tuple[float, float]:
    """When the packet before the last one, and the last, have left the last hop; no delays."""
    packets = -(-size // payload)
    full = payload + header
    last = size - (packets - 1) * payload + header
    sent_ns = slowest_ns = before_ns = last_ns = 0.0
    for link in links:
        sent_ns += full * 8 / link.gbps
        slowest_ns = max(slowest_ns, full * 8 / link.gbps)
        before_ns = sent_ns + (packets - 2) * slowest_ns if packets > 1 else 0.0
        last_ns = max(last_ns, before_ns) + last * 8 / link.gbps
    return before_ns, last_ns
