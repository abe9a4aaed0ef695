"""``precog lab --pci``: a card on the PCI bus of a Linux guest, which finds and drives it."""

import json
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from precog_host.device import Device
from precog_host.emulator.device import Emulator
from precog_sim.backtoback.frames import SEND_ONLY, Host, Packet
from precog_sim.backtoback.frames import build as build_frame
from precog_spec.config import NicConfig

from .accelerator import choose
from .guest import Address, Answer, Guest
from .image import build
from .machine import Extras
from .packages import Cache, LabError
from .pci_card import PciCard
from .pci_config import DEVICE_ID, VENDOR_ID
from .pci_image import SESSION, with_python
from .pci_pin import EmulatedPin
from .pci_session import session

__all__ = ["run_pci"]

_SIZES = NicConfig(qps=64, sets=2, width=64, receiver=True, trace=True)
_SLOT = "0000:00:10.0"
_FOLDER = f"/sys/bus/pci/devices/{_SLOT}"
_URI = f"pci:{_SLOT}"
_PROCESSOR = "Nehalem"  # numpy's wheels need x86-64-v2
_MEMORY_MB = 640
_BOOT_S = 300.0
_PATIENCE_S = 240.0
_GONE_AFTER = 200  # reads of a session, then the card goes away
_PROXY = "x-pci-proxy-dev"
_DRIVER = "/sys/bus/pci/drivers/uio_pci_generic"
_WAIT_FILE = "n=0; until [ -e {0} ]; do n=$((n+1)); [ $n -gt 600 ] && exit 1; usleep 50000; done"
_UIO = (
    "while read -r m; do insmod /modules/$m || exit 1; done < /modules/pci; "
    f"echo {VENDOR_ID:04x} {DEVICE_ID:04x} > {_DRIVER}/new_id; "
    f"{_WAIT_FILE.format('/dev/uio0')}; cat {_FOLDER}/irq"
)
_LISTEN = "exec 5</dev/uio0; touch /tmp/listens{0}; dd bs=4 count=1 <&5 2>/dev/null | od -An -td4"
#: uio_pci_generic has set the bit of the command register that disables the pin.
_UNMASK = f"printf '\\000' | dd of={_FOLDER}/config bs=1 seek=5 conv=notrunc 2>/dev/null"
_COUNTED = "awk '/uio/ {print $2}' /proc/interrupts"


def run_pci(
    cache: Cache, *, rtl: bool = False, progress: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """Boot a guest with a card, and go through all that a driver does with it.

    Parameters
    ----------
    cache : Cache
        With guests' packages.
    rtl : bool
        A Verilated card instead of a golden one.
    progress : callable
        Told in words what goes on.

    Returns
    -------
    dict
        ``differences`` counts what was not as it should be, and ``failed`` names it.

    Raises
    ------
    LabError
        The guest or a program in it failed, or hangs.
    """
    image = with_python(cache, build(cache))
    accel = choose(cache, image)
    device, inject = _device(rtl)
    began = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="lab-"))
    pin = EmulatedPin(folder / "pin") if accel == "tcg" else None
    card = PciCard(device, pin.drive if pin is not None else lambda _: None)
    ours, theirs = socket.socketpair()
    options = (
        *("-object", f"memory-backend-memfd,id=ram,size={_MEMORY_MB}M,share=on"),
        *("-machine", "memory-backend=ram"),
        *("-device", f"{_PROXY},fd={theirs.fileno()},addr={_SLOT[8:]}"),
        *(pin.options if pin is not None else ()),
    )
    extras = Extras(_MEMORY_MB, _PROCESSOR, options, (theirs.fileno(),))
    threading.Thread(target=card.serve, args=(ours,), daemon=True).start()
    guest: Guest | None = None
    try:
        guest = Guest(image, accel, Address(0), [], folder, extras=extras)
        theirs.close()
        if pin is not None:
            pin.connect()
        console = _Console(guest)
        console.answer("ready", _BOOT_S)
        booted = time.monotonic()
        progress(f"Linux {image.release} booted in {booted - began:.1f} s, {accel}")
        found = _driven(console, card, rtl, progress)
        found |= _interrupted(console, card, pin, inject, progress)
        found |= _gone(console, card, ours, progress)
    finally:
        if guest is not None:
            guest.stop()
        ours.close()
        if pin is not None:
            pin.close()
        shutil.rmtree(folder, ignore_errors=True)
    return _judged(found) | {
        "reads": card.reads,
        "writes": card.writes,
        "refused": card.refused,
        "refusals": card.refusals,
        "boot_s": round(booted - began, 3),
        "wall_s": round(time.monotonic() - began, 3),
        "accel": accel,
        "kernel": image.release,
        "card": "rtl" if rtl else "golden",
    }


class _Console:
    """Commands of one guest, each waited for."""

    def __init__(self, guest: Guest) -> None:
        self._guest = guest
        self._answers: dict[str, Answer] = {}

    def start(self, command: str) -> str:
        """Start a command; its number."""
        return self._guest.run(command)

    def answer(self, number: str, patience_s: float = _PATIENCE_S) -> Answer:
        """The answer to a command, once it has come."""
        give_up = time.monotonic() + patience_s
        while number not in self._answers:
            for one in self._guest.answers():
                self._answers[one.number] = one
            self._guest.check()
            if time.monotonic() > give_up:
                tail = self._guest.tail()
                raise LabError(f"answer {number} did not come within {patience_s:.0f} s\n{tail}")
            time.sleep(0.01)
        return self._answers.pop(number)

    def said(self, command: str) -> str:
        """What a command prints that must end well."""
        answer = self.answer(self.start(command))
        if answer.status:
            raise LabError(f"guest's {command!r} failed: {answer.output.strip()[-500:]}")
        return answer.output.strip()


