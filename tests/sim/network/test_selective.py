"""Selective repeat: losses by hand, and bitmaps against sets."""

import random
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tests.sim.network.blank import blank, called

from precog_sim.network import (
    Failure,
    Fixed,
    Flow,
    Messages,
    Programmed,
    Recovery,
    Scenario,
    Trace,
    run,
    star,
)
from precog_sim.network.control import Cfg, Ctl
from precog_sim.network.layout import FlowCol, RepeatCol
from precog_sim.network.selective import accept, all_lost, any_lost, learn, map_words, says

_GAP = 838.4  # ns between packets of 1048 bytes at 10 Gb/s
_RTT = 4177.28
_SELECTIVE = Recovery(mode="selective", timeout_us=50.0)
_TEN = Scenario("ten", star(2), (Flow(1, 0, 10_000),), recovery=_SELECTIVE)


def test_one_lost_packet_is_repeated_alone() -> None:
    """Packet 3 is lost. Packet 4's acknowledgement comes just before packet 9's turn, which 3 gets:
    the flow takes one packet longer."""
    result = run(replace(_TEN, failures=(Failure(0, 3.9, 4.4),)), Fixed(start_gbps=10))
    assert (result.data_dropped, result.retransmitted, result.duplicates) == (1, 1, 0)
    assert (result.nacks, result.timeouts) == (0, 0)
    assert result.fct_us[0] == pytest.approx((10 * _GAP + _RTT) * 1e-3, abs=1e-9)


def test_a_gap_is_a_loss_after_reorder_packets() -> None:
    """With 3, packet 6 shows it; its acknowledgement finds all others sent and the pace kept."""
    recovery = replace(_SELECTIVE, reorder=3)
    scenario = replace(_TEN, failures=(Failure(0, 3.9, 4.4),), recovery=recovery)
    result = run(scenario, Fixed(start_gbps=10))
    assert (result.retransmitted, result.duplicates) == (1, 0)
    assert result.fct_us[0] == pytest.approx((6 * _GAP + 2 * _RTT) * 1e-3, abs=1e-9)


@pytest.mark.parametrize(("few", "wait_us"), [(3, 20.0), (2, 50.0)])
def test_a_lost_tail_waits_for_the_time_out(few: int, wait_us: float) -> None:
    """Packet 9 is lost, and the acknowledgements of 7 and 8. Three packets are outstanding, and
    sent again, wait_us after the acknowledgement of packet 6."""
    recovery = replace(_SELECTIVE, low_timeout_us=20.0, few=few)
    scenario = replace(_TEN, failures=(Failure(0, 8.9, 9.0),), recovery=recovery)
    result = run(scenario, Fixed(start_gbps=10))
    assert (result.cut, result.data_dropped) == (3, 1)
    assert (result.timeouts, result.retransmitted, result.duplicates) == (1, 3, 2)
    last = 6 * _GAP + _RTT + wait_us * 1e3 + 2 * _GAP + _RTT
    assert result.fct_us[0] == pytest.approx(last * 1e-3, abs=1e-9)


def test_laws_hear_of_each_new_gap_once() -> None:
    """Two packets are lost, one after the other is repaired: the rate is halved twice."""
    law = ModuleType("halving")
    exec("def on_loss(p, s, e): return e.rate / 2", vars(law))
    failures = (Failure(0, 3.9, 4.4), Failure(0, 20.0, 20.6))
    scenario = replace(_TEN, flows=(Flow(1, 0, 40_000),), failures=failures)
    result = run(scenario, Programmed(module=law, start_gbps=10))
    assert (result.data_dropped, result.timeouts) == (2, 0)
    assert result.sample_rate_gbps[-1] == 2.5


def test_the_window_holds_the_sender_back() -> None:
    """Two packets in a round trip of the line, and no more."""
    scenario = replace(_TEN, recovery=replace(_SELECTIVE, window=2))
    result = run(scenario, Fixed())
    assert result.fct_us[0] == pytest.approx((5 * _RTT + 83.84) * 1e-3, abs=1e-9)


@pytest.mark.parametrize("timing", ["exact", "ns3"])
def test_it_repeats_what_was_lost_and_little_else(timing: str, seed: int) -> None:
    """At 2 % of losses go-back-N sends many packets for each; selective repeat about one."""
    flows = (Flow(1, 0, 2_000_000),)
    scenario = Scenario("loss", star(2), flows, loss_data=0.02, loss_ack=0.02)
    sent = {}
    for mode in ("go-back-n", "selective"):
        recovery = Recovery(mode=mode, timeout_us=100.0, nack_us=5.0)
        result = run(
            replace(scenario, recovery=recovery), Fixed(start_gbps=50), timing=timing, seed=seed
        )
        assert result.finished
        assert result.data_dropped > 0
        assert result.data_sent == result.data_got + result.data_dropped + result.data_in_flight
        if mode == "selective":
            assert result.data_got - result.duplicates == 2000
        sent[mode] = result.retransmitted / result.data_dropped
    assert sent["go-back-n"] > 10
    assert 1 <= sent["selective"] < 1.5


