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
    processor : str
        Under emulation; QEMU's plainest if empty.
    options : tuple of str
        Of QEMU.
    descriptors : tuple of int
        That QEMU inherits.
    """

    memory_mb: int = 224
    processor: str = ""
    options: tuple[str, ...] = ()
    descriptors: tuple[int, ...] = ()


#: A guest that needs nothing more.
NO_EXTRAS = Extras()


def machine(image: Image, accel: str, append: str, extras: Extras = NO_EXTRAS) -> list[str]:
    """QEMU's command line for any guest: a kernel, and nothing that it does not need."""
    name = "host" if accel == "kvm" else extras.processor
    processor = ["-cpu", name] if name else []
    memory = str(extras.memory_mb)
    return [
        *(QEMU[0], "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
        *("-machine", f"pc,accel={accel}", *processor, "-smp", "1", "-m", memory),
        *("-kernel", str(image.kernel), "-initrd", str(image.initramfs)),
        *("-append", f"{_KERNEL_LINE} {append}"),
        *extras.options,
    ]
