"""``precog qp receiver`` and ``precog cc receiver``: use of the congestion scores that arrive."""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Annotated

import typer

from precog_host.output import (
    DeviceOption,
    JsonOption,
    SlotArgument,
    SlotsArgument,
    group,
    parameters_given,
    require_one,
)

from .parts import emit_rows, emit_settings, open_part

if TYPE_CHECKING:
    from precog_host.driver.receiver import ReceiverDriver

__all__ = ["all_pairs", "queue_pairs"]

queue_pairs = group("Effects of congestion scores on queue pairs, on a device with a receiver.")
all_pairs = group("Parameters and counters of the receiver.")
_TITLES = ("qp", "commands", "boosts", "grows", "base_quota")


def _receiving(device: str) -> "AbstractContextManager[ReceiverDriver]":
    """The receiver of the device that a URI names."""
    return open_part(
        device,
        lambda opened: opened.receiver,
        f"device {device} has no receiver: it was built without one; try emu:width=64,receiver=1",
    )


@queue_pairs.command("show")
def show_pairs(
    numbers: SlotsArgument = None, device: DeviceOption = "emu:", json_: JsonOption = False
) -> None:
    """Show what the bands of congestion scores do for queue pairs."""
    with _receiving(device) as receiving:
        _emit_pairs(receiving, numbers or range(receiving.registers.sizes.qps), json_)


@queue_pairs.command("set")
def set_pairs(
    numbers: SlotArgument,
    commands: Annotated[
        bool | None, typer.Option(help="Bands command the law, which must run PSCHED.")
    ] = None,
    boosts: Annotated[bool | None, typer.Option(help="High: the priority rises.")] = None,
    grows: Annotated[bool | None, typer.Option(help="High: the quota grows.")] = None,
    quota: Annotated[int | None, typer.Option(help="Quota outside the high band, cells.")] = None,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Set what the bands of congestion scores do for queue pairs."""
    require_one(commands=commands, boosts=boosts, grows=grows, quota=quota)
    with _receiving(device) as receiving:
        for qp in numbers:
            receiving.qp(qp)  # all exist before one is written
        for qp in numbers:
            receiving.configure(qp, commands=commands, boosts=boosts, grows=grows, base_quota=quota)
        _emit_pairs(receiving, numbers, json_)


@all_pairs.command("show")
def show_all(device: DeviceOption = "emu:", json_: JsonOption = False) -> None:
    """Show the receiver's parameters and counters."""
    with _receiving(device) as receiving:
        _emit_all(receiving, json_)


@all_pairs.command("set")
def set_all(
    assignments: Annotated[list[str], typer.Argument(help="name=value.", metavar="NAME=VALUE...")],
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Set the receiver's parameters."""
    values = parameters_given(assignments)
    with _receiving(device) as receiving:
        receiving.set_parameters(**values)
        _emit_all(receiving, json_)


def _emit_pairs(receiving: "ReceiverDriver", numbers: Iterable[int], json_: bool) -> None:
    emit_rows(_TITLES, [receiving.qp(qp) for qp in numbers], json_)


def _emit_all(receiving: "ReceiverDriver", json_: bool) -> None:
    emit_settings(receiving.parameters(), receiving.counters(), json_)
