"""Discovery: the driver finds its blocks, and refuses what it does not know."""

from collections.abc import Callable

import pytest

from precog_host.device import Device
from precog_host.emulator.device import Emulator
from precog_host.emulator.opening import open_emulator
from precog_host.opening import open_transport, transport_names
from precog_host.registers import Registers
from precog_host.transport import BusError, DeviceError
from precog_spec.config import NicConfig


class Patched:
    """An emulator of which some words read otherwise."""

    def __init__(self, words: dict[int, int]) -> None:
        self._inner = Emulator(NicConfig(qps=4, sets=2))
        self._words = words

    def read32(self, address: int) -> int:
        return self._words.get(address, self._inner.read32(address))

    def write32(self, address: int, value: int) -> None:
        self._inner.write32(address, value)

    def close(self) -> None:
        self._inner.close()


def address(name: str) -> int:
    words = {word.name: word.address for word in Emulator(NicConfig(qps=4, sets=2)).map.words()}
    return words[name]


@pytest.mark.parametrize(
    ("word", "value", "message"),
    [
        ("ID.TYPE", 0x1234_0001, "block at 0x0000 must have vendor 0x4350, not 0x1234"),
        ("PID.TYPE", 0x4350_0077, "device has no PID block"),
        ("QP.VERSION", 0x0003_0000, "QP block must have major version 2, not 3"),
        ("MODEL.NEXT", 0x0080, "must lie behind it, not at 0x0080"),
        ("MODEL.NEXT", 0x0203, "must lie behind it, not at 0x0203"),
        ("ID.MAGIC", 7, "device magic must be 0x50524347, not 0x00000007"),
        ("ID.TICK_PS", 0, r"device says that tick_ps must be in 1\.\.16777215, not 0"),
        ("MODEL.SETS_SHAPE", 0x0010_0002, "MODEL.SETS must be described by"),
        ("ID.CONTRACT", 1, "device contract must be .*, not 0x00000001"),
    ],
)
def test_a_device_that_is_not_known_is_refused(word: str, value: int, message: str) -> None:
    with pytest.raises(DeviceError, match=message):
        Device(Patched({address(word): value}))


def test_minor_versions_and_unknown_blocks_are_accepted() -> None:
    Registers(Patched({address("QP.VERSION"): 0x0002_0007}))


def test_a_list_without_end_is_refused() -> None:
    class Endless:
        def read32(self, address: int) -> int:
            return (0x4350_0000 | address & 0xFFFF, 0x1_0000, (address & ~0xF) + 16)[
                address % 16 // 4
            ]

        def write32(self, address: int, value: int) -> None:
            raise AssertionError

        def close(self) -> None:
            pass

    with pytest.raises(DeviceError, match="device must have at most 64 blocks"):
        Registers(Endless())


def test_bus_errors_name_the_register() -> None:
    class Refusing(Patched):
        def read32(self, address: int) -> int:
            if address == forbidden:
                raise BusError("read", address, "SLVERR")
            return super().read32(address)

    forbidden = address("PID.KP")
    registers = Registers(Refusing({}))
    with pytest.raises(
        BusError, match=rf"read of register {forbidden:#06x} \(PID.KP\) answered SLVERR"
    ):
        registers.read("PID", "KP")


def test_the_last_access_that_fails_closes_the_transport(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[bool] = []
    patched = Patched({address("ID.MAGIC"): 0})
    monkeypatch.setattr(patched, "close", lambda: closed.append(True))
    opener: Callable[[str], Patched] = lambda uri: patched  # noqa: E731
    monkeypatch.setattr("precog_host.device.open_transport", opener)
    with pytest.raises(DeviceError):
        Device.open("any:")
    assert closed == [True]


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("emu", "device URI must be <transport>:<argument>, not 'emu'"),
        ("usb:1", "device transport must be one of emu:, .*not usb:"),
        ("emu:qp=4", "emulator argument 'qp=4' must be one of .*qps=<number>"),
        ("emu:,,", "emulator argument '' must be one of .*qps=<number>"),
        ("emu:qps=4,", "emulator argument '' must be one of"),
        ("emu:qps=-4", "emulator argument 'qps=-4' must be qps=<number>"),
        ("emu:qps=0", r"emulator: qps must be a power of two in 1\.\.65536, not 0"),
        ("emu:tick_ps=0", "emulator: tick_ps must be"),
        ("emu:sets=1", "emulator: sets must be a power of two in 2..64, not 1"),
        ("emu:lanes=7", "emulator: lanes must be one of 4, 8, 16, 64, 128, not 7"),
        ("emu:lanes=8", "emulator: columns must be 1 at 8 lanes, not 4"),
        ("emu:steps=9", "emulator: steps must be in 1..8, not 9"),
        ("emu:columns=999", "emulator: columns must be one of 1, 2, 4, not 999"),
        ("emu:qps=\u0664", "emulator argument 'qps=\u0664' must be qps=<number>"),
        ("emu:qps=64,qps=32", "emulator argument qps must be given once, not again as 'qps=32'"),
    ],
)
def test_bad_uris(uri: str, message: str) -> None:
    with pytest.raises(DeviceError, match=message):
        open_transport(uri)


def test_emulator_arguments_reach_the_identity() -> None:
    device = Device(open_emulator("qps=16,sets=4,tick_ps=2000"))
    assert (device.sizes.qps, device.sizes.sets, device.tick_ps) == (16, 4, 2000)
    assert device.parameters()["queue_budget_us"] == pytest.approx(0.8, abs=1e-5)


def test_transports_are_listed() -> None:
    assert "emu" in transport_names()


def test_dump_has_every_named_register() -> None:
    registers = Registers(Emulator(NicConfig(qps=4, sets=2)))
    names = [name for _, name, _ in registers.dump()]
    assert names[:4] == ["ID.TYPE", "ID.VERSION", "ID.NEXT", "ID.MAGIC"]
    assert "QP.LAST_RATE" in names
