"""Run one scenario under one congestion control."""

import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from precog_models.contract import DECISION_FIELDS, SAMPLE_FIELDS
from precog_models.rate.reference import dcqcn, dctcp, hpcc, pid, predictor
from precog_models.rate.reference.common import STATES
from precog_sim.network.buffer_rules import (
    BufferRule,
    check_buffer_rules,
    headroom_bytes,
    static_threshold,
)
from precog_sim.network.congestion import CongestionControl, LawSetup, LinkFacts
from precog_sim.network.kernel import simulate
from precog_sim.network.layout import (
    Cfg,
    Ctl,
    Err,
    FCfg,
    FlowCol,
    Kind,
    Law,
    PortCol,
    Rec,
    SwitchCol,
)
from precog_sim.network.result import Record, Result, SimulationError
from precog_sim.network.scenario import Ecn, Scenario
from precog_sim.network.wheel import SLOTS, WORDS

__all__ = ["run"]

_WATCHED_MOST = 8
_TIMERS_PER_FLOW = 4
_Table = NDArray[np.int64]


def _ports(scenario: Scenario) -> tuple[_Table, NDArray[np.float64]]:
    """Port table and picoseconds per byte of every port."""
    links = scenario.topology.links
    port = np.zeros((2 * len(links), PortCol.WIDTH), dtype=np.int64)
    for column in (
        PortCol.WAKE,
        PortCol.HIGH_HEAD,
        PortCol.HIGH_TAIL,
        PortCol.LOW_HEAD,
        PortCol.LOW_TAIL,
        PortCol.RING,
        PortCol.LAST,
    ):
        port[:, column] = -1
    port_f = np.zeros(2 * len(links))
    for k, link in enumerate(links):
        for end, node in enumerate((link.a, link.b)):
            p = 2 * k + end
            port[p, PortCol.NODE] = node
            port[p, PortCol.PEER] = 2 * k + 1 - end
            port[p, PortCol.DELAY] = link.delay_ps
            port[p, PortCol.MBPS] = round(link.gbps * 1000)
            if scenario.buffers.pfc != "off":
                port[p, PortCol.HEADROOM] = headroom_bytes(scenario, link.gbps, link.delay_ps)
            port_f[p] = 8000.0 / link.gbps
    return port, port_f


def _switches(scenario: Scenario, port: _Table) -> _Table:
    """Switch table: what is left to share."""
    buffers = scenario.buffers
    topology = scenario.topology
    table = np.zeros((topology.switches, SwitchCol.WIDTH), dtype=np.int64)
    for s in range(topology.switches):
        mine = port[:, PortCol.NODE] == topology.hosts + s
        ports = int(mine.sum())
        reserve = 0 if buffers.pfc == "off" else buffers.reserve * ports
        table[s, SwitchCol.FREE] = (
            buffers.total - int(port[mine, PortCol.HEADROOM].sum()) - reserve
        )
        table[s, SwitchCol.STATIC] = (
            buffers.total
            if buffers.pfc == "off"
            else buffers.pfc_bytes or static_threshold(buffers.total, ports)
        )
    return table


def _flows(scenario: Scenario, starts: _Table, window: int) -> _Table:
    """Flow table before anything has happened."""
    host_port = np.zeros(scenario.topology.hosts, dtype=np.int64)
    for k, link in enumerate(scenario.topology.links):
        for end, node in enumerate((link.a, link.b)):
            if node < scenario.topology.hosts:
                host_port[node] = 2 * k + end
    table = np.zeros((len(scenario.flows), FlowCol.WIDTH), dtype=np.int64)
    for f, flow in enumerate(scenario.flows):
        table[f, FlowCol.SRC] = flow.src
        table[f, FlowCol.DST] = flow.dst
        table[f, FlowCol.PORT] = host_port[flow.src]
        table[f, FlowCol.SIZE] = flow.size
    table[:, FlowCol.START] = starts
    table[:, FlowCol.END] = -1
    table[:, FlowCol.NACK_SEQ] = -1
    table[:, FlowCol.WINDOW] = window
    return table


