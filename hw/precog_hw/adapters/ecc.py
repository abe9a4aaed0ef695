"""The block ECC, wired: the scrubber's commands, what it found, and its counters.

::

    bank ─┬─ CONTROL, COMMAND, PLACE, FLIPS, PROGRAM ─► core's scrubber
          ├─ LAST, PROGRAM_LAST, STATE, ERROR ◄─────────┤
          └─ SETS, PROGRAMS, COUNTERS ◄─ [counters] ◄───┘ events
"""

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib.memory import Memory

from precog_hw.core import Core
from precog_hw.csr.bank import RegisterBank
from precog_hw.csr.counter_table import CounterTables
from precog_spec.config import NicConfig
from precog_spec.registers.ecc import ECC_BANKS, ecc_events

__all__ = ["attach"]

_COUNT_BITS = 16


def attach(
    m: Module, bank: RegisterBank, tables: CounterTables, core: Core, config: NicConfig
) -> None:
    """Put registers and counters between a bank and a core with ECC.

    Parameters
    ----------
    m : Module
        Of the NIC; the parts become its submodules.
    bank : RegisterBank
        Of a map with the block ECC.
    tables : CounterTables
    core : Core
    config : NicConfig
    """
    events, last = core.ecc_events, core.ecc_last
    named = ecc_events(programs=config.guards_programs)
    places = core.ecc_inject_place.shape().members
    asked = bank.ecc_place_set
    exists = (asked >> len(core.ecc_inject_place.set)) == 0
    no_set = Signal()
    m.d.comb += [
        core.ecc_enable.eq(bank.ecc_control_enable),
        core.ecc_period.eq(bank.ecc_control_period),
        core.ecc_scrub_stb.eq(bank.ecc_command_scrub),
        core.ecc_inject_stb.eq(bank.ecc_command_inject & exists),
        no_set.eq(bank.ecc_command_inject & ~exists),
        *(core.ecc_inject_place[name].eq(getattr(bank, f"ecc_place_{name}")) for name in places),
        core.ecc_inject_flips.first.eq(bank.ecc_flips_first),
        core.ecc_inject_flips.second.eq(bank.ecc_flips_other),
        core.ecc_inject_flips.double.eq(bank.ecc_flips_double),
        bank.ecc_state_busy.eq(core.ecc_busy),
        *(getattr(bank, f"ecc_last_{name}").eq(last.place[name]) for name in places),
        bank.ecc_last_bit.eq(last.bit),
        bank.ecc_last_double.eq(last.uncorrectable),
        bank.ecc_last_any.eq(last.valid),
        bank.ecc_error_corrected_set.eq(events.corrected),
        bank.ecc_error_uncorrectable_set.eq(events.uncorrectable),
        bank.ecc_error_refused_set.eq(events.refused | no_set),
    ]
    of_program: Value = Const(0)
    if config.guards_programs:
        of_program = core.ecc_of_program
        _programs(m, bank, core, config, no_set)
    loaded = (core.ecc_loaded_stb, core.ecc_loaded_set)
    _errors(m, "set", bank, core, (core.ecc_set, ~of_program), loaded, config.sets)

    counters = tables.events("ecc_counters", "ecc", "counters", len(named))
    strobes = {name: events[name] for name in events.shape().members}
    strobes["refused"] = events.refused | no_set
    if config.guards_programs:
        strobes["held"] = core.law_damaged_stb
    m.d.comb += counters.events.eq(Cat(strobes[name] for name, _ in named))


def _programs(m: Module, bank: RegisterBank, core: Core, config: NicConfig, no_set: Signal) -> None:
    """Injections into programs, and errors of them."""
    place, last = core.ecc_inject_program_place, core.ecc_last_program
    asks = bank.ecc_command_inject_program
    exists = bank.ecc_program_core < config.law_cores
    m.d.comb += [
        core.ecc_inject_program.eq(asks),
        place.at.eq(bank.ecc_program_word),
        place.bank.eq(bank.ecc_program_bank),
        place.core.eq(bank.ecc_program_core),
        core.ecc_inject_program_half.eq(bank.ecc_program_half),
        bank.ecc_program_last_word.eq(last.place.at),
        bank.ecc_program_last_half.eq(last.half),
        bank.ecc_program_last_bank.eq(last.place.bank),
        bank.ecc_program_last_core.eq(last.place.core),
        bank.ecc_program_last_bit.eq(last.bit),
        bank.ecc_program_last_double.eq(last.uncorrectable),
        bank.ecc_program_last_any.eq(last.valid),
    ]
    with m.If(asks):
        m.d.comb += [core.ecc_inject_stb.eq(exists), no_set.eq(~exists)]
    number = Signal.like(last.place.bank, name="ecc_program_at_work")
    m.d.comb += number.eq(core.ecc_bank)
    loaded = (core.law_loaded_stb, core.law_loaded_bank)
    _errors(m, "program", bank, core, (number, core.ecc_of_program), loaded, ECC_BANKS)


def _errors(
    m: Module,
    one: str,
    bank: RegisterBank,
    core: Core,
    of: tuple[Value, Value],
    loaded: tuple[Value, Value],
    count: int,
) -> None:
    """Errors of each set, or program: a count in LUT RAM, written in the cycle of the event."""
    events, (number, counts_here), (loaded_stb, loaded_number) = core.ecc_events, of, loaded
    m.submodules[f"ecc_{one}_counts"] = counts = Memory(
        shape=_COUNT_BITS, depth=count, init=[], attrs={"ram_style": "distributed"}
    )
    write, old, shown = counts.write_port(), *(counts.read_port(domain="comb") for _ in range(2))
    disabled = Signal(count, name=f"{one}s_disabled")
    index = getattr(bank, f"ecc_{one}s_index")
    m.d.comb += [
        old.addr.eq(number),
        write.addr.eq(number),
        shown.addr.eq(index),
        write.en.eq(events.corrected & counts_here & ~old.data.all()),
        write.data.eq(old.data + 1),
        getattr(bank, f"ecc_{one}s_{one}_errors_corrected").eq(shown.data),
        getattr(bank, f"ecc_{one}s_{one}_errors_disabled").eq(disabled.bit_select(index, 1)),
    ]
    with m.If(loaded_stb):
        m.d.sync += disabled.bit_select(loaded_number, 1).eq(0)
    with m.If(events.uncorrectable & counts_here):
        m.d.sync += disabled.bit_select(number, 1).eq(1)
