"""What is compared: laws, sources of scores, networks, all with one set of constants.

incast
    20 senders towards one receiver through one switch, all from 10 Gb/s: flows of 20, 20, 15 MB and
    17 of 500 KB, all times the scale.
leaves
    Two tiers: four leaf switches of four hosts each under two spines, links as fast above as below,
    so that leaves are oversubscribed two to one. Two incasts of seven senders on hosts of different
    leaves, and every sender to one across, all at once and from 20 Gb/s; sizes as above, in turns.

Nothing was fitted to an outcome: laws, PSCHED and their constants are presets that were there
before. The budget, the queueing delay that counts as congestion, is about one base RTT of the
incast.
"""

from dataclasses import dataclass

from precog_models.image import pretrained
from precog_sim.loop import LoopSetup
from precog_sim.network import Flow, Link, Scenario, Scores, Topology, incast

__all__ = [
    "ALONE",
    "BLIND",
    "BUDGET_US",
    "LAWS",
    "NETWORKS",
    "SOURCES_RUN",
    "Case",
    "leaves",
    "scenario",
]

BUDGET_US = 4.0
ALONE = "alone"
#: Sources, and whether their scores make the way through the receiver.
SOURCES_RUN = (
    ("oracle", False),
    ("oracle", True),
    ("persistence", False),
    ("model", False),
    ("inverted", False),
    ("garbage", False),
)
#: Sources that are followed blindly too, without the skill monitor.
BLIND = ("oracle", "garbage")
LAWS = {
    "timely": LoopSetup(preset="precog", algorithm="timely", timely="precog"),
    "dcqcn": LoopSetup(preset="precog", algorithm="dcqcn", dcqcn="vendor"),
}
NETWORKS = ("incast", "leaves")
_MIN_GBPS = 0.1
_START_GBPS = {"incast": 10.0, "leaves": 20.0}
_SIZES = (20_000_000, 20_000_000, 15_000_000) + (500_000,) * 17
_LEAVES, _SPINES, _HOSTS = 4, 2, 4
_JITTER_NS = 100.0
_HORIZON_US = 400_000.0


def leaves(gbps: float = 100.0, delay_ps: int = 1_000_000) -> Topology:
    """Four leaves of four hosts, two spines."""
    hosts = _LEAVES * _HOSTS
    down = [Link(h, hosts + h // _HOSTS, gbps, delay_ps) for h in range(hosts)]
    up = [
        Link(hosts + leaf, hosts + _LEAVES + spine, gbps, delay_ps)
        for leaf in range(_LEAVES)
        for spine in range(_SPINES)
    ]
    return Topology(hosts, _LEAVES + _SPINES, (*down, *up))


def _two_tiers(scale: float) -> Scenario:
    hosts = _LEAVES * _HOSTS
    receivers = (0, _HOSTS)  # on two leaves
    senders = [h for h in range(hosts) if h not in receivers]
    pairs = [(h, receivers[k % 2]) for k, h in enumerate(senders)]
    pairs += [(h, (h + 2 * _HOSTS + 1) % hosts) for h in senders if (h + 9) % hosts != h]
    flows = tuple(
        Flow(src, dst, max(int(_SIZES[k % len(_SIZES)] * scale), 1))
        for k, (src, dst) in enumerate(pairs)
    )
    return Scenario("two tiers", leaves(), flows, jitter_ns=_JITTER_NS, horizon_us=_HORIZON_US)


def scenario(network: str, scale: float = 1.0) -> Scenario:
    """One of the `NETWORKS`, all sizes times `scale`.

    Raises
    ------
    ValueError
        There is no such network.
    """
    if network == "incast":
        return incast("tenth", scale=scale)
    if network == "leaves":
        return _two_tiers(scale)
    raise ValueError(f"network must be one of {', '.join(NETWORKS)}, not {network!r}")


@dataclass(frozen=True)
class Case:
    """One law in one network, alone or with scores.

    Parameters
    ----------
    network, law : str
        Of `NETWORKS` and `LAWS`.
    source : str
        A source of scores, or `ALONE`.
    echo : bool
        Scores act when they have come back from the receiver.
    skill : bool
        The skill monitor is on.
    """

    network: str
    law: str
    source: str = ALONE
    echo: bool = False
    skill: bool = True

    def setup(self) -> LoopSetup:
        """What the device is told."""
        law = LAWS[self.law]
        scored = self.source != ALONE
        return LoopSetup(
            preset=law.preset,
            algorithm=law.algorithm,
            timely=law.timely,
            dcqcn=law.dcqcn,
            min_gbps=_MIN_GBPS,
            init_gbps=_START_GBPS[self.network],
            image=pretrained() if self.source == "model" else None,
            scores=Scores(self.source, BUDGET_US, echo=self.echo) if scored else None,
            parameters=(("psched_skill", float(self.skill)),) if scored else (),
        )
