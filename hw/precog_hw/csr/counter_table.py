"""Counters and the table of the register map in which the host sees them."""

from amaranth.hdl import Module

from precog_hw.csr.bank import RegisterBank, port
from precog_hw.csr.block_counters import BlockCounters, ClassTable, EventTable
from precog_hw.csr.class_counters import ClassCounters
from precog_hw.csr.counters import Counters

__all__ = ["CounterTables", "EventCounters", "show_counters"]

EventCounters = Counters | EventTable
AnyCounters = EventCounters | ClassCounters | ClassTable


class CounterTables:
    """Makes a device's counters and shows them to the host.

    Parameters
    ----------
    m : Module
        Of the device; counters become submodules of it.
    bank : RegisterBank
        Whose bus is `AxiLiteFrontEnd`'s or `BusShare`'s: they ask no oftener than counters in
        block RAM allow.
    relaxed : bool
        All tables in one block RAM, late and one class at a time: `BlockCounters`.
    """

    def __init__(self, m: Module, bank: RegisterBank, *, relaxed: bool) -> None:
        self._m, self._bank = m, bank
        self._block = BlockCounters() if relaxed else None
        if self._block is not None:
            m.submodules.counters = self._block
            m.d.comb += [
                self._block.asked.eq(bank.bus.stb),
                self._block.clear.eq(bank.reset_command_counters),
            ]

    def events(self, name: str, block: str, table: str, count: int) -> EventCounters:
        """One counter for each of `count` events; `block`, `table` as `show_counters`."""
        counters: EventCounters
        if self._block is not None:
            counters = self._block.events(name, count)
        else:
            self._m.submodules[name] = counters = Counters(count)
        show_counters(self._m, self._bank, block, table, counters)
        return counters

    def classes(self, name: str, block: str, table: str, count: int) -> ClassCounters | ClassTable:
        """One counter for each of `count` classes; `block`, `table` as `show_counters`."""
        counters: ClassCounters | ClassTable
        if self._block is not None:
            counters = self._block.classes(name, count)
        else:
            self._m.submodules[name] = counters = ClassCounters(count)
        show_counters(self._m, self._bank, block, table, counters)
        return counters


def show_counters(
    m: Module, bank: RegisterBank, block: str, table: str, counters: AnyCounters
) -> None:
    """Let the host read counters, and clear them with all others.

    Parameters
    ----------
    m : Module
    bank : RegisterBank
    block, table : str
        Of the register map; a table with the registers LOW and HIGH.
    counters : Counters, ClassCounters or a table of `BlockCounters`
    """
    name = port(block, table)
    m.d.comb += [
        counters.index.eq(getattr(bank, f"{name}_index")),
        counters.read.eq(getattr(bank, f"{name}_low_read")),
        getattr(bank, f"{name}_low_low").eq(counters.low),
        getattr(bank, f"{name}_high_high").eq(counters.high),
    ]
    if isinstance(counters, EventTable | ClassTable):
        m.d.comb += counters.inside.eq(getattr(bank, f"{name}_inside"))
    else:
        m.d.comb += counters.clear.eq(bank.reset_command_counters)
