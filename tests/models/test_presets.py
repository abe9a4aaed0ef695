"""Law presets: their integers, and that float law, golden law and register map agree on them."""

import pytest

from precog_models.nic import PARAMETERS
from precog_models.presets import LAW_PRESETS, LawPreset, law_preset
from precog_models.rate.reference import pid
from precog_spec.config import NicConfig
from precog_spec.registers.identity import Identity
from precog_spec.registers.precog import build_map
from precog_spec.registers.qp import QP_CONFIG


def test_thesis_integers() -> None:
    values = law_preset("thesis").parameters(1000)
    assert [values[name] for name in ("kp", "ki", "kd")] == [-2933, -492, 328]
    assert (values["dmin"], values["dmax"]) == (-39322, 32768)
    assert values["advice_clamp"] == 0
    config = law_preset("thesis").configuration(1000)
    assert (config["target_mode"], config["target"]) == (0, 5000 << 8)


def test_precog_integers() -> None:
    values = law_preset("precog").parameters(2000)
    assert values["kd"] == -328
    assert (values["advice_clamp"], values["advice_limit"]) == (1, 1 << 14)
    assert values["queue_budget"] == 400 << 8
    config = law_preset("precog").configuration(2000)
    assert config["target_mode"] == 1
    assert config["max_rate"] == 25 << 24  # 100 Gb/s are 25 bytes in 2 ns


def test_the_precog_preset_never_raises_the_rate_against_a_rising_rtt() -> None:
    preset = law_preset("precog")
    assert max(preset.kp, preset.ki, preset.kd) <= 0
    assert preset.advice_limit == 0.25


@pytest.mark.parametrize("name", LAW_PRESETS)
def test_the_float_law_has_the_same_constants(name: str) -> None:
    mine, other = law_preset(name), pid.PRESETS[name]
    assert (mine.kp, mine.ki, mine.kd) == (other.kp, other.ki, other.kd)
    assert (mine.dmin, mine.dmax) == (other.step_min, other.step_max)
    assert (mine.target_us, mine.queue_budget_us) == (other.target_us, other.budget_us)
    assert (mine.rttch_threshold, mine.base_window_us) == (
        other.adjuster_count,
        other.base_window_us,
    )


def test_the_registers_reset_to_the_precog_preset() -> None:
    regmap = build_map(NicConfig(), Identity(0))
    resets = {
        field.name: field.get(field.reset << field.lsb)
        for block in NicConfig(laws=False).parameter_blocks
        for register in regmap.block(block).registers
        for field in register.fields
    }
    assert resets == law_preset("precog").parameters(1000)


@pytest.mark.parametrize("name", LAW_PRESETS)
def test_names_and_widths_are_those_of_the_registers(name: str) -> None:
    parameters = law_preset(name).parameters(1000)
    assert tuple(parameters) == PARAMETERS[: len(parameters)]
    fields = {field.name: field for register in QP_CONFIG for field in register.fields}
    for key, value in law_preset(name).configuration(1000).items():
        assert fields[key].min <= value <= fields[key].max


def test_unknown_preset() -> None:
    with pytest.raises(ValueError, match="law preset must be one of thesis, precog, not 'x'"):
        law_preset("x")


def test_no_advice_limit_turns_the_clamp_off() -> None:
    assert LawPreset(advice_limit=None).parameters(1000)["advice_clamp"] == 0
