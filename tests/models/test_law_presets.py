"""Presets of the laws: those of the float references, and what does not fit a format."""

import dataclasses

import pytest

from precog_models.law_presets import DCQCN_PRESETS, TIMELY_PRESETS, DcqcnPreset, TimelyPreset
from precog_models.rate.reference import dcqcn, timely
from precog_spec.law_fields import DCQCN_PARAMETERS, TIMELY_PARAMETERS


@pytest.mark.parametrize("tick_ps", [1000, 4000, 8000])
def test_every_preset_fits_its_fields(tick_ps: int) -> None:
    for fields, presets in (
        (TIMELY_PARAMETERS, TIMELY_PRESETS),
        (DCQCN_PARAMETERS, DCQCN_PRESETS),
    ):
        for preset in presets.values():  # type: ignore[attr-defined]
            values = preset.parameters(tick_ps)
            assert list(values) == [name for name, _ in fields]
            assert all(0 <= values[name] < 1 << bits for name, bits in fields)


@pytest.mark.parametrize("name", [name for name in TIMELY_PRESETS if name != "precog"])
def test_timely_constants_are_the_references(name: str) -> None:
    preset, reference = TIMELY_PRESETS[name], timely.PRESETS[name]
    assert preset.variant.name.lower() == reference.form
    for field in ("alpha", "beta", "low_us", "high_us", "min_rtt_us", "hai_count"):
        assert getattr(preset, field) == getattr(reference, field), field
    assert preset.ai_mbps * 1e6 == reference.ai_bps
    assert preset.hai_mbps * 1e6 == reference.hai_bps
    if reference.form == "patched":
        assert (preset.reference_us, preset.slope) == (reference.reference_us, reference.slope)


@pytest.mark.parametrize("name", DCQCN_PRESETS)
def test_dcqcn_constants_are_the_references(name: str) -> None:
    preset, reference = DCQCN_PRESETS[name], dcqcn.PRESETS[name]
    for field in dataclasses.fields(preset):
        mine = getattr(preset, field.name)
        if field.name.endswith("mbps"):
            assert mine * 1e6 == getattr(reference, field.name.replace("mbps", "bps"))
        else:
            assert mine == getattr(reference, field.name), field.name


def test_integers_of_the_formats() -> None:
    values = TimelyPreset().parameters(1000)
    assert (values["alpha"], values["min_rtt"]) == (335544, 4180)
    assert values["ai"] == 209715  # 100 Mb/s = 0.0125 bytes per ns, times 2**24
    assert TimelyPreset().parameters(8000)["min_rtt"] == 522
    assert DcqcnPreset().parameters(1000)["g"] == 65536


@pytest.mark.parametrize(
    ("preset", "message"),
    [
        (TimelyPreset(alpha=1.0), r"alpha must be in \[0, 1\), not 1.0"),
        (TimelyPreset(high_us=20_000.0), r"high_us must be in 0\.\.16777215 ticks, not 20000000"),
        (DcqcnPreset(ai_mbps=3e6), "ai_mbps must be a rate below 256 bytes per tick, not 3000000"),
    ],
)
def test_refused(preset: TimelyPreset | DcqcnPreset, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        preset.parameters(1000)
