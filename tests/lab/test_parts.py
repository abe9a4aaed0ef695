"""What the lab is made of: settings, packages, the image, ties of queue pairs."""

import gzip
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.command_line import ran

from precog_host.rdma_list import RdmaQp
from precog_lab import accelerator, packages
from precog_lab.accelerator import choose
from precog_lab.guest import Address
from precog_lab.image import Image, archive, depends, module_order
from precog_lab.machine import Extras, machine
from precog_lab.packages import GUEST, KERNEL, Cache, LabError
from precog_lab.roce import Requests, request
from precog_lab.settings import Settings
from precog_lab.ties import ties

from .fake_guest import frame


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Settings(workloads=("x",)), "workload must be one of write, .* not 'x'"),
        (lambda: Settings(workloads=()), "workload must be one or more of .* not none"),
        (lambda: Settings(ce=1.0), "ce must be a chance of 0 to below 1, not 1"),
        (lambda: Settings(loss=-0.1), "loss must be a chance of 0 to below 1, not -0.1"),
        (lambda: Settings(reorder=2), "reorder must be a chance"),
        (lambda: Settings(senders=9), r"incast must have 1..8 senders, not 9"),
        (lambda: Settings(delay_us=-1), "delay must be 0..10000 µs, not -1"),
        (lambda: Settings(link_gbps=0), "link must be 0.01..400 Gb/s, not 0"),
        (lambda: Settings(iterations=1), "iterations must be 5..10000000, not 1"),
        (lambda: Settings(rest_s=-1), "rest must be 0..3600 s, not -1"),
        (lambda: Settings(mark_bytes=0), "mark-bytes must be positive, not 0"),
        (lambda: Settings(pairs=17), "pairs must be 1..16, not 17"),
        (lambda: Settings(rtl=True, pairs=3, senders=2), "pairs must be at most 4 .* not 6"),
        (lambda: Settings(rtl=True, pace=True), "--pace must be left out with --rtl"),
    ],
)
def test_refusals(make: Callable[[], Settings], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--report {file}", "file {file}: No such folder"),
        ("--pcap {file}/x.pcap", "file {file}: No such folder"),
        ("--pcap x", "capture to write must be a .pcap or .pcapng file, not x"),
    ],
)
def test_places_are_looked_at_before_the_run(
    words: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    words, message = (text.format(file=tmp_path / "file") for text in (words, message))
    assert ran(capsys, "lab", *words.split()) == (2, "", f"error: {message}\n")


def test_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache(tmp_path)
    monkeypatch.setattr(packages.shutil, "which", lambda _: "/bin/tool")
    assert list(cache.missing()) == sorted({KERNEL, *GUEST})
    assert set(cache.missing().values()) == {"precog lab --fetch"}
    monkeypatch.setattr(packages.shutil, "which", lambda _: None)
    assert cache.missing()["qemu-system-x86"].startswith("apt-get install")
    assert cache.missing()["dpkg"] == "a machine with Debian's dpkg-deb"
    with pytest.raises(LabError, match="apt-get must be there to fetch Debian packages"):
        cache.fetch()
    monkeypatch.setattr(packages.platform, "machine", lambda: "riscv64")
    assert "x86_64 machine" in cache.missing()


def test_a_cache_in_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unpacked = []

    def tool(
        command: list[str], *, cwd: Path | None = None, **_: object
    ) -> subprocess.CompletedProcess[str]:
        said = ""
        if command[:2] == ["apt-cache", "depends"]:
            said = "  Depends: linux-image-6.1"
        elif command[0] == "apt-cache":
            said = "".join(f"Package: {name}\n" for name in command[2:])
        elif command[0] == "apt-get":
            assert cwd is not None
            (cwd / "some.deb").touch()
        else:
            deb, root = (Path(cwd or ".") / name for name in command[2:])
            unpacked.append((deb.is_file(), root.is_dir()))
        return subprocess.CompletedProcess(command, 0, said, "")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(packages.shutil, "which", lambda _: "/bin/tool")
    monkeypatch.setattr(packages.subprocess, "run", tool)
    cache = Cache(Path("cache"))
    cache.fetch()
    assert unpacked == [(True, True)]
    assert cache.missing() == {}


def test_modules_come_behind_what_they_need() -> None:
    needs = {"a": ["b", "c"], "b": ["c"], "c": [], "d": []}
    assert module_order(["a", "d"], needs) == ["c", "b", "a", "d"]
    with pytest.raises(LabError, match="module x of b of a must be in the kernel's package"):
        module_order(["a"], {"a": ["b"], "b": ["x"]})


def test_a_module_says_what_it_needs() -> None:
    assert depends(b"\0license=GPL\0depends=ib-core,udp_tunnel\0x=\0") == ["ib_core", "udp_tunnel"]
    assert depends(b"\0depends=\0name=x\0") == []


def test_the_archive_is_what_cpio_reads(tmp_path: Path) -> None:
    made = archive({"/init": (0o755, b"#!/bin/sh\n"), "/a/b/c": (0o644, b"deep")})
    raw = gzip.decompress(made)
    assert len(raw) % 4 == 0
    at, found = 0, {}
    while True:
        assert raw[at : at + 6] == b"070701"
        fields = [int(raw[at + 6 + 8 * n : at + 14 + 8 * n], 16) for n in range(13)]
        mode, size, name_size = fields[1], fields[6], fields[11]
        name = raw[at + 110 : at + 110 + name_size - 1].decode()
        at = (at + 110 + name_size + 3) // 4 * 4
        if name == "TRAILER!!!":
            break
        found[name] = mode, raw[at : at + size]
        at = (at + size + 3) // 4 * 4
    assert found == {
        "a": (0o40755, b""),
        "a/b": (0o40755, b""),
        "init": (0o100755, b"#!/bin/sh\n"),
        "a/b/c": (0o100644, b"deep"),
    }
    assert made == archive({"/init": (0o755, b"#!/bin/sh\n"), "/a/b/c": (0o644, b"deep")})


def qp(here: int, there: int) -> RdmaQp:
    return RdmaQp("rxe0", 1, here, there, "RC", "RTS", "")


def test_ties_of_queue_pairs() -> None:
    hub = [qp(17, 17), qp(18, 17), qp(19, 99)]
    found = ties({0: hub, 1: [qp(17, 17), qp(20, 21)], 2: [qp(17, 18)]})
    assert found == {
        0: [(hub[0], 1), (hub[1], 2)],
        1: [(qp(17, 17), 0)],
        2: [(qp(17, 18), 0)],
    }
    # Two guests with the same connection: neither is taken.
    assert ties({0: [qp(17, 17)], 1: [qp(17, 17)], 2: [qp(17, 17)]}) == {0: [], 1: [], 2: []}


def test_requests_that_are_sent_again() -> None:
    counted = Requests()
    for psn in (0xFFFFFE, 0xFFFFFF, 0, 1, 0xFFFFFF, 1, 2):
        found = request(frame(1, 0, 33, psn))
        assert found is not None
        counted.sent(1, 0, found)
    assert counted.again == 2
    assert request(bytes(80)) is None
    assert request(frame(1, 0, 33, 0)[:50]) is None


def test_a_guest_has_room_for_its_files(tmp_path: Path) -> None:
    image = Image(tmp_path / "vmlinux", tmp_path / "initramfs", "6")
    with image.initramfs.open("wb") as file:
        file.truncate(40 << 20)
    command = machine(image, "tcg", "")
    assert command[command.index("-m") + 1] == "480"
    command = machine(image, "tcg", "", Extras(memory_mb=256))
    assert command[command.index("-m") + 1] == "256"


def test_kvm_is_used_only_if_a_kernel_boots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = Image(tmp_path / "vmlinux", tmp_path / "initramfs", "6")
    image.initramfs.touch()
    cache = Cache(tmp_path)
    device, boot = tmp_path / "kvm", tmp_path / "boot_id"
    device.touch()
    boot.write_text("one\n")
    monkeypatch.setattr(accelerator, "_KVM", device)
    monkeypatch.setattr(accelerator, "_BOOT_ID", boot)
    boots: list[bytes] = []

    def run(command: list[str], **_: object) -> "subprocess.CompletedProcess[bytes]":
        assert "accel=kvm" in " ".join(command)
        if not boots:
            raise subprocess.TimeoutExpired(command, 8)
        return subprocess.CompletedProcess(command, 0, boots[0])

    monkeypatch.setattr(accelerator.subprocess, "run", run)
    assert choose(cache, image) == "tcg"
    boots.append(b"lab: booted\n")
    assert choose(cache, image) == "tcg"  # as it was found on this boot
    boot.write_text("two\n")
    assert choose(cache, image) == "kvm"
    device.unlink()
    assert choose(cache, image) == "tcg"


def test_addresses() -> None:
    address = Address(3)
    assert (address.ip, address.mac) == ("10.0.0.4", "52:54:00:c9:05:04")
    assert address.mac_bytes == b"RT\x00\xc9\x05\x04"
