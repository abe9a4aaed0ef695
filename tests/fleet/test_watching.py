"""A device that disappears from an agent is told once, however often it is tried, and once back."""

import time
from contextlib import closing
from pathlib import Path

import pytest

from precog_fleet.agent_process import AgentProcess
from precog_fleet.practice import PRACTICE_URI
from precog_fleet.watching import Watch
from precog_host.device import Device
from precog_host.emulator.device import Emulator
from precog_host.emulator.opening import open_emulator
from precog_host.transport import DeviceError

from .meshed import Lab


class Unplugged:
    """A card that can be pulled out."""

    def __init__(self, card: Emulator) -> None:
        self._card = card
        self.out = False

    def read32(self, address: int) -> int:
        if self.out:
            raise DeviceError("card is gone")
        return self._card.read32(address)

    def write32(self, address: int, value: int) -> None:
        if self.out:
            raise DeviceError("card is gone")
        self._card.write32(address, value)

    def close(self) -> None:
        pass


@pytest.mark.usefixtures("unreachable")
def test_a_card_that_is_pulled_out_and_put_back(tmp_path: Path) -> None:
    transport = Unplugged(open_emulator(PRACTICE_URI.partition(":")[2]))
    said: list[str] = []
    process = AgentProcess(
        Lab(tmp_path).member("host0").folder,
        ["pci:a"],
        opener=lambda _: Device(transport),
        destinations={0: "10.0.0.1"},
        report=said.append,
    )
    with closing(process):
        (seating,) = process.agent.seatings
        for out in (False, True, False):
            transport.out = out
            for _ in range(3):
                seating.card._wait = 0  # it is tried again at once
                process.turn()
    told = [text for text in said if not text.startswith("link: ")]
    assert told == ["device pci:a: card is gone; trying again", "device pci:a: back again"]


@pytest.mark.usefixtures("unreachable")
def test_an_agent_without_a_router_takes_no_processor_for_itself(tmp_path: Path) -> None:
    process = AgentProcess(Lab(tmp_path).member("host0").folder, [PRACTICE_URI], qps=[0])
    with closing(process):
        for _ in range(2):  # the first one sets the card up
            began = time.monotonic()
            process.turn()
            took = time.monotonic() - began
    assert process.uplink.mesh is None
    assert took >= 0.1


def test_each_failure_is_told_once() -> None:
    said: list[str] = []
    watch = Watch(said.append)
    for error in ("", "a", "b", "", "", "c"):
        watch.see("link", error)
    assert said == ["link: a; trying again", "link: back again", "link: c; trying again"]
