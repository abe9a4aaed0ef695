"""The register block of PSCHED: fields of the golden model, resets of the preset."""

import pytest

from precog_models.psched_presets import PSCHED_PRESETS
from precog_spec.config import NicConfig
from precog_spec.law_fields import PSCHED_PARAMETERS
from precog_spec.registers.identity import Identity
from precog_spec.registers.laws import psched_block
from precog_spec.registers.precog import build_map


def test_fields_are_the_parameters() -> None:
    fields = [field for register in psched_block(1000).registers for field in register.fields]
    assert tuple((field.name, field.bits) for field in fields) == PSCHED_PARAMETERS


@pytest.mark.parametrize("tick_ps", [1000, 3999, 8000])
def test_resets_are_the_default_preset(tick_ps: int) -> None:
    preset = PSCHED_PRESETS["precog"].parameters(tick_ps)
    resets = {
        field.name.removeprefix("psched_"): field.reset
        for register in psched_block(tick_ps).registers
        for field in register.fields
    }
    assert resets == preset


def test_no_other_block_has_its_number() -> None:
    ids = [placed.block.id for placed in build_map(NicConfig(), Identity(0)).blocks]
    assert ids.count(psched_block(1000).id) == 1
