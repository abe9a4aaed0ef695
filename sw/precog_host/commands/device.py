"""``precog device``: identity, sizes and parts of a device."""

from typing import Annotated

import typer

from precog_host.output import DeviceOption, JsonOption, emit, group, table

__all__ = ["app"]

app = group("Identity, sizes and parts of a device.")


@app.command()
def show(device: DeviceOption = "emu:", json_: JsonOption = False) -> None:
    """Show what a device is: its identity, what it was built with, and parts that can be reset."""
    from precog_host.device import Device
    from precog_spec.config import OPTIONS
    from precog_spec.registers.reset import RESET_BLOCKS

    with Device.open(device) as opened:
        identity = {
            "device": device,
            "contract": f"{opened.identity.contract_hash:#010x}",
            "tick_ps": opened.tick_ps,
        }
        sizes = {name: getattr(opened.sizes, name) for name in OPTIONS}
        known = opened.reset.parts
    parts = {name: doc for name, _, doc in RESET_BLOCKS if name in known}

    def draw() -> None:
        table(("identity", ""), list(identity.items()))
        table(("built with", ""), list(sizes.items()))
        table(("part", "its reset"), list(parts.items()))

    emit({**identity, "sizes": sizes, "parts": parts}, draw, json_)


@app.command()
def reset(
    parts: Annotated[
        list[str],
        typer.Argument(metavar="PART...", help="Parts to reset; precog device show lists them."),
    ],
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Reset parts of a device while packets and samples flow; none of these is lost."""
    from precog_host.device import Device

    with Device.open(device) as opened:
        done = list(opened.reset.reset(parts))
    emit({"reset": done}, lambda: typer.echo(f"reset: {', '.join(done)}"), json_)
