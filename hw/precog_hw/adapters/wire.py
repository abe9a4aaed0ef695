"""The block WIRE, wired: rows, parameters and counters between bank and the packets that wait.

::

    bank ─┬─ window ──► [ReadWindow] ─► look, row ◄─┐
          ├─ CONTROL, QUOTA, LIMIT, USE ────────────┼─► wire mode
          └─ COUNTERS ◄─ [counters] ◄─ events ──────┘
"""

from amaranth.hdl import Module, Mux, Value

from precog_hw.adapters.read_window import attach_rows
from precog_hw.csr.bank import RegisterBank
from precog_hw.csr.counter_table import CounterTables
from precog_hw.pace.wire_mode import WireMode
from precog_spec.registers.wire import WIRE_EVENTS, WIRE_ROW

__all__ = ["attach", "cells_of"]

#: Events of which cycles are counted.
_LASTING = ("held", "waits")


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
    attach_rows(m, bank, "wire", WIRE_ROW, 2 * slots, mode.i_look, mode.look_stb, mode.look)
    m.d.comb += [
        mode.hold.eq(bank.wire_control_hold),
        mode.acks_pass.eq(bank.wire_control_acks_pass),
        mode.quota.eq(cells_of(bank.wire_quota_quota, mode.quota)),
        mode.limit.eq(cells_of(bank.wire_limit_limit, mode.limit)),
        bank.wire_use_free.eq(mode.free),
        bank.wire_use_shared.eq(mode.shared),
    ]
    lasting = [n for n, (name, _) in enumerate(WIRE_EVENTS) if name in _LASTING]
    counters = tables.events("wire_events", "wire", "counters", len(WIRE_EVENTS), lasting)
    m.d.comb += counters.events.eq(mode.events)


def cells_of(value: Value, like: Value) -> Value:
    """A number of cells that `like` can hold: one that is larger counts as the largest."""
    most = (1 << len(like)) - 1
    return Mux(value > most, most, value)[: len(like)]
