"""A small register map with what the real ones do not have side by side."""

from precog_spec.registers.model import Access, Block, Field, Register, RegisterMap, Table

__all__ = ["SMALL"]

#: Every access kind, a loadable register, tables of odd counts and strides.
SMALL = RegisterMap(
    (
        Block(
            "A",
            "First.",
            id=7,
            version=(1, 2),
            registers=(
                Register(
                    "MIX",
                    "All kinds in one word.",
                    (
                        Field("rw", 5, Access.RW, "s", lsb=1, reset=0x13, signed=True),
                        Field("ro", 6, Access.RO, "s", lsb=8),
                        Field("w1c", 4, Access.W1C, "s", lsb=16),
                        Field("pulse", 3, Access.PULSE, "s", lsb=29),
                    ),
                ),
                Register(
                    "LOADED", "s", (Field("value", 32, Access.RW, "s", reset=9),), loadable=True
                ),
            ),
            tables=(
                Table("T", "s", (Register("E", "s", (Field("e", 9, Access.RW, "s"),)),), count=5),
                Table(
                    "U",
                    "s",
                    tuple(Register(name, "s", (Field("v", 32, Access.RO, "s"),)) for name in "XYZ"),
                    count=3,
                ),
            ),
        ),
        Block("B", "Last.", id=9, version=(3, 0), registers=()),
    )
)
