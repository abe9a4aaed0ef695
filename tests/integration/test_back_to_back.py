"""Two NICs in RTL back to back, each beside its golden twin; the golden pair is `tests/sim`'s."""

import pytest

from precog_sim.backtoback.account import check
from precog_sim.backtoback.node import SLOTS
from precog_sim.backtoback.rtl_node import DISTURB_TICKS, RtlNode, ways
from precog_sim.backtoback.run import BackToBack

pytestmark = [pytest.mark.cosim, pytest.mark.xdist_group("packet_nic")]


def test_everything_is_accounted_for(seed: int, volume: int) -> None:
    """RTL = golden in every frame, sample, decision and counter, and each is as the wire says;
    parts are reset and models swapped on the way."""
    if volume < 2:
        pytest.skip("with --volume: 25 CPU seconds")
    packets = 96 * volume
    run = BackToBack(packets, seed, *ways(packets), RtlNode, disturb_ticks=DISTURB_TICKS)
    run.run()
    check(run)
    assert run.differences == []
    assert sum(sum(seen.samples) for seen in run.seen) > 0
    for side in range(2):
        seen = run.seen[side]
        assert sum(seen.cnps) > 0
        assert seen.swaps > 0
        assert len(seen.resets) > 3
        host = [source for _, source, _ in SLOTS].index("host")
        assert seen.scores_sent[host] == {33}
        assert seen.score[host] == 33
