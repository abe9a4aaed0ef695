"""``precog qp pace`` and ``precog cc pace``: the pacer of a device built with one."""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from precog_host.output import DeviceOption, JsonOption, emit, table
from precog_host.transport import DeviceError

if TYPE_CHECKING:
    from precog_host.pacing import Pacing

__all__ = ["all_pairs", "queue_pairs"]


@contextmanager
def _pacing(device: str) -> "Iterator[Pacing]":
    """The pacer of the device that a URI names."""
    from precog_host.device import Device

    with Device.open(device) as opened:
        if opened.pacing is None:
            raise DeviceError(
                f"device {device} has no pacer: it was built without one; try emu:grants=1"
            )
        yield opened.pacing


def queue_pairs(
    numbers: Annotated[
        list[int] | None, typer.Argument(help="QP slots; by default all, to be shown.")
    ] = None,
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
    """Show how queue pairs' packets are granted, after beginning connections with what is given."""
    begins = any(value is not None for value in (priority, mtu, psn, windows))
    if begins and not numbers:
        raise ValueError("QP slots must be named with --priority, --mtu, --psn or --windows")
    with _pacing(device) as pacing:
        wanted = list(dict.fromkeys(numbers or range(pacing.registers.sizes.qps)))
        if begins:
            planned = [
                (qp, pacing.planned(qp, priority=priority, mtu=mtu, psn=psn, windows=windows))
                for qp in wanted
            ]
            for qp, row in planned:  # all are right before one is written
                pacing.apply(qp, row)
        rows = [dataclasses.asdict(pacing.connection(qp)) for qp in wanted]
    titles = ("qp", "priority", "mtu", "psn", "windows")
    emit(rows, lambda: table(titles, [tuple(row[name] for name in titles) for row in rows]), json_)


def all_pairs(
    overhead: Annotated[
        int | None, typer.Option(help="Bytes of a packet beyond those granted.")
    ] = None,
    pause: Annotated[
        int | None, typer.Option(help="Priorities to pause, a bit for each; 0: none.")
    ] = None,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Show the pacer's parameters and counters, after setting what is given."""
    with _pacing(device) as pacing:
        pacing.set_parameters(overhead=overhead, pause=pause)
        shown = {"parameters": pacing.parameters(), "counters": pacing.counters()}

    def draw() -> None:
        for title, values in (("parameter", "parameters"), ("counter", "counters")):
            table((title, "value"), list(shown[values].items()))

    emit(shown, draw, json_)
