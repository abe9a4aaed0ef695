"""``precog cc watchdog``: advice is held while the host does not say that it is alive."""

from typing import TYPE_CHECKING, Annotated

import typer

from precog_host.output import DeviceOption, JsonOption, emit, group, table

if TYPE_CHECKING:
    from precog_host.device import Device

__all__ = ["app"]

app = group("Watchdog of the host.")


@app.command()
def show(device: DeviceOption = "emu:", json_: JsonOption = False) -> None:
    """Show the watchdog."""
    from precog_host.device import Device

    with Device.open(device) as opened:
        _emit(opened, json_)


@app.command("set")
def set_(
    period_us: Annotated[
        float,
        typer.Option(
            help="Hold predictions and scores when no kick comes in this many us; 0: never. Clock "
            "cycles are counted, of a tick each; on an emulated device no time passes."
        ),
    ],
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Set the watchdog's period, and kick it."""
    from precog_host.device import Device

    with Device.open(device) as opened:
        opened.watchdog.set(period_us)
        _emit(opened, json_)


@app.command()
def kick(device: DeviceOption = "emu:", json_: JsonOption = False) -> None:
    """Tell the watchdog that the host is alive."""
    from precog_host.device import Device

    with Device.open(device) as opened:
        opened.watchdog.kick()
        _emit(opened, json_)


def _emit(opened: "Device", json_: bool) -> None:
    state = opened.watchdog.state()
    shown = {"period_us": state.period_us, "expired": state.expired}
    emit(shown, lambda: table(list(shown), [tuple(shown.values())]), json_)
