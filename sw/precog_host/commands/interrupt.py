"""``precog interrupt``: what a device interrupts its host for."""

from typing import Annotated

import typer

from precog_host.output import DeviceOption, JsonOption, emit, table

__all__ = ["interrupt"]


def interrupt(
    enable: Annotated[
        list[str] | None,
        typer.Option(help="Causes that interrupt from now on, or none; repeatable."),
    ] = None,
    bring_up: Annotated[
        list[str] | None,
        typer.Option("--raise", help="Bring a cause up, to try who listens; repeatable."),
    ] = None,
    clear: Annotated[
        list[str] | None, typer.Option(help="Clear a cause, or all; repeatable.")
    ] = None,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Show causes of interrupts and whether the line is up, after doing what is asked, in the order
    of the options here."""
    from precog_host.device import Device

    with Device.open(device) as opened:
        interrupts = opened.interrupts
        if enable is not None:
            interrupts.enable(name for name in enable if name != "none")
        if bring_up is not None:
            interrupts.bring_up(bring_up)
        if clear is not None:
            interrupts.clear(interrupts.causes if "all" in clear else clear)
        state = interrupts.state()

    def draw() -> None:
        rows = [(name, up, state.enabled[name]) for name, up in state.causes.items()]
        table(("cause", "up", "enabled"), rows)
        typer.echo("the line is up" if state.pending else "the line is down")

    emit(state, draw, json_)
