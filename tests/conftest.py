"""Shared fixtures: every random test takes its seed from here and prints it."""

import random

import hypothesis
import pytest

# A first call compiles for seconds: how long an example takes says nothing.
hypothesis.settings.register_profile("precog", deadline=None)
hypothesis.settings.load_profile("precog")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seed", type=int, default=None, help="seed of every random test")
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
def volume(request: pytest.FixtureRequest) -> int:
    """How many times as many packets or events as in `make test`; more than once in `make soak`."""
    return int(request.config.getoption("--volume"))
