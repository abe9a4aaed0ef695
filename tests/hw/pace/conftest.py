"""A Verilated pacer for each test; the module says with how many queue pairs (`library`)."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from precog_sim.rtl.stream_block import StreamBlock


@pytest.fixture
def block(library: Path) -> Iterator[StreamBlock]:
    made = StreamBlock(library)
    yield made
    made.close()
