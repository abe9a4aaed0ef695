"""``precog reset``: parts of a device that works go back to where they began."""

from typing import Annotated

import typer

from precog_host.output import DeviceOption, JsonOption, emit, table

__all__ = ["reset"]


def reset(
    parts: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PART]...", help="Parts to be reset; without one: list them."),
    ] = None,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Reset parts of a device while packets and samples flow; none of these is lost."""
    from precog_host.device import Device
    from precog_hw.regmap.reset import RESET_BLOCKS

    with Device.open(device) as opened:
        known = opened.resets.parts
        done = opened.resets.reset(parts) if parts else ()
    meaning = {name: doc for name, _, doc in RESET_BLOCKS if name in known}
    found = {"reset": list(done), "parts": meaning}

    def draw() -> None:
        if done:
            typer.echo(f"reset: {', '.join(done)}")
        else:
            table(("part", "its reset"), list(meaning.items()))

    emit(found, draw, json_)
