"""The block TRACE, wired: filter, window and counters between bank and FIFO.

::

    decisions, programs, receiver's ─► [TraceFifo] ─► STATE, RECORDS, COUNTERS ─► bank
      actions, forecasts                 ▲ FILTER, QP, EVERY, THRESHOLD, COMMAND ──┘
"""

from collections.abc import Sequence

from amaranth.hdl import Cat, Module, Value
from amaranth.lib import data

from precog_hw.core import Core
from precog_hw.csr.bank import RegisterBank
from precog_hw.csr.counter_table import CounterTables
from precog_hw.csr.counters import Counters
from precog_hw.csr.trace import TraceFifo, record
from precog_spec.contract import TRACE_WORDS, TraceKind
from precog_spec.registers.trace import TRACE_EVENTS, TRACE_KINDS

__all__ = ["attach", "decision_record", "forecast_source", "program_source", "receiver_source"]


def decision_record(decision: data.View, made_of: data.View) -> Value:
    """The record of a `DECISION` and its `MADE_OF`."""
    return record(
        TraceKind.DECISION,
        **{name: decision[name] for name in ("qp", "flags", "srtt", "rtt_pred", "rate")},
        **{name: made_of[name] for name in ("t", "rtt", "score")},
        set=made_of.model.set,
        version=made_of.model.version,
    )


def program_source(decided: Value, decision: data.View, core: Core) -> tuple[Value, Value]:
    """Strobe and record of what the law engine did for a decision; behind the decision's own."""
    made_of, ran = core.made_of, core.ran
    return decided & ran.stb, record(
        TraceKind.PROGRAM,
        **{name: decision[name] for name in ("qp", "flags")},
        **{name: made_of[name] for name in ("t", "score")},
        **{name: ran[name] for name in ran.shape().members if name != "stb"},
    )


def receiver_source(stb: Value, commit: data.View) -> tuple[Value, Value]:
    """Strobe and record of the receiver's events, `receiver_layouts.COMMIT`, that did something."""
    event, result = commit.event, commit.result
    return stb & result.acts.any(), record(
        TraceKind.RECEIVER,
        **{name: event[name] for name in ("qp", "t")},
        **{name: result[name] for name in ("score", "band", "was", "command", "boost", "quota")},
        flags=result.acts,
    )


def forecast_source(core: Core) -> tuple[Value, Value]:
    """Strobe and record of the forecasts of a core that makes them.

    A forecast is recorded when its score takes effect, before what PSCHED decides on that.
    """
    made, of = core.o_forecast.payload, core.forecast_made_of
    return core.forecast_events.forecasts, record(
        TraceKind.FORECAST,
        **{name: made[name] for name in ("qp", "t", "version")},
        **{name: of[name] for name in of.shape().members},
        score=made.cps,
    )


def attach(
    m: Module, bank: RegisterBank, tables: CounterTables, sources: Sequence[tuple[Value, Value]]
) -> Value:
    """Put a trace FIFO between a bank and its sources.

    Parameters
    ----------
    m : Module
        Of the NIC; the parts become its submodules.
    bank : RegisterBank
        Of a map with the block TRACE.
    tables : CounterTables
    sources : sequence of (Value, Value)
        Strobe and record of each; of those of one cycle the first goes first.

    Returns
    -------
    Value
        The threshold is reached.
    """
    m.submodules.trace = fifo = TraceFifo(len(sources))
    m.submodules.trace_events = counters = Counters(len(TRACE_EVENTS), amount_bits=len(fifo.lost))
    for n, (_, made) in enumerate(sources):
        m.d.comb += fifo.records[n].as_value().eq(made)
    m.d.comb += [
        fifo.stb.eq(Cat(stb for stb, _ in sources)),
        fifo.kinds.eq(Cat(getattr(bank, f"trace_filter_{name}s") for name in TRACE_KINDS)),
        fifo.one_qp.eq(bank.trace_filter_one_qp),
        fifo.qp.eq(bank.trace_qp_qp),
        fifo.every.eq(bank.trace_every_every),
        fifo.threshold.eq(bank.trace_threshold_threshold),
        fifo.reset.eq(bank.reset_command_trace),
        bank.reset_state_trace.eq(0),
        bank.trace_state_level.eq(fifo.level),
        bank.trace_state_reached.eq(fifo.reached),
        fifo.index.eq(bank.trace_records_index),
        *(
            getattr(bank, f"trace_records_word{n}_word{n}").eq(fifo.words[n])
            for n in range(TRACE_WORDS)
        ),
        counters.events.eq(fifo.events),
        counters.amount.eq(fifo.lost),
    ]
    # Registers: the bank is far away, and what follows a pop takes most of a cycle.
    m.d.sync += [
        fifo.pop.eq(bank.trace_command_pop),
        fifo.clear.eq(bank.trace_command_clear),
    ]
    tables.show("trace", "counters", counters)
    return fifo.reached
