"""The registers of a block that is a window on one row of many, wired to the window's sequencer."""

from typing import Any

from amaranth.hdl import Module

from precog_hw.csr.bank import RegisterBank, port
from precog_spec.registers.model import Register

__all__ = ["connect_window", "show_window"]


def connect_window(
    m: Module,
    bank: RegisterBank,
    block: str,
    config: tuple[Register, ...],
    window: Any,
    commands: tuple[str, ...] = ("fetch", "apply", "clear"),
) -> None:
    """SELECT and COMMAND, and what `show_window` wires.

    Parameters
    ----------
    m : Module
    bank : RegisterBank
    block : str
        The block's name, lower case.
    config : tuple of Register
        What `fetch` replaces and `apply` writes.
    window : wiring.Component
        With the members of `RowWindow`.
    commands : tuple of str
        Fields of COMMAND.
    """
    m.d.comb += window.index.eq(getattr(bank, port(block, "select", "index")))
    for name in commands:
        m.d.comb += getattr(window, name).eq(getattr(bank, port(block, "command", name)))
    show_window(m, bank, block, config, window)


def show_window(
    m: Module, bank: RegisterBank, block: str, config: tuple[Register, ...], window: Any
) -> None:
    """STATE, ERROR and the registers that a fetch replaces; arguments as `connect_window`."""
    m.d.comb += [
        getattr(bank, port(block, "state", "busy")).eq(window.busy),
        getattr(bank, port(block, "error", "range_set")).eq(window.range_error),
        getattr(bank, port(block, "error", "overrun_set")).eq(window.overrun),
    ]
    for register in config:
        m.d.comb += getattr(bank, port(block, register.name, "load")).eq(window.load)
        for field in register.fields:
            name = port(block, register.name, field.name)
            m.d.comb += [
                window.window[field.name].eq(getattr(bank, name)),
                getattr(bank, f"{name}_new").eq(window.loaded[field.name]),
            ]
