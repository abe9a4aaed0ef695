"""``precog pid tune``: train the PID's gains on line, thesis (21)-(26)."""

from typing import Annotated

import typer

from precog_host.output import JsonOption, emit, progress_bar, table

__all__ = ["tune"]

_GAINS = ("kp", "ki", "kd")


def tune(
    preset: Annotated[
        str,
        typer.Option(
            help="Where gains start: thesis, thesis-rttch, thesis-untrained, precog, precog-rttch."
        ),
    ] = "thesis-untrained",
    scenario: Annotated[
        str,
        typer.Option(help="Incast preset: thesis, tenth, hundredth, senders8, senders32, base8us."),
    ] = "thesis",
    target_us: Annotated[float, typer.Option(help="RTT target.")] = 5.0,
    start_gbps: Annotated[float, typer.Option(help="Rate at which flows start.")] = 10.0,
    seeds: Annotated[int, typer.Option(min=1, help="Runs with different start jitter.")] = 3,
    json_: JsonOption = False,
) -> None:
    """Train Kp, Ki and Kd while an incast runs; every flow trains its own."""
    import numpy as np

    from precog_models.rate.reference.pid import PRESETS
    from precog_sim.network import Pid, Record, incast, run

    control = Pid(preset=preset, target_us=target_us, start_gbps=start_gbps, train=True)
    first = control.params
    made = incast(scenario)
    found = []
    with progress_bar("Tuning") as report:
        for seed in range(seeds):
            report(seed, seeds)
            result = run(made, control, seed=seed, record=Record(packets=False, probe_us=0.0))
            found.append(result.gains)
    gains = np.concatenate(found)
    thesis = PRESETS["thesis"]
    rows = [
        {
            "gain": name,
            "start": getattr(first, name),
            "mean": float(column.mean()),
            "low": float(column.min()),
            "high": float(column.max()),
            "thesis": getattr(thesis, name),
        }
        for name, column in zip(_GAINS, gains.T, strict=True)
    ]
    data = {"scenario": made.name, "target_us": target_us, "flows": len(gains), "gains": rows}
    emit(
        data,
        lambda: table(
            list(rows[0]),
            [tuple(row.values()) for row in rows],
            title=f"{made.name}, target {target_us:g} µs, {len(gains)} flows",
        ),
        json_,
    )
