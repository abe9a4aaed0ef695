"""The block SENDERS, wired: parameters, beliefs, rows and counters between bank and card."""

from amaranth.hdl import Cat, Module, Signal

from precog_hw.adapters.read_window import attach_rows
from precog_hw.csr.bank import RegisterBank, port
from precog_hw.csr.counter_table import CounterTables
from precog_hw.packet.card import Card
from precog_spec.registers.senders import SENDERS_EVENTS, SENDERS_PARAMETERS, SENDERS_ROW

__all__ = ["attach"]


def attach(m: Module, bank: RegisterBank, tables: CounterTables, card: Card) -> None:
    """Put parameters, beliefs, rows and counters between a bank and a card.

    Parameters
    ----------
    m : Module
        Of the NIC.
    bank : RegisterBank
        Of a map with the block SENDERS.
    tables : CounterTables
    card : Card
        With `senders`.
    """
    for register in SENDERS_PARAMETERS:
        for field in register.fields:
            value = getattr(bank, port("senders", register.name, field.name))
            m.d.comb += card.registers.senders[field.name].eq(value)
    belief = card.i_belief
    waits = Signal(name="belief_waits")
    m.d.comb += belief.valid.eq(waits)
    with m.If(bank.senders_belief_stb):
        # Shims and scores have two beats or more: it is taken before the host can write again.
        m.d.sync += [
            waits.eq(bank.senders_belief_qp < card.options.slots),
            belief.payload.slot.eq(bank.senders_belief_qp),
            belief.payload.level.eq(bank.senders_belief_level),
        ]
    with m.Elif(belief.ready):
        m.d.sync += waits.eq(0)
    slots = card.options.slots
    attach_rows(m, bank, "senders", SENDERS_ROW, slots, card.i_show, card.shown_stb, card.shown)
    events = {
        "joined": card.joined,
        "heard": card.heeded,
        "risen": card.risen,
        "outnumbered": card.outnumbered,
    }
    counters = tables.events("senders_events", "senders", "counters", len(SENDERS_EVENTS))
    m.d.comb += [
        bank.senders_count_count.eq(card.count),
        bank.senders_count_level.eq(card.level),
        bank.senders_own_count.eq(card.own_count),
        bank.senders_own_level.eq(card.own_level),
        counters.events.eq(Cat(events[name] for name, _ in SENDERS_EVENTS)),
    ]
