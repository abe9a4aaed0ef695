"""Fewer acknowledgements than packets: counts and times by hand, marks as RFC 8257 has them."""

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.sim.network.blank import blank, called

from precog_sim.network import (
    Answers,
    Buffers,
    Dctcp,
    Failure,
    Fixed,
    Flow,
    Link,
    Recovery,
    Scenario,
    Topology,
    run,
    star,
)
from precog_sim.network.answers import answer_timer, waits
from precog_sim.network.control import Cfg, Ctl
from precog_sim.network.layout import AnswerCol, FlowCol, Kind, PortCol, PrioCol, Rec
from precog_sim.network.wheel import pop, schedule

_GAP = 838.4  # ns between packets of 1048 bytes at 10 Gb/s
_RTT = 4177.28
_TEN = Scenario("ten", star(2), (Flow(1, 0, 10_000),))


@pytest.mark.parametrize(
    ("every", "delay_us", "count"),
    [
        (1, 10.0, 10),
        (4, 10.0, 3),  # of packets 3, 7 and the last one
        (4, 2.0, 4),  # each 2 us after packets 0, 3 and 6, and the last one
        (100, 10.0, 1),  # the last one
        (2, 0.5, 10),  # none waits for the next packet
    ],
)
def test_one_for_several_packets(every: int, delay_us: float, count: int) -> None:
    """The last packet is always acknowledged, and waiting in the receiver is no RTT."""
    result = run(replace(_TEN, answers=Answers(every, delay_us)), Fixed(start_gbps=10))
    assert result.packet_rtt_us.tolist() == pytest.approx([_RTT * 1e-3] * count, abs=1e-9)
    assert result.fct_us[0] == pytest.approx((9 * _GAP + _RTT) * 1e-3, abs=1e-9)
    assert result.data_got == 10


def test_a_window_goes_on_when_the_time_is_over() -> None:
    """A window of 4 packets is full before 5 could be answered: each round takes the delay, too."""
    scenario = replace(_TEN, flows=(Flow(1, 0, 12_000),), answers=Answers(5, 3.0))
    scenario = replace(scenario, recovery=Recovery(mode="selective", window=4))
    result = run(scenario, Fixed())
    # two rounds wait 3 us from their first packet on, and the third's last packet is the flow's
    assert result.fct_us[0] == pytest.approx((2 * (_RTT + 3000) + 3 * 83.84 + _RTT) * 1e-3)


@pytest.mark.parametrize(("mode", "last"), [("go-back-n", 15), ("selective", 10)])
def test_what_shows_a_loss_is_answered_at_once(mode: str, last: int) -> None:
    """Packet 3 is lost as in the tests of both: nothing comes later than without coalescing."""
    scenario = replace(_TEN, failures=(Failure(0, 3.9, 4.4),), recovery=Recovery(mode=mode))
    result = run(replace(scenario, answers=Answers(8, 100.0)), Fixed(start_gbps=10))
    assert result.fct_us[0] == pytest.approx((last * _GAP + _RTT) * 1e-3, abs=1e-9)


@pytest.mark.parametrize("timing", ["exact", "ns3"])
def test_first_ones_do_not_wait_behind_data(timing: str) -> None:
    """Host 0 sends a flow and receives three: its acknowledgements pass their queue, but for the
    packet in transmission."""
    incast = tuple(Flow(h, 0, 300_000) for h in (1, 2, 3))
    scenario = Scenario("both ways", star(5), (Flow(0, 4, 100_000), *incast))
    longest = {}
    for first in (False, True):
        mine = replace(scenario, answers=Answers(first=first))
        result = run(mine, Fixed(start_gbps=100), timing=timing)
        assert result.finished
        longest[first] = result.sample_rtt_us[result.sample_flow == 0].max()
    assert longest[False] > 2 * _RTT * 1e-3
    assert _RTT * 1e-3 < longest[True] <= (_RTT + 83.84) * 1e-3 + 1e-9


def test_first_ones_are_not_paused() -> None:
    """A paused host sends them: its peer hears them while the flow back waits."""
    links = (Link(0, 3), Link(1, 3), Link(2, 3, 1.0))
    flows = (Flow(0, 2, 3_000_000), Flow(1, 0, 100_000, start_ps=50_000_000))
    scenario = Scenario("paused", Topology(3, 1, links), flows, buffers=Buffers(total=300_000))
    last = {}
    for first in (False, True):
        result = run(replace(scenario, answers=Answers(first=first)), Fixed(start_gbps=100))
        assert result.pauses > 0
        last[first] = result.fct_us[1]
    assert last[True] < 20 < last[False]


