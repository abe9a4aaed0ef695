"""The emulator is the RTL's twin: the same accesses give the same words, whatever is asked."""

import random
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from precog_host.device import Device
from precog_host.emulator.device import Emulator
from precog_host.emulator.opening import open_emulator
from precog_host.opening import open_transport
from precog_host.transport import BusError, DeviceError, SampleTransport
from precog_spec.config import NicConfig
from precog_spec.contract import HEADER_OFFSET, IMAGE_BYTES
from precog_spec.registers.counters import COUNTERS

from .support import random_image, random_samples

TINY = "qps=4,sets=2,lanes=16,columns=1,steps=3"


# Bytes that the hardware looks at and the golden model takes as they are: recurrent weights, sizes
# and head kind, contract hash. (Only the latter refuses shifts above 7 and unused bytes.)
_SPOILT = (*range(0, 1024, 97), *range(HEADER_OFFSET, HEADER_OFFSET + 12))


class Twins:
    """Two transports that get the same accesses and must give the same answers."""

    def __init__(self, golden: Emulator, rtl: SampleTransport) -> None:
        self.transports: tuple[SampleTransport, ...] = golden, rtl
        self.address = {word.name: word.address for word in golden.map.words()}

    def read(self, name: str) -> int:
        values = [t.read32(self.address[name]) for t in self.transports]
        assert len(set(values)) == 1, f"{name} reads {[hex(v) for v in values]}"
        return values[0]

    def settle(self, name: str, busy: int) -> None:
        """Wait until no transport's word has the bit `busy`."""
        for transport in self.transports:
            while transport.read32(self.address[name]) & busy:
                pass

    def write(self, name: str, value: int) -> None:
        for transport in self.transports:
            transport.write32(self.address[name], value)

    def decide(self, samples: np.ndarray) -> None:
        first, second = (transport.decide(samples) for transport in self.transports)
        assert np.array_equal(first, second)

    def keep(self) -> None:
        """All counters as they are now."""
        self.settle("COUNTERS.STATE", 1)
        self.write("COUNTERS.COMMAND", 1)
        self.settle("COUNTERS.STATE", 1)

    def compare(self) -> None:
        """Every word of the map, once the loader is done with what was written."""
        self.settle("MODEL.STATUS", 1 << 8)
        self.settle("ECC.STATE", 1)
        self.keep()
        for name in self.address:
            valid = name.replace("SET_VERSION", "SET_STATE")
            if name.endswith("SET_VERSION") and not self.read(valid):
                continue  # the version of an invalid set means nothing
            self.read(name)


@contextmanager
def opened_twins(options: str = "") -> Iterator[Twins]:
    """The tiny device with `options`, emulated and of RTL, just reset, without walks of the ECC."""
    with Device.open(f"sim:tiny{options}") as rtl:  # waits until every queue pair is disabled
        assert isinstance(rtl.transport, SampleTransport)
        twins = Twins(open_emulator(TINY + options), rtl.transport)
        twins.write("ECC.CONTROL", 0)  # on the golden NIC no time passes
        twins.compare()
        yield twins


def begin(twins: Twins) -> None:
    """A model in slot 0, QP 0 that runs it, QP 1 without one; one load that is refused."""
    twins.write("MODEL.COMMAND", 2)
    image = random_image(1)
    twins.write("MODEL.COMMAND", 1)
    twins.settle("MODEL.STATUS", 1 << 8)
    for word in np.frombuffer(image.payload, dtype="<u4").tolist():
        twins.write("MODEL.DATA", word)
    twins.write("MODEL.CRC", image.crc32)
    twins.write("MODEL.COMMAND", 2)
    twins.settle("MODEL.STATUS", 1 << 8)
    twins.write("MODEL.SLOTS[0].SLOT", 1 << 8)
    twins.write("PID.ADVICE_USE", 0)  # random weights would never earn the skill monitor's trust
    twins.write("QP.MAX_RATE", 1 << 27)
    twins.write("QP.TARGET", 5000 << 8)
    for qp, model in ((0, 1), (1, 0)):
        twins.write("QP.SELECT", qp)
        twins.write("QP.CONTROL", 1 | 2 << 4 | model << 12)
        twins.write("QP.COMMAND", 2)
        twins.settle("QP.STATE", 1)
    twins.decide(random_samples(1, 30, [0, 1, 2]))


