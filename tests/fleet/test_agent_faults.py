"""A fleet under faults at random: models stay, what was acknowledged stays, all converge.

`make soak` has 200 runs or more, by `python -m tests.fleet.campaign`.
"""

from pathlib import Path

import pytest

from .campaign import one_run


@pytest.mark.parametrize("n", range(3))
def test_faults_at_random(tmp_path: Path, seed: int, n: int) -> None:
    found = one_run(tmp_path, seed + n)
    assert found["rows"] > 0
    assert found["acknowledged"] > 0
