"""The view of a card while a lab works, without guests."""

import time
from collections.abc import Callable

import pytest

from precog_host import pairs
from precog_host.device import Device
from precog_host.emulator.device import Emulator
from precog_host.serve import EtherboneServer
from precog_lab.run import Outcome
from precog_lab.watching import record
from precog_spec.config import NicConfig


def test_pictures_of_the_card_are_taken_until_the_lab_is_done() -> None:
    def work(served: Callable[[str], None]) -> Outcome:
        device = Device(Emulator(NicConfig(qps=2, sets=2, width=64, law_cores=1)))
        pairs.add(device, [1], algorithm="timely")
        server = EtherboneServer(device.transport)
        served(f"udp:127.0.0.1:{server.port}")
        end = time.monotonic() + 30
        while not pictures_wanted(server) and time.monotonic() < end:
            server.serve_one()
        last = time.monotonic() + 3
        while time.monotonic() < last:
            server.serve_one()
        server.close()
        return Outcome({"frames": 7}, [])

    def pictures_wanted(server: EtherboneServer) -> bool:
        return server.answered > 30

    outcome, pictures = record(work, 0.2)
    assert outcome.figures == {"frames": 7}
    assert pictures
    assert "timely" in pictures[-1][1]


def test_an_error_of_the_lab_is_raised() -> None:
    def work(_: Callable[[str], None]) -> Outcome:
        raise ValueError("no guests today")

    with pytest.raises(ValueError, match="no guests today"):
        record(work, 0.2)
