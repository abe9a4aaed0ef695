"""The transport that a device's URI names.

``emu:``, ``pci:``, ``uart:`` and ``udp:`` are built in. Others register under the entry point
group ``precog.transports`` as a function that takes what follows the colon and returns a
`Transport`.
"""

from collections.abc import Callable
from importlib.metadata import entry_points

from .extras import advice
from .transport import DeviceError, Transport

__all__ = ["ENTRY_POINT_GROUP", "open_transport", "transport_names"]

ENTRY_POINT_GROUP = "precog.transports"


def _emulator(argument: str) -> Transport:
    from precog_host.emulator.opening import open_emulator

    return open_emulator(argument)


def _pci(argument: str) -> Transport:
    from precog_host.pci import open_pci

    return open_pci(argument)


def _uart(argument: str) -> Transport:
    from precog_host.uart import open_uart

    return open_uart(argument)


def _udp(argument: str) -> Transport:
    from precog_host.udp import open_udp

    return open_udp(argument)


_BUILT_IN: dict[str, Callable[[str], Transport]] = {
    "emu": _emulator,
    "pci": _pci,
    "uart": _uart,
    "udp": _udp,
}


def transport_names() -> list[str]:
    """Names of all transports that are installed."""
    return sorted({*_BUILT_IN, *(point.name for point in entry_points(group=ENTRY_POINT_GROUP))})


def open_transport(uri: str) -> Transport:
    """The transport that `uri`, ``name:argument``, names.

    Raises
    ------
    DeviceError
        There is no such transport, or it refuses its argument.
    """
    name, colon, argument = uri.partition(":")
    if not colon:
        raise DeviceError(f"device URI must be <transport>:<argument>, not {uri!r}")
    if name in _BUILT_IN:
        return _BUILT_IN[name](argument)
    for point in entry_points(group=ENTRY_POINT_GROUP, name=name):
        try:
            opener: Callable[[str], Transport] = point.load()
        except ImportError as error:
            reason = advice(error) or str(error)
            raise DeviceError(f"device transport {name}: is not available: {reason}") from error
        return opener(argument)
    known = ", ".join(f"{known}:" for known in transport_names())
    raise DeviceError(f"device transport must be one of {known}, not {name}:")
