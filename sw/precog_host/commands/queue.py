"""``precog qp queue``: the queue profiler of a device built with one."""

import dataclasses
from collections.abc import Mapping
from typing import Annotated

import typer

from precog_host.output import DeviceOption, JsonOption, emit, table
from precog_host.transport import DeviceError

__all__ = ["queue_pairs"]

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


def queue_pairs(
    numbers: Annotated[
        list[int] | None, typer.Argument(help="QP slots; by default all that had an arrival.")
    ] = None,
    clear: Annotated[
        bool, typer.Option("--clear", help="Start counts and peak again behind what is shown.")
    ] = False,
    period_us: Annotated[
        float | None, typer.Option(help="A sample in this time, µs; 0: none by time.")
    ] = None,
    every: Annotated[
        int | None, typer.Option(help="A sample with so many events; 0: none by events.")
    ] = None,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Show queue pairs' send queues, after setting when samples of them are taken."""
    from precog_host.device import Device

    with Device.open(device) as opened:
        queues = opened.queues
        if queues is None:
            raise DeviceError(
                f"device {device} has no queue profiler: it was built without one; "
                "try emu:profile=1"
            )
        queues.set_parameters(period_us=period_us, every=every)
        wanted = list(dict.fromkeys(numbers or range(opened.sizes.qps)))
        states = [queues.queue(qp, clear=clear) for qp in wanted]
        lists: dict[str, Mapping[str, float]] = {
            "parameter": queues.parameters(),
            "counter": queues.counters(),
        }
    shown = [dataclasses.asdict(state) for state in states if numbers or state.arrivals]

    def draw() -> None:
        rows = [tuple(row[name] for name, _ in _COLUMNS) for row in shown]
        if rows:
            table([title for _, title in _COLUMNS], rows)
        else:
            typer.echo("no queue pair had an arrival")
        for title, values in lists.items():
            table((title, "value"), list(values.items()))

    emit({"queues": shown, **{f"{title}s": values for title, values in lists.items()}}, draw, json_)
