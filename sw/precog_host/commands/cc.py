"""``precog cc``: congestion control of a device: algorithms, parameters, counters."""

from typing import Annotated

import typer

from precog_host.output import DeviceOption, JsonOption, emit, refuse_ignored, table

from . import forecast, pace, receive

app = typer.Typer(help="Congestion control.", no_args_is_help=True, rich_markup_mode=None)
app.command("pace")(pace.all_pairs)
app.command("forecast")(forecast.all_pairs)
app.command("receive")(receive.all_pairs)

_PresetOption = Annotated[str | None, typer.Option(help="Law preset: thesis or precog.")]

#: What ``precog cc sla`` shows of a `QpStatus`.
_SLA = ("qp", "psched", "sla_priority", "sla_latency_us", "min_rate_gbps", "max_rate_gbps")


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
    psched: Annotated[
        str | None, typer.Option(help="Preset of the predictive scheduler: source or precog.")
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
        for reserved in ("timely", "dcqcn", "psched"):
            if reserved in values:
                raise ValueError(f"parameter {reserved} must be a preset: --{reserved} <name>")
        opened.set_parameters(preset, timely=timely, dcqcn=dcqcn, psched=psched, **values)
        parameters = opened.parameters()
    emit(parameters, lambda: table(("parameter", "value"), list(parameters.items())), json_)


@app.command()
def sla(
    qp: Annotated[list[int] | None, typer.Option(help="QP slot; may be repeated.")] = None,
    psched: Annotated[
        bool | None,
        typer.Option("--psched/--no-psched", help="A congestion score moves the law's rate."),
    ] = None,
    priority: Annotated[
        int | None, typer.Option(help="0 to 7: the higher, the less a score lowers the rate.")
    ] = None,
    latency_us: Annotated[
        float | None, typer.Option(help="No rise while the RTT is above this; 0: whatever it is.")
    ] = None,
    min_gbps: Annotated[float | None, typer.Option(help="Lowest rate.")] = None,
    max_gbps: Annotated[float | None, typer.Option(help="Highest rate.")] = None,
    init_gbps: Annotated[float | None, typer.Option(help="Initial rate, between them.")] = None,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Show what queue pairs are promised, after setting it for those that are named."""
    from precog_host.device import Device
    from precog_host.queue_pair import QpChanges

    changes = QpChanges(
        psched=psched,
        sla_priority=priority,
        sla_latency_us=latency_us,
        min_gbps=min_gbps,
        max_gbps=max_gbps,
        init_gbps=init_gbps,
    )
    with Device.open(device) as opened:
        if any(value is not None for value in changes.values()):
            if not qp:
                raise ValueError("a queue pair must be named to be promised anything: --qp <slot>")
            planned = [(opened.qp(number), opened.qp(number).planned(**changes)) for number in qp]
            for pair, config in planned:
                pair.apply(config, clear=False)
        states = [opened.qp(number).status() for number in qp or range(opened.sizes.qps)]
    rows = [
        {name: getattr(state, name) for name in _SLA}
        for state in states
        if qp or state.enable or state.psched
    ]

    def draw() -> None:
        if rows:
            table(_SLA, [tuple(row.values()) for row in rows])
        else:
            typer.echo("no queue pair is enabled")

    emit(rows, draw, json_)


@app.command()
def watchdog(
    period_us: Annotated[
        float | None,
        typer.Option(
            help="Hold predictions and scores when no kick comes in so many us; 0: never. Clock "
            "cycles are counted, of a tick each; on an emulated device no time passes."
        ),
    ] = None,
    kick: Annotated[bool, typer.Option("--kick", help="Say that the host is alive.")] = False,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Show the watchdog, after setting or kicking it."""
    from precog_host.device import Device

    with Device.open(device) as opened:
        if period_us is not None:
            opened.set_watchdog(period_us)
        if kick:
            opened.kick()
        state = opened.watchdog()
    shown = {"period_us": state.period_us, "expired": state.expired}
    emit(shown, lambda: table(list(shown), [tuple(shown.values())]), json_)


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
