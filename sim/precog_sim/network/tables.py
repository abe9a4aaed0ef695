"""From a scenario to the kernel's tables."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precog_sim.network.buffer_rules import headroom_bytes, static_threshold
from precog_sim.network.congestion import LawSetup
from precog_sim.network.ecmp import FIRST_PORT
from precog_sim.network.law_tables import Laws
from precog_sim.network.layout import (
    TIMERS,
    Cfg,
    Ctl,
    FCfg,
    FlowCol,
    Kind,
    MessageCol,
    PortCol,
    PrioCol,
    Rec,
    SwitchCol,
)
from precog_sim.network.memory import LINE, at_lines, lined
from precog_sim.network.ns3_random import first_stream, stream_state
from precog_sim.network.result import Record
from precog_sim.network.scenario import SPRAYS, Scenario
from precog_sim.network.topology import Routes
from precog_sim.network.wheel import bucket_bits, buckets_ahead
from precog_spec.law_fields import NO_SCORE

__all__ = [
    "NEVER",
    "Rows",
    "configuration",
    "controls",
    "flow_table",
    "follower_table",
    "forecast_rows",
    "log_rows",
    "message_table",
    "most_packets",
    "pool_rows",
    "port_tables",
    "priority_tables",
    "records",
    "route_table",
    "score_knots",
    "switch_table",
    "udp_ports",
]

_TIMERS_PER_FLOW = TIMERS + 1
NEVER = 1 << 62  #: start of a flow that has not begun
_FORECASTS_MOST = 1 << 22
_Table = NDArray[np.int64]


@dataclass(frozen=True)
class Rows:
    """Where records lie: START, PROBE, per port TX_DONE and WAKE, flow timers, MESSAGE, VISIT,
    DEPTH, packets."""

    ports: int
    flows: int
    packets: int

    @property
    def first_flow_timer(self) -> int:
        """First of the flows' timers, four each."""
        return 2 + 2 * self.ports

    @property
    def message(self) -> int:
        """The timer of the next message; `kernel` finds it behind the flows' timers."""
        return self.first_flow_timer + _TIMERS_PER_FLOW * self.flows

    @property
    def first_packet(self) -> int:
        """First packet of the pool; before it the timers of messages, visits and depths."""
        return self.message + 3

    @property
    def total(self) -> int:
        """All records."""
        return self.first_packet + self.packets


def records(rows: Rows) -> _Table:
    """Record table: every timer knows its kind and owner."""
    rec = lined((rows.total, LINE))
    rec[0, Rec.KIND] = Kind.START
    rec[1, Rec.KIND] = Kind.PROBE
    ports = np.arange(rows.ports)
    done = rec[2 : 2 + rows.ports]
    done[:, Rec.KIND] = Kind.TX_DONE
    done[:, Rec.OWNER] = ports
    wakes = rec[2 + rows.ports : rows.first_flow_timer]
    wakes[:, Rec.KIND] = Kind.WAKE
    wakes[:, Rec.OWNER] = ports
    timers = rec[rows.first_flow_timer : rows.message]
    timers[:, Rec.KIND] = np.tile(
        [*(Kind.TIMER + k for k in range(TIMERS)), Kind.TIMEOUT], rows.flows
    )
    timers[:, Rec.OWNER] = np.repeat(np.arange(rows.flows), _TIMERS_PER_FLOW)
    rec[rows.message, Rec.KIND] = Kind.MESSAGE
    rec[rows.message + 1, Rec.KIND] = Kind.VISIT
    rec[rows.message + 2, Rec.KIND] = Kind.DEPTH
    return rec


def controls(rows: Rows, record: Record, nodes: int, seed: int) -> _Table:
    """Counters and cursors at the beginning."""
    ctl = np.zeros(Ctl.WIDTH, dtype=np.int64)
    ctl[Ctl.FREE] = -1
    ctl[Ctl.FRESH] = rows.first_packet
    ctl[Ctl.PROBE_PS] = round(record.probe_us * 1e6)
    # Any odd number will do; neighbouring seeds must not give neighbouring states.
    ctl[Ctl.STREAM : Ctl.STREAM + 6] = stream_state(first_stream(nodes), 1 + seed)
    ctl[Ctl.SCORE_RNG] = (seed * 0xD1B54A32D192ED03 + 0x632BE59BD9B4E019) % (1 << 63) | 1
    ctl[Ctl.NOISE_RNG] = (seed * 0x9FB21C651E98DF25 + 0x3C79AC492BA7B653) % (1 << 63) | 1
    ctl[Ctl.LOSS_RNG] = (seed * 0xE7037ED1A0B428DB + 0x589965CC75374CC3) % (1 << 63) | 1
    ctl[Ctl.SPRAY_RNG] = (seed * 0xA0761D6478BD642F + 0x1D8E4E27C47D124F) % (1 << 63) | 1
    ctl[Ctl.RNG] = (seed * 0x9E3779B97F4A7C15 + 0x2545F4914F6CDD1D) % (1 << 63) | 1
    return ctl


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
        "ready": np.zeros(priorities.count, dtype=np.int64),
    }


