"""``precog qp``: queue pairs of a device."""

import dataclasses
from typing import TYPE_CHECKING, Annotated

import typer

from precog_host.output import (
    DeviceOption,
    JsonOption,
    SlotArgument,
    SlotsArgument,
    emit,
    group,
    pair_table,
)

from . import forecast, pacer, profiler, qp_follow, qp_import, receiver
from .parts import LAW_PRESET_HELP

if TYPE_CHECKING:
    from precog_host.driver.qp import QpStatus

__all__ = ["app"]

app = group("Queue pairs.")
for _name, _group in (
    ("pacer", pacer.queue_pairs),
    ("profiler", profiler.queue_pairs),
    ("forecast", forecast.queue_pairs),
    ("receiver", receiver.queue_pairs),
):
    app.add_typer(_group, name=_name)
app.command("import")(qp_import.import_)
app.command("follow")(qp_follow.follow)

_COLUMNS = (
    ("qp", "qp"),
    ("algorithm", "algorithm"),
    ("model_slot", "slot"),
    ("samples", "samples"),
    ("rate_gbps", "rate Gb/s"),
    ("window_bytes", "window B"),
    ("srtt_us", "srtt µs"),
    ("rtt_pred_us", "pred µs"),
    ("target_us", "target µs"),
    ("base_us", "base µs"),
    ("flags", "flags"),
)


@app.command()
def show(
    numbers: SlotsArgument = None, device: DeviceOption = "emu:", json_: JsonOption = False
) -> None:
    """Show configuration and last decision of queue pairs; by default of those that are enabled."""
    from precog_host import pairs
    from precog_host.device import Device

    with Device.open(device) as opened:
        if numbers:
            states = [opened.qp(number).status() for number in numbers]
        else:
            states = list(pairs.states(opened))
    _emit(states, json_)


@app.command()
def add(
    numbers: SlotArgument,
    algorithm: Annotated[
        str | None,
        typer.Option(
            "--algo",
            help="fixed, pid, predpid or a program; by default timely, or pid without an engine.",
        ),
    ] = None,
    preset: Annotated[str, typer.Option(help=LAW_PRESET_HELP)] = "precog",
    model_slot: Annotated[
        int | None, typer.Option(help="Slot of a model that predicts RTTs.")
    ] = None,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Enable queue pairs: their samples are decided on from now on.

    Every command opens its device anew: a queue pair of emu: or sim: is gone when it ends.
    """
    from precog_host import pairs
    from precog_host.device import Device

    with Device.open(device) as opened:
        pairs.add(opened, numbers, algorithm=algorithm, preset=preset, model_slot=model_slot)
        states = list(pairs.states(opened))
    _emit(states, json_)


@app.command("del")
def del_(numbers: SlotArgument, device: DeviceOption = "emu:", json_: JsonOption = False) -> None:
    """Disable queue pairs, with their connections and settings; their packets pass unpaced."""
    from precog_host import pairs
    from precog_host.device import Device

    with Device.open(device) as opened:
        pairs.remove(opened, numbers)
        states = list(pairs.states(opened))
    _emit(states, json_)


def _emit(states: "list[QpStatus]", json_: bool) -> None:
    rows = [tuple(getattr(state, name) for name, _ in _COLUMNS) for state in states]
    emit(
        [dataclasses.asdict(state) for state in states],
        lambda: pair_table([title for _, title in _COLUMNS], rows),
        json_,
    )