def _configuration(
    scenario: Scenario, law: LawSetup, ecn: Ecn | None, record: Record, ns3: bool, rows: int
) -> tuple[_Table, NDArray[np.float64]]:
    """Integer and real constants of the run; `Cfg.WATCHED` and the timers' row are set later."""
    buffers = scenario.buffers
    wire = scenario.payload + law.header
    cfg = np.zeros(Cfg.WIDTH, dtype=np.int64)
    values = {
        Cfg.NS3: int(ns3),
        Cfg.LAW: law.law,
        Cfg.HEADER: law.header,
        Cfg.ACK_BYTES: law.ack_bytes,
        Cfg.WINDOW_MODE: ("none", "bdp", "rate").index(law.window),
        Cfg.RETIME: int(law.retime),
        Cfg.TELEMETRY: int(law.telemetry),
        Cfg.ECN: int(ecn is not None),
        Cfg.ECN_MIN: ecn.min_bytes if ecn else 0,
        Cfg.ECN_MAX: ecn.max_bytes if ecn else 0,
        Cfg.PFC: ("off", "dynamic", "static").index(buffers.pfc),
        Cfg.ALPHA_SHIFT: buffers.alpha_shift,
        Cfg.RESERVE: 0 if buffers.pfc == "off" else buffers.reserve,
        Cfg.RESUME: buffers.resume_bytes or 2 * wire,
        Cfg.NACK_PS: round(scenario.recovery.nack_us * 1e6),
        Cfg.TIMEOUT_PS: round(scenario.recovery.timeout_us * 1e6),
        Cfg.CNP_PS: round(law.cnp_us * 1e6),
        Cfg.ACK_HIGH: 0,
        Cfg.HOSTS: scenario.topology.hosts,
        Cfg.FLOWS: len(scenario.flows),
        Cfg.PORTS: 2 * len(scenario.topology.links),
        Cfg.ROWS: rows,
        Cfg.HORIZON: round(scenario.horizon_us * 1e6),
        Cfg.PAYLOAD: scenario.payload,
        Cfg.FUNCTION: law.function,
        Cfg.HANDLE: law.handle,
        Cfg.KEEP_PACKETS: int(record.packets),
        Cfg.KEEP_LOG: int(record.log),
    }
    for place, value in values.items():
        cfg[place] = value
    fcfg = np.zeros(FCfg.WIDTH)
    fcfg[FCfg.ECN_P] = ecn.probability if ecn else 0.0
    fcfg[FCfg.LOSS_DATA] = scenario.loss_data
    fcfg[FCfg.LOSS_ACK] = scenario.loss_ack
    fcfg[FCfg.MIN_BPS] = scenario.min_gbps * 1e9
    return cfg, fcfg


