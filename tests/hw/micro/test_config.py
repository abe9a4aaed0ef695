"""What a device with a small processor cannot have besides."""

from dataclasses import replace

import pytest

from precog_spec.config import PRESETS

MICRO = replace(PRESETS["tiny"], laws=False, micro=True)


def test_the_program_has_no_other_laws() -> None:
    with pytest.raises(ValueError, match="micro excludes laws, which is on"):
        replace(MICRO, laws=True)


def test_its_clock_always_runs() -> None:
    with pytest.raises(
        ValueError, match=r"activity excludes (width|trace|micro|law_cores), which is on"
    ):
        replace(MICRO, activity=True)