@called
def _arrives(net: Any, seq: int, size: int, row: int) -> None:
    accept(net, 0, seq, size)
    says(net, 0, seq, row)


@called
def _answered(net: Any, row: int, seq: int) -> bool:
    acked = net.flow[0, FlowCol.ACKED]
    net.flow[0, FlowCol.ACKED] = max(acked, seq)
    return learn(net, 0, acked, row)


@called
def _lost(net: Any) -> bool:
    return any_lost(net, 0)


@called
def _times_out(net: Any) -> None:
    all_lost(net, 0)


@pytest.mark.parametrize("window", [1, 2, 63, 64, 65, 200])
def test_bitmaps_hold_what_sets_hold(window: int, seed: int) -> None:
    """Packets and acknowledgements get lost and overtake each other; each is compared."""
    rng = random.Random(seed)
    payload, packets = 100, 600
    size = packets * payload - 37
    reorder = rng.randint(1, window)
    cfg = np.zeros(Cfg.WIDTH, dtype=np.int64)
    cfg[[Cfg.PAYLOAD, Cfg.REORDER]] = payload, reorder
    net = blank(
        flow=np.zeros((1, FlowCol.WIDTH), dtype=np.int64),
        repeat=np.zeros((1, RepeatCol.WIDTH), dtype=np.int64),
        arrived=np.zeros((1, map_words(window)), dtype=np.int64),
        selected=np.zeros((1, map_words(window)), dtype=np.int64),
        sack=np.zeros((1, 2), dtype=np.int64),
        ctl=np.zeros(Ctl.WIDTH, dtype=np.int64),
        cfg=cfg,
    )
    net.flow[0, FlowCol.SIZE] = size
    came: set[int] = set()
    known: set[int] = set()
    next_psn = acked = shown = cursor = duplicates = 0
    wires: list[int] = []
    answers: list[tuple[int, int, int, set[int]]] = []
    steps = 0
    while acked < packets:
        steps += 1
        assert steps < 200_000
        lost = [p for p in range(max(acked, cursor), min(shown, next_psn)) if p not in known]
        assert _lost(net) == bool(lost)
        if lost:
            assert net.repeat[0, RepeatCol.AGAIN] == lost[0] * payload
            net.repeat[0, RepeatCol.AGAIN] += payload
            cursor = lost[0] + 1
            wires.append(lost[0])
        elif next_psn < min(packets, acked + window):
            wires.append(next_psn)
            next_psn += 1
            net.flow[0, FlowCol.NEXT] = min(next_psn * payload, size)
        elif not wires and not answers:
            _times_out(net)
            shown, cursor = next_psn, acked
        if wires and rng.random() < 0.7:
            psn = wires.pop(rng.randrange(min(len(wires), 4)))
            if rng.random() < 0.9:
                duplicates += psn in came
                came.add(psn)
                seq = psn * payload
                _arrives(net, seq, min(payload, size - seq), 0)
                expected = next(p for p in range(packets + 1) if p not in came)
                assert net.flow[0, FlowCol.EXPECTED] == min(expected * payload, size)
                word = int(net.sack[0, 1])
                assert net.ctl[Ctl.DUPLICATES] == duplicates
                if rng.random() < 0.9:
                    base = psn & ~63
                    near = {p for p in came if expected < p and base <= p < base + 64}
                    answers.append((psn, word, int(net.flow[0, FlowCol.EXPECTED]), near))
        if answers and rng.random() < 0.7:
            psn, word, seq, near = answers.pop(rng.randrange(min(len(answers), 4)))
            net.sack[0] = psn, word
            told = _answered(net, 0, seq)
            acked = max(acked, -(-seq // payload))
            known = {p for p in known | near if p >= acked}
            gaps = range(max(acked, shown), psn + 1 - reorder)
            assert told == any(p not in known for p in gaps)
            shown = max(shown, psn + 1 - reorder)
            cursor = max(cursor, acked)


def test_bad_numbers() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"mode": "none"}, "recovery must be one of go-back-n, selective, not 'none'"),
        ({"window": 0}, r"recovery window must be in 1\.\.65536 packets, not 0"),
        ({"window": 8, "reorder": 9}, r"recovery reorder must be in 1\.\.8, its window, not 9"),
        ({"timeout_us": -1.0}, "recovery timeout_us must be >= 0 and finite, not -1.0"),
        ({"nack_us": float("nan")}, "recovery nack_us must be >= 0 and finite, not nan"),
        ({"few": -1}, "recovery few must be >= 0, not -1"),
    ]
    for fields, message in cases:
        with pytest.raises(ValueError, match=message):
            Recovery(**fields)
    messages: Messages = Trace((0,), (10_000,))
    with pytest.raises(ValueError, match="flow 0 must have no messages under selective recovery"):
        replace(_TEN, flows=(Flow(1, 0, 10_000, messages=messages),))
