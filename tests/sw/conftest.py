"""Fixtures of the host's tests: a device on every transport."""

from collections.abc import Iterator

import pytest

from precog_host.device import Device

# One worker elaborates the RTL, once.
URIS = [
    pytest.param("emu:qps=8,sets=4", id="emu"),
    pytest.param("sim:tiny", id="sim", marks=[pytest.mark.cosim, pytest.mark.xdist_group("tiny")]),
]


@pytest.fixture(params=URIS)
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    """A fresh device."""
    with Device.open(request.param) as opened:
        yield opened


@pytest.fixture
def emulated() -> Iterator[Device]:
    """A fresh device of golden models: 8 QPs, 4 sets."""
    with Device.open("emu:qps=8,sets=4") as opened:
        yield opened