def _device(rtl: bool) -> tuple[Device, Callable[[bytes], object]]:
    """A device and what gives it a frame from the wire."""
    if not rtl:
        emulator = Emulator(_SIZES)
        assert emulator.packets is not None
        packets = emulator.packets
        return Device(emulator), lambda frame: packets.receive(frame, 0)
    from precog_sim.rtl.packet_block import Wire
    from precog_sim.rtl.packet_nic import PacketNic

    from .rtl_card import CONFIG, PRACTICE

    nic = PacketNic(CONFIG, practice=PRACTICE)
    return Device(nic), lambda frame: nic.run((), [Wire(frame)])


def _driven(
    console: _Console, card: PciCard, rtl: bool, progress: Callable[[str], None]
) -> dict[str, Any]:
    """The guest's own lspci, and a session with the driver that is also had without PCI."""
    listed = console.said(f"lspci -n -D -s {_SLOT}")
    console.said(f"echo 1 > {_FOLDER}/enable")
    began, reads = time.monotonic(), card.reads
    text = console.said(f"{SESSION} {_URI}")
    seconds = time.monotonic() - began
    wanted = session(Device(Emulator(_sizes(rtl))))
    got = json.loads(text.splitlines()[-1])
    same = json.loads(json.dumps(wanted))
    progress(f"{listed}; session of {card.reads - reads} reads in {seconds:.1f} s")
    return {
        "lspci": listed,
        "ids": f"{VENDOR_ID:04x}:{DEVICE_ID:04x}" in listed,
        "session": [name for name in same if got.get(name) != same[name]],
        "words": got["words"],
        "lost": got["lost"],
        "session_s": round(seconds, 3),
    }


def _sizes(rtl: bool) -> NicConfig:
    if not rtl:
        return _SIZES
    from .rtl_card import CONFIG

    return CONFIG


def _interrupted(
    console: _Console,
    card: PciCard,
    pin: EmulatedPin | None,
    inject: Callable[[bytes], object],
    progress: Callable[[str], None],
) -> dict[str, Any]:
    """A damaged packet comes from the wire: the guest's handler runs, twice."""
    line = int(console.said(_UIO))
    if pin is not None:
        pin.route(line)
    bind = "packet binding add 0 10.0.0.2 --remote-qp 17 --local-qp 18"
    console.said(f"precog {bind} -d {_URI} && precog interrupt set icrc -d {_URI}")
    before, handled = card.interrupts, int(console.said(_COUNTED))
    counts, shown = [], ""
    for turn in range(2):
        waits = console.start(_LISTEN.format(turn))
        console.said(_WAIT_FILE.format(f"/tmp/listens{turn}"))
        with card.lock:
            inject(_damaged(turn))
            card.look()
        counts.append(int(console.answer(waits).output))
        shown = console.said(f"precog interrupt show -j -d {_URI}")
        console.said(f"precog interrupt clear all -d {_URI}")
        console.said(_UNMASK)
    interrupts = card.interrupts - before
    progress(f"interrupt {line}: {interrupts} from the card, the program woke {len(counts)} times")
    return {
        "interrupts": interrupts,
        "woken": len(counts),
        "handled": int(console.said(_COUNTED)) - handled,
        "cause": json.loads(shown)["causes"]["icrc"],
    }


def _damaged(psn: int) -> bytes:
    """A packet whose ICRC is wrong."""
    far, near = Host(0x525400C90502, 0x0A000002), Host(0x525400C90501, 0x0A000001)
    frame = build_frame(Packet(SEND_ONLY, 18, psn, payload=b"damaged"), far, near, 0xC000)
    return frame[:-1] + bytes([frame[-1] ^ 1])


def _gone(
    console: _Console, card: PciCard, ours: socket.socket, progress: Callable[[str], None]
) -> dict[str, Any]:
    """The card goes away under a session, which must end and say so."""
    reads = card.reads
    number = console.start(f"{SESSION} {_URI}")
    give_up = time.monotonic() + _PATIENCE_S
    while card.reads < reads + _GONE_AFTER:
        if time.monotonic() > give_up:
            raise LabError("session must read the card: it does not")
        time.sleep(0.001)
    with card.lock:
        ours.shutdown(socket.SHUT_RDWR)
    began = time.monotonic()
    during = console.answer(number)
    seconds = time.monotonic() - began
    after = console.answer(console.start(f"precog device show -d {_URI}"))
    progress(f"card gone: {during.output.strip()}")
    return {
        "gone": [during.status, after.status],
        "gone_says": during.output.strip()[-200:],
        "gone_s": round(seconds, 3),
        "gone_after_says": after.output.strip()[-200:],
    }


def _judged(found: dict[str, Any]) -> dict[str, Any]:
    """What is not as it should be, by name."""
    failed = [
        what
        for what, good in (
            ("lspci shows other numbers", found["ids"]),
            (f"session differs in {found['session']}", not found["session"]),
            (f"words do not keep what is written: {found['lost']}", not found["lost"]),
            ("interrupts are not 2, or not seen", found["interrupts"] == found["woken"] == 2),
            ("handler did not run for each interrupt", found["handled"] >= 2),
            ("cause is not icrc", found["cause"]),
            ("exit status must be 2 when the card is gone", found["gone"] == [2, 2]),
        )
        if not good
    ]
    return found | {"failed": failed, "differences": len(failed)}
