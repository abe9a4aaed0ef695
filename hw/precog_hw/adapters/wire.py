"""The block WIRE, wired: rows, parameters and counters between bank and the packets that wait.

::

    bank ─┬─ window ──► [ReadWindow] ─► look, row ◄─┐
          ├─ CONTROL, QUOTA, LIMIT, USE ────────────┼─► wire mode
          └─ COUNTERS ◄─ [counters] ◄─ events ──────┘
"""

from amaranth.hdl import Module, Mux, Signal, Value

from precog_hw.adapters.read_window import ReadWindow
from precog_hw.csr.bank import RegisterBank, port
from precog_hw.csr.counter_table import CounterTables
from precog_hw.csr.counters import Counters
from precog_hw.csr.window_ports import connect_window
from precog_hw.pace.wire_mode import WireMode
from precog_spec.registers.wire import WIRE_EVENTS, WIRE_ROW

__all__ = ["attach", "cells_of"]


def attach(
    m: Module, bank: RegisterBank, tables: CounterTables, mode: WireMode, *, slots: int
) -> None:
    """Put window, parameters and counters between a bank and wire mode.

    Parameters
    ----------
    m : Module
        Of the NIC; the parts become its submodules.
    bank : RegisterBank
        Of a map with the block WIRE.
    tables : CounterTables
    mode : WireMode
    slots : int
        QP slots.
    """
    m.submodules.wire_window = window = ReadWindow(2 * slots)
    connect_window(m, bank, "wire", (), window, ("fetch",))
    row = Signal(mode.look.shape())
    with m.If(mode.look_stb):
        m.d.sync += row.eq(mode.look)
    m.d.comb += [
        mode.i_look.valid.eq(window.o.valid),
        mode.i_look.payload.eq(window.o.payload.qp),
        window.o.ready.eq(mode.i_look.ready),
        window.done.eq(mode.look_stb),
        mode.hold.eq(bank.wire_control_hold),
        mode.acks_pass.eq(bank.wire_control_acks_pass),
        mode.quota.eq(cells_of(bank.wire_quota_quota, mode.quota)),
        mode.limit.eq(cells_of(bank.wire_limit_limit, mode.limit)),
        bank.wire_use_free.eq(mode.free),
        bank.wire_use_shared.eq(mode.shared),
    ]
    for register in WIRE_ROW:
        (field,) = register.fields
        m.d.comb += getattr(bank, port("wire", register.name, field.name)).eq(row[field.name])

    m.submodules.wire_events = counters = Counters(len(WIRE_EVENTS))
    tables.show("wire", "counters", counters)
    m.d.comb += [
        counters.events.eq(mode.events),
    ]


def cells_of(value: Value, like: Value) -> Value:
    """A number of cells that `like` can hold: one that is larger counts as the largest."""
    most = (1 << len(like)) - 1
    return Mux(value > most, most, value)[: len(like)]
