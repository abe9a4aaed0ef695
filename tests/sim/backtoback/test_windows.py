"""Windows in wire mode, both ends golden: a bad wire, and nobody waits for ever."""

import pytest

from precog_sim.backtoback.account import check
from precog_sim.backtoback.endpoint import EndpointSettings
from precog_sim.backtoback.run import BackToBack
from precog_sim.backtoback.waiting import WaitingSettings
from precog_sim.backtoback.wire import WireSettings

#: By slot: below one packet, a few, some more, none.
_WINDOWS = (1, 3 * 1024, 16 * 1024 - 100, 0)


@pytest.mark.parametrize("timeout", [30_000, 120_000, 400_000])
def test_everything_is_said_and_heard(timeout: int, seed: int, volume: int) -> None:
    """Loss and overtaking at both ends, time-outs before and after a window's: none wedges.

    Nor does a window of less than the packets between two that ask for an acknowledgement.
    """
    expired = 0
    for n in range(volume):
        wire = WireSettings(loss=0.04, reorder=0.04)
        ends = EndpointSettings(timeout=timeout)
        run = BackToBack(240, seed + n, wire, ends, waiting=WaitingSettings(_WINDOWS))
        run.run(until=200_000_000)
        check(run)
        assert run.differences == []
        assert all(side.idle() for side in run.waiting)
        assert min(side.shut for side in run.waiting) > 20
        assert sum(run.wires[side].lost for side in range(2)) > 0
        expired += sum(side.expired for side in run.waiting)
    print(expired)
    assert expired > 0


def test_a_window_keeps_the_wire_empty(seed: int) -> None:
    """Without loss a window is what is in flight, and nothing has to expire."""
    queues = []
    wire = WireSettings(loss=0.0, reorder=0.0, mark=0.0, mark_bytes=1 << 30)
    for window in (2 * 1024, 0):
        settings = WaitingSettings((window,) * 4, expiry=1 << 30)
        ends = EndpointSettings(timeout=1 << 30, ack_every=1)
        run = BackToBack(400, seed, wire, ends, waiting=settings)
        run.run()
        check(run)
        assert run.differences == []
        assert all(side.expired == 0 for side in run.waiting)
        assert all((side.shut > 0) == (window > 0) for side in run.waiting)
        queues.append(max(wire.queue_max for wire in run.wires))
    # Four queue pairs' windows and a packet of each, answers and the bytes of headers.
    assert queues[0] < 4 * 3 * 1200 + 2000
    print(queues)
