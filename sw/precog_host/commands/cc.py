"""``precog cc``: congestion control of a device: laws, parameters, promises, counters."""

from typing import TYPE_CHECKING, Annotated

import typer

from precog_host.output import (
    DeviceOption,
    JsonOption,
    SlotsArgument,
    emit,
    group,
    pair_table,
    parameters_given,
    require_one,
    table,
)

from . import forecast, pacer, profiler, receiver, trials, watchdog
from .parts import LAW_PRESET_HELP, PSCHED_PRESET_HELP

if TYPE_CHECKING:
    from precog_host.device import Device

__all__ = ["app"]

app = group("Congestion control.")
_algo = group("Rate laws and the queue pairs that run them.")
_param = group("Parameters that all queue pairs share.")
_sla = group("Promises to queue pairs: rate limits, priority, latency.")
_counter = group("Event counters.")
for _name, _group in (
    ("algo", _algo),
    ("param", _param),
    ("sla", _sla),
    ("counter", _counter),
    ("watchdog", watchdog.app),
    ("pacer", pacer.all_pairs),
    ("profiler", profiler.all_pairs),
    ("forecast", forecast.all_pairs),
    ("receiver", receiver.all_pairs),
    ("trials", trials.app),
):
    app.add_typer(_group, name=_name)

#: What ``precog cc sla show`` shows of a `QpStatus`.
_SLA = ("qp", "psched", "sla_priority", "sla_latency_us", "min_rate_gbps", "max_rate_gbps")


@_algo.command("show")
def show_algo(device: DeviceOption = "emu:", json_: JsonOption = False) -> None:
    """Show the rate laws and which queue pairs run them."""
    from precog_host.device import Device
    from precog_spec.contract import Algorithm

    with Device.open(device) as opened:
        running: dict[str, list[int]] = {a.name.lower(): [] for a in Algorithm}
        for number in range(opened.sizes.qps):
            state = opened.qp(number).status()
            if state.enable:
                running.setdefault(state.algorithm, []).append(number)
    emit(running, lambda: table(("algorithm", "queue pairs"), list(running.items())), json_)


@_algo.command("set")
def set_algo(
    name: Annotated[
        str, typer.Argument(help="A built-in law, or a loaded one: its name, or law:SLOT.")
    ],
    qp: Annotated[list[int], typer.Option(help="QP slot that is enabled; may be repeated.")],
    preset: Annotated[str | None, typer.Option(help=LAW_PRESET_HELP)] = None,
    model_slot: Annotated[int | None, typer.Option(help="Model slot.")] = None,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Set the law of queue pairs; they start anew."""
    from precog_host import pairs
    from precog_host.device import Device

    with Device.open(device) as opened:
        pairs.change(opened, qp, algorithm=name, preset=preset, model_slot=model_slot)
        rows = [{"qp": state.qp, "algorithm": state.algorithm} for state in pairs.states(opened)]
    emit(rows, lambda: table(("qp", "algorithm"), [tuple(row.values()) for row in rows]), json_)


@_param.command("show")
def show_param(device: DeviceOption = "emu:", json_: JsonOption = False) -> None:
    """Show the parameters that all queue pairs share."""
    from precog_host.device import Device

    with Device.open(device) as opened:
        parameters = opened.parameters()
    emit(parameters, lambda: table(("parameter", "value"), list(parameters.items())), json_)


@_param.command("set")
def set_param(
    assignments: Annotated[
        list[str] | None,
        typer.Argument(help="name=value, in the units shown.", metavar="[NAME=VALUE]..."),
    ] = None,
    preset: Annotated[str | None, typer.Option(help=LAW_PRESET_HELP)] = None,
    psched: Annotated[str | None, typer.Option(help=PSCHED_PRESET_HELP)] = None,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Set parameters that all queue pairs share; presets come first."""
    from precog_host.device import Device

    values = parameters_given(assignments or ())
    if "psched" in values:
        raise ValueError("parameter psched must be a preset: --psched <name>")
    if not values and not any((preset, psched)):
        raise ValueError(
            "at least one name=value or preset must be given: precog cc param show lists the names"
        )
    with Device.open(device) as opened:
        opened.set_parameters(preset, psched=psched, **values)
        parameters = opened.parameters()
    emit(parameters, lambda: table(("parameter", "value"), list(parameters.items())), json_)


@_sla.command("show")
def show_sla(
    numbers: SlotsArgument = None, device: DeviceOption = "emu:", json_: JsonOption = False
) -> None:
    """Show the promises to queue pairs; by default those that are enabled or follow scores."""
    from precog_host.device import Device

    with Device.open(device) as opened:
        _emit_sla(opened, numbers, json_)


@_sla.command("set")
def set_sla(
    qp: Annotated[list[int], typer.Option(help="QP slot; may be repeated.")],
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
    """Set the promises to queue pairs."""
    from precog_host.device import Device
    from precog_host.driver.qp import QpChanges

    changes = QpChanges(
        psched=psched,
        sla_priority=priority,
        sla_latency_us=latency_us,
        min_gbps=min_gbps,
        max_gbps=max_gbps,
        init_gbps=init_gbps,
    )
    require_one(
        psched=psched,
        priority=priority,
        latency_us=latency_us,
        min_gbps=min_gbps,
        max_gbps=max_gbps,
        init_gbps=init_gbps,
    )
    with Device.open(device) as opened:
        wanted = list(dict.fromkeys(qp))
        planned = [(opened.qp(number), opened.qp(number).planned(**changes)) for number in wanted]
        for pair, config in planned:
            pair.apply(config, clear=False)
        _emit_sla(opened, wanted, json_)


def _emit_sla(opened: "Device", numbers: list[int] | None, json_: bool) -> None:
    states = [opened.qp(number).status() for number in numbers or range(opened.sizes.qps)]
    rows = [
        {name: getattr(state, name) for name in _SLA}
        for state in states
        if numbers or state.enable or state.psched
    ]
    emit(rows, lambda: pair_table(_SLA, [tuple(row.values()) for row in rows]), json_)


@_counter.command("show")
def show_counter(device: DeviceOption = "emu:", json_: JsonOption = False) -> None:
    """Show the event counters."""
    from precog_host.device import Device

    with Device.open(device) as opened:
        counters = opened.counters()
    emit(counters, lambda: table(("counter", "events"), list(counters.items())), json_)
