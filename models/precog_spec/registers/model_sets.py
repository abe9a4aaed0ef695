"""The block MODEL: the loader of model sets, and the map from slots to sets."""

from precog_spec.contract import IMAGE_BYTES
from precog_spec.registers.common import load_registers
from precog_spec.registers.model import Access, Block, Field, Register, Table

__all__ = ["LOAD_STATUS", "model_block"]

RW, RO, W1C = Access.RW, Access.RO, Access.W1C

#: (name, code) of the outcomes of a load, in MODEL.STATUS.code.
LOAD_STATUS: tuple[tuple[str, int], ...] = (
    ("idle", 0),
    ("loading", 1),
    ("ok", 2),
    ("bad_crc", 3),
    ("bad_length", 4),
    ("bad_contract", 5),
    ("bad_header", 6),
    ("set_in_use", 7),
    ("not_begun", 8),
    ("bad_tree", 9),
)


def model_block(sets: int) -> Block:
    """The block of a device whose pool has `sets` sets."""
    number = Field("set", (sets - 1).bit_length(), RW, "Number of a set.")
    return Block(
        "MODEL",
        "Loader of the model sets, and the map from the slots that QPs name to sets.",
        id=0x03,
        version=(1, 1),
        registers=(
            Register(
                "SET",
                "The set that BEGIN takes.",
                (number,),
            ),
            *load_registers("set", IMAGE_BYTES, "while it is mapped"),
            Register(
                "STATUS",
                "What became of the last load.",
                (
                    Field("code", 4, RO, "Outcome.", values=LOAD_STATUS),
                    Field(
                        "busy",
                        1,
                        RO,
                        "A word or a command is being executed: the outcome is not yet seen.",
                        lsb=8,
                    ),
                ),
            ),
            Register(
                "ERROR",
                "What went wrong; each bit stays until 1 is written to it.",
                (
                    Field("load", 1, W1C, "A load failed or was refused."),
                    Field("map", 1, W1C, "A map write was refused.", lsb=1),
                ),
            ),
        ),
        tables=(
            Table(
                "SLOTS",
                "What a QP's model slot stands for. A write is refused, and changes nothing, "
                "when it enables a set that is not valid.",
                (
                    Register(
                        "SLOT",
                        "One entry of the map.",
                        (
                            number,
                            Field("enable", 1, RW, "The slot has a model.", lsb=8),
                        ),
                        affects=("MODEL.ERROR", "COUNTERS.COUNTERS"),
                    ),
                ),
                count=sets,
            ),
            Table(
                "SETS",
                "The pool of model sets.",
                (
                    Register(
                        "SET_STATE",
                        "Whether the set may be mapped.",
                        (Field("valid", 1, RO, "Holds a checked model."),),
                    ),
                    Register(
                        "SET_VERSION",
                        "Version from the image's header.",
                        (Field("version", 32, RO, "Version."),),
                    ),
                ),
                count=sets,
            ),
        ),
    )
