"""The packet path's register blocks, wired: windows, counters and time between bank and card.

::

    bank ─┬─ PACKET ─────────────────────────► registers, now ──┐
          ├─ LOOKUP ──────► [LookupWindow] ◄─► cells ───────────┤
          ├─ PACKET_QP ───► [RowWindow] ─────► rows, CNPs, MTU ─┼─ card
          ├─ DESTINATION ─► [RowWindow] ◄────► enables, numbers ┤
          └─ PACKET_COUNTERS ◄─ [counters] ◄── events ──────────┘

A part that the card lacks (destinations, CNPs, ICRC check) has no registers and no counters.
"""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import connect

from precog_hw.adapters.lookup_window import LookupWindow, to_both
from precog_hw.csr.bank import RegisterBank, port
from precog_hw.csr.counter_table import CounterTables
from precog_hw.csr.layouts import registers_layout
from precog_hw.csr.row_window import RowWindow
from precog_hw.csr.window_ports import connect_window, show_window
from precog_hw.measure.clock import Clock
from precog_hw.packet.card import Card
from precog_hw.packet.cps_slots import DESTINATIONS
from precog_hw.packet.layouts import CARD_CONFIG
from precog_spec.config import NicConfig
from precog_spec.frames.cps import SCORE_MAX, SHIM, ShimFault
from precog_spec.frames.descriptor import Reason
from precog_spec.frames.headers import MIN_FRAME, ROCE_PORT
from precog_spec.registers.model import Access, resets
from precog_spec.registers.packet import (
    DESTINATION_CONFIG,
    DESTINATION_VALUES,
    LOOKUP_CELL,
    OUTCOME_EVENTS,
    PACKET_PARAMETERS,
    RX_CLASSES,
    TX_CLASSES,
    packet_events,
    packet_parameters,
    packet_qp_config,
)

__all__ = ["attach"]

_DESTINATION = registers_layout(DESTINATION_CONFIG, Access.RW)

#: What a row is before the host writes it: the registers' resets.
_DESTINATION_INIT = resets(DESTINATION_CONFIG)


def attach(
    m: Module,
    bank: RegisterBank,
    card: Card,
    config: NicConfig,
    tables: CounterTables,
    *,
    tick_ps: int,
    copy: stream.Interface | None = None,
) -> Value:
    """Put the windows, the counters and the clock between a bank and a card.

    Parameters
    ----------
    m : Module
        Of the NIC; the parts become its submodules.
    bank : RegisterBank
        Of a map with the packet path's blocks.
    card : Card
    config : NicConfig
        What bank and card were made for.
    tables : CounterTables
    tick_ps : int
        Length of a cycle, picoseconds.
    copy : stream, optional
        `QpLookup.i_access` of another copy of the table, to be written alike.

    Returns
    -------
    Value
        Everything that reset leaves behind in memory has been cleared: packets may come.
    """
    _parameters(m, bank, card, config)
    _clock(m, bank, card, tick_ps)
    ready = [
        _lookup(m, bank, card, config.qps, copy, bool(config.ipv6)),
        _queue_pairs(m, bank, card, config),
        *((_destinations(m, bank, card),) if config.destinations else ()),
        _counters(m, card, config, tables),
    ]
    return Cat(ready).all()


def _parameters(m: Module, bank: RegisterBank, card: Card, config: NicConfig) -> None:
    """Fields of PACKET by name, also where the layout nests them."""
    values = {
        field.name: getattr(bank, port("packet", register.name, field.name))
        for register in packet_parameters(config)
        for field in register.fields
    }
    _guard_shim(m, bank, values)
    nested = {
        name: group
        for group in ("cps", "cnp", "trust")
        for name in CARD_CONFIG[group].shape.members
    }
    for name, value in values.items():
        where = card.registers[nested[name]] if name in nested else card.registers
        m.d.comb += where[name].eq(value)


