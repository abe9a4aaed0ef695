"""Room for what a run keeps; what is never written costs no memory."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from precog_sim.network.congestion import LawSetup
from precog_sim.network.layout import PortCol, QueueCol
from precog_sim.network.memory import sparse
from precog_sim.network.result import Record
from precog_sim.network.rows import most_packets
from precog_sim.network.scenario import Scenario
from precog_spec.contract import DECISION_FIELDS, FORECAST_FIELDS, SAMPLE_FIELDS
from precog_spec.receiver_fields import RECEIVER_EVENT, RECEIVER_RESULT

__all__ = ["Kept", "room"]

_WATCHED_MOST = 8
_DEPTHS = 1 << 16  # samples of queues by their KiB; the last one has what is longer
_FORECASTS_MOST = 1 << 22
_Table = NDArray[np.int64]


@dataclass(frozen=True)
class Kept:
    """Room for everything that the kernel notes; the names are those of `Net`."""

    packet_rtt: _Table
    samples: _Table
    sample_f: NDArray[np.float64]
    watched: _Table
    probe_time: _Table
    probe_rate: NDArray[np.float32]
    probe_got: _Table
    probe_queue: _Table
    log: _Table
    changes: _Table
    forecast_log: _Table
    receiver_log: _Table
    depths: _Table


def room(
    scenario: Scenario, record: Record, law: LawSetup, port: _Table, messages: _Table, parts: int
) -> Kept:
    """Room for the records of a run; the watched ports are the last hops to the receivers.

    Where there are too many of them, those of the most flows are watched.
    """
    flows = len(scenario.flows)
    hosts = scenario.topology.hosts
    senders = Counter(flow.dst for flow in scenario.flows)
    receivers = {host for host, _ in senders.most_common(_WATCHED_MOST)}
    peers = port[port[:, PortCol.PEER], PortCol.NODE]
    last_hops = [
        p
        for p in range(port.shape[0])
        if port[p, PortCol.NODE] >= hosts and int(peers[p]) in receivers
    ]
    watched = np.array(last_hops[:_WATCHED_MOST], dtype=np.int64)
    packets = most_packets(scenario, messages)
    # Samples never repeat bytes, so there are at most as many as packets.
    samples = packets + flows
    # Half of the packets may be sent twice; what is never written costs no memory.
    queue_rows = len(messages) + flows + 2 * packets
    probes = record.probes if record.probe_us > 0 else 1
    fields = len(SAMPLE_FIELDS) + len(DECISION_FIELDS)
    visits = _forecast_rows(scenario, law)
    acts = len(RECEIVER_EVENT) + len(RECEIVER_RESULT)
    return Kept(
        packet_rtt=np.empty(packets if record.packets else 0, dtype=np.int64),
        samples=sparse((samples, 3)),
        sample_f=sparse((samples, 2), np.float64),
        watched=watched,
        probe_time=np.zeros(probes, dtype=np.int64),
        probe_rate=np.zeros((probes, flows), dtype=np.float32),
        probe_got=np.zeros((probes, flows), dtype=np.int64),
        probe_queue=np.zeros((probes, watched.size), dtype=np.int64),
        log=np.empty((_log_rows(scenario, law, samples) if record.log else 1, fields), np.int64),
        changes=np.empty((queue_rows if record.queues else 1, QueueCol.WIDTH), np.int64),
        forecast_log=np.empty((visits if record.scores else 1, len(FORECAST_FIELDS)), np.int64),
        receiver_log=np.empty((visits + 2 * packets if record.scores else 1, acts), np.int64),
        depths=np.zeros((parts, _DEPTHS if record.depth_us else 1), dtype=np.int64),
    )


def _log_rows(scenario: Scenario, law: LawSetup, samples: int) -> int:
    """Room in a `Loop`'s log; what is never written costs no memory.

    Of `samples` samples, and of events: bytes, notifications and scores of every packet, half of
    them sent twice, and sweeps while each flow is at its slowest. More than that ends a run with an
    error.
    """
    if law.event_function == 0:
        return samples
    rows = samples + 3 * samples + (3 * samples if law.scores else 0)
    if law.queues:
        rows += _forecast_rows(scenario, law)
    if law.sweep_us > 0:
        for flow in scenario.flows:
            longest_us = min(2 * flow.size * 8e-3 / scenario.min_gbps, scenario.horizon_us)
            rows += int(longest_us / law.sweep_us) + 1000
    return rows


def _forecast_rows(scenario: Scenario, law: LawSetup) -> int:
    """Room for the forecasts of a run, of every queue at every visit before the horizon."""
    if law.queues is None:
        return 0
    visits = int(scenario.horizon_us * 1e6) // law.queues.period_ps + 1
    return min(visits * len(scenario.flows), _FORECASTS_MOST)
