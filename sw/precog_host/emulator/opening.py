"""``emu:`` addresses: an emulated device from the options that an address names."""

from precog_spec.config import OPTIONS, NicConfig, option_value

from ..transport import DeviceError
from .device import Emulator

__all__ = ["open_emulator"]


def open_emulator(argument: str) -> Emulator:
    """An emulator from ``name=value`` pairs, such as ``emu:qps=128,sets=32,tick_ps=2000``.

    Raises
    ------
    DeviceError
        A name or value is none of an emulator's.
    """
    values: dict[str, int] = {}
    for part in argument.split(",") if argument else ():
        name, _, text = part.partition("=")
        if name not in (*OPTIONS, "tick_ps"):
            known = ", ".join(f"{known}=<number>" for known in sorted((*OPTIONS, "tick_ps")))
            raise DeviceError(f"emulator argument {part!r} must be one of {known}")
        if name in values:
            raise DeviceError(f"emulator argument {name} must be given once, not again as {part!r}")
        try:
            values[name] = option_value(name, text)
        except ValueError as error:
            raise DeviceError(f"emulator argument {part!r} {error}") from error
    tick_ps = values.pop("tick_ps", 1000)
    try:
        return Emulator(NicConfig(**values), tick_ps=tick_ps)  # type: ignore[arg-type]
    except ValueError as error:
        raise DeviceError(f"emulator: {error}") from error