def _guard_shim(m: Module, bank: RegisterBank, values: dict[str, Value]) -> None:
    """The last port and limit that a card can work with replace those of the register."""
    names = ("shim_port", "max_frame")
    init = resets(PACKET_PARAMETERS)
    kept = {name: Signal.like(values[name], name=f"kept_{name}", init=init[name]) for name in names}
    port_value, bad, was_bad = values["shim_port"], Signal(), Signal()
    m.d.comb += [
        bad.eq(
            (port_value == 0)
            | (port_value == ROCE_PORT)
            | (values["max_frame"] < MIN_FRAME + SHIM.size)
        ),
        bank.packet_error_shim_set.eq(bad & ~was_bad),
    ]
    m.d.sync += was_bad.eq(bad)
    with m.If(~bad):
        m.d.sync += [kept[name].eq(values[name]) for name in names]
    values |= kept


def _clock(m: Module, bank: RegisterBank, card: Card, tick_ps: int) -> None:
    m.submodules.clock = clock = Clock(tick_ps)
    m.d.comb += [
        card.now.eq(clock.ticks),
        card.now_ns.eq(clock.ns),
        clock.read.eq(bank.packet_clock_low_read),
        bank.packet_clock_low_low.eq(clock.low),
        bank.packet_clock_high_high.eq(clock.high),
    ]


def _lookup(
    m: Module,
    bank: RegisterBank,
    card: Card,
    slots: int,
    copy: stream.Interface | None,
    ipv6: bool,
) -> Value:
    m.submodules.lookup_window = window = LookupWindow(slots, ipv6=ipv6)
    if copy is None:
        connect(m, window.o, card.i_table)
    else:
        to_both(m, window.o, card.i_table, copy)
    m.d.comb += [
        window.row.eq(bank.lookup_place_row),
        window.way.eq(bank.lookup_place_way),
        window.fetch.eq(bank.lookup_command_fetch),
        window.apply.eq(bank.lookup_command_apply),
        window.cell_stb.eq(card.table_stb),
        window.cell.eq(card.table_cell),
    ]
    show_window(m, bank, "lookup", LOOKUP_CELL, window)
    return window.ready


def _queue_pairs(m: Module, bank: RegisterBank, card: Card, config: NicConfig) -> Value:
    """A row is applied in one cycle, for all parts of the card at once."""
    registers = packet_qp_config(config)
    layout = registers_layout(registers, Access.RW)
    m.submodules.packet_qps = window = RowWindow(layout, config.qps, resets(registers))
    connect_window(m, bank, "packet_qp", registers, window)
    command, apply = window.o.payload, Signal()
    row = command.config
    m.d.comb += [
        window.sweep.eq(bank.reset_command_rtt),
        bank.reset_state_rtt.eq(window.sweeping),
        card.i_reset.valid.eq(window.o.valid & command.clear),
        card.i_reset.payload.eq(command.row),
        card.first_reset.eq(~window.ready),
        window.o.ready.eq(card.i_reset.ready | ~command.clear),
        apply.eq(window.o.valid & window.o.ready & command.apply),
        card.row_stb.eq(apply),
        card.row_slot.eq(command.row),
        card.row_config.mode.eq(row.mode),
        *((card.row_config.destination.eq(row.destination),) if config.destinations else ()),
        card.row_config.score.value.eq(Mux(row.score > SCORE_MAX, SCORE_MAX, row.score)),
        card.row_config.score.valid.eq(row.score_valid),
        *(source.eq(row.score_source) for source in _sources(card)),
        card.mtu_stb.eq(apply),
        card.mtu_slot.eq(command.row),
        card.mtu_log2.eq(row.mtu_log2),
    ]
    if config.cnps:
        m.d.comb += [
            card.remote_stb.eq(apply),
            card.remote.slot.eq(command.row),
            card.remote.remote_qp.qpn.eq(row.remote_qp),
            card.remote.remote_qp.valid.eq(row.remote_valid),
        ]
    return window.ready


def _sources(card: Card) -> list[Value]:
    """Where a row's source of scores goes; a card without predicted scores has none."""
    return [card.row_config.source] if "source" in card.row_config.shape().members else []


