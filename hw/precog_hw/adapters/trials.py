"""The blocks TRIALS and TRIAL_SUMS, wired: what a trial has found goes to registers at once.

::

    TRIAL_SUMS.COMMAND ─► [copy of one trial's sums] ─► TRIAL_SUMS
    RESET.COMMAND ──────► core ─► RESET.STATE
"""

from amaranth.hdl import Module, Signal

from precog_hw.core import Core
from precog_hw.csr.bank import RegisterBank, port
from precog_hw.rate.trials import FOUND
from precog_spec.registers.trials import TRIAL_SUMS
from precog_spec.trial_fields import TRIAL_KINDS

__all__ = ["attach"]


def attach(m: Module, bank: RegisterBank, core: Core) -> None:
    """Connect the read-out and the reset; `host.parameters` has the parameters.

    Parameters
    ----------
    m : Module
        Of the NIC.
    bank : RegisterBank
        Of a map with the blocks.
    core : Core
        With trials.
    """
    found = Signal(FOUND, name="trial_found")
    for kind in TRIAL_KINDS:
        with m.If(getattr(bank, port("trial_sums", "command", f"fetch_{kind}"))):
            m.d.sync += found.eq(getattr(core, f"found_{kind}"))
    words = {"verdict": found.verdict}
    for name, arm in (("follow", found.follow), ("hold", found.hold)):
        words[f"{name}_count"] = arm.count
        for part in ("delay", "rate"):
            words[f"{name}_{part}_low"] = arm[part][:32]
            words[f"{name}_{part}_high"] = arm[part][32:]
    for register in TRIAL_SUMS:
        for field in register.fields:
            value = getattr(bank, port("trial_sums", register.name, field.name))
            m.d.comb += value.eq(words[field.name])
    m.d.comb += [
        core.trial_clear.eq(bank.reset_command_trials),
        bank.reset_state_trials.eq(core.trial_clearing),
    ]
