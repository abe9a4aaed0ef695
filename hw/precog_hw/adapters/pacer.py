"""The block PACER, wired: connections, parameters and counters between bank and pacer.

::

    bank ─┬─ window ──► [RowWindow] ─► connections ─► grants
          ├─ OVERHEAD, PAUSE ───────────────────────►
          └─ COUNTERS ◄─ [counters] ◄─ events ───────
"""

from amaranth.hdl import Module, Mux, Value

from precog_hw.csr.bank import RegisterBank
from precog_hw.csr.counter_table import CounterTables
from precog_hw.csr.counters import Counters
from precog_hw.csr.layouts import registers_layout
from precog_hw.csr.row_window import RowWindow
from precog_hw.csr.window_ports import connect_window
from precog_hw.pace.grants import Grants
from precog_hw.pace.layouts import SIZE_BITS
from precog_spec.contract import MTU_LOG2_MIN
from precog_spec.registers.model import Access, resets
from precog_spec.registers.pacer import PACER_CONFIG, PACER_EVENTS

__all__ = ["attach"]

_CONFIG = registers_layout(PACER_CONFIG, Access.RW)
_LARGEST_MTU = 4  # log2(4096) - MTU_LOG2_MIN


def attach(
    m: Module,
    bank: RegisterBank,
    tables: CounterTables,
    grants: Grants,
    *,
    slots: int,
    pause: Value,
) -> Value:
    """Put window, parameters and counters between a bank and a pacer.

    Parameters
    ----------
    m : Module
        Of the NIC; the parts become its submodules.
    bank : RegisterBank
        Of a map with the block PACER.
    tables : CounterTables
    grants : Grants
    slots : int
        QP slots.
    pause : Value
        Priorities that shall pause besides those that the register names.

    Returns
    -------
    Value
        Every connection is as reset has it.
    """
    m.submodules.pacer_window = window = RowWindow(_CONFIG, slots, resets(PACER_CONFIG))
    connect_window(m, bank, "pacer", PACER_CONFIG, window, ("fetch", "apply"))
    command = window.o.payload
    row, connection = command.config, grants.i_connection
    m.d.comb += [
        connection.valid.eq(window.o.valid & command.apply),
        connection.payload.qp.eq(command.row),
        connection.payload.config.priority.eq(row.priority),
        connection.payload.config.psn.eq(row.psn),
        connection.payload.config.windows.eq(row.windows),
        # What is no path MTU counts as the largest, as for READ responses.
        connection.payload.config.mtu.eq(
            Mux(row.mtu_log2[-1], row.mtu_log2 - MTU_LOG2_MIN, _LARGEST_MTU)
        ),
        window.o.ready.eq(connection.ready | ~command.apply),
        grants.overhead.eq(bank.pacer_overhead_overhead),
        grants.pause.eq(pause | bank.pacer_pause_pause),
    ]
    m.submodules.pacer_events = counters = Counters(len(PACER_EVENTS), amount_bits=SIZE_BITS)
    tables.show("pacer", "counters", counters)
    m.d.comb += [
        counters.events.eq(grants.events),
        counters.amount.eq(grants.granted),
    ]
    return window.ready
