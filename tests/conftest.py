"""Shared fixtures: every random test takes its seed from here and prints it."""

import functools
import gc
import random
import warnings
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from amaranth.hdl import UnusedElaboratable

# A first call compiles for seconds: how long an example takes says nothing.
hypothesis.settings.register_profile("precog", deadline=None)
hypothesis.settings.load_profile("precog")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seed", type=int, default=None, help="seed of every random test")
    parser.addoption("--captures", type=Path, default=None, help="folder of RoCEv2 captures")
    parser.addoption(
        "--volume", type=int, default=1, help="times the packets or events of a volume test"
    )


@functools.cache
def _constructs_only(path: Path) -> bool:
    """Whether a file's first line tells Amaranth that it constructs what it does not elaborate."""
    with path.open() as file:
        return file.readline().startswith("# amaranth: UnusedElaboratable=no")


@pytest.fixture(autouse=True)
def _collected(request: pytest.FixtureRequest) -> Iterator[None]:
    """Frees what such a file constructed before another file's test would warn of it.

    Amaranth asks the file that constructs a component, so a component's children, which the
    gateware's files construct, warn nevertheless: whenever they happen to be freed.
    """
    if not _constructs_only(request.path):
        yield
        return
    gc.disable()  # what the test makes stays in the youngest generation, quick to go through
    try:
        yield
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnusedElaboratable)
            gc.collect(0)
    finally:
        gc.enable()


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """The run's random seed: --seed, or a fresh one; shown when a test fails."""
    value = request.config.getoption("--seed")
    if value is None:
        value = random.SystemRandom().randrange(2**32)
    print(f"seed: {value} (repeat with --seed {value})")
    return int(value)


@pytest.fixture
def captures(request: pytest.FixtureRequest) -> list[Path]:
    """Captures that a user brings with --captures; without it a test of them is skipped."""
    folder = request.config.getoption("--captures")
    if folder is None:
        pytest.skip("only with --captures")
    found = sorted(path for path in Path(folder).iterdir() if path.suffix in (".pcap", ".pcapng"))
    assert found, f"--captures must name a folder with captures, not {folder}"
    return found


@pytest.fixture
def volume(request: pytest.FixtureRequest) -> int:
    """How many times as many packets or events as in `make test`; more than once in `make soak`."""
    return int(request.config.getoption("--volume"))
