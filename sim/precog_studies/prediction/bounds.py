"""How soon a job could end: bounds that hold for every law.

``alone``
    The longer of two times. A host's link takes all of the job's packets at line rate, and the
    path's delay, there and back, comes on top. A chain of flows that wait for each other takes the
    sum of their times alone in the network. No law is faster, whatever it does to other flows.
``shared``
    The same link takes the background's bytes, too: those that had arrived by then in the run.
    No law is faster that leaves the background's bytes where they are.

Only hosts' links are looked at, and answers take no room on them. Bytes are those of the least
number of packets.
"""

from dataclasses import dataclass
from graphlib import TopologicalSorter

import numpy as np
from numpy.typing import NDArray

from precog_sim.network import Result
from precog_sim.network.alone import one_way_us

__all__ = ["Bounds", "job_bounds"]

_US_PER_BYTE = 8e-3  # at 1 Gb/s
_Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Bounds:
    """Bounds of a job's completion, and the link of the receiver where it ended last; us.

    Parameters
    ----------
    alone, shared : float
    job, background, idle : float
        What that link carried from the job's start to its end, and the rest of that time.
    """

    alone: float
    shared: float
    job: float
    background: float
    idle: float


def job_bounds(result: Result, job: NDArray[np.bool_]) -> Bounds:
    """Bounds from a run of which the traces were kept.

    Parameters
    ----------
    result : Result
        All flows of the job have ended.
    job : ndarray of bool, shape (flows,)
    """
    scenario = result.scenario
    links = [scenario.topology.host_link(host) for host in range(scenario.topology.hosts)]
    per_byte = np.array([_US_PER_BYTE / link.gbps for link in links])
    begun = float(result.start_us[job].min())
    end = result.start_us + result.fct_us
    packets = -(-result.size // scenario.payload)
    wire = result.size + packets * result.header
    # The background's packets are counted as full ones: that is the least that its bytes take.
    came = result.probe_got * ((scenario.payload + result.header) / scenario.payload)
    delays = _delays(result, job)
    alone, shared = _chain(result, job), 0.0
    for at_end, delay in delays.items():
        hosts = np.array([getattr(flow, at_end) for flow in scenario.flows])
        own = np.bincount(hosts[job], wire[job], len(links)) * per_byte
        for host in np.unique(hosts[job]).tolist():
            least = float(own[host] + delay[host])
            arrived = came[:, ~job & (hosts == host)].sum(axis=1) * per_byte[host]
            alone = max(alone, least)
            shared = max(shared, _shared(result.probe_t_us - begun, arrived, least))
    last = int(np.flatnonzero(job)[np.argmax(end[job])])
    took = float(end[last]) - begun
    host = scenario.flows[last].dst
    to = np.array([flow.dst for flow in scenario.flows])
    used = float(wire[job & (to == host)].sum() * per_byte[host])
    others = _others(result.probe_t_us, came[:, ~job & (to == host)].sum(axis=1), begun, end[last])
    others *= float(per_byte[host])
    return Bounds(alone, max(alone, shared), used, others, took - used - others)


def _others(t: _Reals, came: _Reals, begun: float, end: float) -> float:
    """What came from one time to another, straight between samples."""
    return float(np.interp(end, t, came) - np.interp(begun, t, came))


def _shared(time: _Reals, arrived: _Reals, least: float) -> float:
    """The earliest end of a job that takes `least` on a link, if what arrives there arrives.

    Between two samples as much has arrived as at the first of them, at the least.

    Parameters
    ----------
    time : ndarray, shape (samples,)
        From the job's start.
    arrived : ndarray, shape (samples,)
        What the link had carried of others at each of them, as the time that it takes.
    least : float
    """
    first = int(np.searchsorted(time, 0.0))
    begins = np.concatenate([[0.0], time[first:]])
    ends = np.append(time[first:], np.inf)
    needed = least + np.concatenate([[0.0], arrived[first:] - arrived[first]])
    k = int(np.argmax(needed <= ends))
    return max(float(begins[k]), float(needed[k]))


def _delays(result: Result, job: NDArray[np.bool_]) -> dict[str, _Reals]:
    """The least delay, there and back, of the paths of the job's flows from and to each host."""
    topology = result.scenario.topology
    flows = [result.scenario.flows[f] for f in np.flatnonzero(job).tolist()]
    found = {end: np.full(topology.hosts, np.inf) for end in ("src", "dst")}
    for src, dst in {(flow.src, flow.dst) for flow in flows}:
        there_and_back = sum(2 * link.delay_ps for link in topology.path(src, dst)) * 1e-6
        found["src"][src] = min(found["src"][src], there_and_back)
        found["dst"][dst] = min(found["dst"][dst], there_and_back)
    return found


def _chain(result: Result, job: NDArray[np.bool_]) -> float:
    """The longest chain of the job's flows that wait for each other, each alone in the network."""
    scenario = result.scenario
    waits = {f: scenario.flows[f].after for f in np.flatnonzero(job).tolist()}
    first = min(scenario.flows[f].start_ps for f, after in waits.items() if not after)
    known: dict[tuple[int, int, int, int], float] = {}
    arrived: dict[int, float] = {}
    found = 0.0
    for f in TopologicalSorter(waits).static_order():
        flow = scenario.flows[f]
        begin = (flow.start_ps - (0 if flow.after else first)) * 1e-6
        begin += max((arrived[g] for g in flow.after), default=0.0)
        key = (flow.src, flow.dst, flow.size, int(result.header[f]))
        if key not in known:
            path = scenario.topology.path(flow.src, flow.dst)
            known[key] = one_way_us(path, flow.size, scenario.payload, key[3])
        arrived[f] = begin + known[key]
        found = max(found, begin + float(result.standalone_us[f]))
    return found
