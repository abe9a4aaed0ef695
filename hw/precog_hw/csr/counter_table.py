"""Counters and the table of the register map in which the host sees them."""

from amaranth.hdl import Module

from precog_hw.csr.bank import RegisterBank, port
from precog_hw.csr.block_counters import BlockClassCounters, BlockCounters
from precog_hw.csr.class_counters import ClassCounters
from precog_hw.csr.counters import Counters

__all__ = ["EventCounters", "class_counters", "event_counters", "show_counters"]

EventCounters = Counters | BlockCounters
AnyCounters = EventCounters | ClassCounters | BlockClassCounters


def event_counters(count: int, *, relaxed: bool) -> EventCounters:
    """One counter for each of `count` events; `relaxed`: in block RAM, and late."""
    return BlockCounters(count) if relaxed else Counters(count)


def class_counters(count: int, *, relaxed: bool) -> ClassCounters | BlockClassCounters:
    """One counter for each of `count` classes; `relaxed`: in block RAM, one count at a time."""
    return BlockClassCounters(count) if relaxed else ClassCounters(count)


def show_counters(
    m: Module, bank: RegisterBank, block: str, table: str, counters: AnyCounters
) -> None:
    """Let the host read counters, and clear them with all others.

    Parameters
    ----------
    m : Module
    bank : RegisterBank
        Whose bus is `AxiLiteFrontEnd`'s: it asks no oftener than counters in block RAM allow.
    block, table : str
        Of the register map; a table with the registers LOW and HIGH.
    counters : Counters, ClassCounters or their forms in block RAM
    """
    name = port(block, table)
    m.d.comb += [
        counters.index.eq(getattr(bank, f"{name}_index")),
        counters.read.eq(getattr(bank, f"{name}_low_read")),
        counters.clear.eq(bank.reset_command_counters),
        getattr(bank, f"{name}_low_low").eq(counters.low),
        getattr(bank, f"{name}_high_high").eq(counters.high),
    ]
    if isinstance(counters, BlockCounters | BlockClassCounters):
        m.d.comb += counters.asked.eq(bank.bus.stb)
