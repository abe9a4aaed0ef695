"""``pci:0000:03:00.0[/bar2]``, ``pci:/path/to/file``: registers in a BAR, mapped into memory.

Options after ``?``: ``offset`` (bytes into the BAR, 0; an application block of Corundum has its
registers in another BAR than Corundum itself). BAR 0 is taken if none is named.

Every access is one aligned load or store of 32 bits. PCI Express has no answer that says "refused":
what the bus behind the BAR refuses reads as all ones, or as 0, and a write to it is lost; so does
everything once the card is gone. All ones are therefore taken for a word only if the first word of
the registers is still what it was.
"""

import mmap
import os
import re
from collections.abc import Callable, MutableSequence
from pathlib import Path
from typing import Any

from .link_options import number, split_options
from .transport import BusError, DeviceError

__all__ = ["PciTransport", "map_words", "open_pci"]

_SYSFS = Path("/sys/bus/pci/devices")
_PLACE = re.compile(
    r"([0-9a-fA-F]{4}:)?([0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])(?:/(?:bar|resource)([0-5]))?"
)
_ALL_ONES = 0xFFFF_FFFF
_SMALLEST = 64  # bytes: the ID block alone is longer
_COMMAND, _MEMORY = 4, 2  # PCI configuration: offset of the command register, its memory bit


class PciTransport:
    """32-bit words of a mapping.

    Parameters
    ----------
    words : sequence of int
        What `map_words` gave, or something that acts as a BAR.
    name : str
        For errors.
    close : callable
        Gives the mapping back.

    Raises
    ------
    DeviceError
        The first word is all ones: nothing answers there.
    """

    def __init__(
        self, words: MutableSequence[int] | Any, name: str, close: Callable[[], None]
    ) -> None:
        self._words, self._name, self._close = words, name, close
        self._first = int(words[0])
        if self._first == _ALL_ONES:
            self.close()
            raise DeviceError(
                f"{name} reads all ones: the card is gone, in reset, or its memory space is "
                "disabled (setpci -s <card> COMMAND=0002:0002 enables it)"
            )

    def read32(self, address: int) -> int:
        """The word at `address`; `BusError` where the mapping has none."""
        word = int(self._words[self._index("read", address)])
        if word == _ALL_ONES and int(self._words[0]) != self._first:
            raise DeviceError(f"{self._name}: the card is gone: it reads all ones")
        return word

    def write32(self, address: int, value: int) -> None:
        """Set the word at `address`; `BusError` where the mapping has none."""
        if not 0 <= value <= _ALL_ONES:
            raise ValueError(f"a register's value must have 32 bits, not {value!r}")
        self._words[self._index("write", address)] = value

    def close(self) -> None:
        """Give the mapping back; harmless twice."""
        close, self._close = self._close, lambda: None
        self._words = (_ALL_ONES,)
        close()

    def _index(self, access: str, address: int) -> int:
        if not 0 <= address < 4 * len(self._words):
            raise BusError(access, address, "DECERR")
        if address % 4:
            raise BusError(access, address, "SLVERR")
        return address // 4


def map_words(path: Path, offset: int, name: str) -> tuple[memoryview, Callable[[], None]]:
    """The 32-bit words of a file from `offset` on, and what gives them back.

    An item of a view of such words is read and written by one copy of four aligned bytes, which
    every C compiler makes one load or store.

    Raises
    ------
    DeviceError
        The file is absent, may not be opened, is too small or cannot be mapped.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_SYNC)
    except FileNotFoundError as error:
        raise DeviceError(f"{name}: {path} does not exist") from error
    except PermissionError as error:
        raise DeviceError(
            f"{name}: {path} may not be opened: run as root, or let udev give it to a group"
        ) from error
    except OSError as error:
        raise DeviceError(f"{name}: {path} cannot be opened: {error.strerror}") from error
    try:
        size = os.fstat(descriptor).st_size
        if size < offset + _SMALLEST:
            raise DeviceError(
                f"{name}: {path} must have more than offset {offset:#x} and {_SMALLEST} bytes, "
                f"not {size:#x}: is it another BAR?"
            )
        mapping = mmap.mmap(descriptor, size, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
    except (OSError, ValueError) as error:
        raise DeviceError(
            f"{name}: {path} cannot be mapped: {error}: a BAR of ports, or no plain file?"
        ) from error
    finally:
        os.close(descriptor)
    end = size - size % 4
    view = memoryview(mapping)
    words = view[offset:end].cast("I")

    def close() -> None:
        words.release()
        view.release()
        mapping.close()

    return words, close


def open_pci(argument: str, root: Path = _SYSFS) -> PciTransport:
    """The transport of ``[DOMAIN:]BUS:DEVICE.FUNCTION[/barN]`` or of a file.

    Parameters
    ----------
    argument : str
    root : Path
        Where the kernel shows its PCI devices.

    Raises
    ------
    DeviceError
        As `map_words`, there is no such card, its memory space is disabled, or the argument is not
        such a one.
    """
    place, options = split_options(argument, {"offset": "0"}, "pci")
    offset = number(options["offset"], "pci offset", 0, 1 << 48)
    name = f"pci:{argument}"
    if offset % 4:
        raise DeviceError(f"pci offset must be a multiple of 4, not {options['offset']}")
    is_file = place.startswith(("/", "./", "../"))
    path = Path(place) if is_file else _bar(place, root, name)
    words, close = map_words(path, offset, name)
    return PciTransport(words, name, close)


def _bar(place: str, root: Path, name: str) -> Path:
    """File of the BAR that a URI names."""
    found = _PLACE.fullmatch(place)
    if not found:
        raise DeviceError(
            "pci device must be pci:0000:03:00.0, pci:03:00.0/bar2 or pci:/path/to/file, "
            f"not {name}"
        )
    domain, card, bar = found.groups()
    folder = root / f"{domain or '0000:'}{card}".lower()
    if not folder.is_dir():
        raise DeviceError(f"{name}: there is no PCI card {folder.name}: see lspci")
    try:
        command = (folder / "config").read_bytes()[_COMMAND]
    except (OSError, IndexError):
        command = _MEMORY  # what cannot be read says nothing against it
    if not command & _MEMORY:
        raise DeviceError(
            f"{name}: memory space of the card is disabled: as root, echo 1 > {folder}/enable"
        )
    path = folder / f"resource{bar or 0}"
    if not path.exists():
        bars = [f"bar{file.name[-1]}" for file in sorted(folder.glob("resource[0-5]"))]
        raise DeviceError(
            f"{name}: card has no BAR {bar or 0}, but {', '.join(bars) or 'none at all'}"
        )
    return path
