# amaranth: UnusedElaboratable=no
"""What the registers' division refuses; `tests/integration/test_corundum.py` runs it."""

import pytest

from precog_hw.corundum.control import AppControl


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="count of NICs must be 1 or more, not 0"):
        AppControl(0, 16)
    with pytest.raises(ValueError, match="131072 NICs with 16 bits of address must fit 32 bits"):
        AppControl(1 << 17, 16)
