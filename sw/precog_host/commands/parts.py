"""What commands about one part of a device share: the part's driver, and tables of it."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from precog_host.output import emit, table
from precog_host.transport import DeviceError
from precog_models.presets import LAW_PRESETS
from precog_models.psched_presets import PSCHED_PRESETS

if TYPE_CHECKING:
    from precog_host.device import Device

__all__ = ["LAW_PRESET_HELP", "PSCHED_PRESET_HELP", "emit_rows", "emit_settings", "open_part"]

_Part = TypeVar("_Part")

LAW_PRESET_HELP = f"Preset of pid and predpid: {', '.join(LAW_PRESETS)}."
PSCHED_PRESET_HELP = f"Preset of psched: {', '.join(PSCHED_PRESETS)}."


@contextmanager
def open_part(
    device: str, part: "Callable[[Device], _Part | None]", missing: str
) -> Iterator[_Part]:
    """A part of the device that a URI names, while the device is open.

    Parameters
    ----------
    device : str
        URI.
    part : callable
        The part of an open device; None: it was built without.
    missing : str
        What is said then.

    Raises
    ------
    DeviceError
        The device cannot be opened, or was built without the part.
    """
    from precog_host.device import Device

    with Device.open(device) as opened:
        found = part(opened)
        if found is None:
            raise DeviceError(missing)
        yield found


def emit_settings(parameters: Mapping[str, Any], counters: Mapping[str, Any], json_: bool) -> None:
    """Print a part's parameters and counters."""

    def draw() -> None:
        table(("parameter", "value"), list(parameters.items()))
        table(("counter", "value"), list(counters.items()))

    emit({"parameters": dict(parameters), "counters": dict(counters)}, draw, json_)


def emit_rows(columns: Sequence[str], found: Sequence[Any], json_: bool) -> None:
    """Print dataclasses, `columns` of them as a table."""
    rows = [dataclasses.asdict(one) for one in found]
    emit(
        rows, lambda: table(columns, [tuple(row[name] for name in columns) for row in rows]), json_
    )
