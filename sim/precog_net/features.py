"""Options of a fabric beyond its topology: paths, recovery, buffers, priorities, failures."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from precog_net.specs import amount
from precog_sim.network import Answers, Ecn, Failure, Priorities, Recovery, Scenario, Topology

__all__ = ["Features"]

_LOSS = re.compile(r"(\d{1,9})-(\d{1,9}):(\d{1,9}(?:\.\d+)?)")
_ECN = re.compile(r"([^-:]+)(?:-([^-:]+))?(?::(\d(?:\.\d+)?))?")
_FAILURE = re.compile(r"(\d{1,9})-(\d{1,9}):(\d{1,9}(?:\.\d+)?)(?::(\d{1,9}(?:\.\d+)?))?")


@dataclass(frozen=True)
class Features:
    """What `precog sim fabric` sets of a scenario; the defaults leave it as it is.

    Parameters
    ----------
    spray, recovery, pfc, drop, schedule : str
        As `Scenario`, `Recovery.mode`, `Buffers` and `Priorities` have them.
    reorder, window, ack_every : int
        As of `Recovery` and `Answers`.
    timeout_us, ack_delay_us, detect_us : float
        As of `Recovery`, `Answers` and `Scenario`.
    acks_first : bool
        As `Answers.first` has it.
    drop_alpha : float
        As `Buffers` has it.
    loss : float
        Of every link.
    link_loss : tuple of str
        ``A-B:SHARE``: of the link between two nodes, instead.
    fail : tuple of str
        ``A-B:DOWN[:UP]``: the link between two nodes, and microseconds.
    classes : str
        Classes of flows with commas, the first priority's first; empty: all have the same.
    weights : str
        One a class with commas, of schedule drr; empty: all alike.
    ecn : str
        Marking, one a class with commas: ``MIN[-MAX][:SHARE]`` in bytes of the queue; empty: what
        the law asks for.
    """

    spray: str = "none"
    recovery: str = "go-back-n"
    reorder: int = 1
    window: int = 512
    timeout_us: float = 20_000.0
    ack_every: int = 1
    ack_delay_us: float = 10.0
    acks_first: bool = False
    pfc: str = "dynamic"
    drop: str = "tail"
    drop_alpha: float = 1.0
    loss: float = 0.0
    link_loss: tuple[str, ...] = ()
    fail: tuple[str, ...] = ()
    detect_us: float = 100.0
    classes: str = ""
    schedule: str = "strict"
    weights: str = ""
    ecn: str = ""

    def applied(self, scenario: Scenario, kinds: Sequence[str]) -> Scenario:
        """The scenario with these options; `kinds` are the classes of its flows.

        Raises
        ------
        ValueError
            An option is wrong: the message names it.
        """
        network = _lossy(scenario.topology, self.loss, self.link_loss)
        names = self.classes.split(",") if self.classes else []
        if len(set(names)) < len(names):
            raise ValueError(f"classes must be given once each, not {self.classes!r}")
        flows = scenario.flows
        if names:
            for kind in kinds:
                if kind not in names:
                    raise ValueError(f"class {kind!r} must be one of --classes {self.classes}")
            flows = tuple(
                replace(flow, priority=names.index(kind))
                for flow, kind in zip(flows, kinds, strict=True)
            )
        return replace(
            scenario,
            topology=network,
            flows=flows,
            buffers=replace(
                scenario.buffers, pfc=self.pfc, drop=self.drop, drop_alpha=self.drop_alpha
            ),
            recovery=Recovery(
                mode=self.recovery,
                window=self.window,
                reorder=self.reorder,
                timeout_us=self.timeout_us,
            ),
            answers=Answers(self.ack_every, self.ack_delay_us, self.acks_first),
            spray=self.spray,
            priorities=Priorities(
                max(len(names), 1),
                self.schedule,
                self._weights(),
                tuple(map(_marking, self.ecn.split(","))) if self.ecn else (),
            ),
            failures=tuple(_failure(text, network) for text in self.fail),
            detect_us=self.detect_us,
        )

    def _weights(self) -> tuple[float, ...]:
        try:
            return tuple(float(text) for text in self.weights.split(",")) if self.weights else ()
        except ValueError:
            raise ValueError(f"weights must be numbers with commas, not {self.weights!r}") from None


def _failure(text: str, network: Topology) -> Failure:
    found = _FAILURE.fullmatch(text)
    if not found:
        raise ValueError(f"fail must be A-B:DOWN_US or A-B:DOWN_US:UP_US, not {text!r}")
    n = _between("fail", found, network)
    return Failure(n, float(found[3]), float(found[4]) if found[4] else None)


def _between(option: str, found: re.Match[str], network: Topology) -> int:
    """The link between the two nodes that an option names."""
    ends = {int(found[1]), int(found[2])}
    for n, link in enumerate(network.links):
        if {link.a, link.b} == ends:
            return n
    raise ValueError(
        f"{option} must name two nodes with a link between them, not {found[1]}-{found[2]}: hosts "
        f"are 0..{network.hosts - 1}, then come the switches"
    )


def _lossy(network: Topology, loss: float, texts: Sequence[str]) -> Topology:
    """The network with `loss` on all links but those that `texts` name."""
    own: dict[int, float] = {}
    for text in texts:
        found = _LOSS.fullmatch(text)
        if not found:
            raise ValueError(f"link-loss must be A-B:SHARE, not {text!r}")
        n = _between("link-loss", found, network)
        if n in own:
            raise ValueError(f"link-loss of {found[1]}-{found[2]} must be given once")
        own[n] = float(found[3])
    if not loss and not own:
        return network
    links = enumerate(network.links)
    return replace(network, links=tuple(replace(k, loss=own.get(n, loss)) for n, k in links))


def _marking(text: str) -> Ecn:
    found = _ECN.fullmatch(text)
    if not found:
        raise ValueError(f"ecn must be MIN, MIN-MAX or MIN-MAX:SHARE, not {text!r}")
    low = amount(found[1], "ecn MIN")
    high = amount(found[2], "ecn MAX") if found[2] else low
    return Ecn(low, high, float(found[3]) if found[3] else 1.0)
