"""Shared fixtures: every random test takes its seed from here and prints it."""

import random
from pathlib import Path

import hypothesis
import pytest

# A first call compiles for seconds: how long an example takes says nothing.
hypothesis.settings.register_profile("precog", deadline=None)
hypothesis.settings.load_profile("precog")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seed", type=int, default=None, help="seed of every random test")
    parser.addoption("--captures", type=Path, default=None, help="folder of RoCEv2 captures")
    parser.addoption(
        "--volume", type=int, default=1, help="times the packets or events of a volume test"
    )


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
