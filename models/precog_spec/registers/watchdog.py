"""Register block of the watchdog, by which the host says that it is alive."""

from precog_spec.registers.model import Access, Block, Field, Register

__all__ = ["watchdog_block"]


def watchdog_block() -> Block:
    """The block."""
    return Block(
        "WATCHDOG",
        "Holds advice of every kind unless the host kicks it in time: without the host's care of "
        "models and scores, the base laws decide alone.",
        id=0x16,
        version=(1, 0),
        registers=(
            Register(
                "PERIOD",
                "Longest time between two kicks; 0: there is no watchdog. Time is clock cycles, a "
                "tick each where packets flow.",
                (Field("period", 32, Access.RW, "Period.", unit="ticks"),),
                affects=("WATCHDOG.STATE",),
            ),
            Register(
                "COMMAND",
                "What the host says.",
                (Field("kick", 1, Access.PULSE, "It is alive."),),
            ),
            Register(
                "STATE",
                "Whether advice is held.",
                (Field("expired", 1, Access.RO, "The period has passed without a kick."),),
                volatile=True,
            ),
        ),
    )
