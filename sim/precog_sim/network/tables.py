"""From a scenario to the kernel's tables of the network and its flows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from precog_sim.network.buffer_rules import headroom_bytes, static_threshold
from precog_sim.network.congestion import LawSetup
from precog_sim.network.ecmp import FIRST_PORT
from precog_sim.network.layout import (
    NEVER,
    FlowCol,
    MessageCol,
    PortCol,
    PrioCol,
    SwitchCol,
)
from precog_sim.network.memory import at_lines, lined
from precog_sim.network.scenario import Scenario
from precog_sim.network.topology import Routes, Topology
from precog_spec.law_fields import NO_SCORE

__all__ = [
    "flow_table",
    "follower_table",
    "message_table",
    "port_tables",
    "priority_tables",
    "route_tables",
    "score_knots",
    "switch_table",
    "udp_ports",
    "way_columns",
    "way_table",
]

_MOST_WAYS = 1 << 26  # 256 MB, of which only what is used takes memory
_Table = NDArray[np.int64]


def port_tables(scenario: Scenario) -> tuple[_Table, NDArray[np.float64]]:
    """Port table and picoseconds per byte of every port."""
    topology = scenario.topology
    links = topology.links
    port = lined((2 * len(links), PortCol.WIDTH))
    port[:, [PortCol.WAKE, PortCol.HIGH_HEAD, PortCol.HIGH_TAIL]] = -1
    port_f = np.zeros(2 * len(links))
    for k, link in enumerate(links):
        for end, node in enumerate((link.a, link.b)):
            p = 2 * k + end
            port[p, PortCol.NODE] = node
            port[p, PortCol.PEER] = 2 * k + 1 - end
            port[p, PortCol.DELAY] = link.delay_ps
            port[p, PortCol.MBPS] = round(link.gbps * 1000)
            port[p, PortCol.SHIFT] = scenario.buffers.shift_at(link.gbps / topology.host_gbps)
            if scenario.buffers.pfc != "off":
                port[p, PortCol.HEADROOM] = headroom_bytes(scenario, link.gbps, link.delay_ps)
            port_f[p] = 8000.0 / link.gbps
    return port, port_f


def priority_tables(scenario: Scenario, wire: int) -> dict[str, Any]:
    """Tables of priorities by their name in `Net`; `wire` is bytes of a full data packet."""
    priorities = scenario.priorities
    ports = 2 * len(scenario.topology.links)
    prio = lined((ports * priorities.count, PrioCol.WIDTH))
    prio[:, [PrioCol.HEAD, PrioCol.TAIL, PrioCol.RING, PrioCol.LAST]] = -1
    return {
        "prio": prio,
        "quanta": np.array(priorities.quanta(wire), dtype=np.int64),
    }


def switch_table(scenario: Scenario, port: _Table) -> _Table:
    """Switch table: what is left to share."""
    buffers = scenario.buffers
    topology = scenario.topology
    count = scenario.priorities.count
    table = lined((topology.switches, SwitchCol.WIDTH))
    for s in range(topology.switches):
        mine = port[:, PortCol.NODE] == topology.hosts + s
        ports = int(mine.sum())
        reserve = 0 if buffers.pfc == "off" else buffers.reserve * ports
        own = int(port[mine, PortCol.HEADROOM].sum()) + reserve
        table[s, SwitchCol.FREE] = buffers.total - count * own
        table[s, SwitchCol.STATIC] = (
            buffers.total
            if buffers.pfc == "off"
            else buffers.pfc_bytes or static_threshold(buffers.total, ports)
        )
    return table


def flow_table(scenario: Scenario, starts: _Table, window: _Table | int) -> _Table:
    """Flow table before anything has happened."""
    host_port = np.zeros(scenario.topology.hosts, dtype=np.int64)
    for k, link in enumerate(scenario.topology.links):
        for end, node in enumerate((link.a, link.b)):
            if node < scenario.topology.hosts:
                host_port[node] = 2 * k + end
    edge = np.unique(scenario.topology.neighbours, return_inverse=True)[1]
    table = lined((len(scenario.flows), FlowCol.WIDTH))
    for f, flow in enumerate(scenario.flows):
        table[f, FlowCol.SRC] = flow.src
        table[f, FlowCol.DST] = flow.dst
        table[f, FlowCol.SRC_EDGE] = edge[flow.src]
        table[f, FlowCol.DST_EDGE] = edge[flow.dst]
        table[f, FlowCol.PORT] = host_port[flow.src]
        table[f, FlowCol.SIZE] = flow.size
        table[f, FlowCol.PRIORITY] = flow.priority
        table[f, FlowCol.JITTER] = flow.rtt_jitter_ps
        table[f, FlowCol.JITTER_ALL] = flow.rtt_jitter_of == "all"
        table[f, FlowCol.OFFERED] = flow.size if flow.messages is None else 0
    waits = np.array([len(flow.after) for flow in scenario.flows])
    table[:, FlowCol.WAITS] = waits
    table[:, FlowCol.GAP] = starts
    table[:, FlowCol.START] = np.where(waits > 0, NEVER, starts)
    table[:, FlowCol.END] = -1
    table[:, FlowCol.NACK_SEQ] = -1
    table[:, [FlowCol.SCORE, FlowCol.HEARD]] = NO_SCORE
    table[:, FlowCol.WINDOW] = window
    table[:, [FlowCol.REVERSE, FlowCol.MESSAGE]] = -1
    table[:, FlowCol.UDP_PORTS] = udp_ports(scenario, starts)
    for f, g in scenario.connections().items():
        table[f, FlowCol.REVERSE] = g
    return table


def route_tables(topology: Topology, routes: Routes) -> dict[str, Any]:
    """Routes by their names in `Net`: all hosts of a switch have the same everywhere else."""
    hosts = topology.hosts
    edge, column = np.unique(topology.neighbours, return_inverse=True)
    table = np.zeros((max(topology.switches, 1), edge.size, 2), dtype=np.int32)
    for e, node in enumerate(edge.tolist()):
        mine = np.flatnonzero(column == e)
        count = routes.count[hosts:, mine]
        best = count.argmax(axis=1)  # one that is not cut off, if there is one
        here = np.arange(topology.switches)
        table[: topology.switches, e, 0] = routes.start[hosts:, mine][here, best]
        table[: topology.switches, e, 1] = count[here, best]
        if node >= hosts:
            table[node - hosts, e, 1] = -1
    host = np.arange(hosts)
    reached = routes.count[topology.neighbours, host] > 0
    last = np.where(reached, routes.ports[routes.start[topology.neighbours, host]], -1)
    return {"routes": at_lines(table), "last": last, "route_ports": routes.ports}


def way_columns(scenario: Scenario) -> int:
    """Switches in a row of `way_table`; 0: packets are sprayed, or the table would be too large."""
    switches = scenario.topology.switches
    kept = scenario.spray == "none" and 2 * len(scenario.flows) * switches <= _MOST_WAYS
    return switches if kept else 0


def way_table(scenario: Scenario) -> NDArray[np.int32]:
    """Room for the output ports that switches find."""
    return lined((max(2 * len(scenario.flows) * way_columns(scenario), 1),), np.int32)


def follower_table(scenario: Scenario, flow: _Table) -> _Table:
    """Flows that wait for others, by whom they wait for; each flow knows its own part."""
    followers: list[list[int]] = [[] for _ in scenario.flows]
    for g, waiting in enumerate(scenario.flows):
        for f in waiting.after:
            followers[f].append(g)
    counts = np.array([len(part) for part in followers])
    flow[:, FlowCol.FOLLOWERS] = counts
    flow[:, FlowCol.FOLLOWER] = np.cumsum(counts) - counts
    return np.array([g for part in followers for g in part] or [0], dtype=np.int64)


def udp_ports(scenario: Scenario, starts: _Table) -> _Table:
    """Source + destination port x 65536 of every flow, as the HPCC authors' programs number them:
    between two hosts, source ports count up in the order of the flows' starts."""
    count: dict[tuple[int, int], int] = {}
    ports = np.zeros(len(scenario.flows), dtype=np.int64)
    for f in np.argsort(starts, kind="stable").tolist():
        flow = scenario.flows[f]
        before = count.get((flow.src, flow.dst), 0)
        count[flow.src, flow.dst] = before + 1
        ports[f] = (FIRST_PORT + before) % 65536 + flow.dst_port * 65536
    return ports


def message_table(messages: _Table, flow: _Table) -> _Table:
    """Messages [n, 3] in order of time, as `MessageCol` has them; flows know their first ones."""
    table = np.full((len(messages), MessageCol.WIDTH), -1, dtype=np.int64)
    table[:, : messages.shape[1]] = messages
    for f in range(len(flow)):
        mine = np.flatnonzero(messages[:, MessageCol.FLOW] == f)
        if mine.size:
            table[mine, MessageCol.END] = np.cumsum(messages[mine, MessageCol.SIZE])
            table[mine[:-1], MessageCol.AFTER] = mine[1:]
            flow[f, FlowCol.MESSAGE] = mine[0]
    return table


def score_knots(law: LawSetup) -> _Table:
    """The table through which scores are made."""
    return law.scores.knots if law.scores else np.zeros(1, dtype=np.int64)
