"""The block FORECAST, wired: configurations, tables and counters between bank and core.

::

    bank ─┬─ window ──► [RowWindow] ─► configurations ─► core ─► scores ─► [CarriedScores] ─► card
          ├─ THRESHOLD, BUDGET, knots ─────────────────►                        ▲
          ├─ CARRY_AGE ─────────────────────────────────────────────────────────┘
          └─ COUNTERS ◄─ [counters] ◄─ events ──────────
"""

from amaranth.hdl import Cat, Const, Module, Value
from amaranth.lib import data

from precog_hw.core import Core
from precog_hw.csr.bank import RegisterBank
from precog_hw.csr.counter_table import CounterTables
from precog_hw.csr.layouts import registers_layout
from precog_hw.csr.row_window import RowWindow
from precog_hw.csr.window_ports import connect_window
from precog_hw.packet.card import Card
from precog_hw.predict.carried import CarriedScores
from precog_spec.contract import CarriedScore
from precog_spec.registers.forecast import FORECAST_EVENTS, FORECAST_PAIR
from precog_spec.registers.model import Access

__all__ = ["attach", "carry"]

_CONFIG = registers_layout(FORECAST_PAIR, Access.RW)


def attach(
    m: Module,
    bank: RegisterBank,
    tables: CounterTables,
    core: Core,
    carried: CarriedScores | None,
    *,
    slots: int,
) -> Value:
    """Put window, tables and counters between a bank and a core with forecasts.

    Parameters
    ----------
    m : Module
        Of the NIC; the parts become its submodules.
    bank : RegisterBank
        Of a map with the block FORECAST.
    tables : CounterTables
    core : Core
    carried : CarriedScores or None
        With packets: connected by `carry`.
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
        put.knot.eq(knot),
        put.table.eq(knot[-1]),
        put.value.eq(bank.forecast_knot_write_new_value),
        core.forecast_query_knot.eq(knot),
        core.forecast_query_table.eq(knot[-1]),
        bank.forecast_knot_value_value.eq(core.forecast_query),
    ]
    core_events = core.forecast_events
    events = {name: core_events[name] for name in core_events.shape().members}
    events |= {"wrong_head": core.wrong_head, "carried": Const(0), "expired": Const(0)}
    if carried is not None:
        events |= {name: carried.events[name] for name in ("carried", "expired")}
    counters = tables.events("forecast_events", "forecast", "counters", len(FORECAST_EVENTS))
    m.d.comb += counters.events.eq(Cat(events[name] for name, _ in FORECAST_EVENTS))
    return window.ready


def carry(
    m: Module,
    bank: RegisterBank,
    core: Core,
    carried: CarriedScores,
    card: Card,
    *,
    command: data.View,
) -> None:
    """Scores from the core to the rows of a card with `predicted`.

    Parameters
    ----------
    m : Module
        Of the NIC, which has `carried` as a submodule.
    bank : RegisterBank
        Of a map with the block FORECAST.
    core : Core
    carried : CarriedScores
    card : Card
    command : data.View
        What the core is told when its `command_stb` is there.
    """
    row = card.row_config
    m.d.comb += [
        *(
            getattr(carried, name).eq(getattr(core, f"forecast_{name}"))
            for name in ("made", "made_qp", "made_rtt", "made_score")
        ),
        *(
            getattr(carried, name).eq(getattr(core, f"forecast_{name}"))
            for name in ("config_stb", "config_qp", "config")
        ),
        carried.now.eq(card.now),
        carried.age.eq(bank.forecast_carry_age_carry_age),
        carried.slot_enables.eq(core.slot_enables),
        carried.command_stb.eq(core.command_stb),
        carried.command.eq(command),
        carried.row_stb.eq(card.row_stb),
        carried.row_slot.eq(card.row_slot),
        carried.row_source.eq(row.source),
        core.forecast_carry_stb.eq(card.row_stb),
        core.forecast_carry_qp.eq(card.row_slot),
        core.forecast_carry.eq((row.source == CarriedScore.RTT) | (row.source == CarriedScore.MAX)),
        card.predicted_stb.eq(carried.put_stb),
        card.predicted_slot.eq(carried.put_slot),
        card.predicted.valid.eq(carried.put_score != 0),
        card.predicted.value.eq(carried.put_score - 1),
    ]
    if card.options.port:
        slot = bank.port_slot_slot
        m.d.comb += [
            carried.port_named.eq(bank.port_control_enable & (slot < card.options.slots)),
            carried.port_slot.eq(slot),
        ]
