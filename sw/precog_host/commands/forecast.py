"""``precog qp forecast`` and ``precog cc forecast``: forecasts of a device built with them."""

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
    from precog_host.driver.forecast import ForecastDriver

__all__ = ["all_pairs", "queue_pairs"]

queue_pairs = group("Queue models of queue pairs, on a device with forecasts.")
all_pairs = group("Parameters and counters of forecasts.")
_TITLES = ("qp", "model_slot", "source")
_OF_QUEUES = ("queue", "max")  # sources with scores of queue models


def _forecasting(device: str) -> "AbstractContextManager[ForecastDriver]":
    """The forecasts of the device that a URI names."""
    return open_part(
        device,
        lambda opened: opened.forecast,
        f"device {device} makes no forecasts: it was built without; try emu:forecast=1",
    )


@queue_pairs.command("show")
def show_pairs(
    numbers: SlotsArgument = None, device: DeviceOption = "emu:", json_: JsonOption = False
) -> None:
    """Show the models that forecast queue pairs' queues."""
    with _forecasting(device) as forecasting:
        _emit_pairs(forecasting, numbers or range(forecasting.registers.sizes.qps), json_)


@queue_pairs.command("set")
def set_pairs(
    numbers: SlotArgument,
    model_slot: Annotated[int | None, typer.Option(help="Slot of a queue model.")] = None,
    off: Annotated[bool, typer.Option("--off", help="Name no queue model.")] = False,
    source: Annotated[
        str | None, typer.Option(help="Score that moves PSCHED: none, queue, rtt, max.")
    ] = None,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Set the models that forecast queue pairs' queues, and the use of their scores."""
    require_one(model_slot=model_slot, off=off or None, source=source)
    with _forecasting(device) as forecasting:
        for qp in numbers:
            forecasting.pair(qp)  # all are right before one is written
        for qp in numbers:
            forecasting.configure(qp, model_slot=model_slot, off=off, source=source)
        _emit_pairs(forecasting, numbers, json_)
        if source in _OF_QUEUES and (note := _cut_note(forecasting)):
            typer.echo(note, err=True)


@all_pairs.command("show")
def show_all(device: DeviceOption = "emu:", json_: JsonOption = False) -> None:
    """Show forecasts' parameters and counters."""
    with _forecasting(device) as forecasting:
        _emit_all(forecasting, json_)


@all_pairs.command("set")
def set_all(
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
    """Set forecasts' parameters."""
    require_one(threshold_bin=threshold_bin, rtt_budget_us=rtt_budget_us, carry_age_us=carry_age_us)
    with _forecasting(device) as forecasting:
        forecasting.set_parameters(
            threshold_bin=threshold_bin, rtt_budget_us=rtt_budget_us, carry_age_us=carry_age_us
        )
        _emit_all(forecasting, json_)


def _cut_note(forecasting: "ForecastDriver") -> str | None:
    """What to say where scores may take more of a rate than queue models are judged with."""
    from precog_host.driver.parameters import ParametersDriver
    from precog_models.psched_presets import PSCHED_PRESETS

    cut = ParametersDriver(forecasting.registers).read().get("psched_cut")
    judged = PSCHED_PRESETS["queues"].cut
    if cut is None or cut >= judged:
        return None
    return (
        f"note: psched_cut is {cut:g}; precog model evaluate judges queue models with {judged}, so "
        f"that a score takes 1/{1 << judged} of a rate at most: precog cc param set --psched queues"
    )


def _emit_pairs(forecasting: "ForecastDriver", numbers: Iterable[int], json_: bool) -> None:
    emit_rows(_TITLES, [forecasting.pair(qp) for qp in numbers], json_)


def _emit_all(forecasting: "ForecastDriver", json_: bool) -> None:
    emit_settings(forecasting.parameters(), forecasting.counters(), json_)
