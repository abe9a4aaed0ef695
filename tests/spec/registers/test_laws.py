"""The register blocks of the laws: fields of the golden models, resets of the presets."""

import pytest

from precog_models.law_presets import DCQCN_PRESETS, PSCHED_PRESETS, TIMELY_PRESETS
from precog_spec.config import NicConfig
from precog_spec.law_fields import DCQCN_PARAMETERS, PSCHED_PARAMETERS, TIMELY_PARAMETERS, Variant
from precog_spec.registers.identity import Identity
from precog_spec.registers.laws import dcqcn_block, fixed_law_blocks, psched_block, timely_block
from precog_spec.registers.model import Block
from precog_spec.registers.precog import build_map


def _fields(block: Block) -> dict[str, int]:
    """Width by the name without the law's."""
    return {
        field.name.removeprefix(f"{block.name.lower()}_"): field.bits
        for register in block.registers
        for field in register.fields
    }


def test_fields_are_the_parameters() -> None:
    assert tuple(_fields(timely_block(1000)).items()) == TIMELY_PARAMETERS
    assert tuple(_fields(dcqcn_block(1000)).items()) == DCQCN_PARAMETERS
    scheduler = _fields(psched_block(1000)).items()
    assert tuple((f"psched_{name}", bits) for name, bits in scheduler) == PSCHED_PARAMETERS
    values = timely_block(1000).register("VARIANT").field("timely_variant").values
    assert values == tuple((variant.name.lower(), int(variant)) for variant in Variant)


@pytest.mark.parametrize("tick_ps", [1000, 3999, 8000])
def test_resets_are_the_default_presets(tick_ps: int) -> None:
    for block, preset in (
        (timely_block(tick_ps), TIMELY_PRESETS["precog"].parameters(tick_ps)),
        (dcqcn_block(tick_ps), DCQCN_PRESETS["vendor"].parameters(tick_ps)),
        (psched_block(tick_ps), PSCHED_PRESETS["precog"].parameters(tick_ps)),
    ):
        resets = [f.reset for register in block.registers for f in register.fields]
        assert resets == [preset[name] for name in _fields(block)]


def test_no_other_block_has_their_numbers() -> None:
    ours = {block.name: block.id for block in (*fixed_law_blocks(1000), psched_block(1000))}
    placed = [placed.block for placed in build_map(NicConfig(), Identity(0)).blocks]
    others = {block.id for block in placed if block.name not in ours}
    assert len(set(ours.values()) | others) == len(ours) + len(others)
