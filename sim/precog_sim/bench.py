"""``make bench``: how fast the simulator is, and what the RTL in the loop costs.

Two benchmarks, each with its baseline measured in the same run, in CPU seconds of one thread:

simulator
    Data packets carried end to end per CPU second under every law, compared with ``fixed``, the
    same incast without congestion control at the fair share: the ratio is what the law costs.
loop
    Predictions per CPU second with the RTL deciding, then with the golden model: the ratio
    is what the RTL costs.

Every figure is the median over the repetitions; the files are for machines.
"""

import argparse
import json
import statistics
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from precog_host.device import Device
from precog_models.image import pretrained
from precog_sim.loop import LoopSetup, run_in_loop
from precog_sim.network import (
    Dcqcn,
    Dctcp,
    Fixed,
    Hpcc,
    Pid,
    Record,
    Result,
    Timely,
    incast,
    run,
)
from precog_sim.network.congestion import CongestionControl
from precog_sim.targets import new_folder
from precog_spec.contract import Flag

__all__ = ["bench_loop", "bench_simulator", "main"]

_LINK_GBPS = 100.0
_RECORD = Record(packets=True, probe_us=0.0)


def _median(measure: Callable[[int], float], repetitions: int) -> float:
    measure(0)  # the first call compiles or loads
    return statistics.median(measure(seed) for seed in range(repetitions))


def bench_simulator(repetitions: int, preset: str = "thesis") -> dict[str, Any]:
    """Packets per CPU second by law, and each one's ratio to the baseline ``fixed``."""
    scenario = incast(preset)
    fair = _LINK_GBPS / len(scenario.flows)
    laws: dict[str, CongestionControl] = {
        "fixed": Fixed(start_gbps=fair),
        "pid": Pid(),
        "timely": Timely(start_gbps=10.0),
        "dctcp": Dctcp(),
        "dcqcn": Dcqcn(),
        "hpcc": Hpcc(),
    }
    speeds = {}
    with Progress(transient=True) as progress:
        for name, law in progress.track(laws.items(), description="simulator"):

            def speed(seed: int, law: CongestionControl = law) -> float:
                result = run(scenario, law, seed=seed, record=_RECORD)
                return result.data_got / result.cpu_s

            speeds[name] = _median(speed, repetitions)
    return {
        "baseline": "fixed",
        "unit": "data packets per CPU second",
        "scenario": scenario.name,
        "repetitions": repetitions,
        "results": {
            name: {"value": value, "ratio": value / speeds["fixed"]}
            for name, value in speeds.items()
        },
    }


def _predictions_per_cpu_s(result: Result) -> float:
    used = int((result.log[:, -1] >> Flag.PREDICTED & 1).sum())
    return used / result.cpu_s


def bench_loop(repetitions: int, preset: str = "thesis", rtl: str = "sim:") -> dict[str, Any]:
    """Predictions per CPU second in the loop: golden (the baseline), and two NICs in RTL.

    That of `rtl`, and one without PSCHED and SECDED.
    """
    devices = {"golden": "emu:", "rtl": rtl, "rtl, predict64": "sim:predict64"}
    scenario = incast(preset)
    setup = LoopSetup(image=pretrained())
    record = Record(log=True, packets=False, probe_us=0.0)
    speeds = {}
    with Progress(transient=True) as progress:
        for name, uri in progress.track(devices.items(), description="loop"):

            def speed(seed: int, uri: str = uri) -> float:
                with Device.open(uri) as device:
                    return _predictions_per_cpu_s(
                        run_in_loop(device, setup, scenario, seed=seed, record=record)
                    )

            speeds[name] = _median(speed, repetitions)
    return {
        "baseline": "golden",
        "unit": "predictions per CPU second, network simulation included",
        "scenario": scenario.name,
        "repetitions": repetitions,
        "results": {
            name: {"value": value, "ratio": value / speeds["golden"]}
            for name, value in speeds.items()
        },
    }


def main() -> int:
    """Write ``simulator.json`` and ``loop.json`` and print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=new_folder, default="build/bench")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--preset", default="thesis", help="incast preset")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    console = Console()
    for name, bench in (("simulator", bench_simulator), ("loop", bench_loop)):
        found = bench(arguments.repetitions, arguments.preset)
        (arguments.out / f"{name}.json").write_text(json.dumps(found, indent=1) + "\n")
        table = Table(title=f"{name}: {found['unit']}")
        for heading in ("", "median", f"ratio to {found['baseline']}"):
            table.add_column(heading, justify="right" if heading else "left")
        for row, value in found["results"].items():
            table.add_row(row, f"{value['value']:,.0f}", f"{value['ratio']:.2f}")
        console.print(table)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
