"""The same flows here and in ns-3, in turns on the same machine."""

import json
import subprocess
from pathlib import Path
from statistics import median
from typing import Any

from precog_sim.network import Fixed, Flow, Record, Scenario, run, star

__all__ = ["compare", "why_not"]

_SCRIPT = Path(__file__).with_name("ns3_flows.py")
_PAYLOAD = 1000
_LOAD_GBPS = 95.0  # of a port of 100 Gb/s


def why_not(python: str) -> str:
    """The reason why ns-3 cannot be run by the interpreter `python`; empty: it can."""
    if not python:
        return "no interpreter with the package ns3 was named (--ns3)"
    try:
        done = subprocess.run([python, "-c", "from ns import ns"], capture_output=True, text=True)
    except OSError as error:
        return f"{python} cannot be run: {error.strerror}"
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no word why"])[-1]
        return f"{python} cannot import ns3: {last}"
    return ""


def _ours(count: int, packets: int) -> dict[str, float]:
    flows = tuple(Flow(h, count, packets * _PAYLOAD, start_ps=100_000 * h) for h in range(count))
    made = Scenario("ns3", star(count + 1), flows, payload=_PAYLOAD)
    law = Fixed(start_gbps=_LOAD_GBPS / count)
    result = run(made, law, record=Record(packets=False, probe_us=0.0))
    return {"events": result.events, "packets": result.data_got, "cpu_s": result.cpu_s}


def _theirs(python: str, count: int, packets: int) -> dict[str, float]:
    words = [python, str(_SCRIPT), str(count), str(packets), str(_PAYLOAD), str(_LOAD_GBPS)]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"ns-3 must end well: {done.stderr[-500:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def compare(python: str, count: int, packets: int, rounds: int) -> dict[str, Any]:
    """Events and packets per CPU second of both, medians of `rounds`, and the ratios.

    Raises
    ------
    RuntimeError
        ns-3 failed, or one of the two lost packets.
    """
    _ours(count, 10)  # compiled code is loaded
    runs: dict[str, list[dict[str, float]]] = {"ours": [], "ns3": []}
    for _ in range(rounds):
        runs["ours"].append(_ours(count, packets))
        runs["ns3"].append(_theirs(python, count, packets))
    found: dict[str, Any] = {"flows": count, "packets": count * packets, "rounds": rounds}
    for name, some in runs.items():
        lost = [one["packets"] for one in some if one["packets"] != count * packets]
        if lost:
            raise RuntimeError(f"{name} must deliver {count * packets} packets, not {lost[0]:g}")
        found[name] = {
            "events": some[0]["events"],
            "cpu_s": median(one["cpu_s"] for one in some),
            "events_per_s": median(one["events"] / one["cpu_s"] for one in some),
            "packets_per_s": median(one["packets"] / one["cpu_s"] for one in some),
        }
    for what in ("events_per_s", "packets_per_s"):
        found[f"{what}_ratio"] = found["ours"][what] / found["ns3"][what]
    return found
