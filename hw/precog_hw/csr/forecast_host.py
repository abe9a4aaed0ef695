"""The block FORECAST, wired: configurations, tables and counters between bank and core.

::

    bank ─┬─ window ──► [RowWindow] ─► configurations ─► core
          ├─ THRESHOLD, BUDGET, knots ─────────────────►
          └─ COUNTERS ◄─ [counters] ◄─ events ──────────
"""

from amaranth.hdl import Cat, Module, Value

from precog_hw.core import Core
from precog_hw.csr.bank import RegisterBank, port
from precog_hw.csr.counters import Counters
from precog_hw.csr.layouts import registers_layout
from precog_hw.csr.row_window import RowWindow
from precog_hw.csr.window_ports import connect_window
from precog_hw.regmap.forecast import FORECAST_EVENTS, FORECAST_PAIR
from precog_hw.regmap.model import Access

__all__ = ["attach"]

_CONFIG = registers_layout(FORECAST_PAIR, Access.RW)


def attach(m: Module, bank: RegisterBank, core: Core, *, slots: int) -> Value:
    """Put window, tables and counters between a bank and a core with forecasts.

    Parameters
    ----------
    m : Module
        Of the NIC; the parts become its submodules.
    bank : RegisterBank
        Of a map with the block FORECAST.
    core : Core
    slots : int
        QP slots.

    Returns
    -------
    Value
        No queue pair names a queue model any more since the reset.
    """
    m.submodules.forecast_window = window = RowWindow(_CONFIG, slots)
    connect_window(m, bank, "forecast", FORECAST_PAIR, window, ("fetch", "apply"))
    command, config = window.o.payload, core.forecast_config
    knot, put = bank.forecast_knot_knot, core.forecast_put
    named = command.config.queue_slot
    m.d.comb += [
        core.forecast_config_stb.eq(window.o.valid & command.apply),
        core.forecast_config_qp.eq(command.row),
        # A slot that does not exist is no model.
        config.queue_enable.eq(
            command.config.queue_enable & (named >> len(config.queue_slot) == 0)
        ),
        config.queue_slot.eq(named),
        config.score_source.eq(command.config.score_source),
        window.o.ready.eq(1),
        core.forecast_threshold.eq(bank.forecast_threshold_threshold_bin),
        core.forecast_budget.eq(bank.forecast_budget_rtt_budget),
        put.en.eq(bank.forecast_knot_write_stb),
        *(put.knot.eq(knot), put.table.eq(knot[-1])),
        put.value.eq(bank.forecast_knot_write_new_value),
        *(core.forecast_query_knot.eq(knot), core.forecast_query_table.eq(knot[-1])),
        bank.forecast_knot_value_value.eq(core.forecast_query),
    ]
    m.submodules.forecast_events = counters = Counters(len(FORECAST_EVENTS))
    events = core.forecast_events
    table = port("forecast", "counters")
    m.d.comb += [
        counters.events.eq(
            Cat(
                core.wrong_head if name == "wrong_head" else events[name]
                for name, _ in FORECAST_EVENTS
            )
        ),
        counters.index.eq(getattr(bank, f"{table}_index")),
        counters.read.eq(getattr(bank, f"{table}_low_read")),
        getattr(bank, f"{table}_low_low").eq(counters.low),
        getattr(bank, f"{table}_high_high").eq(counters.high),
    ]
    return window.ready
