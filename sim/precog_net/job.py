"""One run of a fabric as data: it can go to another process or machine, and has a key."""

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precog_net import workloads
from precog_net.features import Features
from precog_net.laws import law, law_sources, mixture
from precog_net.topologies import topology
from precog_sim.network import CongestionControl, Hints, Mixed, Record, Scenario, run
from precog_sim.network.result import Result

__all__ = ["Job", "Outcome", "check", "execute"]

_PAYLOAD = 1000
_MOST_PACKETS = 200_000_000
_DEPTH_US = 5.0  # between samples of queues
_PACKAGES = ("precog_models", "precog_sim.network", "precog_net")


@dataclass(frozen=True)
class Job:
    """A run.

    Parameters
    ----------
    topology, workload, law : str
        As on the command line; `workload` may be empty.
    flows : str
        A file of flows, or empty.
    seed : int
        Of the workload and of everything that is random in the network.
    duration_ms, stop_ms : float
        Flows of the workload start before the one; the run ends at the other at the latest.
    timing, ecmp : str
        As of `precog_sim.network.run`.
    features : Features
    """

    topology: str
    workload: str
    flows: str
    law: str
    seed: int
    duration_ms: float
    stop_ms: float
    timing: str = "exact"
    ecmp: str = "own"
    features: Features = field(default_factory=Features)

    @property
    def key(self) -> str:
        """Name of its results: of what is run, and of the code that runs it."""
        digest = hashlib.blake2b(_sources(), digest_size=12)
        digest.update(json.dumps(asdict(self), sort_keys=True).encode())
        digest.update(law_sources(self.law))
        for text in (
            self.topology,
            self.flows,
            *(p.split(":")[0] for p in self.workload.split("+")),
        ):
            if text and Path(text).is_file():
                digest.update(Path(text).read_bytes())
        return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a run leaves.

    Parameters
    ----------
    flows : dict of str to list or ndarray
        Columns, a value a flow: start_us, src, dst, bytes, class, law, fct_us (NaN: it did not
        finish), slowdown (completion time over that alone in the network, at least 1).
    counts : dict of str to float
        Of the whole run.
    """

    flows: dict[str, Any]
    counts: dict[str, float]


@cache
def _sources() -> bytes:
    digest = hashlib.blake2b()
    for package in _PACKAGES:
        root = Path(str(files(package)))
        for path in sorted(root.rglob("*.py")):
            digest.update(str(path.relative_to(root)).encode() + path.read_bytes())
    return digest.digest()


def scenario(job: Job) -> tuple[Scenario, workloads.Traffic]:
    """What is simulated, and its flows with their classes.

    Raises
    ------
    ValueError
        A part of the job is wrong.
    OSError
        A file cannot be read.
    """
    network = topology(job.topology)
    gbps = min(link.gbps for link in network.links if min(link.a, link.b) < network.hosts)
    place = workloads.Place(network.hosts, gbps, round(job.duration_ms * 1e9))
    parts = []
    if job.flows:
        parts.append(workloads.read_flows(Path(job.flows), network.hosts))
    if job.workload:
        parts.append(workloads.draw(workloads.workload(job.workload), place, job.seed))
    traffic = workloads.merged(parts)
    packets = int((-(-traffic.size // _PAYLOAD)).sum())
    if packets > _MOST_PACKETS:
        raise ValueError(
            f"flows must have at most {_MOST_PACKETS:.0e} packets of {_PAYLOAD} bytes in all, not "
            f"{packets:.3g}: give smaller sizes or a shorter time"
        )
    name = "+".join(filter(None, (job.workload, Path(job.flows).name if job.flows else "")))
    made = Scenario(
        f"{job.topology} {name}",
        network,
        traffic.flows(),
        payload=_PAYLOAD,
        jitter_ns=0.0,
        horizon_us=job.stop_ms * 1e3,
    )
    return job.features.applied(made, traffic.kind), traffic


def laws(text: str, traffic: workloads.Traffic) -> tuple[CongestionControl, list[str]]:
    """The law of all flows together, and the name of each one's.

    Raises
    ------
    ValueError
        A law is wrong, or a class of flows has none.
    """
    by_class = mixture(text)
    unused = sorted(by_class.keys() - {"", *traffic.kind})
    if unused:
        known = ", ".join(sorted(set(traffic.kind)))
        raise ValueError(f"law {text}: class must be one of {known}, not {unused[0]!r}")
    named = [
        own or by_class.get(kind) or by_class.get("", "")
        for kind, own in zip(traffic.kind, traffic.laws, strict=True)
    ]
    if "" in named:
        kind = traffic.kind[named.index("")]
        raise ValueError(f"law {text} must have a law for class {kind}: add +{kind}=LAW")
    different = list(dict.fromkeys(named))
    made = [law(name) for name in different]
    if len(made) == 1:
        return made[0], named
    place = {name: k for k, name in enumerate(different)}
    return Mixed(laws=made, of=[place[name] for name in named]), named


def check(job: Job) -> None:
    """Refuse a job that cannot run, before any runs.

    Raises
    ------
    ValueError, OSError
        As `scenario`; or the law is wrong, or there is neither a workload nor a file of flows.
    """
    if not job.workload and not job.flows:
        raise ValueError("workload or flows must be given: --workload websearch:0.3, --flows FILE")
    for name in ("duration_ms", "stop_ms"):
        if not 0 < getattr(job, name) <= 1e5:
            option = name.replace("_", "-")
            raise ValueError(
                f"{option} must be above 0 and at most 1e5, not {getattr(job, name)!r}"
            )
    if job.stop_ms < job.duration_ms:
        raise ValueError(
            f"stop-ms must be at least duration-ms = {job.duration_ms:g}, not {job.stop_ms!r}"
        )
    if job.timing not in ("exact", "ns3"):
        raise ValueError(f"timing must be exact or ns3, not {job.timing!r}")
    if job.ecmp not in ("own", "ns3") or (job.ecmp == "ns3" and job.timing != "ns3"):
        raise ValueError(f"ecmp must be own, or ns3 with --timing ns3, not {job.ecmp!r}")
    for name in mixture(job.law).values():
        law(name)
    laws(job.law, scenario(job)[1])


def execute(job: Job, threads: int = 1, hints: Hints | None = None) -> Outcome:
    """Run it on `threads`, whose number does not change the outcome, by default without hints.

    Raises
    ------
    ValueError, OSError
        As `check`.
    SimulationError
        The run failed.
    """
    made, traffic = scenario(job)
    control, named = laws(job.law, traffic)
    result = run(
        replace(made, hints=hints or Hints()),
        control,
        timing=job.timing,
        seed=job.seed,
        ecmp=job.ecmp,
        threads=threads,
        record=Record(probe_us=0.0, packets=False, depth_us=_DEPTH_US),
    )
    fct: NDArray[np.float64] = result.fct_us
    return Outcome(
        {
            "start_us": result.start_us,
            "src": np.array([flow.src for flow in made.flows], dtype=np.int32),
            "dst": np.array([flow.dst for flow in made.flows], dtype=np.int32),
            "bytes": result.size,
            "class": list(traffic.kind),
            "law": named,
            "fct_us": fct,
            "slowdown": np.maximum(fct / result.standalone_us, 1.0),
        },
        _counts(result),
    )


def _counts(result: Result) -> dict[str, float]:
    """What is not of a flow.

    Utilisation is of all hosts' links until the last flow is done; queues are those of all switch
    ports at equal spacing, in bytes; `pause_share` is the mean of all ports.
    """
    done = ~np.isnan(result.fct_us)
    network = result.scenario.topology
    packets = -(-result.size // result.scenario.payload)
    wire = float((result.size + packets * result.header)[done].sum())
    end_us = float(np.nanmax(result.start_us + result.fct_us)) if done.any() else result.end_us
    began_us = float(result.start_us.min())
    links = {link for link in network.links if min(link.a, link.b) < network.hosts}
    capacity = sum(link.gbps for link in links)
    return {
        "events": result.events,
        "pauses": result.pauses,
        "drops": result.drops,
        "marks": result.marks,
        "timeouts": result.timeouts,
        "retransmitted": result.retransmitted,
        "queue_p50": result.queue_below(0.5) << 10,
        "queue_p99": result.queue_below(0.99) << 10,
        "queue_max": result.max_queue,
        "pause_share": float(result.paused_us.mean()) / result.end_us,
        "end_us": end_us,
        "utilisation": wire * 8e-3 / (capacity * (end_us - began_us)) if done.any() else 0.0,
        "cpu_s": result.cpu_s,
        "partitions": result.partitions,
    }
