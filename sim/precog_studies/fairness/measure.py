"""Figures of merit of long flows over one bottleneck, over the second half of a run.

Definitions
-----------
rate of a flow
    Payload that arrived in order in the second half / its length.
Jain
    `precog_sim.network.jain` of the rates.
ratio
    Largest rate / smallest rate; None where a flow got nothing.
utilisation
    Bytes on the wire of what arrived in order / (link rate x length), headers included.
queue
    Bytes at the bottleneck's egress at the probes, the packet on the wire not counted; the
    percentiles are numpy's default.
"""

from dataclasses import dataclass

import numpy as np

from precog_sim.network import Result, jain

__all__ = ["PARTS", "Fairness", "measure"]

PARTS = 20  # of a run, for the index over time


@dataclass(frozen=True)
class Fairness:
    """One run's figures over its second half; RTTs are what the law was told.

    Attributes
    ----------
    least_gbps, most_gbps : float
        Smallest and largest rate of a flow.
    first_gbps, last_gbps : float
        Rate of the first and of the last flow.
    pauses, marks : int
        PFC pauses, and marked packets, of the whole run. Where there are pauses, PFC shares the
        link as well as the law; without a mark dcqcn was told nothing.
    jain_over_time : tuple of float
        Jain's index in each of `PARTS` equal parts of the whole run.
    """

    jain: float
    ratio: float | None
    utilisation: float
    queue_p50_kb: float
    queue_p99_kb: float
    queue_max_kb: float
    first_gbps: float
    last_gbps: float
    least_gbps: float
    most_gbps: float
    rtt_p50_us: float
    rtt_p99_us: float
    pauses: int
    marks: int
    jain_over_time: tuple[float, ...]


def _parts(result: Result, flows: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Bytes that arrived of each flow in each part of the run."""
    edges = np.linspace(0, result.scenario.horizon_us, PARTS + 1)
    rows = np.searchsorted(result.probe_t_us, edges, side="right") - 1
    return np.diff(result.probe_got[rows, :flows], axis=0).astype(np.float64)


def measure(result: Result, flows: int) -> Fairness:
    """The figures of the first `flows` flows of a run, which have one receiver and do not end.

    Raises
    ------
    ValueError
        One of them has ended or another has not, there are several receivers, or the traces are
        too short.
    """
    receivers = {flow.dst for flow in result.scenario.flows}
    if len(receivers) != 1:
        raise ValueError(f"flows must have one receiver, not {len(receivers)}")
    half_us = result.scenario.horizon_us / 2
    lasting = np.isnan(result.fct_us)
    if not lasting[:flows].all():
        raise ValueError("long flows must last until the horizon: give them more bytes")
    if lasting[flows:].any() or (result.start_us + result.fct_us)[flows:].max(initial=0) > half_us:
        raise ValueError("short flows must end in the first half: give them fewer bytes")
    rows = np.flatnonzero(result.probe_t_us >= half_us)
    if rows.size < 2:
        raise ValueError(f"second half must have at least 2 probes, not {rows.size}")
    first, last = rows[0], rows[-1]
    span_us = float(result.probe_t_us[last] - result.probe_t_us[first])
    got = (result.probe_got[last] - result.probe_got[first])[:flows].astype(np.float64)
    rates = got * 8e-3 / span_us
    scenario = result.scenario
    line = scenario.topology.host_link(receivers.pop()).gbps
    queue = result.probe_queue[rows, 0] * 1e-3
    p50, p99 = np.percentile(queue, [50, 99])
    told = result.sample_rtt_us[result.sample_t_us >= half_us]
    rtts = np.percentile(told, [50, 99]) if told.size else np.zeros(2)
    least, most = float(rates.min()), float(rates.max())
    return Fairness(
        jain=jain(rates),
        ratio=most / least if least > 0 else None,
        utilisation=float((rates * (1 + result.header[:flows] / scenario.payload)).sum()) / line,
        queue_p50_kb=float(p50),
        queue_p99_kb=float(p99),
        queue_max_kb=float(queue.max()),
        first_gbps=float(rates[0]),
        last_gbps=float(rates[-1]),
        least_gbps=least,
        most_gbps=most,
        rtt_p50_us=float(rtts[0]),
        rtt_p99_us=float(rtts[1]),
        pauses=result.pauses,
        marks=result.marks,
        jain_over_time=tuple(jain(part) for part in _parts(result, flows)),
    )
