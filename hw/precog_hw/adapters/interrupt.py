"""The block INTERRUPT, wired: causes are kept in the bank, what is enabled of them is the line.

::

    causes ─► CAUSE ─┐
    RAISE ───────────┴─► and ENABLE ─► register ─► irq, STATE
"""

from collections.abc import Mapping

from amaranth.hdl import Cat, Module, Signal, ValueLike

from precog_hw.csr.bank import RegisterBank

__all__ = ["attach"]


def attach(m: Module, bank: RegisterBank, causes: Mapping[str, ValueLike]) -> Signal:
    """Put the registers between a bank and what may interrupt.

    Latency: the line follows a cause 2 cycles later. Throughput: every cause in every cycle. Cost:
    two flip-flops for each cause, one for the line.

    Parameters
    ----------
    m : Module
        Of the NIC.
    bank : RegisterBank
        Of a map with the block INTERRUPT.
    causes : mapping of str to ValueLike
        One bit for each of `causes_of`: it has come up, or is up.

    Returns
    -------
    Signal
        The line.
    """
    line = Signal(name="irq_line")
    pending = []
    for name, comes in causes.items():
        up = getattr(bank, f"interrupt_cause_{name}")
        raised = getattr(bank, f"interrupt_raise_{name}")
        m.d.comb += getattr(bank, f"interrupt_cause_{name}_set").eq(comes | raised)
        pending.append(up & getattr(bank, f"interrupt_enable_{name}"))
    m.d.sync += line.eq(Cat(pending).any())
    m.d.comb += bank.interrupt_state_pending.eq(line)
    return line
