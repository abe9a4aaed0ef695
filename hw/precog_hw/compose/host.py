"""The registers of a NIC that belong to its core: parameters, models, queue pairs, counters."""

from amaranth.hdl import Cat, Value, ValueLike

from precog_hw.csr.bank import port
from precog_hw.csr.counter_table import EventCounters
from precog_hw.csr.in_flight import InFlight
from precog_hw.csr.window_ports import connect_window
from precog_spec.contract import Flag
from precog_spec.engine.isa import THREADS
from precog_spec.registers.counters import COUNTERS
from precog_spec.registers.model import RegisterMap
from precog_spec.registers.qp import QP_CONFIG, QP_STATUS

from .parts import Parts

__all__ = ["count", "models", "parameters", "queue_pairs"]

_MOST = 127  # samples and events that a core may hold, but for those of programs in flight


def parameters(parts: Parts, regmap: RegisterMap) -> None:
    """Every parameter of the core is a field of the map."""
    for block in parts.config.parameter_blocks:
        shared = parts.core.trials if block == "TRIALS" else parts.core.parameters
        for register in regmap.block(block).registers:
            for field in register.fields:
                value = getattr(parts.bank, port(block, register.name, field.name))
                parts.m.d.comb += shared[field.name].eq(value)


def models(parts: Parts) -> None:
    """Loading sets, and which slot has which."""
    bank, core = parts.bank, parts.core
    parts.m.d.comb += [
        core.begin_stb.eq(bank.model_command_begin),
        core.begin_set.eq(bank.model_set_set),
        core.word_stb.eq(bank.model_data_stb),
        core.word.eq(bank.model_data_data),
        core.commit_stb.eq(bank.model_command_commit),
        core.commit_crc.eq(bank.model_crc_crc),
        bank.model_words_words.eq(core.words),
        bank.model_status_code.eq(core.status),
        bank.model_status_busy.eq(core.busy),
        bank.model_error_load_set.eq(core.load_error),
        bank.model_error_map_set.eq(core.map_error),
        core.map_stb.eq(bank.model_slots_slot_stb),
        core.map_slot.eq(bank.model_slots_index),
        core.map_set.eq(bank.model_slots_slot_set_new),
        core.map_enable.eq(bank.model_slots_slot_enable_new),
        core.query_slot.eq(bank.model_slots_index),
        bank.model_slots_slot_set.eq(core.query_slot_set),
        bank.model_slots_slot_enable.eq(core.query_slot_enable),
        core.query_set.eq(bank.model_sets_index),
        bank.model_sets_set_state_valid.eq(core.query_valid),
        bank.model_sets_set_version_version.eq(core.query_version),
    ]


def queue_pairs(parts: Parts) -> None:
    """The window on queue pairs."""
    connect_window(parts.m, parts.bank, "qp", QP_CONFIG, parts.window)
    for register in QP_STATUS:
        for field in register.fields:
            name = port("qp", register.name, field.name)
            parts.m.d.comb += getattr(parts.bank, name).eq(parts.window.status[field.name])


def count(
    parts: Parts,
    decided: Value,
    missed: ValueLike,
    load_error: ValueLike,
) -> EventCounters:
    """What is counted of the core."""
    m, nic, core, config = parts.m, parts.nic, parts.core, parts.config
    flags = nic.o_decision.payload.flags
    told: ValueLike = 0  # with forecasts, scores of their own are events, too
    if config.laws:
        told = core.event_stb if config.forecast else core.i_event.valid & core.i_event.ready
    if config.law_cores:
        told |= core.i_law_ack.valid & core.i_law_ack.ready
    events = {
        "samples": core.i_sample.valid & core.i_sample.ready,
        "decisions": decided,
        "predictions": decided & flags[Flag.PREDICTED],
        "fallbacks": decided & flags[Flag.NO_MODEL],
        "advice_clamped": decided & flags[Flag.ADVICE_CLAMPED],
        "delta_clamped": decided & flags[Flag.DELTA_CLAMPED],
        "rate_clamped": decided & flags[Flag.RATE_CLAMPED],
        "target_moves": decided & flags[Flag.TARGET_MOVED],
        "dropped": core.dropped | missed,
        "load_errors": load_error,
        "events": told,
        "ignored": core.event_ignored if config.laws else 0,
        "unskilled": decided & flags[Flag.UNSKILLED],
        "late": decided & flags[Flag.LATE],
        "held": decided & flags[Flag.HELD],
        "scored": decided & flags[Flag.SCORED],
        "congested": decided & flags[Flag.CONGESTED],
    }
    counters = parts.tables.events("counters", "counters", "counters", len(COUNTERS))
    m.submodules.flight = flight = InFlight(_MOST + THREADS * config.law_cores)
    m.d.comb += [
        counters.events.eq(Cat(events[name] for name, _ in COUNTERS)),
        flight.sample.eq(events["samples"]),
        flight.event.eq(events["events"]),
        flight.decided.eq(events["decisions"]),
        flight.dropped.eq(core.dropped),
        flight.ignored.eq(events["ignored"]),
    ]
    parts.tables.attach(flight)
    return counters
