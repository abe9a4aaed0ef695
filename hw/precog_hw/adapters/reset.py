"""The block RESET, wired, as far as it concerns the core; other parts' bits are with their windows.

::

    COMMAND ─┬─► laws: a sweep of `QpWindow` ─────────────► core, QP by QP ─┐
             └─► predictor: a command between two of those ► core ──────────┴─► STATE
"""

from amaranth.hdl import Module, Value

from precog_hw.csr.bank import RegisterBank
from precog_hw.csr.qp import QpWindow

__all__ = ["attach"]


def attach(m: Module, bank: RegisterBank, window: QpWindow) -> Value:
    """Connect the resets that are commands of the core.

    Latency: a part begins in the cycle of the write; STATE tells it from the next one on. Cost:
    none of its own.

    Parameters
    ----------
    m : Module
        Of the NIC.
    bank : RegisterBank
        Of a map with the block RESET.
    window : QpWindow

    Returns
    -------
    Value
        One of them is under way.
    """
    m.d.comb += [
        window.sweep.eq(bank.reset_command_laws),
        window.forget.eq(bank.reset_command_predictor),
        bank.reset_state_laws.eq(window.sweeping),
        bank.reset_state_predictor.eq(window.forgetting),
    ]
    return window.sweeping | window.forgetting
