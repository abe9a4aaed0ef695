"""The block PROFILER, wired: numbers, parameters and counters between bank and queue profiler.

::

    bank ─┬─ window ──► [ReadWindow] ─► reads, numbers ◄─┐
          ├─ PERIOD, EVERY, centers, gains ──────────────┼─► profiler
          └─ COUNTERS ◄─ [counters] ◄─ events ───────────┘
"""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring

from precog_hw.adapters.read_window import ReadWindow
from precog_hw.csr.bank import RegisterBank, port
from precog_hw.csr.counter_table import CounterTables
from precog_hw.csr.window_ports import connect_window
from precog_hw.measure.profiler import Profiler
from precog_hw.pace.layouts import EventKind, State, config_of
from precog_hw.pace.wire_mode import WireMode
from precog_hw.pace.wire_path import WIRE_EVENTS
from precog_spec.contract import QueueEvent
from precog_spec.registers.profiler import PROFILER_EVENTS, PROFILER_INPUTS, PROFILER_VALUES

__all__ = ["attach", "follow", "follow_packets"]

_WORD_BITS = 32


def attach(
    m: Module, bank: RegisterBank, tables: CounterTables, profiler: Profiler, *, slots: int
) -> None:
    """Put window, parameters and counters between a bank and a profiler.

    Parameters
    ----------
    m : Module
        Of the NIC; the parts become its submodules.
    bank : RegisterBank
        Of a map with the block PROFILER.
    tables : CounterTables
    profiler : Profiler
    slots : int
        QP slots.
    """
    m.submodules.profiler_window = window = ReadWindow(slots)
    connect_window(m, bank, "profiler", (), window, ("fetch", "clear"))
    wiring.connect(m, window.o, profiler.i_read)
    m.d.comb += [
        window.done.eq(profiler.read_done),
        window.sweep.eq(bank.reset_command_profiler),
        bank.reset_state_profiler.eq(window.sweeping),
        profiler.period.eq(bank.profiler_period_period),
        profiler.every.eq(bank.profiler_every_every),
    ]
    for n, name in enumerate(PROFILER_INPUTS):
        for part, values in (("center", profiler.centers), ("gain", profiler.gains)):
            word = f"{name}_{part}"
            m.d.comb += values[n].eq(getattr(bank, port("profiler", word, word)))

    numbers = profiler.values
    shown: dict[str, Value] = {}
    for name in ("bytes_in", "bytes_out"):
        shown[f"{name}_low"] = numbers[name][:_WORD_BITS]
        shown[f"{name}_high"] = numbers[name][_WORD_BITS:]
    for register in PROFILER_VALUES:
        for field in register.fields:
            value = shown[field.name] if field.name in shown else numbers[field.name]
            m.d.comb += getattr(bank, port("profiler", register.name, field.name)).eq(value)

    kind = profiler.commit.kind
    counted = (kind == QueueEvent.ARRIVAL) | (kind == QueueEvent.DEPARTURE)
    events = {
        "events": profiler.commit_stb & counted,
        "samples": profiler.sampled,
        "samples_merged": profiler.merged,
    }
    counters = tables.events("profiler_events", "profiler", "counters", len(PROFILER_EVENTS))
    m.d.comb += counters.events.eq(Cat(events[name] for name, _ in PROFILER_EVENTS))


def follow(m: Module, event: stream.Interface, log: Signal, valid: Value) -> None:
    """Events of the queues out of the pacer's log.

    Parameters
    ----------
    m : Module
    event : stream.Interface
        To the profiler.
    log : Signal
        Of `log_layout`.
    valid : Value
        An event of the pacer took effect.
    """
    did = log.commit
    raises = config_of(did).raises
    arrives, resets = did.kind == EventKind.REQUEST, (did.kind == EventKind.CONFIG) & ~raises
    departs = (did.kind == EventKind.GRANT) & (did.row.state == State.SENDING)
    m.d.comb += [
        event.valid.eq(valid & (arrives | departs | resets)),
        event.payload.qp.eq(did.qp),
        event.payload.t.eq(did.t),
        event.payload.kind.eq(QueueEvent.RESET),
    ]
    with m.If(arrives):
        m.d.comb += [
            event.payload.kind.eq(QueueEvent.ARRIVAL),
            event.payload.size.eq(did.argument[:_WORD_BITS]),
        ]
    with m.Elif(departs):
        m.d.comb += [
            event.payload.kind.eq(QueueEvent.DEPARTURE),
            event.payload.size.eq(log.size),
        ]


def follow_packets(m: Module, event: stream.Interface, mode: WireMode, now: Value) -> None:
    """Events of the queues out of wire mode's log: packets that come in, and that leave.

    Both queues of a queue pair count as one; a connection's beginning takes no packet out. The
    profiler hears of an event a cycle after the log says it, and that is its time.

    Parameters
    ----------
    m : Module
    event : stream.Interface
        To the profiler. It takes events when packets may come: it is ready before every queue pair
        is disabled.
    mode : WireMode
    now : Value
        Ticks.
    """
    did = mode.log
    arrives, departs = (mode.events[WIRE_EVENTS.index(name)] for name in ("stored", "sent"))
    qp, came, left = (Signal.like(v) for v in (event.payload.qp, did.event.bytes, did.row.bytes))
    m.d.sync += [qp.eq(did.event.qp), came.eq(did.event.bytes), left.eq(did.row.bytes)]
    m.d.comb += [
        event.valid.eq(arrives | departs),
        event.payload.qp.eq(qp),
        event.payload.t.eq(now),
        event.payload.kind.eq(Mux(arrives, QueueEvent.ARRIVAL, QueueEvent.DEPARTURE)),
        event.payload.size.eq(Mux(arrives, came, left)),
    ]