def load(twins: Twins, rng: random.Random) -> None:
    """A load, whole or spoilt in one of many ways."""
    number = rng.randrange(2)
    twins.write("MODEL.SET", number)
    if rng.random() < 0.9:
        twins.write("MODEL.COMMAND", 1)
        twins.settle("MODEL.STATUS", 1 << 8)
    steps = rng.choice((1, 3, 3, 4))
    payload = bytearray(random_image(rng.getrandbits(32), steps=steps).payload)
    words = rng.choice((512, 512, 512, 512, 512, 511, 513, 515, 1))
    if rng.random() < 0.2:
        payload[rng.choice(_SPOILT)] ^= 1 << rng.randrange(8)
        crc = rng.choice((zlib.crc32(payload), 0))
    else:
        crc = zlib.crc32(payload)
    for index in range(words):
        at = 4 * index % IMAGE_BYTES
        twins.write("MODEL.DATA", int.from_bytes(payload[at : at + 4], "little"))
    twins.write("MODEL.CRC", crc)
    twins.write("MODEL.COMMAND", 2)
    twins.settle("MODEL.STATUS", 1 << 8)
    twins.write(f"MODEL.SLOTS[{rng.randrange(2)}].SLOT", number | 1 << 8)  # refused if not valid


def configure(twins: Twins, rng: random.Random) -> None:
    twins.write("QP.SELECT", rng.randrange(5))
    twins.write(
        "QP.CONTROL", 1 | rng.getrandbits(24) & 0x01_1730 & ~(3 << 4) | rng.randrange(3) << 4
    )
    twins.write("QP.TARGET", rng.randrange(1 << 22))
    low, high = sorted(rng.randrange(1 << 28) for _ in range(2))
    for name, value in (("MIN", low), ("MAX", high), ("INIT", rng.randrange(1 << 28))):
        twins.write(f"QP.{name}_RATE", value)
    twins.write("QP.COMMAND", rng.randrange(8))
    twins.settle("QP.STATE", 1)


def parameters(twins: Twins, rng: random.Random) -> None:
    for name, bits in (("PID.KP", 13), ("PID.KI", 13), ("PID.KD", 13), ("PID.QUEUE_BUDGET", 20)):
        twins.write(name, rng.getrandbits(bits))
    twins.write("MEASURE.SIGMA", rng.getrandbits(16))
    twins.write("PID.ADVICE", rng.getrandbits(17))
    twins.write("PID.ADVICE_USE", rng.getrandbits(1))


def decide(twins: Twins, rng: random.Random) -> None:
    twins.decide(random_samples(rng.getrandbits(32), rng.randrange(1, 20), [0, 1, 2, 3, 4]))


def map_slot(twins: Twins, rng: random.Random) -> None:
    twins.write(f"MODEL.SLOTS[{rng.randrange(2)}].SLOT", rng.randrange(2) | rng.getrandbits(1) << 8)


def inject(twins: Twins, rng: random.Random) -> None:
    """Errors in stored words, some of words and bits that there are not; walks."""
    place = rng.choice((0, 0, 1, 1, 2)) | rng.getrandbits(10) << 8
    twins.write("ECC.PLACE", place)
    twins.write(
        "ECC.FLIPS", rng.randrange(40) | rng.randrange(40) << 8 | (rng.random() < 0.2) << 16
    )
    twins.write("ECC.COMMAND", rng.choice((2, 2, 2, 2, 1, 3)))
    twins.settle("ECC.STATE", 1)


def clear_errors(twins: Twins, rng: random.Random) -> None:
    twins.write("ECC.ERROR", rng.randrange(8))
    twins.write("MODEL.ERROR", rng.randrange(4))
    twins.write("QP.ERROR", rng.randrange(4))


@pytest.mark.cosim
@pytest.mark.xdist_group("tiny")
def test_random_accesses(seed: int) -> None:
    """Loads good and bad, maps, configurations, samples; after each, every word agrees."""
    rng = random.Random(seed)
    with opened_twins() as twins:
        run_random(twins, rng)


