"""Presets of programs that the float references have: the same constants."""

import dataclasses
from collections.abc import Mapping

import pytest
from tests.models.laws.law_bench import compiled

from precog_models.rate.reference import dcqcn, timely

_TIMELY, _DCQCN = (compiled(name).law for name in ("timely", "dcqcn"))
_FORMS = ("source", "ns3", "patched")
_TICKS = {"alpha_ticks": "alpha_us", "cut_ticks": "cut_us", "rate_ticks": "rate_us"}


def _values(name: str, preset: str) -> Mapping[str, float]:
    law = compiled(name).law
    defaults = {one.name: one.default for one in law.parameters if not one.length}
    return defaults | dict(law.presets[preset].values)


def test_the_same_presets() -> None:
    assert set(_TIMELY.presets) - {"precog"} == set(timely.PRESETS)
    assert set(dcqcn.PRESETS) - {"ns3-paper-timers"} == set(_DCQCN.presets)


@pytest.mark.parametrize("name", timely.PRESETS)
def test_timely_constants_are_the_references(name: str) -> None:
    preset, reference = _values("timely", name), timely.PRESETS[name]
    assert _FORMS[int(preset["variant"])] == reference.form
    for field in ("alpha", "beta", "hai_count"):
        assert preset[field] == getattr(reference, field), field
    for field in ("low", "high", "min_rtt"):
        assert preset[field] == getattr(reference, f"{field}_us"), field
    assert preset["ai"] * 1e6 == reference.ai_bps
    assert preset["hai"] * 1e6 == reference.hai_bps
    if reference.form == "patched":
        assert (preset["reference"], preset["slope"]) == (reference.reference_us, reference.slope)


@pytest.mark.parametrize("name", _DCQCN.presets)
def test_dcqcn_constants_are_the_references(name: str) -> None:
    preset, reference = _values("dcqcn", name), dcqcn.PRESETS[name]
    known = {field.name for field in dataclasses.fields(reference)}
    for field, value in preset.items():
        mine = _TICKS.get(field, field)
        if mine in known:
            assert value == getattr(reference, mine), field
        else:
            assert value * 1e6 == getattr(reference, f"{mine}_bps"), field
