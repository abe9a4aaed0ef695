"""From a scenario and a congestion control to the record of a run."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precog_models.measure.base_rtt import BASE_STATE
from precog_models.rate.reference import hpcc
from precog_sim.network.buffer_rules import BufferRule, check_buffer_rules
from precog_sim.network.checks import check_hops, refuse_broken
from precog_sim.network.configuration import configuration
from precog_sim.network.congestion import CongestionControl, LawSetup, LinkFacts
from precog_sim.network.crew import STEP_PS
from precog_sim.network.fault_tables import fault_tables
from precog_sim.network.hint_tables import hint_tables
from precog_sim.network.law_tables import Laws
from precog_sim.network.layout import FlowCol, Telemetry
from precog_sim.network.memory import LINE, lined
from precog_sim.network.net import Net
from precog_sim.network.partition import Partition, partition, whole
from precog_sim.network.partition_tables import partition_tables, why_whole
from precog_sim.network.recovery_tables import recovery_tables
from precog_sim.network.result import Record
from precog_sim.network.room import room
from precog_sim.network.rows import HINTS, Rows, controls, generators, pool_rows, records
from precog_sim.network.scenario import Scenario
from precog_sim.network.score_source import ONE_WAY_SOURCES
from precog_sim.network.tables import (
    flow_table,
    follower_table,
    message_table,
    port_tables,
    priority_tables,
    route_tables,
    score_knots,
    switch_table,
    way_table,
)
from precog_spec.contract import DECISION_FIELDS, FORECAST_FIELDS, SAMPLE_FIELDS
from precog_spec.law_fields import ACK_FIELDS
from precog_spec.receiver_fields import RECEIVER_EVENT, RECEIVER_RESULT

__all__ = ["Prepared", "link_facts", "prepare"]


@dataclass(frozen=True, eq=False)
class Prepared:
    """A run before it begins; then its tables change.

    Parameters
    ----------
    scenario, timing, seed
        As given to `run`.
    law : str
        Label of the congestion control.
    labels : tuple of str
        Of its laws.
    laws : Laws
    rules : tuple of BufferRule
    split : Partition
    whole_because : str
        Why the network is not divided; empty: it is.
    packets : int
        That the pool holds.
    net : Net
    """

    scenario: Scenario
    timing: str
    seed: int
    law: str
    labels: tuple[str, ...]
    laws: Laws
    rules: tuple[BufferRule, ...]
    split: Partition
    whole_because: str
    packets: int
    net: Net


def link_facts(scenario: Scenario, *, whole_bps: bool) -> LinkFacts:
    """What laws are told of the network; the base RTT is the one that cards believe."""
    sources = {flow.src for flow in scenario.flows}
    return LinkFacts(
        min_bps=scenario.min_gbps * 1e9,
        max_bps=max(scenario.topology.host_link(host).gbps for host in sources) * 1e9,
        base_rtt_ns=round(scenario.base_rtt_us * 1e3 + scenario.hearing.base_error_ns, 3),
        payload=scenario.payload,
        whole_bps=whole_bps,
        mark_us=scenario.mark_us,
    )


def prepare(
    scenario: Scenario,
    cc: CongestionControl,
    *,
    ns3: bool,
    seed: int,
    record: Record,
    pool: int,
    ns3_ecmp: bool,
) -> Prepared:
    """The record of a run, and what its result needs of it.

    Raises
    ------
    ValueError
        As `run`.
    """
    topology = scenario.topology
    flows = len(scenario.flows)
    top = np.array([topology.host_link(flow.src).gbps * 1e9 for flow in scenario.flows])
    link = link_facts(scenario, whole_bps=ns3)
    parts, of = cc.parts(flows)
    setups = [part.setup(link) for part in parts]
    laws = Laws(setups, of, [scenario.ecn or one.ecn for one in setups])
    law = setups[0]
    rules = _checked(scenario, setups, laws)
    port, port_f = port_tables(scenario)
    split, because = _divided(scenario, record, law, ns3=ns3)
    rows = Rows(port.shape[0], flows, split.count, pool or pool_rows(scenario))
    starts = scenario.starts_ps(seed, whole_ns=ns3)
    rate = cc.start_rates(top)
    state = laws.states(scenario, link, rate, top)
    flow = flow_table(scenario, starts, 0 if law.function else laws.windows(link, state))
    laws.give(flow)
    real = flow.view(np.float64)
    real[:, FlowCol.RATE] = rate
    real[:, FlowCol.TOP] = top
    flow[:, FlowCol.RNG] = generators(flows, seed, 1)
    messages = message_table(scenario.messages_ps(starts, seed), flow)
    kept = room(scenario, record, law, port, messages, split.count)
    least = min(*(one.ack_bytes for one in setups), *(1 + one.header for one in setups))
    parted = partition_tables(scenario, split, rows, port, flow, starts, least, len(kept.samples))
    cfg, fcfg = configuration(
        scenario,
        laws,
        record,
        ns3=ns3,
        ns3_ecmp=ns3_ecmp,
        rows=rows,
        watched=kept.watched.size,
        slots=int(parted["wheel"].shape[1]),
        window_ps=min(split.lookahead_ps, STEP_PS),
    )
    net = Net(
        rec=records(rows),
        port=port,
        port_f=port_f,
        dice=generators(len(port), seed, 0),
        load=np.zeros((len(port), 3)),
        switch=switch_table(scenario, port),
        flow=flow,
        real=real,
        telemetry=_telemetry(scenario, law, laws, rows),
        **route_tables(topology, topology.routes),
        ways=way_table(scenario),
        ctl=controls(rows, record, topology.hosts + topology.switches, seed),
        cfg=cfg,
        fcfg=fcfg,
        messages=messages,
        knots=score_knots(law),
        followers=follower_table(scenario, flow),
        **vars(kept),
        **_law_tables(scenario, laws, port, state),
        **_words(flows),
        **parted,
        **priority_tables(scenario, scenario.payload + max(one.header for one in setups)),
        **recovery_tables(scenario, rows.total),
        **fault_tables(scenario),
        **hint_tables(scenario, generators(topology.hosts, seed, HINTS)),
    )
    return Prepared(
        scenario=scenario,
        timing="ns3" if ns3 else "exact",
        seed=seed,
        law=cc.label,
        labels=tuple(part.label for part in parts),
        laws=laws,
        rules=rules,
        split=split,
        whole_because=because,
        packets=rows.packets,
        net=net,
    )


def _checked(scenario: Scenario, setups: list[LawSetup], laws: Laws) -> tuple[BufferRule, ...]:
    """Rules of the buffers, after all of a scenario that laws cannot run on was refused."""
    law = setups[0]
    if law.scores and law.scores.source in ONE_WAY_SOURCES and scenario.spray != "none":
        raise ValueError(
            f"scores of source {law.scores.source} must be of one path a flow: leave spray out"
        )
    if laws.telemetry == Telemetry.INT:
        check_hops(scenario)
    rules = tuple(
        rule
        for one, ecn in zip(setups, laws.ecn, strict=True)
        for rule in check_buffer_rules(scenario, ecn, scenario.payload + one.header)
    )
    refuse_broken(rules)
    return rules


def _divided(
    scenario: Scenario, record: Record, law: LawSetup, *, ns3: bool
) -> tuple[Partition, str]:
    """The network's parts; why there is one only, or nothing."""
    if ns3:
        return whole(scenario.topology), "ns3 timing has one order for all events"
    split = partition(scenario.topology)
    because = why_whole(scenario, record, law, split)
    return (whole(scenario.topology) if because else split), because


