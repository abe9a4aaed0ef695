"""What is simulated: a topology, its traffic, its buffers; and the incast presets.

Everything is frozen data: two equal scenarios give equal runs.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from precog_sim.network.ecn import Ecn
from precog_sim.network.failures import Failure, LinkState, link_states
from precog_sim.network.hearing import Hearing
from precog_sim.network.hints import Hints
from precog_sim.network.layout import Spray
from precog_sim.network.messages import Messages
from precog_sim.network.priorities import Priorities
from precog_sim.network.recovery import Answers, Recovery
from precog_sim.network.topology import Topology, star

__all__ = [
    "INCASTS",
    "SPRAYS",
    "Buffers",
    "Ecn",
    "Flow",
    "Scenario",
    "incast",
]

#: How packets choose among equal paths.
SPRAYS = tuple(way.name.lower() for way in Spray)
_MIB = 1 << 20
_SECOND_PS = 10**12
_MAX_FLOW_BYTES = 1 << 40  # 1 TiB: its time at the floor rate still fits the picosecond clock


@dataclass(frozen=True)
class Flow:
    """`size` bytes from host `src` to host `dst`, starting at `start_ps`.

    Parameters
    ----------
    src, dst, size, start_ps : int
    rtt_jitter_ps : int
        Acknowledgements are held back in the sending host, by a time drawn uniformly from 0 to
        this with the run's seed (whole nanoseconds).
    rtt_jitter_of : str
        ``"sample"``: the acknowledgement that completes an RTT sample is held back; ``"all"``: each
        one is, by a time of its own, so that they come in another order.
    messages : Messages, optional
        When the bytes are handed over; None: all of them at the start.
    after : tuple of int
        Flows, by their place in the scenario, that must have arrived before this one begins,
        `start_ps` later. Each begins or ends at this flow's source, which knows of no other.
    priority : int
        Its class of traffic (`Priorities`); its acknowledgements have the same.
    dst_port : int
        Only ns-3's hash of paths looks at it (`run`, ``ecmp="ns3"``).

    Raises
    ------
    ValueError
        The size is not in 1 byte..1 TiB, the start is negative, the jitter is not in 0..1 s, source
        and destination are the same, or the port is not in 0..65535.
    """

    src: int
    dst: int
    size: int
    start_ps: int = 0
    rtt_jitter_ps: int = 0
    rtt_jitter_of: str = "sample"
    messages: Messages | None = None
    dst_port: int = 100
    after: tuple[int, ...] = ()
    priority: int = 0

    def __post_init__(self) -> None:
        if not self.size > 0:
            raise ValueError(
                f"flow size must be at least 1 byte, not {self.size!r}: leave the flow out instead"
            )
        if self.size > _MAX_FLOW_BYTES:
            raise ValueError(
                f"flow size must be at most {_MAX_FLOW_BYTES} bytes (1 TiB), not {self.size!r}"
            )
        if self.start_ps < 0:
            raise ValueError(f"flow start must be >= 0 ps, not {self.start_ps!r}")
        if not 0 <= self.rtt_jitter_ps <= _SECOND_PS:
            raise ValueError(
                f"flow rtt_jitter_ps must be in 0..{_SECOND_PS} (1 s), not {self.rtt_jitter_ps!r}"
            )
        if self.rtt_jitter_of not in ("sample", "all"):
            raise ValueError(
                f"flow rtt_jitter_of must be sample or all, not {self.rtt_jitter_of!r}"
            )
        if self.src == self.dst:
            raise ValueError(f"flow destination must differ from its source, not {self.dst!r}")
        if self.after and self.messages is not None:
            raise ValueError("flow with messages must wait for no other flow: leave after out")
        if not 0 <= self.dst_port <= 65535:
            raise ValueError(f"flow dst_port must be in 0..65535, not {self.dst_port!r}")


@dataclass(frozen=True)
class Buffers:
    """A switch's shared packet memory and its PFC.

    Parameters
    ----------
    total : int
        Bytes per switch.
    pfc : str
        ``"dynamic"``: an ingress port pauses its peer at (free shared bytes) >> `alpha_shift`, as
        the ns-3 codes do; ``"static"``: at `pfc_bytes`; ``"off"``: never, and packets are dropped
        as `drop` says.
    pfc_bytes : int
        t_PFC of the static form; 0: the largest that source 004 allows.
    headroom : int
        Bytes per port kept for what is in flight after a PAUSE; 0: 3 x rate x delay of the link.
    reserve : int
        Bytes per port that never count against the shared part.
    alpha_shift : int
        Shift of the dynamic threshold of a port as fast as the slowest host's link; of a faster
        one it is less by one for every doubling begun, down to 0, as in ns-3.
    resume_bytes : int
        RESUME is sent this far below the threshold; 0: two packets of full size.
    drop : str
        Without PFC: ``"tail"``: packets are dropped when the memory is full; ``"dynamic"``: also
        when their queue would be longer than `drop_alpha` times the memory that is free
        (Choudhury and Hahne, IEEE/ACM ToN 6(2), 1998).
    drop_alpha : float

    Raises
    ------
    ValueError
        `pfc` or `drop` is unknown, a size is negative, or `drop_alpha` is not positive.
    """

    total: int = 32 * _MIB
    pfc: str = "dynamic"
    pfc_bytes: int = 0
    headroom: int = 0
    reserve: int = 4096
    alpha_shift: int = 3
    resume_bytes: int = 3072
    drop: str = "tail"
    drop_alpha: float = 1.0

    def __post_init__(self) -> None:
        if self.pfc not in ("dynamic", "static", "off"):
            raise ValueError(f"pfc must be one of dynamic, static, off, not {self.pfc!r}")
        if self.drop not in ("tail", "dynamic"):
            raise ValueError(f"drop must be one of tail, dynamic, not {self.drop!r}")
        if not 0 < self.drop_alpha < math.inf:
            raise ValueError(f"drop_alpha must be positive and finite, not {self.drop_alpha!r}")
        for name in ("total", "pfc_bytes", "headroom", "reserve", "alpha_shift", "resume_bytes"):
            if getattr(self, name) < 0:
                raise ValueError(f"buffer {name} must be >= 0, not {getattr(self, name)!r}")

    def shift_at(self, ratio: float) -> int:
        """Shift of the dynamic threshold of a port that is `ratio` times as fast."""
        return max(self.alpha_shift - max(math.ceil(math.log2(ratio)), 0), 0)


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


_NS3_BEGIN_NS = 2_000_000_000  # ns-3's runs begin at 2 s


def _ns3_clock(start_ns: int) -> int:
    """The nanosecond at which ns-3 starts a flow that is to start `start_ns` after the beginning.

    It reads a decimal number of seconds as a double and drops what is below a nanosecond.
    """
    seconds = Fraction((_NS3_BEGIN_NS + start_ns) / 10**9)
    return math.floor(seconds * 10**9) - _NS3_BEGIN_NS


_MB = 1_000_000

# name -> (sizes of the flows in bytes, link delay in ps)
INCASTS: dict[str, tuple[tuple[int, ...], int]] = {
    "thesis": ((200 * _MB, 200 * _MB, 150 * _MB) + (5 * _MB,) * 17, 1_000_000),
    "tenth": ((20 * _MB, 20 * _MB, 15 * _MB) + (_MB // 2,) * 17, 1_000_000),
    "hundredth": ((2 * _MB, 2 * _MB, 3 * _MB // 2) + (_MB // 20,) * 17, 1_000_000),
    "senders8": ((40 * _MB, 40 * _MB, 30 * _MB) + (2 * _MB,) * 5, 1_000_000),
    "senders32": ((40 * _MB, 40 * _MB, 30 * _MB) + (2 * _MB,) * 29, 1_000_000),
    "base8us": ((40 * _MB, 40 * _MB, 30 * _MB) + (2 * _MB,) * 17, 1_960_000),
}


def incast(
    preset: str = "thesis",
    *,
    senders: int | None = None,
    sizes: Sequence[int] | None = None,
    base_rtt_us: float | None = None,
    scale: float = 1.0,
    jitter_ns: float = 100.0,
    gbps: float = 100.0,
) -> Scenario:
    """All senders towards one receiver through one switch; host 0 receives, sender k is host k + 1.

    Parameters
    ----------
    preset : str
        A name in `INCASTS`. ``thesis`` = 20 senders, 100 Gb/s, 1 us links, flows of 200, 200,
        150 MB and 17 x 5 MB.
    senders : int, optional
        Another number of senders: the preset's first flows, or its last one repeated.
    sizes : sequence of int, optional
        Flow sizes in bytes instead of the preset's.
    base_rtt_us : float, optional
        Base RTT (delays both ways plus the payload's transmission one way) to be reached by the
        links' delay.
    scale : float
        All sizes times this.
    jitter_ns : float
        Every flow starts up to this much later, by the run's seed.
    gbps : float
        Rate of every link.

    Raises
    ------
    ValueError
        Unknown preset, no sender, a flow of no bytes, a scale that is not positive, a base RTT that
        no delay can reach, or jitter beyond the run's end.
    """
    if preset not in INCASTS:
        raise ValueError(
            f"incast preset must be one of {', '.join(sorted(INCASTS))}, not {preset!r}"
        )
    chosen, delay_ps = INCASTS[preset]
    name = preset
    if sizes is not None:
        chosen = tuple(sizes)
    if senders is not None:
        if senders < 1:
            raise ValueError(f"senders must be at least 1, not {senders!r}")
        chosen = (chosen + (chosen[-1],) * senders)[:senders]
        name += f" senders={senders}"
    if not 0 < scale < math.inf:
        raise ValueError(f"scale must be positive and finite, not {scale!r}")
    if scale != 1.0:
        chosen = tuple(math.floor(size * scale) for size in chosen)
        name += f" scale={scale:g}"
    payload = 1000
    if base_rtt_us is not None:
        if not math.isfinite(base_rtt_us):
            raise ValueError(f"base_rtt_us must be finite, not {base_rtt_us!r}")
        # four link delays and two transmissions of the payload
        delay_ps = round((base_rtt_us * 1e6 - 2 * payload * 8000 / gbps) / 4)
        if delay_ps < 0:
            raise ValueError(
                f"base_rtt_us must be at least {2 * payload * 8e-3 / gbps:g}, not {base_rtt_us!r}"
            )
        name += f" base={base_rtt_us:g}us"
    flows = tuple(Flow(k + 1, 0, size) for k, size in enumerate(chosen))
    topology = star(len(flows) + 1, gbps=gbps, delay_ps=delay_ps)
    scenario = Scenario(name, topology, flows, payload=payload)
    # A slow tail must not cut the run short: one floor-rate flow needs size / min rate.
    longest = max(flow.size for flow in flows) * 8e-3 / scenario.min_gbps
    horizon_us = max(scenario.horizon_us, 2 * longest)
    return replace(scenario, jitter_ns=jitter_ns, horizon_us=horizon_us)
