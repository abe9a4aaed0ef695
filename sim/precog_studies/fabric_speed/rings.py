"""A ring all-reduce: alone against its closed form, and under web search at 30 %."""

from dataclasses import dataclass

import numpy as np

from precog_net.laws import law
from precog_net.topologies import topology
from precog_net.workloads import Place, Traffic, draw, workload
from precog_sim.network import Fixed, Record, Result, Scenario, run, star

__all__ = ["Ring", "alone", "beside_others", "closed_form_us"]

_PAYLOAD = 1000
_QUIET = Record(packets=False, probe_us=0.0)
_NS_PER_BYTE = 0.08  # at 100 Gb/s
_LINK_NS = 1000.0
_HEADER, _ACK = 48, 60


@dataclass(frozen=True)
class Ring:
    """A job: `hosts` that reduce `size` bytes each."""

    hosts: int = 64
    size: int = 100_000_000

    @property
    def others_ms(self) -> float:
        """How long the others' search goes on beside it."""
        return 60.0 * self.size / 100_000_000


def closed_form_us(ring: Ring) -> float:
    """Completion time on one switch at 100 Gb/s when nothing else runs.

    2 (n - 1) steps of one chunk each. A host's link carries the chunk's data and, the same way, the
    acknowledgements of the chunk that it gets meanwhile; a step is over when its last packet has
    been stored and forwarded once and has crossed two links. The job is over when the last
    acknowledgement is back.
    """
    chunk = ring.size / ring.hosts
    packets = -(-chunk // _PAYLOAD)
    last = chunk - (packets - 1) * _PAYLOAD + _HEADER
    on_link = (chunk + packets * (_HEADER + _ACK)) * _NS_PER_BYTE
    step = on_link + last * _NS_PER_BYTE + 2 * _LINK_NS
    back = 2 * (_ACK * _NS_PER_BYTE + _LINK_NS)
    return float(2 * (ring.hosts - 1) * step + back) * 1e-3


def _took_us(result: Result, kind: np.ndarray) -> float | None:
    """From the job's first start to its last end; None: it did not end before the horizon."""
    mine = kind == "ring"
    end = result.start_us[mine] + result.fct_us[mine]
    if np.isnan(end).any():
        return None
    return float(end.max() - result.start_us[mine].min())


def _drawn(text: str, hosts: int, duration_ms: float, seed: int) -> Traffic:
    return draw(workload(text), Place(hosts, 100.0, round(duration_ms * 1e9)), seed)


def alone(ring: Ring) -> float | None:
    """Completion time in us at line rate on one switch."""
    traffic = _drawn(f"ring:{ring.hosts}x{ring.size}", ring.hosts, 1.0, 1)
    made = Scenario("ring", star(ring.hosts), traffic.flows(), payload=_PAYLOAD)
    return _took_us(run(made, Fixed(), record=_QUIET), np.array(traffic.kind))


def beside_others(
    ring: Ring, name: str, load: float, duration_ms: float, seed: int
) -> tuple[float | None, float | None]:
    """Completion time in us on leaves and spines, and the others' p95 slowdown, or None.

    Of the four racks' hosts the job's are drawn at random. The others' web search at `load` goes on
    for `duration_ms`; a job that takes longer ends in peace, so the time must be ample. The run is
    given up after a second.
    """
    leaves = max(-(-ring.hosts // 16), 2)
    network = topology(f"leafspine:leaves={leaves},spines=4,hosts=16,oversubscription=1")
    text = f"ring:{ring.hosts}x{ring.size}:spread"
    if load > 0:
        text += f"+websearch:{load}"
    traffic = _drawn(text, network.hosts, duration_ms, seed)
    made = Scenario("ring", network, traffic.flows(), payload=_PAYLOAD)
    result = run(made, law(name), seed=seed, record=_QUIET)
    kind = np.array(traffic.kind)
    slowdown = np.maximum(result.fct_us / result.standalone_us, 1.0)
    others = slowdown[(kind != "ring") & np.isfinite(slowdown)]
    p95 = float(np.percentile(others, 95)) if others.size else None
    return _took_us(result, kind), p95