def _pool_rows(scenario: Scenario) -> int:
    """Packets that can be in the network at once, with room to spare.

    What switches can hold, plus what fits on all wires, counted in packets of the smallest size
    that the flows make; a pool that is too small ends a run with an error, never in silence.
    """
    smallest = min(*(flow.size for flow in scenario.flows), scenario.payload) + 48
    held = scenario.buffers.total * scenario.topology.switches // smallest
    wires = sum(2 * link.gbps * link.delay_ps / 8000 / 60 for link in scenario.topology.links)
    acks = sum(min(flow.size // scenario.payload + 1, 64) for flow in scenario.flows)
    return min(int(held + wires) + 4 * acks + 4096, 1 << 23)


def _start_states(
    law: LawSetup, rate: NDArray[np.float64], flows: int
) -> NDArray[np.float64]:
    """State table of new flows."""
    state = np.zeros((flows, STATES))
    for f in range(flows):
        if law.law in (Law.PID, Law.PREDPID):
            pid.pid_reset(state, f, law.par)
        elif law.law == Law.DCTCP:
            dctcp.dctcp_reset(state, f)
        elif law.law == Law.HPCC:
            hpcc.hpcc_reset(state, f, rate[f])
        elif law.law == Law.DCQCN:
            dcqcn.dcqcn_reset(state, f, rate[f])
    return state


def _raise_if_failed(ctl: _Table, rows: int) -> None:
    """Turn the kernel's error code into an exception."""
    error = Err(int(ctl[Ctl.ERROR]))
    value = int(ctl[Ctl.ERROR_VALUE])
    if error == Err.NONE:
        return
    at = f"at {ctl[Ctl.NOW] * 1e-6:.3f} us"
    messages = {
        Err.POOL: f"packet pool must hold more than {rows} records {at}: "
        "the scenario's switches hold too little for its traffic, or pass pool=",
        Err.LOOP: f"decision function must not return an error, {value} ({at})",
        Err.LOOP_RATE: f"decision function must give a positive rate, not {value} ({at})",
        Err.LOOP_QP: f"decision function must answer for the sample's qp, not for {value} ({at})",
        Err.NO_ROUTE: f"flow {value} must have a route at every switch on its way ({at})",
        Err.RECORD: f"sample record must be longer {at}: more samples than packets",
    }
    raise SimulationError(messages[error])


def _check(rules: tuple[BufferRule, ...]) -> None:
    broken = [rule.message for rule in rules if rule.fatal and not rule.ok]
    if broken:
        raise ValueError(
            f"buffers must satisfy the rules of PFC and ECN ({len(broken)} broken): {broken[0]}"
        )


def _standalone(scenario: Scenario, header: int) -> NDArray[np.float64]:
    """Completion time in us of each flow alone: pipelined transmission, base RTT, last ACK."""
    out = np.empty(len(scenario.flows))
    known: dict[tuple[int, int], tuple[float, float]] = {}
    for f, flow in enumerate(scenario.flows):
        key = (flow.src, flow.dst)
        if key not in known:
            path = scenario.topology.path(*key)
            known[key] = (
                float(scenario.topology.base_rtt_ps(*key, scenario.payload)),
                min(link.gbps for link in path),
            )
        base, gbps = known[key]
        packets = -(-flow.size // scenario.payload)
        out[f] = (base + (flow.size + packets * header) * 8000 / gbps) * 1e-6
    return out


def run(
    scenario: Scenario,
    cc: CongestionControl,
    *,
    timing: str = "exact",
    seed: int = 0,
    record: Record | None = None,
    pool: int = 0,
) -> Result:
    """Simulate `scenario` with every flow under `cc`.

    Parameters
    ----------
    scenario : Scenario
    cc : CongestionControl
    timing : str
        ``"exact"``: integer picoseconds throughout. ``"ns3"``: transmission times, pacing gaps and
        start times are cut to whole nanoseconds, rates to whole bit/s, and equal times are served
        in ns-3's order of scheduling, so that ns-3's runs are reproduced.
    seed : int
        Of the start jitter, of random marking and of injected loss.
    record : Record, optional
        What to keep.
    pool : int
        Packet records; 0: sized to the scenario.

    Returns
    -------
    Result

    Raises
    ------
    ValueError
        Unknown timing, or buffers that break a rule of source 004.
    SimulationError
        The packet pool overflowed, or the decision function failed.
    """
    if timing not in ("exact", "ns3"):
        raise ValueError(f"timing must be exact or ns3, not {timing!r}")
    record = record or Record()
    ns3 = timing == "ns3"
    topology = scenario.topology
    n_flows = len(scenario.flows)
    port, port_f = _ports(scenario)
    base_rtt_ns = round(scenario.base_rtt_us * 1e3, 3)
    top = np.array([topology.host_link(flow.src).gbps * 1e9 for flow in scenario.flows])
    link = LinkFacts(
        scenario.min_gbps * 1e9, float(top.max()), base_rtt_ns, scenario.payload, ns3
    )
    law = cc.setup(link)
    ecn = scenario.ecn or law.ecn
    rules = check_buffer_rules(scenario, ecn, scenario.payload + law.header)
    _check(rules)
    window = link.bdp if law.window != "none" and law.law != Law.LOOP else 0
    starts = scenario.starts_ps(seed, whole_ns=ns3)
    flow = _flows(scenario, starts, window)
    rate = np.minimum(top, cc.start_gbps * 1e9) if cc.start_gbps is not None else top.copy()
    state = _start_states(law, rate, n_flows)

    n_ports = port.shape[0]
    first_flow_timer = 2 + 2 * n_ports
    first_packet = first_flow_timer + _TIMERS_PER_FLOW * n_flows
    rows = first_packet + (pool or _pool_rows(scenario))
    cfg, fcfg = _configuration(scenario, law, ecn, record, ns3, rows)
    cfg[Cfg.ACK_HIGH] = 0
    cfg[Cfg.FIRST_FLOW_TIMER] = first_flow_timer
    rec = np.empty((rows, 8), dtype=np.int64)
    rec[:first_packet] = 0
    rec[0, Rec.KIND] = Kind.START
    rec[1, Rec.KIND] = Kind.PROBE
    ports = np.arange(n_ports)
    rec[2 : 2 + n_ports, Rec.KIND] = Kind.TX_DONE
    rec[2 : 2 + n_ports, Rec.OWNER] = ports
    rec[2 + n_ports : first_flow_timer, Rec.KIND] = Kind.WAKE
    rec[2 + n_ports : first_flow_timer, Rec.OWNER] = ports
    timers = rec[first_flow_timer:first_packet]
    timers[:, Rec.KIND] = np.tile(
        [Kind.ALPHA, Kind.CUT, Kind.RATE, Kind.TIMEOUT], n_flows
    )
    timers[:, Rec.OWNER] = np.repeat(np.arange(n_flows), _TIMERS_PER_FLOW)

    ctl = np.zeros(Ctl.WIDTH, dtype=np.int64)
    ctl[Ctl.FREE] = -1
    ctl[Ctl.FRESH] = first_packet
    ctl[Ctl.PROBE_PS] = round(record.probe_us * 1e6)
    ctl[Ctl.RNG] = (seed * 0x9E3779B97F4A7C15 + 0x2545F4914F6CDD1D) % (1 << 63) | 1

    wheel = np.full((SLOTS, 2), -1, dtype=np.int32)
    bits = np.zeros(WORDS, dtype=np.int64)
    heap = np.empty((rows, 3), dtype=np.int64)
    order = np.argsort(starts, kind="stable").astype(np.int64)
    routes = topology.routes
    receivers = {flow.dst for flow in scenario.flows}
    last_hops = [
        p
        for p in range(n_ports)
        if port[p, PortCol.NODE] >= topology.hosts
        and port[port[p, PortCol.PEER], PortCol.NODE] in receivers
    ][:_WATCHED_MOST]
    watched = np.array(last_hops, dtype=np.int64)
    cfg[Cfg.WATCHED] = watched.size

    n_packets = int(sum(-(-flow.size // scenario.payload) for flow in scenario.flows))
    # Retransmission can make more acknowledgements than packets; samples never repeat bytes.
    kept = n_packets if record.packets else 0
    packet_rtt = np.empty(kept, dtype=np.int64)
    samples = np.empty((n_packets + n_flows, 3), dtype=np.int64)
    sample_f = np.empty((n_packets + n_flows, 2))
    n_probes = record.probes if record.probe_us > 0 else 1
    probe_time = np.zeros(n_probes, dtype=np.int64)
    probe_rate = np.zeros((n_probes, n_flows), dtype=np.float32)
    probe_queue = np.zeros((n_probes, watched.size), dtype=np.int64)
    fields = len(SAMPLE_FIELDS) + len(DECISION_FIELDS)
    log = np.empty((samples.shape[0] if record.log else 1, fields), dtype=np.int64)
    telemetry = np.zeros((rows if law.telemetry else 1, 1 + 4 * hpcc.HOPS), dtype=np.int64)

    # Events of the beginning: inserted here as `schedule` would.
    from precog_sim.network.wheel import schedule

    schedule(rec, wheel, bits, heap, ctl, 0, int(starts[order[0]]))
    if record.probe_us > 0:
        schedule(rec, wheel, bits, heap, ctl, 1, 0)
    began = time.process_time()
    simulate(
        rec, wheel, bits, heap, port, port_f, _switches(scenario, port), flow, rate, top, state,
        law.par, law.weights, np.empty(predictor.WORK), telemetry, routes.start, routes.count, routes.ports, order, ctl,
        cfg, fcfg, packet_rtt, samples, sample_f, watched, probe_time, probe_rate, probe_queue,
        np.zeros(len(SAMPLE_FIELDS), dtype=np.int64),
        np.zeros(len(DECISION_FIELDS), dtype=np.int64), log,
    )  # fmt: skip
    cpu_s = time.process_time() - began
    _raise_if_failed(ctl, rows - first_packet)

    n = int(ctl[Ctl.SAMPLES])
    n_probes = int(ctl[Ctl.PROBES])
    ended = flow[:, FlowCol.END]
    fct = np.where(ended >= 0, (ended - flow[:, FlowCol.START]) * 1e-6, np.nan)
    is_pid = law.law in (Law.PID, Law.PREDPID)
    gains = state[:, pid.State.KP : pid.State.KD + 1] if is_pid else np.full((n_flows, 3), np.nan)
    target = state[:, pid.State.TARGET_US] if is_pid else np.full(n_flows, np.nan)
    switch_ports = port[:, PortCol.NODE] >= topology.hosts
    sent = int(ctl[Ctl.DATA_SENT])
    got = int(ctl[Ctl.DATA_GOT])
    dropped = int(ctl[Ctl.DATA_DROPPED])
    return Result(
        scenario=scenario,
        law=cc.label,
        timing=timing,
        seed=seed,
        size=flow[:, FlowCol.SIZE].copy(),
        start_us=flow[:, FlowCol.START] * 1e-6,
        fct_us=fct,
        sample_flow=samples[:n, 0].copy(),
        sample_t_us=samples[:n, 1] * 1e-6,
        sample_rtt_ps=samples[:n, 2].copy(),
        sample_rate_gbps=sample_f[:n, 0] * 1e-9,
        sample_predicted_us=sample_f[:n, 1].copy(),
        packet_rtt_us=packet_rtt[: int(ctl[Ctl.PACKETS])] * 1e-6,
        probe_t_us=probe_time[:n_probes] * 1e-6,
        probe_rate_gbps=probe_rate[:n_probes].copy(),
        probe_queue=probe_queue[:n_probes].copy(),
        watched=watched,
        gains=gains.copy(),
        target_us=target.copy(),
        log=log[:n].copy() if record.log else log[:0].copy(),
        max_queue=int(port[switch_ports, PortCol.LARGEST].max()),
        events=int(ctl[Ctl.EVENTS]),
        marks=int(ctl[Ctl.MARKS]),
        drops=int(ctl[Ctl.DROPS]),
        lost=int(ctl[Ctl.LOST]),
        pauses=int(ctl[Ctl.PAUSES]),
        resumes=int(ctl[Ctl.RESUMES]),
        nacks=int(ctl[Ctl.NACKS]),
        timeouts=int(ctl[Ctl.TIMEOUTS]),
        cnps=int(ctl[Ctl.CNPS]),
        data_sent=sent,
        data_got=got,
        data_dropped=dropped,
        data_in_flight=sent - got - dropped,
        retransmitted=int(flow[:, FlowCol.SENT_PACKETS].sum()) - n_packets,
        end_us=int(ctl[Ctl.NOW]) * 1e-6,
        cpu_s=cpu_s,
        buffer_rules=tuple(replace(rule) for rule in rules),
        standalone_us=_standalone(scenario, law.header),
        header=law.header,
    )
