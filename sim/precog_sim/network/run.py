"""Run one scenario under one congestion control."""

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from precog_models.measure.base_rtt import BASE_STATE
from precog_models.rate.reference import hpcc, pid
from precog_models.rate.reference.common import STATES
from precog_sim.network.ahead import SLOTS, WORDS
from precog_sim.network.alone import alone_us
from precog_sim.network.buffer_rules import BufferRule, check_buffer_rules
from precog_sim.network.congestion import CongestionControl, LawSetup, LinkFacts
from precog_sim.network.fault_tables import fault_tables
from precog_sim.network.hints import hint_tables
from precog_sim.network.kernel import simulate
from precog_sim.network.law_tables import Laws
from precog_sim.network.layout import (
    Ctl,
    Err,
    FlowCol,
    MessageCol,
    PortCol,
    PrioCol,
    QueueCol,
    Telemetry,
)
from precog_sim.network.memory import LINE, at_lines, lined
from precog_sim.network.net import Net
from precog_sim.network.recovery_tables import recovery_tables
from precog_sim.network.result import Record, Result, SimulationError
from precog_sim.network.scenario import Scenario
from precog_sim.network.score_source import ONE_WAY_SOURCES
from precog_sim.network.tables import (
    NEVER,
    Rows,
    configuration,
    controls,
    flow_table,
    follower_table,
    forecast_rows,
    log_rows,
    message_table,
    most_packets,
    pool_rows,
    port_tables,
    priority_tables,
    records,
    route_table,
    score_knots,
    switch_table,
)
from precog_spec.contract import DECISION_FIELDS, FORECAST_FIELDS, SAMPLE_FIELDS
from precog_spec.law_fields import LAW_EVENT_FIELDS
from precog_spec.receiver_fields import RECEIVER_EVENT, RECEIVER_RESULT

__all__ = ["check_timing", "run"]

_WATCHED_MOST = 8
_PIDS = ("pid", "predpid")
_DEPTHS = 1 << 16  # samples of queues by their KiB; the last one has what is longer
_Table = NDArray[np.int64]


def _us(ps: _Table) -> NDArray[np.float64]:
    """Picoseconds as microseconds."""
    return np.asarray(ps * 1e-6, dtype=np.float64)


@dataclass(frozen=True)
class _Kept:
    """Room for everything that the kernel notes."""

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
    forecasts: _Table
    received: _Table
    depths: _Table


def _room(
    scenario: Scenario, record: Record, law: LawSetup, port: _Table, messages: _Table
) -> _Kept:
    """Room for the records of a run; the watched ports are the last hops to the receivers."""
    flows = len(scenario.flows)
    hosts = scenario.topology.hosts
    receivers = {flow.dst for flow in scenario.flows}
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
    visits = forecast_rows(scenario, law)
    acts = len(RECEIVER_EVENT) + len(RECEIVER_RESULT)
    return _Kept(
        packet_rtt=np.empty(packets if record.packets else 0, dtype=np.int64),
        samples=np.empty((samples, 3), dtype=np.int64),
        sample_f=np.empty((samples, 2)),
        watched=watched,
        probe_time=np.zeros(probes, dtype=np.int64),
        probe_rate=np.zeros((probes, flows), dtype=np.float32),
        probe_got=np.zeros((probes, flows), dtype=np.int64),
        probe_queue=np.zeros((probes, watched.size), dtype=np.int64),
        log=np.empty((log_rows(scenario, law, samples) if record.log else 1, fields), np.int64),
        changes=np.empty((queue_rows if record.queues else 1, QueueCol.WIDTH), np.int64),
        forecasts=np.empty((visits if record.scores else 1, len(FORECAST_FIELDS)), np.int64),
        received=np.empty((visits + 2 * packets if record.scores else 1, acts), np.int64),
        depths=np.zeros(_DEPTHS if record.depth_us else 1, dtype=np.int64),
    )


