"""``precog sim law``: an incast that a law engine decides, checked decision by decision."""

import dataclasses
from typing import Annotated, Any

import typer

from precog_host.output import DeviceOption, JsonOption, emit, parameters_given, table

__all__ = ["law"]

_GOLDEN = "emu:law_cores=1,qps={qps}"


def law(
    name: Annotated[
        str, typer.Argument(help="A law of Precog's, or a file that ends in .py.", metavar="LAW")
    ],
    assignments: Annotated[
        list[str] | None, typer.Argument(help="Parameters, name=value.", metavar="[NAME=VALUE]...")
    ] = None,
    preset: Annotated[str, typer.Option(help="Parameters; see precog law show.")] = "default",
    scenario: Annotated[
        str,
        typer.Option(help="Incast preset: thesis, tenth, hundredth, senders8, senders32, base8us."),
    ] = "thesis",
    senders: Annotated[int | None, typer.Option(help="Number of senders.")] = None,
    size: Annotated[list[int] | None, typer.Option(help="Bytes of each flow.")] = None,
    timing: Annotated[str, typer.Option(help="exact or ns3.")] = "exact",
    start_gbps: Annotated[float, typer.Option(help="Rate at which flows start.")] = 10.0,
    seed: Annotated[int, typer.Option(min=0, help="Of the run.")] = 0,
    arm: Annotated[
        str,
        typer.Option(
            help="What flows know of N, their receiver's flows, as in precog study prediction: "
            "off, echo (N on each acknowledgement), first_echo, oracle (and at the start), lie_*, "
            "guess_*.",
        ),
    ] = "off",
    device: DeviceOption = "sim:tiny,law_cores=1,qps=32",
    json_: JsonOption = False,
) -> None:
    """Let a device's law engine decide an incast, and compare each decision with the golden one's.

    The device is emu: or sim:, with law_cores=1 and a queue pair for each flow. A decision that
    differs ends the command with status 1.
    """
    import time

    import numpy as np

    from precog_host.device import Device
    from precog_sim.law_loop import EngineSetup, check_rtl, compare_engines, run_with_engine
    from precog_sim.network import check_timing, incast
    from precog_sim.network.metrics import measure
    from precog_sim.network.prepare import link_facts
    from precog_studies.prediction.told import with_arm

    network = with_arm(incast(scenario, senders=senders, sizes=size), arm, seed)
    setup = EngineSetup(name, preset, parameters_given(assignments or ()), start_gbps)
    # What is wrong is refused at once: the RTL is built for minutes when it is opened.
    check_timing(timing)
    check_rtl(device, len(network.flows))
    setup.compiled(link_facts(network, whole_bps=False).facts)
    with Device.open(device) as opened:
        setup.check(opened, len(network.flows))
        # The golden engine goes first: it compiles the simulator, which is not to be timed.
        with Device.open(_GOLDEN.format(qps=opened.sizes.qps)) as other:
            golden = run_with_engine(other, setup, network, timing=timing, seed=seed)
        began = time.process_time()
        run = run_with_engine(opened, setup, network, timing=timing, seed=seed)
        cpu_s = time.process_time() - began
        assert opened.law is not None
        counters = opened.law.state().counters
    found, result = compare_engines(run, golden), run.result
    if np.isnan(result.fct_us).all():
        raise RuntimeError(
            f"no flow of {name} finished in {network.horizon_us:g} µs (the horizon): give smaller "
            "flows or a higher rate"
        )
    measured = dataclasses.asdict(measure(result))
    record: dict[str, Any] = {
        "law": name,
        "scenario": network.name,
        "timing": timing,
        "seed": seed,
        "device": device,
        "arm": arm,
        "flows": len(network.flows),
        "finished": bool(result.finished),
        "decisions": found.decisions,
        "decisions_per_cpu_s": round(found.decisions / max(cpu_s, 1e-9)),
        "events": found.events,
        "mismatches": found.mismatches,
        "first": found.first,
        "counters": counters,
        "metrics": {key: value for key, value in measured.items() if key != "packets_per_cpu_s"},
    }
    emit(record, lambda: _show(record), json_)
    if found.mismatches:
        raise RuntimeError(f"device must decide as the golden engine: {found.first}")


def _show(record: dict[str, Any]) -> None:
    typer.echo(
        f"{record['law']}, {record['scenario']}: {record['decisions']} decisions of "
        f"{record['device']} compared with the golden engine's, {record['mismatches']} differ; "
        f"{record['decisions_per_cpu_s']} decisions per CPU second"
    )
    table(("counter", "events"), list(record["counters"].items()))
    table(("metric", "value"), list(record["metrics"].items()))
