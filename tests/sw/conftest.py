"""Fixtures of the host's tests: a device on every transport."""

from collections.abc import Iterator

import pytest
from tests.command_line import Ran, Run, ran

from precog_host.device import Device
from precog_host.emulator.opening import open_emulator

from .links import LoggedCard, linked

_EMULATED = "qps=8,sets=4"
# One worker elaborates the RTL, once.
URIS = [
    pytest.param("emu", id="emu"),
    pytest.param("sim", id="sim", marks=[pytest.mark.cosim, pytest.mark.xdist_group("tiny")]),
    *(pytest.param(link, id=link) for link in ("pci", "uart", "udp")),
]


@pytest.fixture(params=URIS)
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    """A fresh device."""
    if request.param in ("emu", "sim"):
        uri = f"emu:{_EMULATED}" if request.param == "emu" else "sim:tiny"
        with Device.open(uri) as opened:
            yield opened
        return
    if request.node.get_closest_marker("variants") and request.config.getoption("--volume") < 2:
        pytest.skip("links run variants of one case only with --volume 2")
    with linked(request.param, open_emulator(_EMULATED)) as link, Device(link) as opened:
        yield opened


@pytest.fixture
def refuses(request: pytest.FixtureRequest) -> bool:
    """Whether the link tells that an access was refused: PCI Express has no such answer."""
    return "pci" not in request.node.callspec.id


@pytest.fixture
def emulated() -> Iterator[Device]:
    """A fresh device of golden models: 8 QPs, 4 sets."""
    with Device.open(f"emu:{_EMULATED}") as opened:
        yield opened


@pytest.fixture
def card() -> LoggedCard:
    """A fresh emulated card that remembers every write."""
    return LoggedCard()


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command line with the words given."""

    def go(*words: str) -> Ran:
        return ran(capsys, *words)

    return go
