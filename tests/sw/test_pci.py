"""Registers in a mapped file; a BAR that is none any more; errors of each step."""

from pathlib import Path

import pytest

from precog_host.emulator.device import Emulator
from precog_host.pci import PciTransport, map_words, open_pci
from precog_host.transport import BusError, DeviceError

from .links import SCRATCH, FakeBar


def test_a_file_of_registers(tmp_path: Path) -> None:
    """Words go to and come from the mapped file, at the offset, little endian."""
    path = tmp_path / "bar"
    path.write_bytes(bytes(0x100) + b"\x50\x43\x02\x01" + bytes(0x80))
    link = open_pci(f"{path}?offset=0x100")
    assert link.read32(0) == 0x0102_4350
    link.write32(8, 0xA1B2_C3D4)
    link.close()
    link.close()
    assert path.read_bytes()[0x108:0x10C] == b"\xd4\xc3\xb2\xa1"
    with pytest.raises(BusError, match="DECERR"):
        link.read32(0x100)


def test_a_card_in_sysfs(tmp_path: Path) -> None:
    card = tmp_path / "0000:03:00.0"
    card.mkdir()
    (card / "config").write_bytes(bytes(4) + b"\x02" + bytes(60))
    (card / "resource0").write_bytes(bytes(32))
    (card / "resource2").write_bytes(b"\x01\x00\x50\x43" + bytes(4092))
    for text in ("03:00.0/bar2", "0000:03:00.0/resource2"):
        link = open_pci(text, tmp_path)
        assert link.read32(0) == 0x4350_0001
        link.close()
    for text, message in (
        ("03:00.0", "must have more than offset 0x0 and 64 bytes, not 0x20: is it another BAR"),
        ("03:00.0/bar1", "card has no BAR 1, but bar0, bar2"),
        ("0000:04:00.0", "there is no PCI card 0000:04:00.0: see lspci"),
        ("eth0", "pci device must be pci:0000:03:00.0"),
        ("03:00.0/bar2?offset=2", "pci offset must be a multiple of 4"),
        ("03:00.0/bar2?offset=0x1000", "must have more than offset 0x1000"),
        ("/no/such/file", "does not exist"),
        (str(tmp_path), "cannot be opened"),
    ):
        with pytest.raises(DeviceError, match=message):
            open_pci(text, tmp_path)
    (card / "config").write_bytes(bytes(64))
    with pytest.raises(DeviceError, match="memory space of the card is disabled"):
        open_pci("03:00.0/bar2", tmp_path)


def test_what_may_not_be_opened_or_mapped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*_: object) -> int:
        raise PermissionError(13, "denied")

    with pytest.raises(DeviceError, match=r"cannot be mapped|more than offset"):
        map_words(Path("/dev/null"), 0, "pci:x")
    monkeypatch.setattr("os.open", refuse)
    with pytest.raises(DeviceError, match="may not be opened: run as root"):
        map_words(tmp_path / "bar", 0, "pci:x")


def test_a_card_that_goes_away() -> None:
    bar = FakeBar(Emulator())
    link = PciTransport(bar, "pci:fake", lambda: None)
    link.write32(SCRATCH, 0xFFFF_FFFF)
    assert link.read32(SCRATCH) == 0xFFFF_FFFF  # all ones may be a value
    bar.gone = True
    with pytest.raises(DeviceError, match="the card is gone"):
        link.read32(SCRATCH)
    with pytest.raises(DeviceError, match="pci:fake reads all ones: the card is gone, in reset"):
        PciTransport(bar, "pci:fake", lambda: None)
