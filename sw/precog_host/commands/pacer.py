"""``precog qp pacer`` and ``precog cc pacer``: the pacer of a device built with one."""

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
    require_one,
)

from .parts import emit_rows, emit_settings, open_part

if TYPE_CHECKING:
    from precog_host.driver.pacer import PacerDriver

__all__ = ["all_pairs", "queue_pairs"]

queue_pairs = group("Grants to queue pairs, on a device with a pacer.")
all_pairs = group("Parameters and counters of the pacer.")
_TITLES = ("qp", "priority", "mtu", "psn", "windows")


def _pacing(device: str) -> "AbstractContextManager[PacerDriver]":
    """The pacer of the device that a URI names."""
    return open_part(
        device,
        lambda opened: opened.pacer,
        f"device {device} has no pacer: it was built without one; try emu:grants=1",
    )


@queue_pairs.command("show")
def show_pairs(
    numbers: SlotsArgument = None, device: DeviceOption = "emu:", json_: JsonOption = False
) -> None:
    """Show how queue pairs' packets are granted."""
    with _pacing(device) as pacing:
        _emit_pairs(pacing, numbers or range(pacing.registers.sizes.qps), json_)


@queue_pairs.command("set")
def set_pairs(
    numbers: SlotArgument,
    priority: Annotated[int | None, typer.Option(help="0..7; 7 goes first.")] = None,
    mtu: Annotated[int | None, typer.Option(help="Path MTU, bytes.")] = None,
    psn: Annotated[int | None, typer.Option(help="PSN of the first packet.")] = None,
    windows: Annotated[
        bool | None,
        typer.Option(
            help="Wire mode: requests keep to their law's window, answers have their own queue."
        ),
    ] = None,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Begin queue pairs' connections anew, with other settings."""
    require_one(priority=priority, mtu=mtu, psn=psn, windows=windows)
    with _pacing(device) as pacing:
        planned = [
            (qp, pacing.planned(qp, priority=priority, mtu=mtu, psn=psn, windows=windows))
            for qp in numbers
        ]
        for qp, row in planned:  # all are right before one is written
            pacing.apply(qp, row)
        _emit_pairs(pacing, numbers, json_)


@all_pairs.command("show")
def show_all(device: DeviceOption = "emu:", json_: JsonOption = False) -> None:
    """Show the pacer's parameters and counters."""
    with _pacing(device) as pacing:
        _emit_all(pacing, json_)


@all_pairs.command("set")
def set_all(
    overhead: Annotated[
        int | None, typer.Option(help="Bytes of a packet beyond those granted.")
    ] = None,
    pause: Annotated[
        int | None, typer.Option(help="Priorities to pause, a bit for each; 0: none.")
    ] = None,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Set the pacer's parameters."""
    require_one(overhead=overhead, pause=pause)
    with _pacing(device) as pacing:
        pacing.set_parameters(overhead=overhead, pause=pause)
        _emit_all(pacing, json_)


def _emit_pairs(pacing: "PacerDriver", numbers: Iterable[int], json_: bool) -> None:
    emit_rows(_TITLES, [pacing.connection(qp) for qp in numbers], json_)


def _emit_all(pacing: "PacerDriver", json_: bool) -> None:
    emit_settings(pacing.parameters(), pacing.counters(), json_)
