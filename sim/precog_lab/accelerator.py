"""Which accelerator guests run under: KVM where a kernel boots under it, else emulation (TCG).

That /dev/kvm can be opened proves nothing: some machines nest virtualization such that a stock
kernel never boots. What a test boot found is kept until the machine itself boots.
"""

import os
import subprocess
from pathlib import Path

from .image import Image
from .machine import machine
from .packages import Cache

__all__ = ["choose"]

_KVM = Path("/dev/kvm")
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_PATIENCE_S = 8.0
_SAID = b"lab: booted"


def choose(cache: Cache, image: Image) -> str:
    """``kvm`` or ``tcg``."""
    if not os.access(_KVM, os.R_OK | os.W_OK):
        return "tcg"
    boot = _BOOT_ID.read_text().strip() if _BOOT_ID.exists() else ""
    kept = cache.folder / "accelerator"
    if boot and kept.exists():
        was, _, accel = kept.read_text().strip().partition(" ")
        if was == boot and accel in ("kvm", "tcg"):
            return accel
    accel = "kvm" if _boots(image) else "tcg"
    kept.write_text(f"{boot} {accel}\n")
    return accel


def _boots(image: Image) -> bool:
    command = [*machine(image, "kvm", "lab.probe=1"), "-serial", "stdio"]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE_S
        )
    except subprocess.TimeoutExpired:
        return False
    return _SAID in done.stdout
