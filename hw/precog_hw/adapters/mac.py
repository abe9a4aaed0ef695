"""The block MAC, wired: strobes of the ports become counters.

::

    ports' events ─► [counters] ─► bank
"""

from amaranth.hdl import Module, Value

from precog_hw.csr.counter_table import CounterTables

__all__ = ["attach"]


def attach(m: Module, tables: CounterTables, events: Value) -> None:
    """Count the events of all ports.

    Latency: that of the counters. Throughput: every event in every cycle.

    Parameters
    ----------
    m : Module
        Of the NIC.
    tables : CounterTables
        Of a map with the block MAC.
    events : Value
        `MAC_EVENTS` of each port, the first port's in the lowest bits.
    """
    counters = tables.events("mac_events", "mac", "counters", len(events))
    m.d.comb += counters.events.eq(events)
