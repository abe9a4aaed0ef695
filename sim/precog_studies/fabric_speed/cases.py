"""Scenarios of the study, and what one run of each costs.

Each run has a process of its own, so that its memory can be told.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from dataclasses import asdict, dataclass

from precog_net.laws import law
from precog_net.workloads import Place, draw, workload
from precog_sim.network import Flow, Record, Scenario, fat_tree, run, star

__all__ = ["HOSTS", "SENDERS", "Cost", "cost", "fabric", "main", "measured", "senders"]

HOSTS = (16, 64, 128, 320, 1024, 2048)
SENDERS = (20, 50, 100, 200, 500)
_WORKLOAD = "websearch:0.3"
_POD = 64  # hosts: four racks of sixteen, as in the fabric of 320
_LONG_BYTES = 20_000_000
_QUIET = Record(packets=False, probe_us=0.0)


@dataclass(frozen=True)
class Cost:
    """What a run cost.

    Parameters
    ----------
    flows, events, packets : int
        Simulated; packets are those of data that reached their host.
    build_s, cpu_s : float
        CPU seconds until the simulation began (flows, topology, routes), and in the kernel.
    wall_s : float
        Seconds of the run, its tables made ready with it.
    memory_mb : float
        Largest resident size of the process, the interpreter and all libraries with it.
    """

    flows: int
    events: int
    packets: int
    build_s: float
    cpu_s: float
    memory_mb: float
    wall_s: float

    @property
    def events_per_s(self) -> float:
        """Per CPU second."""
        return self.events / self.cpu_s


def fabric(hosts: int, duration_ms: float, seed: int = 1) -> Scenario:
    """Web search at 30 % on one switch, or on a fat tree of pods of 64 hosts.

    Raises
    ------
    ValueError
        The hosts are more than a switch's 16 and do not fill pods.
    """
    if hosts > 16 and hosts % _POD:
        raise ValueError(f"hosts must be at most 16 or a multiple of {_POD}, not {hosts}")
    topology = star(hosts) if hosts <= 16 else fat_tree(pods=hosts // _POD)
    place = Place(hosts, 100.0, round(duration_ms * 1e9))
    traffic = draw(workload(_WORKLOAD), place, seed)
    return Scenario("fabric", topology, traffic.flows(), horizon_us=duration_ms * 1e3)


def senders(count: int, duration_ms: float) -> Scenario:
    """Long flows of `count` senders into one port."""
    flows = tuple(Flow(h, count, _LONG_BYTES) for h in range(count))
    return Scenario("senders", star(count + 1), flows, horizon_us=duration_ms * 1e3)


def cost(
    kind: str, count: int, duration_ms: float, name: str, timing: str = "exact", threads: int = 1
) -> Cost:
    """One run, here and now; `kind` is ``fabric`` or ``senders``."""
    law_of_run = law(name)
    warm = Scenario("warm", star(2), (Flow(0, 1, 1000),))
    run(warm, law_of_run, timing=timing, record=_QUIET)  # compiled code is loaded by the first run
    began = time.process_time()
    made = fabric(count, duration_ms) if kind == "fabric" else senders(count, duration_ms)
    clock = time.perf_counter()
    result = run(made, law_of_run, timing=timing, seed=1, record=_QUIET, threads=threads)
    wall_s = time.perf_counter() - clock
    spent = time.process_time() - began
    return Cost(
        flows=len(made.flows),
        events=result.events,
        packets=result.data_got,
        build_s=spent - result.cpu_s,
        cpu_s=result.cpu_s,
        wall_s=wall_s,
        memory_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    )


def measured(
    kind: str, count: int, duration_ms: float, name: str, timing: str = "exact", threads: int = 1
) -> Cost:
    """`cost` in a process of its own.

    Raises
    ------
    RuntimeError
        It failed.
    """
    words = (kind, count, duration_ms, name, timing, threads)
    command = [sys.executable, "-m", __name__, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"run of {count} {kind} must end well: {done.stderr[-500:]}")
    return Cost(**json.loads(done.stdout))


def main(arguments: list[str]) -> None:
    """Print one run's cost as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=("fabric", "senders"))
    parser.add_argument("count", type=int, help="hosts, or senders")
    parser.add_argument("duration_ms", type=float)
    parser.add_argument("name", metavar="law")
    parser.add_argument("timing", choices=("exact", "ns3"))
    parser.add_argument("threads", type=int)
    print(json.dumps(asdict(cost(**vars(parser.parse_args(arguments))))))


if __name__ == "__main__":
    main(sys.argv[1:])
