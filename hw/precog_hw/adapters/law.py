"""The block LAW, wired: loader, slots and counters of the law engine between bank and core."""

from amaranth.hdl import Cat, Module, Value

from precog_hw.core import Core
from precog_hw.csr.bank import RegisterBank
from precog_hw.csr.counter_table import CounterTables
from precog_spec.registers.law import LAW_EVENTS

__all__ = ["attach"]

_NAMES = 4


def attach(m: Module, bank: RegisterBank, tables: CounterTables, core: Core, merged: Value) -> None:
    """Put registers and counters between a bank and a core with a law engine.

    Parameters
    ----------
    m : Module
        Of the NIC; the parts become its submodules.
    bank : RegisterBank
        Of a map with the block LAW.
    tables : CounterTables
    core : Core
    merged : Value
        Strobe: an acknowledgement of a packet replaces one that waits.
    """
    name = core.law_query_name
    entry, trap = core.law_query_entry, core.law_trap
    guarded = "damaged" in entry.shape().members
    m.d.comb += [
        core.law_threshold.eq(bank.law_threshold_threshold),
        core.law_budget.eq(bank.law_budget_budget),
        core.law_begin_stb.eq(bank.law_command_begin),
        core.law_begin_bank.eq(bank.law_bank_bank),
        core.law_word_stb.eq(bank.law_data_stb),
        core.law_word.eq(bank.law_data_data),
        core.law_commit_stb.eq(bank.law_command_commit),
        core.law_commit_crc.eq(bank.law_crc_crc),
        bank.law_words_words.eq(core.law_words),
        bank.law_status_code.eq(core.law_status),
        bank.law_status_busy.eq(core.law_busy),
        bank.law_error_load_set.eq(core.law_load_error),
        bank.law_error_map_set.eq(core.law_map_error),
        bank.law_error_trap_set.eq(core.law_fail_stb),
        bank.law_trap_slot.eq(trap.slot),
        bank.law_trap_status.eq(trap.status),
        bank.law_trap_qp.eq(trap.qp),
        core.law_map_stb.eq(bank.law_slots_slot_stb),
        core.law_map_slot.eq(bank.law_slots_index),
        core.law_map_bank.eq(bank.law_slots_slot_bank_new),
        core.law_map_enable.eq(bank.law_slots_slot_enable_new),
        core.law_query_slot.eq(bank.law_slots_index),
        bank.law_slots_slot_bank.eq(entry.bank),
        bank.law_slots_slot_enable.eq(entry.enable),
        bank.law_slots_slot_state_trapped.eq(entry.tripped),
        *([bank.law_slots_slot_state_damaged.eq(entry.damaged)] if guarded else []),
        core.law_query_bank.eq(bank.law_banks_index),
        bank.law_banks_bank_state_valid.eq(core.law_query_valid),
        bank.law_banks_bank_version_version.eq(core.law_query_version),
        *(
            getattr(bank, f"law_banks_bank_name{n}_name{n}").eq(name.word_select(n, 32))
            for n in range(_NAMES)
        ),
    ]
    counters = tables.events("law_counters", "law", "counters", len(LAW_EVENTS))
    m.d.comb += counters.events.eq(Cat(core.law_counts, merged))
