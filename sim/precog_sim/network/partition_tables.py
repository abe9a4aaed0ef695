"""Tables of a run's partitions: what each has of its own, and the mail between them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from precog_sim.network.arrivals import BUCKETS, SPARE
from precog_sim.network.congestion import LawSetup
from precog_sim.network.crew import STEP_PS, Bound, Crew
from precog_sim.network.layout import NEVER, FlowCol, PortCol
from precog_sim.network.memory import LINE, lined, sparse
from precog_sim.network.partition import Partition
from precog_sim.network.pool import Stock, stock_words
from precog_sim.network.result import Record
from precog_sim.network.rows import Rows
from precog_sim.network.scenario import Scenario
from precog_sim.network.switch import PFC_BYTES

__all__ = ["SLOTS", "crew_table", "partition_tables", "why_whole"]

SLOTS = 1 << 15  #: buckets of the wheel of a network that is not divided
_ROOM = 4  # windows of packets that may be sorted
_SLOTS = 1 << 12  # of a part's: they stay in a core's cache
_Table = NDArray[np.int64]


def why_whole(scenario: Scenario, record: Record, setup: LawSetup, split: Partition) -> str:
    """Why the run cannot be divided; empty: it can."""
    if setup.function:
        return "a decision function outside knows all flows"
    if record.packets or record.log or record.queues or record.scores or record.probe_us > 0:
        return "records of packets, queues and traces are of the whole network"
    if any(flow.messages is not None for flow in scenario.flows):
        return "messages come in one order for all flows"
    for g, flow in enumerate(scenario.flows):
        for f in flow.after:
            if split.of[scenario.flows[f].dst] != split.of[flow.src]:
                return f"flow {g} waits for what happens far from its host, at the end of flow {f}"
    if split.count < 2:
        return "its switches are one group"
    return ""


def partition_tables(
    scenario: Scenario,
    split: Partition,
    rows: Rows,
    port: _Table,
    flow: _Table,
    starts: _Table,
    least_bytes: int,
    samples: int,
) -> dict[str, Any]:
    """Tables by their name in `Net`; the ports learn which of their peers are in another part.

    `least_bytes` is the size of the smallest packet, `samples` is the room for all.
    """
    count = split.count
    topology = scenario.topology
    parts = split.of[port[:, PortCol.NODE]]
    beyond = parts[port[:, PortCol.PEER]]
    port[:, PortCol.BEYOND] = beyond
    order = np.argsort(starts, kind="stable").astype(np.int64)
    order = order[flow[order, FlowCol.WAITS] == 0]
    mine = np.flatnonzero(port[:, PortCol.NODE] >= topology.hosts)
    sender = split.of[flow[:, FlowCol.SRC]]
    packets = -(-flow[:, FlowCol.SIZE] // scenario.payload) + 1
    bounds = np.zeros((count + 1, Bound.WIDTH), dtype=np.int64)
    for column, counts in (
        (Bound.FLOWS, np.bincount(sender[order], minlength=count)),
        (Bound.PORTS, np.bincount(parts[mine], minlength=count)),
        (Bound.SAMPLES, np.bincount(sender, packets, minlength=count).astype(np.int64)),
    ):
        bounds[1:, column] = np.cumsum(counts)
    bounds[count, Bound.SAMPLES] = samples
    stock = np.zeros(stock_words(rows.packets), dtype=np.int64)
    stock[Stock.FRESH] = rows.first_packet
    slots = SLOTS if count == 1 else _SLOTS
    wheel = lined((count, slots), np.int32)
    wheel[...] = -1
    places = _places(scenario, split, port, parts, least_bytes)
    room = _ROOM * int(np.diff(places).sum(axis=0).max())
    arrivals = sparse((count, room + SPARE, 2))
    arrivals[:, 0, 0] = NEVER
    return {
        "bounds": bounds,
        "parts": parts,
        "order": order[np.argsort(sender[order], kind="stable")],
        "mine": mine[np.argsort(parts[mine], kind="stable")],
        "stock": stock,
        "arrivals": arrivals,
        "unsorted": sparse((count, room, 2)),
        "tally": lined((count, BUCKETS), np.int32),
        "wheel": wheel,
        "bits": lined((count, slots // 64)),
        "heap": sparse((count, rows.total, 3)),
        "ready": lined((count, LINE)),
        "places": places,
        "posted": np.zeros((2, count, -(-count // 16) * 16), dtype=np.int32),
        "outbox": np.empty((2, int(places[-1, -1]), 2), dtype=np.int64),
    }


def _places(
    scenario: Scenario, split: Partition, port: _Table, parts: _Table, least_bytes: int
) -> NDArray[np.int32]:
    """Where each partition puts down its packets for each other one, [partition, partition + 1]:
    all that the links between them can send in a window."""
    room = np.zeros((split.count, split.count), dtype=np.int64)
    window = min(split.lookahead_ps, STEP_PS)
    for p in range(len(port)):
        least_ps = min(least_bytes, PFC_BYTES) * 8_000_000 / port[p, PortCol.MBPS]
        room[parts[p], port[p, PortCol.BEYOND]] += int(window / least_ps) + 2
    ends = np.cumsum(room).reshape(room.shape)
    return np.column_stack((ends[:, 0] - room[:, 0], ends)).astype(np.int32)


def crew_table(split: Partition, threads: int) -> _Table:
    """The words that threads share."""
    crew = lined((Crew.CLAIM + LINE * split.count,))
    crew[Crew.WINDOW] = 1
    crew[Crew.THREADS] = threads
    crew[Crew.LOOKAHEAD] = split.lookahead_ps
    return crew
