"""``precog cc``: congestion control of a device: algorithms, parameters, counters."""

from typing import Annotated

import typer

from precog_host.output import DeviceOption, JsonOption, emit, refuse_ignored, table

from . import pace

app = typer.Typer(help="Congestion control.", no_args_is_help=True, rich_markup_mode=None)
app.command("pace")(pace.all_pairs)

_PresetOption = Annotated[str | None, typer.Option(help="Law preset: thesis or precog.")]


@app.command()
def algo(
    context: typer.Context,
    name: Annotated[
        str | None, typer.Argument(help="fixed, pid, predpid, timely or dcqcn.")
    ] = None,
    qp: Annotated[list[int] | None, typer.Option(help="QP slot; may be repeated.")] = None,
    slot: Annotated[int | None, typer.Option(help="Model slot.")] = None,
    preset: _PresetOption = None,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """List the rate laws and which queue pairs run them, or set the law of some."""
    from precog_host.device import Device
    from precog_models.contract import Algorithm

    if name is None:
        refuse_ignored(context, "qp", "slot", "preset", why="without an algorithm")
    elif not qp:
        raise ValueError("option --qp must name at least one queue pair")
    with Device.open(device) as opened:
        if name is not None:
            pairs = [opened.qp(number) for number in dict.fromkeys(qp or ())]
            planned = [
                pair.planned(preset=preset, enable=True, algorithm=name, model_slot=slot)
                for pair in pairs
            ]  # all are right before one is written
            for pair, changes in zip(pairs, planned, strict=True):
                pair.apply(changes)
        running: dict[str, list[int]] = {a.name.lower(): [] for a in Algorithm}
        for number in range(opened.sizes.qps):
            state = opened.qp(number).status()
            if state.enable:
                running.setdefault(state.algorithm, []).append(number)
    emit(running, lambda: table(("algorithm", "queue pairs"), list(running.items())), json_)


@app.command()
def param(
    assignments: Annotated[
        list[str] | None,
        typer.Argument(help="name=value, in the units shown.", metavar="NAME=VALUE"),
    ] = None,
    preset: _PresetOption = None,
    timely: Annotated[
        str | None, typer.Option(help="Preset of timely: paper, ns3, scaled, patched or precog.")
    ] = None,
    dcqcn: Annotated[
        str | None, typer.Option(help="Preset of dcqcn: paper, vendor or ns3.")
    ] = None,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Show the parameters that all queue pairs share, after setting some: presets come first."""
    from precog_host.device import Device

    values: dict[str, float] = {}
    for text in assignments or ():
        name, value = _assignment(text)
        if name in values:
            raise ValueError(f"parameter {name} must be given once, not again as {text!r}")
        values[name] = value
    with Device.open(device) as opened:
        for reserved in ("timely", "dcqcn"):
            if reserved in values:
                raise ValueError(f"parameter {reserved} must be a preset: --{reserved} <name>")
        opened.set_parameters(preset, timely=timely, dcqcn=dcqcn, **values)
        parameters = opened.parameters()
    emit(parameters, lambda: table(("parameter", "value"), list(parameters.items())), json_)


@app.command()
def counter(device: DeviceOption = "emu:", json_: JsonOption = False) -> None:
    """Show the event counters."""
    from precog_host.device import Device

    with Device.open(device) as opened:
        counters = opened.counters()
    emit(counters, lambda: table(("counter", "events"), list(counters.items())), json_)


def _assignment(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    try:
        return name, float(value)
    except ValueError:
        raise ValueError(f"parameter must be <name>=<number>, not {text!r}") from None
