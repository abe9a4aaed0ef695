"""``precog sim incast``: the incast under any law, decided by models or by the RTL."""

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from precog_host.output import DeviceOption, JsonOption, emit, progress_bar, refuse_ignored, table

if TYPE_CHECKING:
    from precog_models.image import Image
    from precog_sim.network import Result, Scenario

__all__ = ["LAWS", "incast"]

_COLUMNS = (
    ("sample_mean_us", "mean RTT µs"),
    ("sample_p99_us", "p99 µs"),
    ("sample_max_us", "max µs"),
    ("packet_p99_us", "p99 of all µs"),
    ("mean_rate_gbps", "mean rate Gb/s"),
    ("mean_fct_ms", "mean FCT ms"),
    ("last_fct_ms", "last FCT ms"),
    ("jain", "Jain"),
)
_DECIDED = ("pid", "predpid")  # by a device
LAWS = (*_DECIDED, "timely", "dctcp", "dcqcn", "hpcc")


def incast(
    context: typer.Context,
    law: Annotated[list[str] | None, typer.Option(help=f"One of {', '.join(LAWS)}.")] = None,
    scenario: Annotated[
        str,
        typer.Option(help="Incast preset: thesis, tenth, hundredth, senders8, senders32, base8us."),
    ] = "thesis",
    senders: Annotated[int | None, typer.Option(help="Number of senders.")] = None,
    size: Annotated[list[int] | None, typer.Option(help="Bytes of each flow.")] = None,
    jitter_ns: Annotated[float, typer.Option(help="Starts are spread over this.")] = 100.0,
    timing: Annotated[str, typer.Option(help="exact or ns3.")] = "exact",
    preset: Annotated[
        str, typer.Option(help="Law preset of pid and predpid: thesis, precog.")
    ] = "thesis",
    target_us: Annotated[float | None, typer.Option(help="Fixed RTT target.")] = None,
    start_gbps: Annotated[float, typer.Option(help="Rate at which flows start.")] = 10.0,
    rttch: Annotated[bool, typer.Option(help="Target adjuster.")] = False,
    win: Annotated[bool, typer.Option(help="Window limit.")] = False,
    model: Annotated[str, typer.Option(help="Model file or shipped model.")] = "rtt-incast",
    seeds: Annotated[int, typer.Option(min=1, help="Runs with different start jitter.")] = 1,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Run an incast; pid and predpid are decided by the device: emu: or the RTL behind sim:."""
    laws = law or ["predpid"]
    for name in laws:
        if name not in LAWS:
            raise ValueError(f"law must be one of {', '.join(LAWS)}, not {name!r}")
    if "predpid" not in laws:
        refuse_ignored(context, "model", why="without --law predpid")
    if not set(laws) & set(_DECIDED):
        ignored = ("preset", "target_us", "rttch", "win", "device")
        refuse_ignored(context, *ignored, why=f"with --law {laws[0]}")

    import numpy as np

    from precog_models.image import find
    from precog_sim.network import incast as make
    from precog_sim.network.metrics import measure, summarise

    made = make(scenario, senders=senders, sizes=size, jitter_ns=jitter_ns)
    options = {
        "preset": preset,
        "target_us": target_us,
        "init_gbps": start_gbps,
        "rttch": rttch,
        "win": win,
    }
    image = find(model) if "predpid" in laws else None
    rows: list[dict[str, Any]] = []
    with progress_bar("Incast") as report:
        for name in laws:
            run = _runner(name, device, options, image, start_gbps)
            metrics = []
            for seed in range(seeds):
                report(len(rows) * seeds + seed, len(laws) * seeds)
                result = run(made, timing, seed)
                if np.isnan(result.fct_us).all():
                    raise RuntimeError(
                        f"no flow of {name}, seed {seed}, finished in {made.horizon_us:g} µs "
                        "(the horizon): give smaller flows or a higher rate"
                    )
                metrics.append(measure(result))
            estimates = summarise(metrics)
            rows.append(
                {
                    "law": name,
                    "device": device if name in _DECIDED else None,
                    "seeds": seeds,
                    "metrics": {key: dataclasses.asdict(e) for key, e in estimates.items()},
                }
            )

    def show() -> None:
        titles = ("law", *(title for _, title in _COLUMNS))
        table(
            titles,
            [(r["law"], *(r["metrics"][key]["mean"] for key, _ in _COLUMNS)) for r in rows],
            title=f"{made.name}, {timing} timing, {seeds} seed{'s' * (seeds > 1)}",
        )

    emit({"scenario": made.name, "timing": timing, "results": rows}, show, json_)


def _runner(
    law: str, device: str, options: dict[str, Any], image: "Image | None", start_gbps: float
) -> "Callable[[Scenario, str, int], Result]":
    """Function of (scenario, timing, seed) for one law."""
    from precog_sim.network import Dcqcn, Dctcp, Hpcc, Record, Timely
    from precog_sim.network import run as simulate

    if law in _DECIDED:
        from precog_host.device import Device
        from precog_sim.loop import LoopSetup, run_in_loop

        setup = LoopSetup(algorithm=law, image=image if law == "predpid" else None, **options)

        def decided(scenario: "Scenario", timing: str, seed: int) -> "Result":
            with Device.open(device) as opened:
                return run_in_loop(opened, setup, scenario, timing=timing, seed=seed)

        return decided
    kinds = {"timely": Timely, "dctcp": Dctcp, "dcqcn": Dcqcn, "hpcc": Hpcc}
    control = kinds[law](start_gbps=start_gbps)

    def referenced(scenario: "Scenario", timing: str, seed: int) -> "Result":
        return simulate(scenario, control, timing=timing, seed=seed, record=Record(probe_us=0.0))

    return referenced
