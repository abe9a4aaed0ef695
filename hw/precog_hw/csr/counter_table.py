"""Counters, the snapshot of all of them, and the table of the register map that shows each."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Module, Signal, Value

from precog_hw.csr.bank import RegisterBank, port
from precog_hw.csr.block_counters import BlockCounters, ClassTable, EventTable
from precog_hw.csr.class_counters import ClassCounters
from precog_hw.csr.counters import Counters
from precog_hw.csr.in_flight import InFlight

__all__ = ["CounterTables", "EventCounters"]

EventCounters = Counters | EventTable
AnyCounters = EventCounters | ClassCounters | ClassTable


class CounterTables:
    """Makes a device's counters and shows them to the host, all as of one instant.

    Parameters
    ----------
    m : Module
        Of the device; counters become submodules of it.
    bank : RegisterBank
        Whose bus is `AxiLiteFrontEnd`'s or `BusShare`'s: they ask no oftener than counters in
        block RAM allow. If `relaxed`, its address is there a cycle before its strobe.
    relaxed : bool
        Tables that are made here in one block RAM, classes one at a time: `BlockCounters`.

    Attributes
    ----------
    block : BlockCounters or None
        If `relaxed`.
    snapshot : Signal(1)
        Strobe: all counters are kept.
    busy : Signal(1)
        The snapshot is not complete.
    """

    def __init__(self, m: Module, bank: RegisterBank, *, relaxed: bool) -> None:
        self._m, self._bank = m, bank
        self.snapshot = Signal(name="snapshot")
        self.busy = Signal(name="snapshot_busy")
        self._busy: list[Value] = []
        self.block = BlockCounters() if relaxed else None
        if self.block is not None:
            m.submodules.counters = self.block
            m.d.comb += self.block.asked.eq(bank.bus.stb)
            self._keep(self.block)

    def events(
        self, name: str, block: str, table: str, count: int, lasting: Sequence[int] = ()
    ) -> EventCounters:
        """One counter for each of `count` events; `block`, `table` as `show`.

        Numbers in `lasting` are of events that may last.
        """
        if self.block is not None:
            counters = self.block.events(name, count, lasting)
            self._connect(block, table, counters)
            return counters
        self._m.submodules[name] = own = Counters(count)
        self.show(block, table, own)
        return own

    def classes(self, name: str, block: str, table: str, count: int) -> ClassCounters | ClassTable:
        """One counter for each of `count` classes; `block`, `table` as `show`."""
        if self.block is not None:
            counters = self.block.classes(name, count)
            self._connect(block, table, counters)
            return counters
        self._m.submodules[name] = own = ClassCounters(count)
        self.show(block, table, own)
        return own

    def show(self, block: str, table: str, counters: Counters | ClassCounters) -> None:
        """Let the host read counters, keep and clear them with all others.

        Parameters
        ----------
        block, table : str
            Of the register map; a table with the registers LOW and HIGH.
        counters : Counters or ClassCounters
        """
        self._connect(block, table, counters)
        self._keep(counters)

    def attach(self, flight: InFlight) -> None:
        """Connect the registers of the snapshot, once all counters have been made.

        Parameters
        ----------
        flight : InFlight
        """
        m, bank = self._m, self._bank
        idle = Signal(init=1)
        m.d.comb += [
            self.busy.eq(Cat(self._busy).any()),
            bank.counters_state_busy.eq(self.busy | self.snapshot),
            bank.counters_state_idle.eq(idle),
            bank.reset_state_counters.eq(self.busy),
        ]
        # A register before the many flip-flops that it enables.
        m.d.sync += self.snapshot.eq(bank.counters_command_snapshot & ~self.busy)
        with m.If(self.snapshot | bank.reset_command_counters):
            m.d.sync += idle.eq(flight.idle)

    def _connect(self, block: str, table: str, counters: AnyCounters) -> None:
        """Connect counters to the table of the register bank through which the host reads them."""
        name = port(block, table)
        self._m.d.comb += [
            counters.index.eq(getattr(self._bank, f"{name}_index")),
            getattr(self._bank, f"{name}_low_low").eq(counters.low),
            getattr(self._bank, f"{name}_high_high").eq(counters.high),
        ]
        if isinstance(counters, EventTable | ClassTable):
            self._m.d.comb += counters.inside.eq(getattr(self._bank, f"{name}_inside"))

    def _keep(self, counters: Counters | ClassCounters | BlockCounters) -> None:
        self._busy.append(counters.busy)
        self._m.d.comb += [
            counters.snapshot.eq(self.snapshot),
            counters.clear.eq(self._bank.reset_command_counters),
        ]