def run_random(twins: Twins, rng: random.Random) -> None:
    begin(twins)
    actions = (
        *(load, configure, configure, parameters, decide, decide, map_slot, clear_errors),
        *(inject, inject),
    )
    for _ in range(120):
        rng.choice(actions)(twins, rng)
        twins.compare()
    twins.keep()
    counts = {
        name: twins.read(f"COUNTERS.COUNTERS[{n}].LOW") for n, (name, _) in enumerate(COUNTERS)
    }
    for name in ("predictions", "fallbacks", "dropped", "load_errors"):
        assert counts[name] > 0, f"the run must have {name}, not {counts}"


@pytest.mark.cosim
@pytest.mark.xdist_group("tiny")
def test_commands_that_come_together() -> None:
    """One write with several bits: a begin goes before a commit, an injection before a walk."""
    with opened_twins(",law_cores=1") as twins:
        begin(twins)
        for load, image in (("MODEL", 512), ("LAW", 2064)):
            for first, words in ((3, 0), (1, image), (3, 1)):
                twins.write(f"{load}.COMMAND", first)
                twins.settle(f"{load}.STATUS", 1 << 8)
                for _ in range(words):
                    twins.write(f"{load}.DATA", 0)
                twins.write(f"{load}.COMMAND", 3)
                twins.compare()
        for command in range(8):
            for number, core in ((0, 0), (0, 1), (2, 0), (2, 1)):  # set 2 and core 1 do not exist
                twins.write("ECC.PLACE", number)
                twins.write("ECC.PROGRAM", core << 16)
                twins.write("ECC.COMMAND", command)
                twins.compare()
        twins.keep()
        for n, name in ((1, "passes"), (4, "injected"), (5, "refused")):
            assert twins.read(f"ECC.COUNTERS[{n}].LOW"), f"there must be {name}"


def test_values_must_have_32_bits() -> None:
    emulator = Emulator()
    with pytest.raises(ValueError, match="a register's value must have 32 bits, not -1"):
        emulator.write32(0, -1)
    with pytest.raises(BusError, match="write of register 0x0002 answered SLVERR"):
        emulator.write32(2, 0)


def test_account_counts_what_compiled_code_decided(seed: int) -> None:
    """Status and counters are the same whether samples came through the transport or beside it."""
    samples = random_samples(seed, 50, [0, 1])
    found = []
    for beside in (False, True):
        device = Device(Emulator(NicConfig(qps=4, sets=2)))
        device.apply_preset("precog")
        for qp in (0, 1):
            device.qp(qp).configure(preset="precog", enable=True, algorithm="pid")
        transport = device.transport
        assert isinstance(transport, Emulator)
        if beside:
            transport.account(transport.nic.decide_many(samples))
        else:
            transport.decide(samples)
        found.append((device.counters(), device.qp(0).status(), device.qp(1).status()))
    assert found[0] == found[1]


def test_counters_are_64_bits_wide_and_of_the_snapshot() -> None:
    device = Device(Emulator(NicConfig(qps=4, sets=2)))
    transport = device.transport
    assert isinstance(transport, Emulator)
    transport._counters.add("decisions", (1 << 32) - 1)
    low = device.registers.entry("COUNTERS", "COUNTERS", 1, "LOW")["low"]
    assert low == 0
    with device.one_instant(idle=True):
        transport._counters.add("decisions", 1)
        assert device.counters()["decisions"] == (1 << 32) - 1
        with device.one_instant():
            assert device.counters()["decisions"] == (1 << 32) - 1
        with (
            pytest.raises(RuntimeError, match="counters must not be of another instant already"),
            device.one_instant(idle=True),
        ):
            pass
    assert device.counters()["decisions"] == 1 << 32


@pytest.mark.parametrize("name", ["qps", "sets", "lanes", "columns", "steps"])
def test_the_emulator_has_the_gateware_s_limits(name: str) -> None:
    for value in (*range(18), 31, 32, 33, 63, 64, 65, 96, 127, 128, 129, 256, 65536, 131072):
        try:
            NicConfig(**{name: value})
        except ValueError as error:
            with pytest.raises(DeviceError, match=f"^emulator: {re.escape(str(error))}$"):
                open_transport(f"emu:{name}={value}")
        else:
            open_transport(f"emu:{name}={value}").close()
