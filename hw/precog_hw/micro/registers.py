"""The registers that the program reads: where they are, and which of their bits a parameter is."""

from collections.abc import Mapping

from precog_hw.regmap.model import WORD_BYTES, Field, RegisterMap
from precog_hw.regmap.precog import Sizes

__all__ = ["Place", "parameter_places"]


class Place(tuple[int, Field]):
    """Address of a register, in words, and a field of it."""

    __slots__ = ()

    def __new__(cls, word: int, field: Field) -> "Place":
        return super().__new__(cls, (word, field))


def parameter_places(regmap: RegisterMap) -> Mapping[str, Place]:
    """Every parameter of the core by its field's name."""
    blocks = Sizes().parameter_blocks
    return {
        field.name: Place(word.address // WORD_BYTES, field)
        for word in regmap.words()
        if word.block.name in blocks and word.register is not None
        for field in word.register.fields
    }
