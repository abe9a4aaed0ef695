"""``precog packet port``: bytes that senders have announced to a device, and their queue."""

import dataclasses
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from precog_host.output import DeviceOption, JsonOption, emit, group, require_one, table

from .parts import open_part

if TYPE_CHECKING:
    from precog_host.driver.port import PortDriver

__all__ = ["app"]

app = group("The queue before a device's own port, on a device that counts what is announced.")


def _port(device: str) -> "AbstractContextManager[PortDriver]":
    """The port's queue of the device that a URI names."""
    return open_part(
        device,
        lambda opened: opened.port,
        f"device {device} does not count announced bytes: it was built without; try "
        "emu:width=64,profile=1,forecast=1,port=1",
    )


@app.command()
def show(device: DeviceOption = "emu:", json_: JsonOption = False) -> None:
    """Show how many bytes are announced and have not come, and the parameters."""
    with _port(device) as port:
        _emit(port, json_)


@app.command("set")
def set_(
    enable: Annotated[
        bool | None, typer.Option(help="Bytes that senders announce are counted.")
    ] = None,
    slot: Annotated[
        int | None, typer.Option(help="QP slot set aside: its queue model forecasts the port.")
    ] = None,
    epoch_us: Annotated[
        float | None,
        typer.Option(help="A QP silent in this epoch and the last has nothing announced, µs."),
    ] = None,
    most: Annotated[
        int | None, typer.Option(help="A QP can have announced this many bytes at most.")
    ] = None,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Set what is counted, and which slot's model forecasts it."""
    require_one(enable=enable, slot=slot, epoch_us=epoch_us, most=most)
    with _port(device) as port:
        port.set_parameters(enable=enable, slot=slot, epoch_us=epoch_us, most=most)
        _emit(port, json_)


def _emit(port: "PortDriver", json_: bool) -> None:
    shown: dict[str, Any] = {"announced": port.announced()}
    shown |= dataclasses.asdict(port.parameters())
    emit(shown, lambda: table(("name", "value"), list(shown.items())), json_)