def _telemetry(scenario: Scenario, law: LawSetup, laws: Laws, rows: Rows) -> NDArray[np.int64]:
    """Room in each packet for what switches, scores or hints write into it.

    Raises
    ------
    ValueError
        Hints would share acknowledgements with telemetry or scores.
    """
    echoes = law.scores is not None and law.scores.echo
    if scenario.hints.echo and (laws.telemetry or echoes):
        raise ValueError("hints must not share acknowledgements with telemetry or scores: no echo")
    carries = laws.telemetry or echoes or scenario.hints.echo
    columns = -(-(1 + 4 * hpcc.HOPS) // LINE) * LINE if laws.telemetry else 1
    return lined((rows.total if carries else 1, columns))


def _law_tables(
    scenario: Scenario, laws: Laws, port: NDArray[np.int64], state: NDArray[np.float64]
) -> dict[str, Any]:
    """What laws are, how they mark, and what each flow's knows."""
    table, table_f = laws.rows()
    return {
        "law": table,
        "law_f": table_f,
        "marking": laws.marking(scenario, port),
        "mark_most": laws.mark_most(scenario),
        "state": state,
        "words": state.view(np.int64),
        "learnt": np.zeros((len(state), len(BASE_STATE)), dtype=np.int64),
    }


def _words(flows: int) -> dict[str, Any]:
    """Room for the words that the kernel and decision functions exchange."""
    return {
        "asked": np.zeros(max(len(SAMPLE_FIELDS), len(ACK_FIELDS)), dtype=np.int64),
        "decision": np.zeros(len(DECISION_FIELDS), dtype=np.int64),
        "forecasts": np.zeros((flows, len(FORECAST_FIELDS)), dtype=np.int64),
        "received": np.zeros(len(RECEIVER_EVENT) + len(RECEIVER_RESULT), dtype=np.int64),
    }