def _raise_if_failed(ctl: _Table, packets: int) -> None:
    """Turn the kernel's error code into an exception."""
    error = Err(int(ctl[Ctl.ERROR]))
    value = int(ctl[Ctl.ERROR_VALUE])
    at = f"at {ctl[Ctl.NOW] * 1e-6:.3f} us"
    messages = {
        Err.POOL: f"packet pool must hold more than {packets} packets {at}: pass a larger pool",
        Err.LOOP: f"decision function must not return a negative number, not {value} ({at})",
        Err.LOOP_RATE: f"decision function must give a positive rate, not {value} ({at})",
        Err.LOOP_EVENT: f"event function must not return a negative number, not {value} ({at})",
        Err.LOOP_QP: f"decision function must answer for the sample's qp, not for {value} ({at})",
        Err.NO_ROUTE: f"flow {value} must have a route at every switch on its way ({at})",
        Err.RECORD: f"sample record must be longer {at}: more samples than packets",
        Err.QUEUES: f"log of queues must hold more than {value} changes {at}: lose fewer packets",
        Err.QUEUE_EVENT: f"queue function must not return a negative number, not {value} ({at})",
        Err.VISIT: f"visit function must not return a negative number, not {value} ({at})",
        Err.RECEIVER: f"receiver must not return a negative number, not {value} ({at})",
        Err.SCORES: f"log of scores must hold more than {value} rows {at}: make the run smaller",
        Err.LAW_RATE: f"law must give a finite rate above 0 for flow {value} ({at})",
        Err.LAW_WINDOW: f"law must give a finite window, 0 or more, for flow {value} ({at})",
        Err.LOG: f"log must hold more than {value} decisions {at}: make the run smaller",
    }
    if error != Err.NONE:
        raise SimulationError(messages[error])


def _refuse_broken(rules: tuple[BufferRule, ...]) -> None:
    """Raise for the first rule whose breach is fatal."""
    broken = [rule.message for rule in rules if rule.fatal and not rule.ok]
    if broken:
        raise ValueError(
            f"buffers must satisfy the rules of PFC and ECN ({len(broken)} broken): {broken[0]}"
        )


def _check_hops(scenario: Scenario) -> None:
    """Telemetry has room for every switch on a flow's way, whatever links are down."""
    src, dst = (np.array([getattr(flow, end) for flow in scenario.flows]) for end in ("src", "dst"))
    for state in scenario.link_states:
        switches = scenario.topology.routes_without(state.down).hops[src, dst] - 1
        f = int(switches.argmax())
        if switches[f] > hpcc.HOPS:
            raise ValueError(
                f"flow {f} from host {src[f]} to host {dst[f]} must cross at most {hpcc.HOPS} "
                f"switches under a law with telemetry, not {switches[f]}"
            )


def check_timing(timing: str) -> None:
    """Refuse a timing that `run` does not have.

    Raises
    ------
    ValueError
        It is neither exact nor ns3.
    """
    if timing not in ("exact", "ns3"):
        raise ValueError(f"timing must be exact or ns3, not {timing!r}")


def _is_float_pid(setup: LawSetup) -> bool:
    """Whether the law has a table of gains and targets; a card's law of that name has none."""
    code = setup.program
    return code is not None and code.name in _PIDS and "table" in (code.state.names or ())