def switch_table(scenario: Scenario, port: _Table) -> _Table:
    """Switch table: what is left to share."""
    buffers = scenario.buffers
    topology = scenario.topology
    count = scenario.priorities.count
    table = np.zeros((topology.switches, SwitchCol.WIDTH), dtype=np.int64)
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
    table = lined((len(scenario.flows), FlowCol.WIDTH))
    for f, flow in enumerate(scenario.flows):
        table[f, FlowCol.SRC] = flow.src
        table[f, FlowCol.DST] = flow.dst
        table[f, FlowCol.PORT] = host_port[flow.src]
        table[f, FlowCol.SIZE] = flow.size
        table[f, FlowCol.PRIORITY] = flow.priority
        table[f, FlowCol.JITTER] = flow.rtt_jitter_ps
        table[f, FlowCol.JITTER_ALL] = flow.rtt_jitter_of == "all"
        table[f, FlowCol.OFFERED] = flow.size if flow.messages is None else 0
    waits = np.array([len(flow.after) for flow in scenario.flows])
    table[:, FlowCol.WAITS] = waits
    table[:, FlowCol.GUESS] = scenario.hints.guesses or 0
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


def route_table(routes: Routes) -> NDArray[np.int32]:
    """Routes [node, host, 2]: the first next hop's place in the list of ports, and their number."""
    return at_lines(np.stack((routes.start, routes.count), axis=-1).astype(np.int32))


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


