"""``precog qp forecast`` and ``precog cc forecast``: forecasts of a device built with them."""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from precog_host.output import DeviceOption, JsonOption, emit, table
from precog_host.transport import DeviceError

if TYPE_CHECKING:
    from precog_host.forecasting import Forecasting

__all__ = ["all_pairs", "queue_pairs"]


@contextmanager
def _forecasting(device: str) -> "Iterator[Forecasting]":
    """The forecasts of the device that a URI names."""
    from precog_host.device import Device

    with Device.open(device) as opened:
        if opened.forecasting is None:
            raise DeviceError(
                f"device {device} makes no forecasts: it was built without; try emu:forecast=1"
            )
        yield opened.forecasting


def queue_pairs(
    numbers: Annotated[
        list[int] | None, typer.Argument(help="QP slots; by default all, to be shown.")
    ] = None,
    slot: Annotated[int | None, typer.Option(help="Slot of a queue model.")] = None,
    off: Annotated[bool, typer.Option("--off", help="Name no queue model.")] = False,
    source: Annotated[
        str | None, typer.Option(help="Whose score PSCHED is told: none, queue, rtt, max.")
    ] = None,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Show what forecasts queue pairs' queues, after setting what is given."""
    changes = slot is not None or off or source is not None
    if changes and not numbers:
        raise ValueError("QP slots must be named with --slot, --off or --source")
    with _forecasting(device) as forecasting:
        wanted = list(dict.fromkeys(numbers or range(forecasting.registers.sizes.qps)))
        for qp in wanted:
            forecasting.pair(qp)  # all are right before one is written
        for qp in wanted if changes else ():
            forecasting.configure(qp, model_slot=slot, off=off, source=source)
        rows = [dataclasses.asdict(forecasting.pair(qp)) for qp in wanted]
    titles = ("qp", "model_slot", "source")
    emit(rows, lambda: table(titles, [tuple(row[name] for name in titles) for row in rows]), json_)


def all_pairs(
    threshold_bin: Annotated[
        int | None, typer.Option(help="First bin of queue length that is congestion.")
    ] = None,
    rtt_budget_us: Annotated[
        float | None, typer.Option(help="Queueing delay of a predicted RTT that is congestion.")
    ] = None,
    carry_age_us: Annotated[
        float | None, typer.Option(help="How long packets carry a predicted score; 0: for ever.")
    ] = None,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Show forecasts' parameters and counters, after setting what is given."""
    with _forecasting(device) as forecasting:
        forecasting.set_parameters(
            threshold_bin=threshold_bin, rtt_budget_us=rtt_budget_us, carry_age_us=carry_age_us
        )
        shown: dict[str, dict[str, Any]] = {
            "parameters": dict(forecasting.parameters()),
            "counters": dict(forecasting.counters()),
        }

    def draw() -> None:
        for title, values in (("parameter", "parameters"), ("counter", "counters")):
            table((title, "value"), list(shown[values].items()))

    emit(shown, draw, json_)
