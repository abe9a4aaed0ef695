"""The block INTERRUPT: causes that the device's one interrupt line tells the host of."""

from precog_spec.registers.model import Access, Block, Field, Register
from precog_spec.registers.parts import built

__all__ = ["INTERRUPT_CAUSES", "causes_of", "interrupt_block"]

_RO, _RW, _W1C, _PULSE = Access.RO, Access.RW, Access.W1C, Access.PULSE

#: (name, field of `NicConfig` without which there is no such cause, meaning), in the order of bits.
INTERRUPT_CAUSES: tuple[tuple[str, str, str], ...] = (
    ("load", "", "A model load or a write of the model map was refused."),
    ("dropped", "", "A sample of a disabled QP, or of a slot that does not exist, was dropped."),
    ("watchdog", "", "The watchdog's period ended: advice is held."),
    ("trace", "trace", "TRACE.STATE.reached is up; the cause stays while it is."),
    ("ecc", "ecc", "A model set, or a program, had a double error and was disabled."),
    ("icrc", "icrc", "A packet from the wire had a wrong ICRC."),
    ("waiting", "wire", "A packet of wire mode found no room and was dropped."),
    ("trap", "law_cores", "A law's program ended in a trap, and its slot was disabled."),
)


def causes_of(sizes: object) -> tuple[str, ...]:
    """Causes that a device of this `NicConfig` can have."""
    return tuple(name for name, part, _ in INTERRUPT_CAUSES if built(sizes, part))


def interrupt_block(sizes: object) -> Block:
    """The block.

    Parameters
    ----------
    sizes : NicConfig
    """
    known = causes_of(sizes)

    def fields(access: Access, what: str = "") -> tuple[Field, ...]:
        return tuple(
            Field(name, 1, access, what or doc, lsb=bit)
            for bit, (name, _, doc) in enumerate(INTERRUPT_CAUSES)
            if name in known
        )

    return Block(
        "INTERRUPT",
        "The output `irq` is up while a cause is up that ENABLE lets through. Causes come up "
        "whether enabled or not; a device's bits have the same places in every configuration.",
        id=0x44,
        version=(1, 0),
        registers=(
            Register(
                "CAUSE", "What happened; each bit stays until 1 is written to it.", fields(_W1C),
                volatile=True,
            ),
            Register(
                "ENABLE", "What interrupts the host; nothing after reset.",
                fields(_RW, "It interrupts."),
            ),
            Register(
                "RAISE", "Brings causes up, to try what is behind the line.",
                fields(_PULSE, "Bring it up."),
            ),
            Register(
                "STATE", "The line.",
                (Field("pending", 1, _RO, "A cause is up that is enabled: so is `irq`."),),
                volatile=True,
            ),
        ),
    )  # fmt: skip
