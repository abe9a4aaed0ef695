"""``precog interrupt``: causes for which a device interrupts its host."""

from typing import TYPE_CHECKING, Annotated

import typer

from precog_host.output import DeviceOption, JsonOption, emit, group, table

if TYPE_CHECKING:
    from precog_host.driver.interrupt import InterruptDriver

__all__ = ["app"]

app = group("Interrupts of the host.")


@app.command()
def show(device: DeviceOption = "emu:", json_: JsonOption = False) -> None:
    """Show causes of interrupts, and whether the line is up."""
    from precog_host.device import Device

    with Device.open(device) as opened:
        _emit(opened.interrupt, json_)


@app.command("set")
def set_(
    causes: Annotated[
        list[str], typer.Argument(help="Causes that interrupt from now on, or none.")
    ],
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Set the causes that interrupt the host; all others do not."""
    from precog_host.device import Device

    if "none" in causes and len(causes) > 1:
        raise ValueError("none must stand alone: it enables no cause")
    with Device.open(device) as opened:
        opened.interrupt.enable(name for name in causes if name != "none")
        _emit(opened.interrupt, json_)


@app.command("raise")
def raise_(
    causes: Annotated[list[str], typer.Argument(help="Causes to bring up.")],
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Bring causes up, to try the host's handler."""
    from precog_host.device import Device

    with Device.open(device) as opened:
        opened.interrupt.bring_up(causes)
        _emit(opened.interrupt, json_)


@app.command()
def clear(
    causes: Annotated[list[str], typer.Argument(help="Causes to clear, or all.")],
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Clear causes."""
    from precog_host.device import Device

    with Device.open(device) as opened:
        interrupts = opened.interrupt
        interrupts.clear(interrupts.causes if causes == ["all"] else causes)
        _emit(interrupts, json_)


def _emit(interrupts: "InterruptDriver", json_: bool) -> None:
    state = interrupts.state()

    def draw() -> None:
        rows = [(name, up, state.enabled[name]) for name, up in state.causes.items()]
        table(("cause", "up", "enabled"), rows)
        typer.echo("the line is up" if state.pending else "the line is down")

    emit(state, draw, json_)
