"""Networks without PFC: which packets are dropped, by a queue of a few lines."""

from dataclasses import replace

import pytest

from precog_sim.network import Buffers, Fixed, Flow, Link, Recovery, Scenario, Topology, run

_WIRE = 1048
#: Nothing is repeated: losses are never noticed.
_NEVER = Recovery(mode="selective", window=512, reorder=512, timeout_us=0.0)


def _into_a_slow_link(gbps: float, packets: int, buffers: Buffers) -> Scenario:
    links = (Link(0, 2, gbps), Link(1, 2, 100.0))
    flows = (Flow(1, 0, packets * 1000),)
    return Scenario(
        "slow", Topology(2, 1, links), flows, buffers=buffers, recovery=_NEVER, horizon_us=1e3
    )


def _dropped(gbps: float, packets: int, room: int, alpha: float | None) -> int:
    """Of a burst at 100 Gb/s into memory for `room` packets, which leave it as they begin to go."""
    gap, drain = _WIRE * 8 / 100, _WIRE * 8 / gbps
    begins: list[float] = []
    dropped = 0
    for k in range(packets):
        waiting = sum(begin > k * gap for begin in begins)
        most = room if alpha is None else min(room, alpha * (room - waiting))
        if waiting and waiting + 1 > most:
            dropped += 1
        else:
            begins.append(max(k * gap, begins[-1] + drain if begins else 0.0))
    return dropped


@pytest.mark.parametrize("gbps", [23.0, 37.0, 71.0])
@pytest.mark.parametrize("alpha", [None, 0.25, 1.0, 3.0])
def test_a_queue_drops_what_it_has_no_room_for(gbps: float, alpha: float | None) -> None:
    """All memory without thresholds; with them a alpha / (1 + alpha) of it."""
    buffers = Buffers(total=40 * _WIRE, pfc="off")
    if alpha is not None:
        buffers = replace(buffers, drop="dynamic", drop_alpha=alpha)
    result = run(_into_a_slow_link(gbps, 200, buffers), Fixed())
    assert result.data_dropped == _dropped(gbps, 200, 40, alpha) > 0
    assert result.data_got == 200 - result.data_dropped
    # acknowledgements find no room in a full memory; a threshold leaves some
    assert (result.drops > result.data_dropped) == (alpha is None)
    room = 40 if alpha is None else int(40 * alpha / (1 + alpha)) + 1
    assert result.max_queue <= room * _WIRE


def test_a_threshold_keeps_room_for_others() -> None:
    """A burst to one host fills the memory; to another host a packet comes meanwhile."""
    links = (Link(0, 4, 10.0), Link(1, 4), Link(2, 4), Link(3, 4, 10.0))
    flows = (Flow(1, 0, 200_000), Flow(2, 3, 3_000, start_ps=8_000_000))
    buffers = Buffers(total=40 * _WIRE, pfc="off")
    scenario = Scenario(
        "two", Topology(4, 1, links), flows, buffers=buffers, recovery=_NEVER, horizon_us=1e3
    )
    tail = run(scenario, Fixed())
    fair = run(replace(scenario, buffers=replace(buffers, drop="dynamic")), Fixed())
    assert tail.fct_us[1] != tail.fct_us[1]  # never
    assert fair.fct_us[1] < 8.0
    assert fair.drops > tail.drops - 3


def test_bad_numbers() -> None:
    with pytest.raises(ValueError, match="drop must be one of tail, dynamic, not 'red'"):
        Buffers(drop="red")
    with pytest.raises(ValueError, match="drop_alpha must be positive and finite, not 0"):
        Buffers(drop_alpha=0.0)
