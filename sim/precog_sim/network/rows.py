"""Where records lie, and how many packets there may be at once."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from precog_sim.network.control import Ctl, Own
from precog_sim.network.layout import TIMERS, Kind, MessageCol, Rec
from precog_sim.network.memory import LINE, lined
from precog_sim.network.ns3_random import first_stream, stream_state
from precog_sim.network.result import Record
from precog_sim.network.scenario import Scenario

__all__ = ["HINTS", "Rows", "controls", "generators", "most_packets", "pool_rows", "records"]

_TIMERS_PER_FLOW = TIMERS + 1
_SCORES = 2  # kinds of random numbers: of ports, flows, scores, and of receivers that lie
HINTS = 3
_Table = NDArray[np.int64]


@dataclass(frozen=True)
class Rows:
    """Where records lie: TX_DONE of every port, then WAKE, flow timers, those of the partitions
    (`Own`), packets."""

    ports: int
    flows: int
    parts: int
    packets: int

    @property
    def first_flow_timer(self) -> int:
        """First of the flows' timers, four each."""
        return 2 * self.ports

    @property
    def own(self) -> int:
        """First of the partitions' own timers."""
        return self.first_flow_timer + _TIMERS_PER_FLOW * self.flows

    @property
    def first_packet(self) -> int:
        """First packet of the pool."""
        return self.own + Own.WIDTH * self.parts

    @property
    def total(self) -> int:
        """All records."""
        return self.first_packet + self.packets


def records(rows: Rows) -> _Table:
    """Record table: every timer knows its kind and owner."""
    rec = lined((rows.total, LINE))
    ports = np.arange(rows.ports)
    done = rec[: rows.ports]
    done[:, Rec.KIND] = Kind.TX_DONE
    done[:, Rec.OWNER] = ports
    wakes = rec[rows.ports : rows.first_flow_timer]
    wakes[:, Rec.KIND] = Kind.WAKE
    wakes[:, Rec.OWNER] = ports
    timers = rec[rows.first_flow_timer : rows.own]
    timers[:, Rec.KIND] = np.tile(
        [*(Kind.TIMER + k for k in range(TIMERS)), Kind.TIMEOUT], rows.flows
    )
    timers[:, Rec.OWNER] = np.repeat(np.arange(rows.flows), _TIMERS_PER_FLOW)
    kinds = [Kind.START, Kind.PROBE, Kind.MESSAGE, Kind.VISIT, Kind.DEPTH]
    rec[rows.own : rows.first_packet, Rec.KIND] = np.tile(kinds, rows.parts)
    return rec


def controls(rows: Rows, record: Record, nodes: int, seed: int) -> _Table:
    """Counters and cursors [partition, Ctl] at the beginning."""
    ctl = lined((rows.parts, Ctl.WIDTH))
    ctl[:, Ctl.FREE] = -1
    ctl[:, Ctl.PART] = np.arange(rows.parts)
    ctl[:, Ctl.OWN] = rows.own + Own.WIDTH * ctl[:, Ctl.PART]
    ctl[:, Ctl.PROBE_PS] = round(record.probe_us * 1e6)
    ctl[:, Ctl.STREAM : Ctl.STREAM + 6] = stream_state(first_stream(nodes), 1 + seed)
    ctl[:, Ctl.SCORE_RNG] = generators(1, seed, _SCORES)
    return ctl


def generators(count: int, seed: int, kind: int) -> _Table:
    """States of `count` generators of random numbers (`draws`), of one kind; none is 0."""
    words = np.random.SeedSequence((seed, kind)).generate_state(count, np.uint64)
    return (words >> np.uint64(1) | np.uint64(1)).astype(np.int64)


def pool_rows(scenario: Scenario) -> int:
    """Packets that can be in the network at once, with room to spare.

    What switches can hold, plus what fits on all wires, counted in packets of the smallest size
    that the flows make; a pool that is too small ends a run with an error, never in silence.
    """
    pieces = (flow.messages.smallest if flow.messages else flow.size for flow in scenario.flows)
    smallest = min(min(pieces), scenario.payload) + 48
    held = scenario.buffers.total * scenario.topology.switches // smallest
    wires = sum(2 * link.gbps * link.delay_ps / 8000 / 60 for link in scenario.topology.links)
    acks = sum(min(flow.size // scenario.payload + 1, 64) for flow in scenario.flows)
    waiting = 2 * len(scenario.flows) if scenario.answers.every > 1 else 0
    return min(int(held + wires) + 4 * acks + waiting + 4096, 1 << 23)


def most_packets(scenario: Scenario, messages: _Table) -> int:
    """Data packets that the flows need at most; a packet never waits for the next message."""
    offered = np.array([0 if flow.messages else flow.size for flow in scenario.flows])
    np.add.at(offered, messages[:, MessageCol.FLOW], messages[:, MessageCol.SIZE])
    return int((-(-offered // scenario.payload)).sum()) + len(messages)
