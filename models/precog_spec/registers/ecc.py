"""The block ECC: SECDED of the model sets' stored words, its walk, its counters, its test.

It stands in the map of a NIC with `NicConfig.ecc`. The code, and where words lie, are those of
`precog_spec.secded`.
"""

from precog_spec.registers.common import counter_registers
from precog_spec.registers.model import Access, Block, Field, Register, Table

__all__ = ["ECC_EVENTS", "ecc_block"]

_RO, _RW, _W1C, _PULSE = Access.RO, Access.RW, Access.W1C, Access.PULSE

#: (name, doc) of the 64-bit counters, in table order.
ECC_EVENTS: tuple[tuple[str, str], ...] = (
    ("scrubbed", "pairs of stored words that the walk checked"),
    ("passes", "times that the walk came to its end"),
    ("corrected", "errors of one bit, corrected"),
    ("uncorrectable", "errors of two bits: the set was disabled"),
    ("injected", "errors that the host injected"),
    ("refused", "commands that were refused"),
)


def _place(access: Access, tree: bool) -> tuple[Field, ...]:
    third = Field("tree", 1, access, "The copy of rows 0..30 in the trees' memory.", lsb=25)
    return (
        Field("set", 8, access, "Set."),
        Field("word", 4, access, "Word of its row; of a double error the pair's even one.", lsb=8),
        Field("row", 5, access, "Row of the image.", lsb=12),
        Field("second", 1, access, "The copy of rows 24..26 next to the MAC array.", lsb=17),
        *((third,) if tree else ()),
    )


def ecc_block(sets: int, *, tree: bool = False) -> Block:
    """The block.

    Parameters
    ----------
    sets : int
        Model sets.
    tree : bool
        Sets may hold trees.
    """
    return Block(
        "ECC",
        "Two stored words with 64 data bits have 8 check bits. A walk over all valid sets corrects "
        "errors of one bit; one of two bits makes the set invalid and disables the slots that "
        "stand for it, so that their QPs run the base law, until a model is loaded again.",
        id=0x43,
        version=(1, 0),
        registers=(
            Register(
                "CONTROL",
                "The walk.",
                (
                    Field("enable", 1, _RW, "Walk all the time.", reset=1),
                    Field("period", 16, _RW, "Pause between pairs.", lsb=16, reset=1024,
                          unit="cycles"),
                ),
            ),
            Register(
                "COMMAND",
                "Wait until STATE.busy is 0; a command while busy is refused.",
                (
                    Field("scrub", 1, _PULSE, "Walk once over all valid sets, without pauses, "
                          "whether enabled or not."),
                    Field("inject", 1, _PULSE, "Flip the bits FLIPS of the stored word PLACE, and "
                          "check its pair, before the next inference begins; refused where there "
                          "is no such word or the set is not valid.", lsb=1),
                ),
            ),
            Register("PLACE", "Where to inject.", _place(_RW, tree)),
            Register(
                "FLIPS",
                "What to inject; bits 0..31 are data, 32..35 check bits, others none.",
                (
                    Field("first", 6, _RW, "A bit."),
                    Field("other", 6, _RW, "Another bit.", lsb=8),
                    Field("double", 1, _RW, "Flip both.", lsb=16),
                ),
            ),
            Register("STATE", "Commands.", (Field("busy", 1, _RO, "One is being executed."),)),
            Register(
                "ERROR",
                "What happened; each bit stays until 1 is written to it.",
                (
                    Field("corrected", 1, _W1C, "An error of one bit was corrected."),
                    Field("uncorrectable", 1, _W1C, "A set was disabled.",
                          lsb=1),
                    Field("refused", 1, _W1C, "A command was refused.", lsb=2),
                ),
            ),
            Register(
                "LAST",
                "The last error.",
                (
                    *_place(_RO, tree),
                    Field("bit", 6, _RO, "The bit that was corrected.", lsb=18),
                    Field("double", 1, _RO, "It could not be: the set was disabled.", lsb=24),
                    Field("any", 1, _RO, "There was one since reset.", lsb=31),
                ),
            ),
        ),
        tables=(
            Table(
                "SETS",
                "The pool of model sets.",
                (
                    Register(
                        "SET_ERRORS",
                        "Errors of one set.",
                        (
                            Field("corrected", 16, _RO, "Since reset; does not wrap."),
                            Field("disabled", 1, _RO, "Disabled, and not loaded since.", lsb=16),
                        ),
                    ),
                ),
                count=sets,
            ),
            Table(
                "COUNTERS",
                "Events since reset, as of the last COUNTERS.COMMAND.snapshot: "
                + "; ".join(f"{n} {name}" for n, (name, _) in enumerate(ECC_EVENTS)),
                counter_registers(),
                count=len(ECC_EVENTS),
            ),
        ),
    )  # fmt: skip
