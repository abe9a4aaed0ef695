"""The block MAC, wired: strobes of the ports become counters.

::

    ports' events ─► [counters] ─► bank
"""

from amaranth.hdl import Module, Value

from precog_hw.csr.bank import RegisterBank, port
from precog_hw.csr.counters import Counters

__all__ = ["attach"]


def attach(m: Module, bank: RegisterBank, events: Value) -> None:
    """Count the events of all ports.

    Latency: that of `Counters`. Throughput: every event in every cycle.

    Parameters
    ----------
    m : Module
        Of the NIC; the counters become its submodule.
    bank : RegisterBank
        Of a map with the block MAC.
    events : Value
        `MAC_EVENTS` of each port, the first port's in the lowest bits.
    """
    m.submodules.mac_events = counters = Counters(len(events))
    table = port("mac", "counters")
    m.d.comb += [
        counters.events.eq(events),
        counters.index.eq(getattr(bank, f"{table}_index")),
        counters.read.eq(getattr(bank, f"{table}_low_read")),
        counters.clear.eq(bank.reset_command_counters),
        getattr(bank, f"{table}_low_low").eq(counters.low),
        getattr(bank, f"{table}_high_high").eq(counters.high),
    ]
