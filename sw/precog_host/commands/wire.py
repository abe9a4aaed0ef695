"""``precog packet wire``: packets that wait in a device for their grants."""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from precog_host.output import (
    DeviceOption,
    JsonOption,
    emit,
    group,
    require_one,
    table,
)

from .parts import open_part

if TYPE_CHECKING:
    from precog_host.driver.wire import WireDriver

__all__ = ["app"]

app = group("Packets that wait for their grants, on a device with wire mode.")


def _waiting(device: str) -> "AbstractContextManager[WireDriver]":
    """Wire mode of the device that a URI names."""
    return open_part(
        device,
        lambda opened: opened.wire,
        f"packets do not wait in device {device}: it was built without; "
        "try emu:width=64,grants=1,wire=256",
    )


@app.command()
def show(
    slots: Annotated[
        list[int] | None, typer.Argument(help="QP slots; none by default.", metavar="[SLOT]...")
    ] = None,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Show the packet memory, and what queue pairs hold of it."""
    with _waiting(device) as waiting:
        _emit(waiting, slots or (), json_)


@app.command("set")
def set_(
    hold: Annotated[
        bool | None, typer.Option(help="Hold the input for want of room, or drop packets.")
    ] = None,
    acks_pass: Annotated[
        bool | None, typer.Option(help="Acknowledgements do not wait; only without READs.")
    ] = None,
    quota: Annotated[int | None, typer.Option(help="Cells that a QP may hold.")] = None,
    limit: Annotated[
        int | None, typer.Option(help="Cells that all may hold beyond their quotas.")
    ] = None,
    expiry: Annotated[
        int | None,
        typer.Option(help="Ticks after which a shut window opens without an acknowledgement."),
    ] = None,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Set how packets wait."""
    require_one(hold=hold, acks_pass=acks_pass, quota=quota, limit=limit, expiry=expiry)
    with _waiting(device) as waiting:
        waiting.set_parameters(
            hold=hold, acks_pass=acks_pass, quota=quota, limit=limit, expiry=expiry
        )
        _emit(waiting, (), json_)


def _emit(waiting: "WireDriver", slots: Iterable[int], json_: bool) -> None:
    shown: dict[str, Any] = {
        "queue_pairs": [{"qp": qp, **waiting.row(qp)} for qp in dict.fromkeys(slots)],
        **{name: getattr(waiting, name)() for name in ("memory", "parameters", "counters")},
    }

    def draw() -> None:
        if rows := shown["queue_pairs"]:
            table(tuple(rows[0]), [tuple(row.values()) for row in rows])
        for name in ("memory", "parameters", "counters"):
            table((name, "value"), list(shown[name].items()))

    emit(shown, draw, json_)
