"""A lab whose guests are the test's own: cards, links, and what went through."""

import random
from typing import Any

from precog_lab.cards import GoldenCard
from precog_lab.lab import Lab
from precog_lab.settings import Settings
from precog_sim.backtoback.wire import Wire
from precog_spec.config import NicConfig

from .fake_guest import FakeGuest

__all__ = ["Bench"]

_SIZES = NicConfig(qps=8, sets=2, width=64, receiver=True, law_cores=1)


class Bench:
    """A lab and its parts."""

    def __init__(self, settings: Settings) -> None:
        count = settings.senders + 1
        self.guests = [FakeGuest(number) for number in range(count)]
        self.cards = [GoldenCard(_SIZES, settings.algorithm) for _ in range(count)]
        links = [Wire[Any](settings.wire, random.Random(number)) for number in range(count)]
        self.lab = Lab(self.guests, self.cards, settings, links, keep=True)  # type: ignore[arg-type]

    def connect(self, guest: int, here: int, there: int) -> None:
        """Give a guest and the hub the two ends of a connection."""
        self.guests[guest].pairs_now.append((here, there))
        self.guests[0].pairs_now.append((there, here))

    def run(self, *frames: tuple[int, bytes]) -> None:
        """All frames go through."""
        seen = self.lab.seen
        for guest, data in frames:
            self.guests[guest].send(data)
        before, compared = seen.frames, len(self.lab.differences)
        lost = sum(link.lost for link in self.lab.links)

        def through() -> bool:
            gone = seen.identical + len(self.lab.differences) - compared
            gone += sum(link.lost for link in self.lab.links) - lost
            return seen.frames - before == len(frames) and gone >= self._before + len(frames)

        self._before = seen.identical
        self.lab.until(through, 20, "frames")

    _before = 0
