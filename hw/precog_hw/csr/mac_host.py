"""The block MAC, wired: strobes of the ports become counters.

::

    ports' events ─► [counters] ─► bank
"""

from amaranth.hdl import Module, Value

from precog_hw.csr.bank import RegisterBank
from precog_hw.csr.counter_table import event_counters, show_counters

__all__ = ["attach"]


def attach(m: Module, bank: RegisterBank, events: Value, *, relaxed: bool = False) -> None:
    """Count the events of all ports.

    Latency: that of the counters. Throughput: every event in every cycle.

    Parameters
    ----------
    m : Module
        Of the NIC; the counters become its submodule.
    bank : RegisterBank
        Of a map with the block MAC.
    events : Value
        `MAC_EVENTS` of each port, the first port's in the lowest bits.
    relaxed : bool
        Counters in block RAM.
    """
    m.submodules.mac_events = counters = event_counters(len(events), relaxed=relaxed)
    show_counters(m, bank, "mac", "counters", counters)
    m.d.comb += [
        counters.events.eq(events),
    ]
