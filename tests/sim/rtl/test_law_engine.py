"""A NIC with a law engine: every decision and every register of RTL and emulator are equal."""

import random
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from precog_host.device import Device
from precog_host.emulator import Emulator
from precog_host.transport import DeviceError
from precog_models.laws.compiler.compile import compile_law
from precog_models.laws.compiler.load import load
from precog_models.rate.engine.image import image_of
from precog_sim.rtl.library import RtlNic
from precog_sim.rtl.transport import RtlTransport
from precog_spec.config import PRESETS
from precog_spec.law_fields import EventKind

pytestmark = [pytest.mark.cosim, pytest.mark.xdist_group("law_engine")]

CONFIG = replace(PRESETS["tiny"], law_cores=1)
_EVENTS = (EventKind.CNP, EventKind.SWEEP, EventKind.LOSS, EventKind.SCORE)


class Twins:
    """The NIC in RTL and in the emulator, told the same."""

    def __init__(self) -> None:
        self.nic, self.emulator = RtlNic(CONFIG), Emulator(CONFIG)
        self.devices = Device(RtlTransport(self.nic)), Device(self.emulator)
        self.decided = 0

    def load(self, law: str, slot: int) -> None:
        """A law of ours, with its own parameters, into a slot of both."""
        made = compile_law(load(law))
        values = made.law.integers("default", 1000)
        loaded = [device.law.load(made.program, values, slot=slot) for device in self.devices]
        assert loaded[0] == loaded[1]

    def configure(self, qp: int, algorithm: str) -> None:
        """Let a queue pair run a law."""
        for device in self.devices:
            device.qp(qp).configure(preset="precog", enable=True, algorithm=algorithm)

    def same(self) -> None:
        """Engine, counters and queue pairs show the same."""
        rtl, golden = self.devices
        assert rtl.law.state() == golden.law.state()
        assert rtl.counters() == golden.counters()
        for qp in range(CONFIG.qps):
            assert rtl.qp(qp).status() == golden.qp(qp).status()

    def sample(self, qp: int, rtt: int, t: int) -> None:
        want = self.emulator.decide(np.array([[qp, rtt, t]], dtype=np.int64))[0]
        got = self.nic.decide(qp=qp, rtt=rtt, t=t)
        assert list(got.values()) == want.tolist()
        self.decided += 1

    def event(self, kind: EventKind, qp: int, t: int, value: int) -> None:
        (want,) = self.emulator.happen(np.array([kind, qp, t, value], dtype=np.int64))
        got = self.nic.event(kind=kind, qp=qp, t=t, value=value)
        assert list(got.values()) == want.tolist()
        self.decided += 1

    def ack(self, *words: int) -> None:
        row = np.array(words, dtype=np.int64)
        (want,) = self.emulator.acknowledge(row)
        assert self.nic.acknowledge(row).tolist() == want.tolist()
        self.decided += 1

    def traffic(self, rng: random.Random, t: int, count: int) -> int:
        """Samples, acknowledgements and events of all queue pairs; the time after them."""
        for _ in range(count):
            t += rng.randrange(1, 3000)
            qp, kind = rng.randrange(CONFIG.qps), rng.random()
            rtt = 4180 + rng.randrange(rng.choice([60, 600, 3000, 60_000]))
            if kind < 0.2:
                self.sample(qp, rtt, t)
            elif kind < 0.85:
                psn = t >> 10 & 0xFFFFFF
                self.ack(qp, t, rtt, rng.choice([0, 1000, 9000]), rng.randrange(2), psn, psn + 30)
            else:
                self.event(rng.choice(_EVENTS), qp, t, rng.randrange(101))
        return t


@pytest.fixture
def twins() -> Iterator[Twins]:
    made = Twins()
    yield made
    made.nic.close()


def test_programs_under_traffic(twins: Twins, seed: int, volume: int) -> None:
    """Three laws on queue pairs that collide, swapped while events flow."""
    rng, t = random.Random(seed), 1000
    laws = ("lockstep", "timely", "swift")
    for slot, law in enumerate(laws):
        twins.load(law, slot)
    for qp in range(CONFIG.qps):
        twins.configure(qp, f"law:{qp % len(laws)}")
    for _ in range(3 * volume):
        t = twins.traffic(rng, t, 400)
        twins.same()
        twins.load(rng.choice(laws), rng.randrange(len(laws)))
        twins.configure(rng.randrange(CONFIG.qps), f"law:{rng.randrange(4)}")
    assert twins.devices[0].law.state().counters["safe"] >= 0
    print(f"{twins.decided} decisions")


def test_refused_programs_leave_what_is_live(twins: Twins, seed: int) -> None:
    """A wrong CRC, contract or length; then a trap, and an overrun."""
    rng = random.Random(seed)
    twins.load("timely", 0)
    for qp in range(CONFIG.qps):
        twins.configure(qp, "law:0")
    made = compile_law(load("swift"))
    image = image_of(made.program, made.law.integers("default", 1000))
    other = image.copy()
    other[1] ^= 1
    for bad, crc, reason in (
        (image, 5, "bad crc"),
        (other, None, "bad contract"),
        (image[:-1], None, "bad length"),
        (np.append(image, 0), None, "bad length"),
        (np.append(other[1:], 0), None, "bad format"),
    ):
        for device in twins.devices:
            with pytest.raises(DeviceError, match=f"refused by bank 1: {reason}"):
                device.law.write_bank(1, bad, crc=crc)
            with pytest.raises(DeviceError, match="law slot 1 was refused: bank 1 is not valid"):
                device.law._map(1, 1, enable=True)
    for device in twins.devices:
        with pytest.raises(DeviceError, match="refused by bank 0: bank in use"):
            device.law.write_bank(0, image)
    t = twins.traffic(rng, 1000, 100)
    twins.same()
    assert twins.devices[0].law.slots()[0].law == "timely"
    for device in twins.devices:
        device.law.configure(budget=20)
    t = twins.traffic(rng, t, 60)
    twins.same()
    state = twins.devices[0].law.state()
    assert state.trap is not None
    assert state.trap["status"] == "overrun"
    assert (state.slots[0].law, state.slots[0].trapped) == (None, True)
    assert state.counters["safe"] > 0
    for device in twins.devices:
        device.law.configure(budget=1023)
    broken = image.copy()
    broken[16 : 16 + 1024] = 0xFFFF_FFFF
    for device in twins.devices:
        device.law.write_bank(1, broken)
        device.law._map(0, 1, enable=True)
    twins.traffic(rng, t, 60)
    twins.same()
    state = twins.devices[0].law.state()
    assert state.trap is not None
    assert state.trap["status"] == "illegal"
    twins.load("timely", 0)
    twins.traffic(rng, t + 1_000_000, 100)
    twins.same()
