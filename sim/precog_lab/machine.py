"""The machine that QEMU makes for a guest."""

from dataclasses import dataclass

from .image import Image
from .packages import QEMU

__all__ = ["NO_EXTRAS", "Extras", "machine"]

_KERNEL_LINE = "console=ttyS0 loglevel=4 panic=-1 no_timer_check tsc=reliable mitigations=off"


@dataclass(frozen=True)
class Extras:
    """What a guest has that others do not.

    Parameters
    ----------
    memory_mb : int
        Of all; by default as much as the image's files leave room for.
    processor : str
        Under emulation; QEMU's plainest if empty.
    options : tuple of str
        Of QEMU.
    descriptors : tuple of int
        That QEMU inherits.
    """

    memory_mb: int = 0
    processor: str = ""
    options: tuple[str, ...] = ()
    descriptors: tuple[int, ...] = ()


_SYSTEM_MB, _UNPACKED = 160, 8

#: A guest that needs nothing more.
NO_EXTRAS = Extras()


def machine(image: Image, accel: str, append: str, extras: Extras = NO_EXTRAS) -> list[str]:
    """QEMU's command line for any guest: a kernel, and nothing that it does not need."""
    name = "host" if accel == "kvm" else extras.processor
    processor = ["-cpu", name] if name else []
    memory = str(extras.memory_mb or _room_mb(image))
    return [
        *(QEMU[0], "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
        *("-machine", f"pc,accel={accel}", *processor, "-smp", "1", "-m", memory),
        *("-kernel", str(image.kernel), "-initrd", str(image.initramfs)),
        *("-append", f"{_KERNEL_LINE} {append}"),
        *extras.options,
    ]


def _room_mb(image: Image) -> int:
    """Memory of a guest whose files are unpacked to some six times their size, in MB."""
    return _SYSTEM_MB + _UNPACKED * (image.initramfs.stat().st_size >> 20)
