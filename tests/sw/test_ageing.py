"""Looks that an emulated device leaves out would have done nothing; a frame costs few of them."""

import random
from collections.abc import Iterator
from typing import Any

import pytest

from precog_host.device import Device
from precog_host.emulator.ageing import Ageing
from precog_host.emulator.device import Emulator
from precog_host.emulator.receiver import EmulatedReceiver
from precog_spec.carried import CarriedKind
from precog_spec.config import NicConfig
from precog_spec.contract import CarriedScore, Fmt
from precog_spec.receiver_fields import ReceiverKind

_QPS = 16


class _Patient(EmulatedReceiver):
    """Looks at every queue pair, as hardware does."""

    def visit(self, t: int) -> Iterator[tuple[int, int]]:
        self._pass(t)
        for qp in range(len(self._rows)):
            yield from self._happen(ReceiverKind.VISIT, qp)


def _device() -> tuple[Device, EmulatedReceiver]:
    emulator = Emulator(NicConfig(qps=_QPS, sets=2, width=64, receiver=True))
    assert emulator.receiver is not None
    return Device(emulator), emulator.receiver


@pytest.mark.parametrize("run", range(6))
def test_left_out_looks_do_nothing(run: int, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(f"{seed} {run}")
    one, quick = _device()
    monkeypatch.setattr("precog_host.emulator.device.EmulatedReceiver", _Patient)
    other, slow = _device()
    assert type(slow) is _Patient
    t = rng.randrange(1 << 40)
    for _ in range(400):
        step = rng.choice([0, 1, 40, 400, 4000, 1 << 38])
        t = (t + (step if rng.random() < 0.97 else -step)) & Fmt.TIME.max
        action = rng.random()
        if action < 0.05:
            changes: dict[str, Any] = {
                "score_us": rng.choice([0.0, 0.05, 1.0]),
                "limit": rng.choice([0, 100, 300]),
            }
            for device in (one, other):
                assert device.receiver is not None
                device.receiver.set_parameters(rate=True, priority=True, quota=True, **changes)
        elif action < 0.15:
            qp, wants = rng.randrange(_QPS), rng.random() < 0.8
            for device in (one, other):
                assert device.receiver is not None
                device.receiver.configure(qp, commands=wants, boosts=wants, grows=wants)
        else:
            qp, score = rng.randrange(_QPS), rng.choice([0, 10, 50, 90, 100])
            assert list(quick.score(qp, score, t)) == list(slow.score(qp, score, t))
        assert quick.quotas == slow.quotas
        assert (quick.receiver.states[:, 0] == slow.receiver.states[:, 0]).all()
        assert (quick.receiver.states[:, 2:] == slow.receiver.states[:, 2:]).all()
    counts = [device.receiver.counters() for device in (one, other) if device.receiver]
    assert counts[0] == counts[1]
    assert counts[0]["aged"] > 0


def test_a_score_costs_one_look(monkeypatch: pytest.MonkeyPatch) -> None:
    _, receiver = _device()
    looks: list[int] = []
    happen = receiver.receiver.happen

    def counted(kind: int, *rest: int, **what: int) -> dict[str, int]:
        looks.append(kind)
        return happen(kind, *rest, **what)

    for t in range(_QPS):
        list(receiver.score(t, 90, t))
    monkeypatch.setattr(receiver.receiver, "happen", counted)
    for t in range(200):
        list(receiver.score(t % _QPS, 90, 100 + t))
    assert looks.count(ReceiverKind.SCORE) == 200
    assert looks.count(ReceiverKind.VISIT) <= _QPS


def test_carried_scores_are_looked_at_when_one_is_too_old(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    emulator = Emulator(NicConfig(qps=_QPS, sets=2, width=64, forecast=True))
    carried = emulator.carried
    assert carried is not None
    device = Device(emulator)
    assert device.forecast is not None
    device.forecast.set_parameters(carry_age_us=1.0)
    golden = carried._scores
    looks: list[tuple[CarriedKind, int]] = []
    happen = golden.happen

    def counted(kind: CarriedKind, qp: int, t: int, **what: Any) -> Any:
        looks.append((kind, t))
        return happen(kind, qp, t, **{**what, "rtt_live": True, "queue_live": True})

    monkeypatch.setattr(golden, "happen", counted)
    source = CarriedScore.RTT
    for qp in range(_QPS):
        happen(CarriedKind.RTT, qp, qp, score=9, source=source, queue_live=True, rtt_live=True)
    for t in range(_QPS, 1009):
        carried.visit(t)
    assert golden.holding() == list(range(8, _QPS))  # those that came less than 1,001 ticks ago
    assert len({t for _, t in looks}) == 1 + 8  # the first look, and one for each that expired
    carried.visit(2100)
    assert golden.holding() == []


def test_the_span_on_the_circle() -> None:
    top = Fmt.TIME.max
    ageing = Ageing()
    assert ageing.over(0)  # nobody has looked yet
    ageing.looked(top - 5, [top - 8], 10)
    assert [t for t in range(-8, 8) if not ageing.over(t & top)] == [-6, -5, -4, -3, -2, -1, 0, 1]
    ageing.changed()
    assert ageing.over(top - 5)
    ageing.looked(3, [], 0)
    assert not any(ageing.over(t) for t in (0, 3, top))