def _destinations(m: Module, bank: RegisterBank, card: Card) -> Value:
    """A fetch, or a clear, waits for the numbers."""
    m.submodules.destination_window = window = RowWindow(
        _DESTINATION, DESTINATIONS, _DESTINATION_INIT
    )
    connect_window(m, bank, "destination", DESTINATION_CONFIG, window)
    command, asks, asked = window.o.payload, Signal(), Signal()
    m.d.comb += [
        window.sweep.eq(bank.reset_command_statistics),
        bank.reset_state_statistics.eq(window.sweeping),
        asks.eq(window.o.valid & (command.fetch | command.clear)),
        card.i_destination.valid.eq(asks & ~asked),
        card.i_destination.payload.destination.eq(command.row),
        card.i_destination.payload.clear.eq(command.clear),
        card.i_destination.payload.silent.eq(window.of_sweep),
        window.o.ready.eq(card.destination_done | ~asks),
        card.enable_stb.eq(window.o.valid & command.apply),
        card.enable_destination.eq(command.row),
        card.enable.eq(command.config.enable),
    ]
    with m.If(card.i_destination.valid & card.i_destination.ready):
        m.d.sync += asked.eq(1)
    with m.If(card.destination_done):
        m.d.sync += asked.eq(0)
    numbers = card.destination_values
    shown: dict[str, Value] = {
        "rtt_sum_low": numbers.rtt_sum[:32],
        "rtt_sum_high": numbers.rtt_sum[32:],
    }
    for register in DESTINATION_VALUES:
        for field in register.fields:
            value = shown[field.name] if field.name in shown else numbers[field.name]
            m.d.comb += getattr(bank, port("destination", register.name, field.name)).eq(value)
    return window.ready


def _counters(m: Module, card: Card, config: NicConfig, tables: CounterTables) -> Value:
    sent, received = card.sent, card.received
    reason, fault = received.reason, received.fault
    unknown = (reason == Reason.NONE) & ~received.known
    classes = {
        "tx": (
            TX_CLASSES,
            card.sent_stb,
            Mux(sent.mode_r & (sent.reason == Reason.NONE), len(Reason), sent.reason),
        ),
        "rx": (
            RX_CLASSES,
            card.received_stb,
            Mux(
                fault != ShimFault.NONE,
                len(Reason) - 1 + fault,
                Mux(unknown, Reason.UNKNOWN_QP, reason),
            ),
        ),
    }
    ready = []
    for name, (names, stb, of) in classes.items():
        counters = tables.classes(f"{name}_counters", "packet_counters", name, len(names))
        m.d.comb += [counters.stb.eq(stb), counters.of.eq(of)]
        ready.append(counters.ready)

    got = card.received_stb
    twice = Signal()  # a packet with two clamped values has two beats or more
    m.d.sync += twice.eq(got & received.clamped[1])
    outcomes = zip(OUTCOME_EVENTS, card.commit.outcome, strict=True)
    events = {
        "extracted": got & received.extracted,
        "dropped": got & received.dropped,
        "resv6_read": got & received.resv6_read,
        "resv6_faults": got & received.resv6_fault,
        "clamped": (got & received.clamped.any()) | twice,
        "tx_errors": card.tx_error,
        "rx_errors": card.rx_error,
        "refused_cnp": card.refused_cnp,
        **{name: card.commit_stb & did for name, did in outcomes},
    }
    if config.icrc:
        checked = card.icrc_done & card.icrc_checked
        events |= {
            "icrc_ok": checked & card.icrc_ok,
            "icrc_bad": checked & ~card.icrc_ok,
            "refused_icrc": card.refused_icrc,
        }
    if config.cnps:
        names = ("cnp_sent", "cnp_limited", "cnp_unknown", "cnp_busy")
        events |= {name: getattr(card, name) for name in names}
        events |= {
            "marks_heard": card.mark_heard,
            "marks_echoed": card.sent_stb & card.sent.echoed,
        }
    counted = packet_events(config)
    table = tables.events("packet_events", "packet_counters", "events", len(counted))
    m.d.comb += table.events.eq(Cat(events[name] for name in counted))
    return Cat(ready).all()
