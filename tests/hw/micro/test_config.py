"""What a device with a small processor cannot have besides."""

from dataclasses import replace

import pytest

from precog_spec.config import PRESETS

MICRO = replace(PRESETS["tiny"], micro=True)


def test_its_clock_always_runs() -> None:
    with pytest.raises(ValueError, match="activity excludes micro, which is on"):
        replace(MICRO, activity=True)
