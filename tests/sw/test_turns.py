"""Who has a shared device, and for how long while others wait."""

import random
from dataclasses import dataclass, field

import pytest

from precog_host.turns import HOLD_S, TURN_S, Turns

HOLD, TURN, POLL = HOLD_S, TURN_S, 0.05


@dataclass
class Clock:
    now: float = 100.0
    turns: Turns = field(init=False)

    def __post_init__(self) -> None:
        self.turns = Turns(HOLD, TURN, lambda: self.now)

    def ask(self, client: object, after: float = 0.0) -> bool:
        self.now += after
        return self.turns.ask(client)


def test_one_client_keeps_the_device_while_nobody_waits() -> None:
    clock = Clock()
    assert clock.ask("a")
    assert clock.ask("a", after=1000.0)
    assert clock.turns.taken == 0
    assert clock.turns.leave("a")
    assert not clock.turns.leave("a")
    assert clock.ask("b")


def test_silence_costs_the_device_only_if_another_waits() -> None:
    clock = Clock()
    assert clock.ask("a")
    assert not clock.ask("b", after=HOLD / 2)
    assert clock.ask("a", after=HOLD / 2)
    assert not clock.ask("b", after=HOLD / 2)
    assert clock.ask("b", after=HOLD)
    assert not clock.ask("a"), "it must learn that it lost the device"
    clock.turns.leave("b")
    assert clock.ask("a")


@pytest.mark.parametrize("pause", [0.5, 0.3, 0.01])
def test_one_that_never_leaves_does_not_shut_another_out(pause: float) -> None:
    """As the client of a released device, which polls; the hog sends a datagram now and then."""
    clock = Clock()
    assert clock.ask("hog")
    asked, next_hog = clock.now, clock.now + pause
    while not clock.ask("b", after=POLL):
        while next_hog <= clock.now:
            clock.turns.ask("hog")
            next_hog += pause
    bound = HOLD if pause > HOLD else TURN
    assert clock.now - asked <= bound + 2 * POLL


def test_the_queue_is_served_in_order(seed: int) -> None:
    """Clients that poll and use the device for some time each get it, first come first served."""
    rng = random.Random(seed)
    clock = Clock()
    waiting = [f"client {n}" for n in range(20)]
    assert clock.ask("first")
    for client in waiting:
        assert not clock.ask(client, after=0.01)
    served = []
    clock.turns.leave("first")
    while waiting:
        clock.now += POLL
        for client in rng.sample(waiting, len(waiting)):
            if clock.turns.ask(client):
                served.append(client)
                waiting.remove(client)
                clock.turns.leave(client)
    assert served == [f"client {n}" for n in range(20)]


def test_many_that_wait_take_bounded_room() -> None:
    clock = Clock()
    assert clock.ask("a")
    for n in range(100_000):
        clock.turns.ask(n)
    assert len(clock.turns._waiting) <= 32
    clock.now += 1.0  # they have all gone
    assert clock.ask("b")
    for n in range(1000):  # each takes the device from the one before, which never leaves
        assert not clock.ask(n)
        assert clock.ask(n, after=HOLD + 0.01)
    assert len(clock.turns._lost) <= 256
