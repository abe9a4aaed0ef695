"""``precog packet senders``: queue pairs that send to a device, and what others say of theirs."""

import dataclasses
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from precog_host.output import DeviceOption, JsonOption, emit, group, require_one, table

from .parts import open_part

if TYPE_CHECKING:
    from precog_host.driver.senders import SendersDriver

__all__ = ["app"]

app = group("Counts of who sends to a device, and of its own flows, on a device that has them.")


def _counting(device: str) -> "AbstractContextManager[SendersDriver]":
    """The count of the device that a URI names."""
    return open_part(
        device,
        lambda opened: opened.senders,
        f"device {device} does not count senders: it was built without; try emu:width=64,senders=1",
    )


@app.command()
def show(
    slots: Annotated[
        list[int] | None,
        typer.Argument(
            help="QP slots: what their receivers have said, as far as it was heeded.",
            metavar="[SLOT]...",
        ),
    ] = None,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Show how many queue pairs send to the device, its own flows, parameters and counters."""
    with _counting(device) as counting:
        _emit(counting, json_, slots or ())


@app.command("set")
def set_(
    say: Annotated[
        bool | None, typer.Option(help="Shims that leave say the count's binary logarithm.")
    ] = None,
    heed: Annotated[
        bool | None,
        typer.Option(help="Shims of others are heeded: rises of their counts are news."),
    ] = None,
    own: Annotated[
        bool | None,
        typer.Option(
            help="A level counts as 0 where the device's own flows are more than half of 2**level."
        ),
    ] = None,
    epoch_us: Annotated[
        float | None,
        typer.Option(help="A QP counts while it sent in this epoch or the last one, µs."),
    ] = None,
    least: Annotated[int | None, typer.Option(help="Messages of fewer bytes do not count.")] = None,
    hold_us: Annotated[
        float | None, typer.Option(help="A level no greater than in this time is no news, µs.")
    ] = None,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Set who counts, and what is done with the count."""
    require_one(say=say, heed=heed, own=own, epoch_us=epoch_us, least=least, hold_us=hold_us)
    with _counting(device) as counting:
        counting.set_parameters(
            say=say, heed=heed, own=own, epoch_us=epoch_us, least=least, hold_us=hold_us
        )
        _emit(counting, json_)


@app.command()
def believe(
    slot: Annotated[int, typer.Argument(help="QP slot.")],
    level: Annotated[
        int, typer.Argument(help="Binary logarithm of the receiver's senders, 0..15.")
    ],
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Tell a queue pair's law how many send to its receiver, before the first packet; with --heed.

    The first level that comes from there replaces it.
    """
    with _counting(device) as counting:
        counting.believe(slot, level)
        _emit(counting, json_)


def _emit(counting: "SendersDriver", json_: bool, slots: Sequence[int] = ()) -> None:
    told = {f"told {slot}": dataclasses.asdict(counting.told(slot)) for slot in slots}
    shown: dict[str, dict[str, Any]] = {
        "now": dataclasses.asdict(counting.count()),
        "own": dataclasses.asdict(counting.own()),
        "parameters": dataclasses.asdict(counting.parameters()),
        "counters": counting.counters(),
        **told,
    }

    def draw() -> None:
        for name, values in shown.items():
            table((name, "value"), list(values.items()))

    emit(shown, draw, json_)