def test_laws_live_with_it(seed: int) -> None:
    flows = tuple(Flow(h, 0, 300_000) for h in (1, 2, 3))
    scenario = Scenario("three", star(4), flows, answers=Answers(4, 5.0))
    result = run(scenario, Dctcp(), seed=seed)
    assert result.finished
    assert result.data_got == 900
    assert 225 <= result.packet_rtt_us.size < 600


_SLOTS = 1 << 12


@called
def _waits(net: Any, row: int, prompt: bool, now: int) -> bool:
    return waits(net, 0, row, prompt, now)


@called
def _timer(net: Any, row: int, now: int) -> int:
    return answer_timer(net, row, now)


@called
def _put(net: Any, row: int, t: int) -> None:
    schedule(net, row, t)


@called
def _next(net: Any) -> int:
    return pop(net, 1 << 62)


def test_marks_are_answered_as_they_came(seed: int) -> None:
    """Each packet is covered by an answer with its own mark, at most `delay` after it came, and no
    answer covers more than `every`."""
    rng = random.Random(seed)
    every, delay, packets = 4, 5_000_000, 3000
    cfg = np.zeros(Cfg.WIDTH, dtype=np.int64)
    cfg[[Cfg.ACK_EVERY, Cfg.ACK_DELAY_PS, Cfg.ROWS]] = every, delay, packets + 100
    cfg[[Cfg.PRIORITIES, Cfg.SLOT_MASK]] = 1, _SLOTS - 1
    ctl = np.zeros(Ctl.WIDTH, dtype=np.int64)
    ctl[[Ctl.FREE, Ctl.FRESH, Ctl.LIMIT]] = -1, packets + 1, packets + 100
    prio = np.zeros((1, PrioCol.WIDTH), dtype=np.int64)
    prio[0, [PrioCol.HEAD, PrioCol.TAIL]] = -1
    net = blank(
        rec=np.zeros((packets + 100, 8), dtype=np.int64),
        wheel=np.full(_SLOTS, -1, dtype=np.int32),
        bits=np.zeros(_SLOTS // 64, dtype=np.int64),
        heap=np.zeros((packets + 100, 3), dtype=np.int64),
        prio=prio,
        flow=np.zeros((1, FlowCol.WIDTH), dtype=np.int64),
        answer=np.zeros((1, AnswerCol.WIDTH), dtype=np.int64),
        ctl=ctl,
        cfg=cfg,
        port=np.zeros((1, PortCol.WIDTH), dtype=np.int64),
        state=np.zeros((1, 1)),
        telemetry=np.zeros((1, 1), dtype=np.int64),
    )
    now, sent = 0, {}
    sequence = [(n, rng.random() < 0.3, rng.random() < 0.1) for n in range(1, packets)]
    marks = {n: mark for n, mark, _ in sequence}
    came: dict[int, int] = {}

    def take(now: int) -> None:
        row = int(net.prio[0, PrioCol.HEAD])
        while row >= 0:
            sent[int(net.rec[row, Rec.SEQ])] = bool(net.rec[row, Rec.KIND] & Kind.MARK), now
            assert now - net.rec[row, Rec.SENT] == 100  # waiting is no RTT
            row = int(net.rec[row, Rec.NEXT])
        net.prio[0, [PrioCol.HEAD, PrioCol.TAIL]] = -1

    for n, mark, prompt in sequence:
        due = now + rng.randrange(4_000_000)
        while (timer := _next(net)) >= 0:
            t = int(net.rec[timer, Rec.TIME])
            if t > due:
                _put(net, timer, t)
                break
            _timer(net, timer, t)
            take(t)
        now = due
        came[n] = now
        net.rec[n, [Rec.KIND, Rec.SEQ, Rec.TIME, Rec.SENT]] = (
            Kind.ACK | (Kind.MARK if mark else 0),
            n,
            now,
            now - 100,
        )
        if not _waits(net, n, prompt, now):
            take(now)
            sent[n] = mark, now
        else:
            assert not prompt
            take(now)
    answered = sorted(sent)
    before = 0
    for n in answered:
        mark, t = sent[n]
        covered = range(before + 1, n + 1)
        assert len(covered) <= every
        assert all(marks[k] == mark and t - came[k] <= delay for k in covered)
        before = n
    assert packets - 1 - before < every
    assert len(answered) < 0.8 * packets


def test_bad_numbers() -> None:
    with pytest.raises(ValueError, match=r"answers every must be in 1\.\.1024, not 0"):
        Answers(0)
    with pytest.raises(ValueError, match=r"answers delay_us must be in 0\.\.1e6, above 0, not 0"):
        Answers(2, 0.0)