def configuration(
    scenario: Scenario,
    laws: Laws,
    record: Record,
    *,
    ns3: bool,
    ns3_ecmp: bool,
    rows: Rows,
    watched: int,
) -> tuple[_Table, NDArray[np.float64]]:
    """Integer and real constants of the run."""
    buffers, hints = scenario.buffers, scenario.hints
    law = laws.setups[0]  # a `Loop` is alone
    wire = scenario.payload + max(one.header for one in laws.setups)
    links = scenario.topology.links
    longest = max(link.delay_ps + round(wire * 8000 / link.gbps) for link in links)
    bits = bucket_bits(2 * len(links), longest + longest // 2)
    cfg = np.zeros(Cfg.WIDTH, dtype=np.int64)
    values = {
        Cfg.NS3: int(ns3),
        Cfg.LAWS: len(laws.setups),
        Cfg.RETIME: int(any(one.retime for one in laws.setups)),
        Cfg.TELEMETRY: laws.telemetry,
        Cfg.ECN: int(any(laws.ecn) or bool(scenario.priorities.ecn)),
        Cfg.NS3_ECMP: int(ns3_ecmp),
        Cfg.PFC: ("off", "dynamic", "static").index(buffers.pfc),
        Cfg.RESERVE: 0 if buffers.pfc == "off" else buffers.reserve,
        Cfg.RESUME: buffers.resume_bytes or 2 * wire,
        Cfg.NACK_PS: round(scenario.recovery.nack_us * 1e6),
        Cfg.TIMEOUT_PS: round(scenario.recovery.timeout_us * 1e6),
        Cfg.LOW_TIMEOUT_PS: round(scenario.recovery.low_timeout_us * 1e6),
        Cfg.ACK_HIGH: int(ns3 and any(one.ack_high for one in laws.setups)),
        Cfg.HOSTS: scenario.topology.hosts,
        Cfg.FLOWS: len(scenario.flows),
        Cfg.PORTS: 2 * len(scenario.topology.links),
        Cfg.ROWS: rows.total,
        Cfg.HORIZON: round(scenario.horizon_us * 1e6),
        Cfg.PAYLOAD: scenario.payload,
        Cfg.FUNCTION: law.function,
        Cfg.HANDLE: law.handle,
        Cfg.KEEP_PACKETS: int(record.packets),
        Cfg.KEEP_LOG: int(record.log),
        Cfg.KEEP_QUEUES: int(record.queues),
        Cfg.WATCHED: watched,
        Cfg.FIRST_FLOW_TIMER: rows.first_flow_timer,
        Cfg.EVENT_FUNCTION: law.event_function,
        Cfg.TELL_MARKS: int(law.tell_marks),
        Cfg.TELL_BYTES: int(law.tell_bytes),
        Cfg.SWEEP_PS: round(law.sweep_us * 1e6),
        Cfg.SCORE_SOURCE: law.scores.number if law.scores else 0,
        Cfg.SCORE_ECHO: int(law.scores is not None and law.scores.echo),
        Cfg.SCORE_BUDGET: law.scores.budget_ticks if law.scores else 0,
        Cfg.QUEUE_FUNCTION: law.queues.observe if law.queues else 0,
        Cfg.VISIT_FUNCTION: law.queues.visit if law.queues else 0,
        Cfg.VISIT_PS: law.queues.period_ps if law.queues else 0,
        Cfg.RECEIVER_FUNCTION: law.receivers[0],
        Cfg.RECEIVER_HANDLE: law.receivers[1],
        Cfg.KEEP_SCORES: int(record.scores),
        Cfg.DEPTH_PS: round(record.depth_us * 1e6),
        Cfg.SELECTIVE: int(scenario.recovery.selective),
        Cfg.REORDER: scenario.recovery.reorder,
        Cfg.REPEAT_WINDOW: scenario.recovery.window,
        Cfg.FEW_BYTES: scenario.recovery.few * scenario.payload,
        Cfg.ACK_EVERY: scenario.answers.every,
        Cfg.ACK_DELAY_PS: round(scenario.answers.delay_us * 1e6),
        Cfg.DROP_DYNAMIC: int(buffers.pfc == "off" and buffers.drop == "dynamic"),
        Cfg.PRIORITIES: scenario.priorities.count,
        Cfg.DRR: int(scenario.priorities.schedule == "drr"),
        Cfg.NOISE_PS: round(scenario.hearing.noise_ns * 1e3),
        Cfg.BASE_LEARNT: int(scenario.hearing.base == "learnt"),
        Cfg.FAULTS: int(scenario.has_faults),
        Cfg.SPRAY: SPRAYS.index(scenario.spray),
        Cfg.BUCKET_BITS: bits,
        Cfg.AHEAD: buckets_ahead(bits, ns3=ns3),
        Cfg.HINT_ECHO: int(hints.echo),
        Cfg.HINT_LEAST: hints.least,
        Cfg.HINT_FIRST: hints.first,
        Cfg.HINT_TABLE_PS: round(hints.table_us * 1e6),
        Cfg.HINT_STALE_PS: round(hints.stale_us * 1e6),
        Cfg.HINT_HOLD_PS: round(hints.hold_us * 1e6),
        Cfg.HINT_START: int(hints.starts),
        Cfg.HINT_CAP: int(hints.cap),
        Cfg.HINT_CAPS: int(hints.starts and (hints.cap or hints.first > 0)),
    }
    for place, value in values.items():
        cfg[place] = value
    fcfg = np.zeros(FCfg.WIDTH)
    fcfg[FCfg.BASE_NS] = scenario.base_rtt_us * 1e3
    fcfg[FCfg.LOSS_DATA] = scenario.loss_data
    fcfg[FCfg.LOSS_ACK] = scenario.loss_ack
    fcfg[FCfg.DROP_ALPHA] = buffers.drop_alpha
    fcfg[FCfg.MIN_BPS] = scenario.min_gbps * 1e9
    return cfg, fcfg


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


def log_rows(scenario: Scenario, law: LawSetup, samples: int) -> int:
    """Room in a `Loop`'s log; what is never written costs no memory.

    Of `samples` samples, and of events: bytes, notifications and scores of every packet, half of
    them sent twice, and sweeps while each flow is at its slowest. More than that ends a run with an
    error.
    """
    if law.event_function == 0:
        return samples
    rows = samples + 3 * samples + (3 * samples if law.scores else 0)
    if law.queues:
        rows += forecast_rows(scenario, law)
    if law.sweep_us > 0:
        for flow in scenario.flows:
            longest_us = min(2 * flow.size * 8e-3 / scenario.min_gbps, scenario.horizon_us)
            rows += int(longest_us / law.sweep_us) + 1000
    return rows


def forecast_rows(scenario: Scenario, law: LawSetup) -> int:
    """Room for the forecasts of a run, of every queue at every visit before the horizon."""
    if law.queues is None:
        return 0
    visits = int(scenario.horizon_us * 1e6) // law.queues.period_ps + 1
    return min(visits * len(scenario.flows), _FORECASTS_MOST)


def score_knots(law: LawSetup) -> _Table:
    """The table through which scores are made."""
    return law.scores.knots if law.scores else np.zeros(1, dtype=np.int64)
