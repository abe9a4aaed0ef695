"""The tutorial's law on a card: loaded under traffic, each decision as the golden engine's."""

import random
import re
from pathlib import Path

import pytest
from tests.sim.rtl.law_twins import Twins

pytestmark = [pytest.mark.cosim, pytest.mark.xdist_group("law_engine")]

_PAGE = Path(__file__).parents[3] / "docs/tutorials/law.md"
_FILE = re.compile(r"`aimd_card.py`.*?```python\n(.*?)```", re.S)
_EVENTS = 1000


def test_the_page_s_law_is_loaded_under_traffic(
    twins: Twins, tmp_path: Path, seed: int, volume: int
) -> None:
    """With --volume 100 a hundred thousand events, all queue pairs colliding."""
    found = _FILE.search(_PAGE.read_text())
    assert found
    path = tmp_path / "aimd_card.py"
    path.write_text(found[1])
    rng, t = random.Random(seed), 1000
    twins.load("timely", 0)
    for qp in range(twins.qps):
        twins.configure(qp, "law:0")
    t = twins.traffic(rng, t, 200)
    twins.load(path, 0)  # in place of the other, between two events
    for _ in range(volume):
        t = twins.traffic(rng, t, _EVENTS)
        twins.same()
    state = twins.engines[0].state()
    assert state.slots[0].law == "aimd_card"
    assert (state.trap, state.counters["safe"]) == (None, 0)
    assert state.counters["events"] == twins.decided == 200 + _EVENTS * volume
    print(f"{_EVENTS * volume} events of the tutorial's law, 0 mismatches")
