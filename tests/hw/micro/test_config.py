"""What a device with a small processor cannot have besides."""

from dataclasses import replace

import pytest

from precog_hw.config import PRESETS

MICRO = replace(PRESETS["tiny"], laws=0, micro=True)


def test_the_program_has_no_other_laws() -> None:
    with pytest.raises(ValueError, match="laws must be 0 with micro"):
        replace(MICRO, laws=1)


def test_its_clock_always_runs() -> None:
    with pytest.raises(
        ValueError, match="activity must be off in a device with packets, a trace or micro"
    ):
        replace(MICRO, activity=True)
