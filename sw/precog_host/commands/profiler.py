"""``precog qp profiler`` and ``precog cc profiler``: queues of a device built with a profiler."""

import dataclasses
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Annotated

import typer

from precog_host.output import (
    DeviceOption,
    JsonOption,
    SlotsArgument,
    emit,
    group,
    require_one,
    table,
)

from .parts import emit_settings, open_part

if TYPE_CHECKING:
    from precog_host.driver.profiler import ProfilerDriver

__all__ = ["all_pairs", "queue_pairs"]

queue_pairs = group("Send queues of queue pairs, on a device with a queue profiler.")
all_pairs = group("Parameters and counters of the queue profiler.")
_COLUMNS = (
    ("qp", "qp"),
    ("occupancy", "queued B"),
    ("peak", "peak B"),
    ("arrivals", "arrivals"),
    ("departures", "departures"),
    ("bytes_in", "in B"),
    ("bytes_out", "out B"),
    ("inter_arrival_us", "apart µs"),
    ("service_us", "service µs"),
    ("size", "last B"),
)


def _queues(device: str) -> "AbstractContextManager[ProfilerDriver]":
    """The queue profiler of the device that a URI names."""
    return open_part(
        device,
        lambda opened: opened.profiler,
        f"device {device} has no queue profiler: it was built without one; try emu:profile=1",
    )


@queue_pairs.command("show")
def show_pairs(
    numbers: SlotsArgument = None, device: DeviceOption = "emu:", json_: JsonOption = False
) -> None:
    """Show queue pairs' send queues; by default those that had an arrival."""
    with _queues(device) as queues:
        _emit_pairs(queues, numbers, json_, clear=False)


@queue_pairs.command("clear")
def clear_pairs(
    numbers: SlotsArgument = None, device: DeviceOption = "emu:", json_: JsonOption = False
) -> None:
    """Show queue pairs' send queues, and start counts and peaks anew without losing an event."""
    with _queues(device) as queues:
        _emit_pairs(queues, numbers, json_, clear=True)


@all_pairs.command("show")
def show_all(device: DeviceOption = "emu:", json_: JsonOption = False) -> None:
    """Show the profiler's parameters and counters."""
    with _queues(device) as queues:
        _emit_all(queues, json_)


@all_pairs.command("set")
def set_all(
    period_us: Annotated[
        float | None, typer.Option(help="A sample in this time, µs; 0: none by time.")
    ] = None,
    every: Annotated[
        int | None, typer.Option(help="A sample with this many events; 0: none by events.")
    ] = None,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Set when samples of send queues are taken."""
    require_one(period_us=period_us, every=every)
    with _queues(device) as queues:
        queues.set_parameters(period_us=period_us, every=every)
        _emit_all(queues, json_)


def _emit_pairs(
    queues: "ProfilerDriver", numbers: Iterable[int] | None, json_: bool, *, clear: bool
) -> None:
    qps = queues.registers.sizes.qps
    wanted = list(numbers or range(qps))
    for qp in wanted:
        if not 0 <= qp < qps:  # all exist before one is cleared
            raise ValueError(f"QP must be in 0..{qps - 1}, not {qp!r}")
    states = [queues.queue(qp, clear=clear) for qp in wanted]
    shown = [dataclasses.asdict(state) for state in states if numbers or state.arrivals]

    def draw() -> None:
        rows = [tuple(row[name] for name, _ in _COLUMNS) for row in shown]
        if rows:
            table([title for _, title in _COLUMNS], rows)
        else:
            typer.echo("no queue pair had an arrival")

    emit(shown, draw, json_)


def _emit_all(queues: "ProfilerDriver", json_: bool) -> None:
    emit_settings(queues.parameters(), queues.counters(), json_)
