"""The block RESET: parts of a running device that the host brings back to where they began."""

from precog_spec.registers.model import Access, Block, Field, Register
from precog_spec.registers.parts import built
from precog_spec.registers.snapshot import counter_tables

__all__ = ["RESET_BLOCKS", "reset_block", "resets_of"]

_RO, _PULSE = Access.RO, Access.PULSE

#: (name, field of `NicConfig` without which there is no such part, what its reset does), in order
#: of bits.
RESET_BLOCKS: tuple[tuple[str, str, str], ...] = (
    ("laws", "", "QP.COMMAND.clear on every QP: laws start from their initial rates."),
    ("predictor", "", "The LSTM engine and all contexts; models and their map stay."),
    ("counters", "", "All 64-bit counters and their snapshot start from 0, but for PACKET.CLOCK."),
    ("rtt", "width", "PACKET_QP.COMMAND.clear on every QP: no packet is timed, no echo is due."),
    ("statistics", "destinations", "DESTINATION.COMMAND.clear on every destination."),
    ("profiler", "profile", "PROFILER.COMMAND.clear on every QP; what is queued stays counted."),
    ("receiver", "receiver", "No QP has a band; priorities and quotas are as configured."),
    ("trace", "trace", "The FIFO is empty, and its next record is number 0."),
    ("trials", "trials", "Both trials have counted nothing, and have no verdict."),
)


def resets_of(sizes: object) -> tuple[str, ...]:
    """Parts with a reset that a device of this `NicConfig` has."""
    return tuple(name for name, part, _ in RESET_BLOCKS if built(sizes, part))


def reset_block(sizes: object) -> Block:
    """The block.

    Parameters
    ----------
    sizes : NicConfig
    """
    known = resets_of(sizes)

    def fields(access: Access, what: str = "") -> tuple[Field, ...]:
        return tuple(
            Field(name, 1, access, what or doc, lsb=bit)
            for bit, (name, _, doc) in enumerate(RESET_BLOCKS)
            if name in known
        )

    return Block(
        "RESET",
        "Resets of parts while packets and samples flow: none is lost, and every decision that is "
        "owed is made. Bits have the same places in every configuration.",
        id=0x45,
        version=(1, 0),
        registers=(
            Register(
                "COMMAND",
                "Begins resets; one that is under way begins anew. Wait until STATE is 0.",
                fields(_PULSE),
                affects=(
                    *counter_tables(sizes),
                    *(("TRACE.STATE", "TRACE.RECORDS") if "trace" in known else ()),
                ),
            ),
            Register(
                "STATE", "Resets under way.", fields(_RO, "Not done yet."), volatile=True
            ),
        ),
    )  # fmt: skip
