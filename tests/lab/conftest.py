"""Guests without QEMU for the tests of the lab."""

from collections.abc import Iterator

import pytest

from precog_lab.settings import Settings

from .bench import Bench


@pytest.fixture
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    made = Bench(getattr(request, "param", Settings()))
    yield made
    made.lab.close()
    for guest in made.guests:
        guest.close()
