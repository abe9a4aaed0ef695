"""The constants of a run, from its scenario and laws."""

import numpy as np
from numpy.typing import NDArray

from precog_sim.network.arrivals import arrivals_bits
from precog_sim.network.control import Cfg, FCfg
from precog_sim.network.law_tables import Laws
from precog_sim.network.result import Record
from precog_sim.network.rows import Rows
from precog_sim.network.scenario import SPRAYS, Scenario
from precog_sim.network.tables import way_columns
from precog_sim.network.wheel import bucket_bits, buckets_ahead

__all__ = ["configuration"]

_Table = NDArray[np.int64]


def configuration(
    scenario: Scenario,
    laws: Laws,
    record: Record,
    *,
    ns3: bool,
    ns3_ecmp: bool,
    rows: Rows,
    watched: int,
    slots: int,
    window_ps: int,
) -> tuple[_Table, NDArray[np.float64]]:
    """Integer and real constants of the run."""
    buffers, hints = scenario.buffers, scenario.hints
    law = laws.setups[0]  # a `Loop` is alone
    wire = scenario.payload + max(one.header for one in laws.setups)
    links = scenario.topology.links
    longest = max(link.delay_ps + round(wire * 8000 / link.gbps) for link in links)
    bits = bucket_bits(2 * len(links) // rows.parts, longest + longest // 2, slots)
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
        Cfg.ACK_HIGH: int(
            scenario.answers.first or (ns3 and any(one.ack_high for one in laws.setups))
        ),
        Cfg.ANSWERS_FIRST: int(scenario.answers.first),
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
        Cfg.ACK_FUNCTION: law.ack_function,
        Cfg.TELL_MARKS: int(law.tell_marks),
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
        Cfg.WAYS: way_columns(scenario),
        Cfg.BUCKET_BITS: bits,
        Cfg.AHEAD: buckets_ahead(bits, ns3=ns3),
        Cfg.SLOT_MASK: slots - 1,
        Cfg.ARRIVAL_BITS: arrivals_bits(window_ps),
        Cfg.HINT_ECHO: int(hints.echo),
        Cfg.HINT_LEAST: hints.least,
        Cfg.HINT_FIRST: hints.first,
        Cfg.HINT_TABLE_PS: round(hints.table_us * 1e6),
        Cfg.HINT_STALE_PS: round(hints.stale_us * 1e6),
        Cfg.HINT_HOLD_PS: round(hints.hold_us * 1e6),
        Cfg.HINT_START: int(hints.starts),
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
