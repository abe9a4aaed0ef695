"""What others see at a destination reaches a card before its own RTTs show it."""

from precog_fleet.ahead import Ahead
from precog_fleet.bodies import Report
from precog_fleet.card import Card
from precog_fleet.outcome import Outcome
from precog_fleet.store import Store
from precog_host.device import Device
from precog_host.emulator.device import Emulator
from precog_spec.config import NicConfig

from .support import NOW, record, sealed, stats, store

NAMES = [f"host{n}" for n in range(8)]
HOT, IDLE = "10.0.0.7", "10.0.0.8"
SIZES = NicConfig(qps=4, sets=4, trace=True, forecast=True, profile=True, width=64)


def card() -> tuple[Card, Device]:
    device = Device(Emulator(SIZES))
    assert device.packet is not None
    for slot, (peer, source) in enumerate([(HOT, "host"), (IDLE, "host"), (HOT, "queue")]):
        device.packet.bind(slot, peer, remote_qp=slot, local_qp=slot, score_source=source)
        device.qp(slot).configure(
            preset="precog", enable=True, min_gbps=0, max_gbps=100, init_gbps=50
        )
    made = Card("card0", lambda: device)
    assert made.up(NOW)
    return made, device


def say(to: Store, now: int, mean: int, *, rate: int = 6_000_000, who: list[str] = NAMES) -> None:
    for name in who:
        body = Report(stats(mean=mean, rate=rate, n=2))
        frame = sealed(record(name, f"dst/{HOT}", now, t0=now, body=body))
        assert to.receive(frame, now) is Outcome.ACCEPTED


def scores(device: Device) -> list[int | None]:
    assert device.packet is not None
    return [binding.score for binding in device.packet.bindings()]


def step(ahead: Ahead, of: Card, held: Store, now: int) -> None:
    leads = of.follow(now)
    ahead.look(held, leads.values(), now)
    ahead.apply(of, leads, now)


def test_a_hotspot_raises_scores_and_lowers_starts_and_is_forgotten() -> None:
    made, device = card()
    ahead, held = Ahead(budget_ns=20_000), store(*NAMES)
    step(ahead, made, held, NOW)
    assert scores(device) == [None, None, None]
    say(held, NOW, 8000)
    step(ahead, made, held, NOW)
    assert scores(device) == [0, None, None]  # of the queue model's QP the agent says nothing
    assert ahead.map[HOT].base_ns == 8000
    # 16 queue pairs at 6 Gb/s: the next one gets its part, not the 50 Gb/s it began with.
    assert abs(device.qp(0).status().init_rate_gbps - 6.25) < 1e-3  # the clamp: line / 16
    assert device.qp(1).status().init_rate_gbps == 50
    say(held, NOW + 1000, 20_000, rate=20_000_000)
    step(ahead, made, held, NOW + 1000)
    assert scores(device) == [60, None, None]
    assert abs(device.qp(0).status().init_rate_gbps - 20 * 16 / 17) < 1e-3
    written = ahead.counts["scores"]
    say(held, NOW + 1500, 20_400, rate=20_000_000)
    step(ahead, made, held, NOW + 1500)
    assert ahead.counts["scores"] == written  # 62 instead of 60 is not worth a write
    step(ahead, made, held, NOW + 7000)  # nobody has said anything for 5 s
    assert scores(device) == [None, None, None]


def test_three_of_eight_liars_move_nothing() -> None:
    made, device = card()
    ahead, held = Ahead(budget_ns=20_000), store(*NAMES)
    say(held, NOW, 8000, rate=20_000_000)
    step(ahead, made, held, NOW)
    before = (scores(device), device.qp(0).status().init_rate_gbps)
    say(held, NOW + 1000, 10**9, rate=1, who=NAMES[:3])
    step(ahead, made, held, NOW + 1000)
    assert (scores(device), device.qp(0).status().init_rate_gbps) == before
    say(held, NOW + 2000, 0, rate=1_600_000_000, who=NAMES[:3])
    step(ahead, made, held, NOW + 2000)
    assert (scores(device), device.qp(0).status().init_rate_gbps) == before
    assert ahead.map[HOT].base_ns == 8000


def test_four_reporters_are_not_enough() -> None:
    made, device = card()
    ahead, held = Ahead(), store(*NAMES)
    say(held, NOW, 8000, who=NAMES[:4])
    step(ahead, made, held, NOW)
    assert scores(device) == [None, None, None]
    assert ahead.map[HOT].known is None


def test_a_card_that_fails_is_told_again() -> None:
    made, device = card()
    ahead, held = Ahead(budget_ns=20_000), store(*NAMES)
    say(held, NOW, 8000)
    leads = made.follow(NOW)
    made.device = None
    made._failed_at, made._wait = NOW, 100
    ahead.look(held, leads.values(), NOW)
    ahead.apply(made, leads, NOW)
    assert scores(device) == [None, None, None]
    step(ahead, made, held, NOW + 200)
    assert scores(device) == [0, None, None]
