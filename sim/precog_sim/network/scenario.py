"""What is simulated: a topology, its traffic, its buffers.

Everything is frozen data: two equal scenarios give equal runs.
"""

import math
import random
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from precog_sim.network.buffers import Buffers
from precog_sim.network.ecn import Ecn
from precog_sim.network.failures import Failure, LinkState, link_states
from precog_sim.network.flow import Flow
from precog_sim.network.hearing import Hearing
from precog_sim.network.hints import Hints
from precog_sim.network.layout import Spray
from precog_sim.network.priorities import Priorities
from precog_sim.network.recovery import Answers, Recovery
from precog_sim.network.topology import Topology
from precog_spec.contract import Fmt

__all__ = [
    "SPRAYS",
    "Scenario",
]

#: How packets choose among equal paths.
SPRAYS = tuple(way.name.lower() for way in Spray)


@dataclass(frozen=True)
class Scenario:
    """One experiment, without its congestion control.

    Parameters
    ----------
    name : str
        For reports.
    topology : Topology
    flows : tuple of Flow
    payload : int
        Bytes of payload in a full packet.
    min_gbps : float
        Floor of every rate law, Gb/s; the ceiling is the sender's link.
    jitter_ns : float
        Every flow starts up to this much later, drawn uniformly from the run's seed.
    buffers : Buffers
    ecn : Ecn or None
        Marking of every switch port; None: what the congestion control asks for.
    recovery : Recovery
    answers : Answers
    hearing : Hearing
    hints : Hints
    spray : str
        ``"none"``: all packets of a flow take one of several equal paths, by hash; ``"random"``:
        each packet takes one at random, by the run's seed; ``"turns"``: at each switch the next
        hops take turns, for each destination.
    loss_data, loss_ack : float
        Probability that a data or acknowledgement packet is lost on arrival at a switch.
    priorities : Priorities
    failures : tuple of Failure
        Links that go down.
    detect_us : float
        Routes follow so long after each change of a link.
    horizon_us : float
        The run ends here even if flows do not.

    Raises
    ------
    ValueError
        There is no flow, a flow's host does not exist, a number is out of range, a flow with
        messages is to be repeated selectively, a failure is of no link, or a flow will never have
        a path.
    """

    name: str
    topology: Topology
    flows: tuple[Flow, ...]
    payload: int = 1000
    min_gbps: float = 1.0
    jitter_ns: float = 0.0
    buffers: Buffers = field(default_factory=Buffers)
    ecn: Ecn | None = None
    recovery: Recovery = field(default_factory=Recovery)
    answers: Answers = field(default_factory=Answers)
    hearing: Hearing = field(default_factory=Hearing)
    hints: Hints = field(default_factory=Hints)
    spray: str = "none"
    priorities: Priorities = field(default_factory=Priorities)
    failures: tuple[Failure, ...] = ()
    detect_us: float = 100.0
    loss_data: float = 0.0
    loss_ack: float = 0.0
    horizon_us: float = 1_000_000.0

    def __post_init__(self) -> None:
        if not self.flows:
            raise ValueError("scenario must have at least one flow, not none")
        for f, flow in enumerate(self.flows):
            if not 0 <= flow.priority < self.priorities.count:
                raise ValueError(
                    f"flow {f} must have one of the {self.priorities.count} priorities from 0 on, "
                    f"not {flow.priority!r}"
                )
            for host in (flow.src, flow.dst):
                if not 0 <= host < self.topology.hosts:
                    raise ValueError(
                        f"flow host must be in 0..{self.topology.hosts - 1}, not {host!r}"
                    )
        self._check_order()
        self._check_recovery()
        self._check_paths()
        if not 1 <= self.payload <= 9000:
            raise ValueError(f"payload must be in 1..9000 bytes, not {self.payload!r}")
        if not self.min_gbps > 0:
            raise ValueError(f"min_gbps must be positive, not {self.min_gbps!r}")
        if not 0 <= self.jitter_ns < self.horizon_us * 1e3:  # not NaN either
            raise ValueError(
                f"jitter_ns must be in 0..{self.horizon_us * 1e3:g} (the horizon), "
                f"not {self.jitter_ns!r}"
            )
        for name in ("loss_data", "loss_ack"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} must be in [0, 1), not {getattr(self, name)!r}")

    def _check_recovery(self) -> None:
        """Packets have numbers that bitmaps can be made of; time-outs that matter are there."""
        if self.spray not in SPRAYS:
            raise ValueError(f"spray must be one of {', '.join(SPRAYS)}, not {self.spray!r}")
        if not self.recovery.selective:
            return
        for f, flow in enumerate(self.flows):
            if flow.messages is not None:
                raise ValueError(
                    f"flow {f} must have no messages under selective recovery, which counts "
                    "packets of full size: leave messages out, or take go-back-n"
                )

    @property
    def has_faults(self) -> bool:
        """Whether links may lose packets."""
        return bool(self.failures) or any(link.loss > 0 for link in self.topology.links)

    @cached_property
    def link_states(self) -> tuple[LinkState, ...]:
        """Which links are down when."""
        return link_states(self.failures, len(self.topology.links))

    def _check_paths(self) -> None:
        """Every flow has a path at some time of its life."""
        if not 0 <= self.detect_us < math.inf:
            raise ValueError(f"detect_us must be >= 0 and finite, not {self.detect_us!r}")
        if not self.failures:
            return
        states = self.link_states
        hops = [self.topology.routes_without(state.down).hops for state in states]
        ends = [state.begin_ps for state in states[1:]] + [round(self.horizon_us * 1e6)]
        for f, flow in enumerate(self.flows):
            if not any(
                end > flow.start_ps and reach[flow.src, flow.dst] >= 0
                for end, reach in zip(ends, hops, strict=True)
            ):
                raise ValueError(
                    f"flow {f} from host {flow.src} to host {flow.dst} must have a path at some "
                    "time: from its start on failures leave none; let a link come up again"
                )

    def _check_order(self) -> None:
        """Every flow that waits begins some day."""
        waits = [len(flow.after) for flow in self.flows]
        followers: dict[int, list[int]] = {}
        for g, flow in enumerate(self.flows):
            for f in flow.after:
                if not 0 <= f < len(self.flows):
                    raise ValueError(
                        f"flow {g} must wait for one of the {len(self.flows)} flows, not for {f!r}"
                    )
                if flow.src not in (self.flows[f].src, self.flows[f].dst):
                    raise ValueError(
                        f"flow {g} must wait for flows that begin or end at its source, host "
                        f"{flow.src}, not for flow {f}"
                    )
                followers.setdefault(f, []).append(g)
        free = [f for f, count in enumerate(waits) if count == 0]
        begun = 0
        while free:
            begun += 1
            for g in followers.get(free.pop(), ()):
                waits[g] -= 1
                if waits[g] == 0:
                    free.append(g)
        if begun < len(self.flows):
            first = next(f for f, count in enumerate(waits) if count)
            raise ValueError(f"flows must not wait for each other in a circle: flow {first} does")

    def starts_ps(self, seed: int, *, whole_ns: bool) -> NDArray[np.int64]:
        """Start of every flow for `seed`, in picoseconds; in whole nanoseconds as ns-3 drew them.

        The jittered runs of the HPCC authors' simulator drew whole nanoseconds with Python's
        generator, seeded with the run's number, from 1 on, and its clock cut the decimal second to
        the nanosecond below: half of the starts are 1 ns early.
        """
        if whole_ns:
            draw = random.Random(1 + seed).randint
            starts = [
                flow.start_ps // 1000 + draw(0, math.floor(self.jitter_ns)) for flow in self.flows
            ]
            return np.array([_ns3_clock(start) * 1000 for start in starts], dtype=np.int64)
        jitter = np.random.default_rng(seed).uniform(0.0, self.jitter_ns, len(self.flows))
        starts_ps = np.array([flow.start_ps for flow in self.flows], dtype=np.int64)
        return starts_ps + np.floor(jitter * 1000).astype(np.int64)

    def messages_ps(self, starts: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
        """Every message that comes before the horizon: time in ps, flow, bytes, in order of time.

        Parameters
        ----------
        starts : ndarray of int64, shape (flows,)
            As `starts_ps` gives them.
        seed : int
            Of the run; each flow draws from its own stream.

        Raises
        ------
        ValueError
            A flow's size is not its trace's.
        """
        horizon_ps = round(self.horizon_us * 1e6)
        parts = [np.zeros((0, 3), dtype=np.int64)]
        for f, flow in enumerate(self.flows):
            if flow.messages is not None:
                rng = np.random.default_rng((seed, f + 1))
                t, size = flow.messages.draw(rng, flow.size, horizon_ps - int(starts[f]))
                after = np.maximum(t, 1)  # for the flow must have started
                parts.append(np.column_stack([starts[f] + after, np.full_like(t, f), size]))
        table = np.concatenate(parts)
        return table[np.argsort(table[:, 0], kind="stable")]

    def connections(self) -> dict[int, int]:
        """For flows that stand for the two ways of a connection, the flow of the other way.

        A queue pair sends one flow, and the first flows between two hosts, one each way, are the
        ends of one connection, then the second ones, and so on.
        """
        waiting: dict[tuple[int, int], list[int]] = {}
        found: dict[int, int] = {}
        for f, flow in enumerate(self.flows):
            others = waiting.get((flow.dst, flow.src))
            if others:
                g = others.pop(0)
                found |= {f: g, g: f}
            else:
                waiting.setdefault((flow.src, flow.dst), []).append(f)
        return found

    @property
    def base_rtt_us(self) -> float:
        """Largest base RTT of any flow: delays both ways plus payload transmission one way."""
        pairs = {(flow.src, flow.dst) for flow in self.flows}
        return max(self.topology.base_rtt_ps(src, dst, self.payload) for src, dst in pairs) * 1e-6

    @property
    def mark_us(self) -> float:
        """Queueing delay from which switches mark all packets; 0: there is none.

        Switches may mark as the law wants, or from a delay on that no RTT can have. With strict
        priorities a short queue may wait long behind another one.
        """
        marking = self.priorities.ecn or ((self.ecn,) if self.ecn else ())
        most = max((one.max_bytes for one in marking), default=0)
        delay = most * 8e-3 / self.topology.host_gbps
        priorities = {flow.priority for flow in self.flows}
        behind = self.priorities.schedule == "strict" and len(priorities) > 1
        return 0.0 if behind or delay > _RTT_MAX_US else delay


_RTT_MAX_US = Fmt.RTT.max * 1e-3  # with the simulator's tick of 1 ns
_NS3_BEGIN_NS = 2_000_000_000  # ns-3's runs begin at 2 s


def _ns3_clock(start_ns: int) -> int:
    """The nanosecond at which ns-3 starts a flow that is to start `start_ns` after the beginning.

    It reads a decimal number of seconds as a double and drops what is below a nanosecond.
    """
    seconds = Fraction((_NS3_BEGIN_NS + start_ns) / 10**9)
    return math.floor(seconds * 10**9) - _NS3_BEGIN_NS
