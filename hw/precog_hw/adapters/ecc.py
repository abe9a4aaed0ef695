"""The block ECC, wired: the scrubber's commands, what it found, and its counters.

::

    bank ─┬─ CONTROL, COMMAND, PLACE, FLIPS ─► core's scrubber
          ├─ LAST, STATE, ERROR ◄─────────────────┤
          └─ SETS, COUNTERS ◄─ [counters] ◄───────┘ events
"""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib.memory import Memory

from precog_hw.core import Core
from precog_hw.csr.bank import RegisterBank
from precog_hw.csr.counter_table import CounterTables
from precog_hw.csr.counters import Counters
from precog_spec.registers.ecc import ECC_EVENTS

__all__ = ["attach"]

_COUNT_BITS = 16


def attach(m: Module, bank: RegisterBank, tables: CounterTables, core: Core, *, sets: int) -> None:
    """Put registers and counters between a bank and a core with ECC.

    Parameters
    ----------
    m : Module
        Of the NIC; the parts become its submodules.
    bank : RegisterBank
        Of a map with the block ECC.
    tables : CounterTables
    core : Core
    sets : int
    """
    events, last = core.ecc_events, core.ecc_last
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
    # Of each set: a count in LUT RAM, read and written in the cycle of the event.
    m.submodules.ecc_counts = counts = Memory(
        shape=_COUNT_BITS, depth=sets, init=[], attrs={"ram_style": "distributed"}
    )
    write, old, shown = counts.write_port(), *(counts.read_port(domain="comb") for _ in range(2))
    disabled = Signal(sets)
    index = bank.ecc_sets_index
    m.d.comb += [
        old.addr.eq(core.ecc_set),
        write.addr.eq(core.ecc_set),
        shown.addr.eq(index),
        write.en.eq(events.corrected & ~old.data.all()),
        write.data.eq(old.data + 1),
        bank.ecc_sets_set_errors_corrected.eq(shown.data),
        bank.ecc_sets_set_errors_disabled.eq(disabled.bit_select(index, 1)),
    ]
    with m.If(core.ecc_loaded_stb):
        m.d.sync += disabled.bit_select(core.ecc_loaded_set, 1).eq(0)
    with m.If(events.uncorrectable):
        m.d.sync += disabled.bit_select(core.ecc_set, 1).eq(1)

    m.submodules.ecc_counters = counters = Counters(len(ECC_EVENTS))
    tables.show("ecc", "counters", counters)
    refused = Mux(no_set, 1, events.refused)
    m.d.comb += [
        counters.events.eq(
            Cat(refused if name == "refused" else events[name] for name, _ in ECC_EVENTS)
        ),
    ]