def run(
    scenario: Scenario,
    cc: CongestionControl,
    *,
    timing: str = "exact",
    seed: int = 0,
    record: Record | None = None,
    pool: int = 0,
    ecmp: str = "own",
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
        Of the jitter of starts and RTTs, of messages, of random marking and of injected loss.
    record : Record, optional
        What to keep.
    pool : int
        Packets that the pool holds; 0: sized to the scenario.
    ecmp : str
        How packets choose among equal paths: ``"own"``, or ``"ns3"``, the HPCC authors' hash, in
        ns3 timing only (`ecmp`).

    Returns
    -------
    Result

    Raises
    ------
    ValueError
        Unknown timing or hash, buffers that break a rule of source 004, not one start rate per
        flow, packets that are sprayed where all of a flow must take one way, or more switches on a
        way than telemetry has room for.
    SimulationError
        The packet pool overflowed, or the decision function failed.
    """
    check_timing(timing)
    if ecmp not in ("own", "ns3"):
        raise ValueError(f"ecmp must be own or ns3, not {ecmp!r}")
    if ecmp == "ns3" and timing != "ns3":
        raise ValueError(f"ecmp ns3 must have timing ns3, not {timing!r}")
    if ecmp == "ns3" and scenario.spray != "none":
        raise ValueError(f"ecmp ns3 must have spray none, not {scenario.spray!r}")
    record = record or Record()
    ns3 = timing == "ns3"
    topology = scenario.topology
    flows = len(scenario.flows)
    top = np.array([topology.host_link(flow.src).gbps * 1e9 for flow in scenario.flows])
    base_rtt_ns = round(scenario.base_rtt_us * 1e3 + scenario.hearing.base_error_ns, 3)
    link = LinkFacts(scenario.min_gbps * 1e9, float(top.max()), base_rtt_ns, scenario.payload, ns3)
    parts, of = cc.parts(flows)
    setups = [part.setup(link) for part in parts]
    laws = Laws(setups, of, [scenario.ecn or one.ecn for one in setups])
    law = setups[0]
    if law.scores and law.scores.source in ONE_WAY_SOURCES and scenario.spray != "none":
        raise ValueError(
            f"scores of source {law.scores.source} must be of one path a flow: leave spray out"
        )
    if laws.telemetry == Telemetry.INT:
        _check_hops(scenario)
    rules = tuple(
        rule
        for one, ecn in zip(setups, laws.ecn, strict=True)
        for rule in check_buffer_rules(scenario, ecn, scenario.payload + one.header)
    )
    _refuse_broken(rules)

    port, port_f = port_tables(scenario)
    wire = scenario.payload + max(one.header for one in setups)
    priorities = priority_tables(scenario, wire)
    prio = priorities["prio"]
    rows = Rows(port.shape[0], flows, pool or pool_rows(scenario))
    starts = scenario.starts_ps(seed, whole_ns=ns3)
    rate = cc.start_rates(top)
    state = laws.states(scenario, link, rate, top)
    flow = flow_table(scenario, starts, 0 if law.function else laws.windows(link, state))
    laws.give(flow)
    messages = message_table(scenario.messages_ps(starts, seed), flow)
    kept = _room(scenario, record, law, port, messages)
    cfg, fcfg = configuration(
        scenario,
        laws,
        record,
        ns3=ns3,
        ns3_ecmp=ecmp == "ns3",
        rows=rows,
        watched=kept.watched.size,
    )
    ctl = controls(rows, record, topology.hosts + topology.switches, seed)
    echoes = law.scores is not None and law.scores.echo
    if scenario.hints.echo and (laws.telemetry or echoes):
        raise ValueError("hints must not share acknowledgements with telemetry or scores: no echo")
    carries = laws.telemetry or echoes or scenario.hints.echo
    columns = -(-(1 + 4 * hpcc.HOPS) // LINE) * LINE if laws.telemetry else 1
    telemetry = lined((rows.total if carries else 1, columns))
    routes = topology.routes
    order = np.argsort(starts, kind="stable").astype(np.int64)
    followers = follower_table(scenario, flow)
    table, table_f = laws.rows()

    net = Net(
        rec=records(rows),
        wheel=at_lines(np.full(SLOTS, -1, dtype=np.int32)),
        bits=np.zeros(WORDS, dtype=np.int64),
        heap=np.empty((rows.total, 3), dtype=np.int64),
        port=port,
        port_f=port_f,
        load=np.zeros((len(port), 3)),
        switch=switch_table(scenario, port),
        flow=flow,
        rate=rate,
        top=top,
        law=table,
        law_f=table_f,
        marking=laws.marking(scenario, port),
        mark_most=laws.mark_most(scenario),
        state=state,
        words=state.view(np.int64),
        learnt=np.zeros((flows, len(BASE_STATE)), dtype=np.int64),
        telemetry=telemetry,
        routes=route_table(routes),
        route_ports=routes.ports,
        order=order[flow[order, FlowCol.WAITS] == 0],
        ctl=ctl,
        cfg=cfg,
        fcfg=fcfg,
        packet_rtt=kept.packet_rtt,
        samples=kept.samples,
        sample_f=kept.sample_f,
        watched=kept.watched,
        probe_time=kept.probe_time,
        probe_rate=kept.probe_rate,
        probe_got=kept.probe_got,
        probe_queue=kept.probe_queue,
        asked=np.zeros(max(len(SAMPLE_FIELDS), len(LAW_EVENT_FIELDS)), dtype=np.int64),
        decision=np.zeros(len(DECISION_FIELDS), dtype=np.int64),
        log=kept.log,
        messages=messages,
        changes=kept.changes,
        knots=score_knots(law),
        forecasts=np.zeros((flows, len(FORECAST_FIELDS)), dtype=np.int64),
        forecast_log=kept.forecasts,
        received=np.zeros(len(RECEIVER_EVENT) + len(RECEIVER_RESULT), dtype=np.int64),
        receiver_log=kept.received,
        followers=followers,
        depths=kept.depths,
        **priorities,
        **recovery_tables(scenario, rows.total),
        **fault_tables(scenario),
        **hint_tables(scenario),
    )
    began = time.process_time()
    simulate(net)
    for epoch, links in enumerate(scenario.link_states[1:], 1):
        if ctl[Ctl.EPOCH] < epoch:
            break
        routes = topology.routes_without(links.down)
        net = net._replace(routes=route_table(routes), route_ports=routes.ports)
        simulate(net)
    cpu_s = time.process_time() - began
    _raise_if_failed(ctl, rows.packets)

    n = int(ctl[Ctl.SAMPLES])
    probes = int(ctl[Ctl.PROBES])
    ended = flow[:, FlowCol.END]
    begun = flow[:, FlowCol.START] < NEVER
    still = np.where(prio[:, PrioCol.PAUSED] > 0, ctl[Ctl.NOW] - prio[:, PrioCol.PAUSED_AT], 0)
    count = scenario.priorities.count
    pids = [_is_float_pid(one) for one in setups]
    table_of = laws.columns(state, "table") if any(pids) else np.full((flows, STATES), np.nan)
    table_of[~np.array(pids)[of]] = np.nan
    at_switch = np.repeat(port[:, PortCol.NODE] >= topology.hosts, count)
    sent, got = int(ctl[Ctl.DATA_SENT]), int(ctl[Ctl.DATA_GOT])
    dropped = int(ctl[Ctl.DATA_DROPPED])
    least = sum(-(-flow.size // scenario.payload) for flow in scenario.flows)
    return Result(
        scenario=scenario,
        law=cc.label,
        timing=timing,
        seed=seed,
        size=flow[:, FlowCol.SIZE].copy(),
        start_us=np.where(begun, flow[:, FlowCol.START] * 1e-6, np.nan),
        fct_us=np.where(ended >= 0, (ended - flow[:, FlowCol.START]) * 1e-6, np.nan),
        sample_flow=kept.samples[:n, 0].copy(),
        sample_t_us=_us(kept.samples[:n, 1]),
        sample_rtt_ps=kept.samples[:n, 2].copy(),
        sample_rate_gbps=kept.sample_f[:n, 0] * 1e-9,
        sample_predicted_us=kept.sample_f[:n, 1].copy(),
        packet_rtt_us=_us(kept.packet_rtt[: int(ctl[Ctl.PACKETS])]),
        probe_t_us=_us(kept.probe_time[:probes]),
        probe_rate_gbps=kept.probe_rate[:probes].copy(),
        probe_got=kept.probe_got[:probes].copy(),
        probe_queue=kept.probe_queue[:probes].copy(),
        watched=kept.watched,
        gains=table_of[:, pid.State.KP : pid.State.KD + 1],
        target_us=table_of[:, pid.State.TARGET_US],
        log=kept.log[: int(ctl[Ctl.LOGGED])].copy(),
        queue_log=kept.changes[: int(ctl[Ctl.NOTED])].copy(),
        forecast_log=kept.forecasts[: int(ctl[Ctl.FORECAST])].copy(),
        receiver_log=kept.received[: int(ctl[Ctl.RECEIVED])].copy(),
        message_flow=messages[:, MessageCol.FLOW].copy(),
        message_bytes=messages[:, MessageCol.SIZE].copy(),
        message_t_us=_us(messages[:, MessageCol.TIME]),
        message_us=np.where(
            messages[:, MessageCol.DONE] >= 0,
            (messages[:, MessageCol.DONE] - messages[:, MessageCol.TIME]) * 1e-6,
            np.nan,
        ),
        max_queue=int(prio[at_switch, PrioCol.LARGEST].max()),
        events=int(ctl[Ctl.EVENTS]),
        marks=int(ctl[Ctl.MARKS]),
        drops=int(ctl[Ctl.DROPS]),
        lost=int(ctl[Ctl.LOST]),
        depths=kept.depths,
        port_bytes=port[:, PortCol.SENT].copy(),
        paused_us=_us(prio[:, PrioCol.PAUSED_PS] + still).reshape(-1, count),
        pauses=int(ctl[Ctl.PAUSES]),
        resumes=int(ctl[Ctl.RESUMES]),
        nacks=int(ctl[Ctl.NACKS]),
        timeouts=int(ctl[Ctl.TIMEOUTS]),
        cnps=int(ctl[Ctl.CNPS]),
        duplicates=int(ctl[Ctl.DUPLICATES]),
        cut=int(ctl[Ctl.CUT]),
        unreachable=int(ctl[Ctl.UNREACHABLE]),
        data_sent=sent,
        data_got=got,
        data_dropped=dropped,
        data_in_flight=sent - got - dropped,
        retransmitted=int(flow[:, FlowCol.SENT_PACKETS].sum()) - least,
        end_us=int(ctl[Ctl.NOW]) * 1e-6,
        cpu_s=cpu_s,
        buffer_rules=rules,
        standalone_us=alone_us(
            scenario, np.arange(flows), flow[:, FlowCol.SIZE], laws.header, laws.ack_bytes
        ),
        header=laws.header,
        ack_bytes=laws.ack_bytes,
        laws=tuple(part.label for part in parts),
        law_of=of,
    )
