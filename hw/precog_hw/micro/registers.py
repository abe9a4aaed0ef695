"""The registers that the program reads: where they are, and which of their bits a parameter is."""

from collections.abc import Mapping
from dataclasses import dataclass

from precog_spec.config import NicConfig
from precog_spec.registers.model import WORD_BYTES, Field, RegisterMap

__all__ = ["Place", "parameter_places"]


@dataclass(frozen=True)
class Place:
    """A field of a register.

    Attributes
    ----------
    word : int
        Address of the register, in words.
    field : Field
    others : int
        Bits of the register's other fields.
    """

    word: int
    field: Field
    others: int = 0


def parameter_places(regmap: RegisterMap) -> Mapping[str, Place]:
    """Every parameter of the core by its field's name."""
    blocks = NicConfig().parameter_blocks
    return {
        field.name: Place(
            word.address // WORD_BYTES,
            field,
            sum(other.mask for other in word.register.fields if other is not field),
        )
        for word in regmap.words()
        if word.block.name in blocks and word.register is not None
        for field in word.register.fields
    }
