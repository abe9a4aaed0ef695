"""The block ECC: SECDED of stored words of model sets and programs: walks, counters, a test.

It stands in the map of a NIC with `NicConfig.ecc`. The code, and where words lie, are those of
`precog_spec.secded`.
"""

from precog_spec.registers.common import counter_registers
from precog_spec.registers.model import Access, Block, Field, Register, Table

__all__ = ["ECC_BANKS", "ecc_block", "ecc_events"]

_RO, _RW, _W1C, _PULSE = Access.RO, Access.RW, Access.W1C, Access.PULSE

#: Banks of the law engine's programs.
ECC_BANKS = 8

_EVENTS: tuple[tuple[str, str], ...] = (
    ("scrubbed", "pairs of stored words, and words of programs, that were checked"),
    ("passes", "times that a walk, over sets or over programs, came to its end"),
    ("corrected", "errors of one bit, corrected"),
    ("uncorrectable", "errors of two bits: the set, or the program, was disabled"),
    ("injected", "errors that the host injected"),
    ("refused", "commands that were refused"),
)
_HELD = ("held", "events that needed a damaged word of their program: their rate was held")


def ecc_events(*, programs: bool) -> tuple[tuple[str, str], ...]:
    """(name, doc) of the 64-bit counters, in table order; `programs` have check bits, too."""
    return (*_EVENTS, *((_HELD,) if programs else ()))


def _place(access: Access, tree: bool) -> tuple[Field, ...]:
    third = Field("tree", 1, access, "The copy of rows 0..30 in the trees' memory.", lsb=25)
    return (
        Field("set", 8, access, "Set."),
        Field("word", 4, access, "Word of its row; of a double error the pair's even one.", lsb=8),
        Field("row", 5, access, "Row of the image.", lsb=12),
        Field("second", 1, access, "The copy of rows 24..26 next to the MAC array.", lsb=17),
        *((third,) if tree else ()),
    )


def _program_place(access: Access) -> tuple[Field, ...]:
    return (
        Field("word", 11, access, "Word of the program: 0..1023 instructions, 1024..1535 words of "
              "slot memory, 1536..1541 where each kind of event begins."),
        Field("half", 1, access, "0: its data bits 0..31 and check bits 0..3; 1: data bits 32..47 "
              "and check bits 4..7.", lsb=11),
        Field("bank", 3, access, "Bank of the program.", lsb=12),
        Field("core", 3, access, "Core whose copy it is.", lsb=16),
    )  # fmt: skip


def _program_registers() -> tuple[Register, ...]:
    """Where a program's word is, in an injection and in the last error."""
    return (
        Register("PROGRAM", "Where to inject into a program.", _program_place(_RW)),
        Register(
            "PROGRAM_LAST",
            "The last error in a program.",
            (
                *_program_place(_RO),
                Field("bit", 6, _RO, "The bit of the half that was corrected.", lsb=20),
                Field("double", 1, _RO, "It could not be: the program was disabled.", lsb=26),
                Field("any", 1, _RO, "There was one since reset.", lsb=31),
            ),
        ),
    )


def _errors(table: str, register: str, one: str, doc: str, count: int) -> Table:
    """Errors of each set, or program."""
    return Table(
        table,
        doc,
        (
            Register(
                register,
                f"Errors of one {one}.",
                (
                    Field("corrected", 16, _RO, "Since reset; does not wrap."),
                    Field("disabled", 1, _RO, "Disabled, and not loaded since.", lsb=16),
                ),
            ),
        ),
        count=count,
    )


def ecc_block(sets: int, *, tree: bool = False, programs: bool = False) -> Block:
    """The block.

    Parameters
    ----------
    sets : int
        Model sets.
    tree : bool
        Sets may hold trees.
    programs : bool
        There is a law engine.
    """
    inject = Field("inject_program", 1, _PULSE, "Flip the bits FLIPS of PROGRAM, and check the "
                   "word; refused where there is no such word or core or the bank is not valid. "
                   "Events that need the word meanwhile hold their rate.", lsb=2)  # fmt: skip
    events = ecc_events(programs=programs)
    return Block(
        "ECC",
        "Two stored words with 64 data bits have 8 check bits. A walk over all valid sets corrects "
        "errors of one bit; one of two bits makes the set invalid and disables the slots that "
        "stand for it, so that their QPs run the base law, until a model is loaded again. Words of "
        "the law engine's programs have 8 check bits each. Events compare those that they use, and "
        "hold their rate where one is damaged. One bit is corrected; two bits make the bank "
        "invalid and disable its slots, so that their QPs run the safe law.",
        id=0x43,
        version=(1, 1),
        registers=(
            Register(
                "CONTROL",
                "The walk.",
                (
                    Field("enable", 1, _RW, "Walk all the time.", reset=1),
                    Field("period", 16, _RW, "Pause after a pair and a word.", lsb=16, reset=1024,
                          unit="cycles"),
                ),
            ),
            Register(
                "COMMAND",
                "Wait until STATE.busy is 0; a command while busy is refused.",
                (
                    Field("scrub", 1, _PULSE, "Walk once over all valid sets and programs, without "
                          "pauses, whether enabled or not."),
                    Field("inject", 1, _PULSE, "Flip the bits FLIPS of the stored word PLACE, and "
                          "check its pair, before the next inference begins; refused where there "
                          "is no such word or the set is not valid.", lsb=1),
                    *((inject,) if programs else ()),
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
                    Field("uncorrectable", 1, _W1C, "A set or a program was disabled.", lsb=1),
                    Field("refused", 1, _W1C, "A command was refused.", lsb=2),
                ),
            ),
            Register(
                "LAST",
                "The last error in a set.",
                (
                    *_place(_RO, tree),
                    Field("bit", 6, _RO, "The bit that was corrected.", lsb=18),
                    Field("double", 1, _RO, "It could not be: the set was disabled.", lsb=24),
                    Field("any", 1, _RO, "There was one since reset.", lsb=31),
                ),
            ),
            *(_program_registers() if programs else ()),
        ),
        tables=(
            _errors("SETS", "SET_ERRORS", "set", "The pool of model sets.", sets),
            *(
                (_errors("PROGRAMS", "PROGRAM_ERRORS", "program", "Banks of programs.", ECC_BANKS),)
                if programs
                else ()
            ),
            Table(
                "COUNTERS",
                "Events since reset, as of the last COUNTERS.COMMAND.snapshot: "
                + "; ".join(f"{n} {name}" for n, (name, _) in enumerate(events)),
                counter_registers(),
                count=len(events),
            ),
        ),
    )  # fmt: skip
