"""What is compared: the laws with their constants and the reasons, the network, the experiments.

All laws run in one network, from the same starts, for the same time. No constant was fitted to an
outcome: the laws have presets that were there before, and the negative control its analysis'.

start
    Two flows start at 70 and 30 % of the line and nothing disturbs them: together they just fill
    it, so that a law that acts on marks alone is told nothing and must stay where it started.
burst
    The same, and after a millisecond a third sender puts a megabyte on top at the line's rate:
    whatever signal a law acts on, it has one.
flows
    2 to 256 flows, which start at 70 and 30 % of the line by turns: the more, the harder the start.
jitter
    As burst, and RTTs of the first flow are late by a random time.
"""

from dataclasses import dataclass, replace
from typing import Any

from precog_models.image import pretrained
from precog_sim.loop import LoopSetup
from precog_sim.network import Flow, Scenario
from precog_sim.network.topology import star

__all__ = [
    "COUNTS",
    "JITTERS_US",
    "LAWS",
    "LINE_GBPS",
    "MIN_GBPS",
    "SPLIT_GBPS",
    "Case",
    "Law",
    "cases",
]

LINE_GBPS = 100.0
MIN_GBPS = 0.1  # below 256 flows' fair share of 0.39 Gb/s; the presets' 1 Gb/s would overload
SPLIT_GBPS = (70.0, 30.0)  # start rates, by turns
COUNTS = (2, 8, 32, 128, 256)
JITTERS_US = (1.0, 2.0, 5.0, 10.0, 20.0)
_DELAY_PS = 1_000_000  # of each link
_PAYLOAD = 1000
_PACKET_NS = 84.48  # on the wire, with the longest header
_HEADROOM = 64  # bytes of a flow against its fair share, so that none ends
_BURST_BYTES = 1_000_000
_BURST_PS = 1_000_000_000


@dataclass(frozen=True)
class Law:
    """A law in one setting.

    Parameters
    ----------
    name : str
        For tables.
    setup : LoopSetup
        What the device is told.
    why : str
        The reason for the constants.
    model : bool
        The shipped model ``rtt-incast`` is loaded.
    """

    name: str
    setup: LoopSetup
    why: str
    model: bool = False


_SOURCE = 0.0  # variant of timely's program
_ANALYSIS = (("variant", _SOURCE), ("ai", 10.0), ("hai", 10.0))


def _setup(algorithm: str, **others: Any) -> LoopSetup:
    """What all laws have in common, and their own."""
    return LoopSetup(preset="precog", algorithm=algorithm, min_gbps=MIN_GBPS, **others)


LAWS = (
    Law(
        "pid",
        _setup("pid"),
        "Precog's default constants; target 0.8 us above the base RTT",
    ),
    Law(
        "predpid",
        _setup("predpid"),
        "the same constants, with the shipped model rtt-incast",
        model=True,
    ),
    Law(
        "timely-gradient",
        _setup(
            "timely",
            timely="ns3",
            law_values=(*_ANALYSIS, ("low", 0.0), ("high", 1000.0)),
        ),
        "negative control: the model of the analysis that finds no unique fixed point, with its "
        "constants (alpha 0.875, 10 Mb/s, 20 us, no hyperactive increase) and the gradient alone",
    ),
    Law(
        "timely-analysis",
        _setup("timely", timely="ns3", law_values=_ANALYSIS),
        "the same with the thresholds that the analysis leaves out of its model (50 and 500 us)",
    ),
    Law(
        "timely-paper",
        _setup("timely", timely="paper"),
        "the publication's form and gains; thresholds (0, 1000 us) out of reach: gradient alone",
    ),
    Law(
        "timely-scaled",
        _setup("timely", timely="scaled"),
        "the same with thresholds that are met at a base RTT of 4 us (5 and 20 us)",
    ),
    Law(
        "timely-patched",
        _setup("timely", timely="precog"),
        "the patched publication's gains, its thresholds divided by ten for a base RTT of 4 us",
    ),
    Law(
        "dcqcn-vendor",
        _setup("dcqcn", dcqcn="vendor"),
        "the vendor's constants and the marking that belongs to them",
    ),
    Law(
        "dcqcn-ns3",
        _setup("dcqcn", dcqcn="ns3"),
        "the ns-3 code's constants and the marking that belongs to them",
    ),
)


@dataclass(frozen=True)
class Case:
    """One law in one experiment.

    Parameters
    ----------
    experiment : str
        ``"start"``, ``"burst"``, ``"flows"`` or ``"jitter"``.
    law : Law
    flows : int
        Long flows towards one receiver, a sender each.
    jitter_us : float
        Largest jitter of the first flow's RTTs.
    burst : bool
        A short flow comes on top.
    horizon_us : float
        Length of the run; the figures are of its second half.
    """

    experiment: str
    law: Law
    flows: int = 2
    jitter_us: float = 0.0
    burst: bool = False
    horizon_us: float = 100_000.0

    @property
    def starts_gbps(self) -> tuple[float, ...]:
        """Start rate of every flow, the burst's last."""
        long = tuple(SPLIT_GBPS[k % 2] for k in range(self.flows))
        return (*long, LINE_GBPS) if self.burst else long

    def setup(self) -> LoopSetup:
        """What the device is told."""
        image = pretrained() if self.law.model else None
        return replace(self.law.setup, init_gbps=self.starts_gbps, image=image)

    def scenario(self) -> Scenario:
        """The network and its flows; the starts are spread over a packet's time for each flow."""
        share = min(_HEADROOM / self.flows, 1.0)
        size = int(LINE_GBPS * self.horizon_us / 8e-3 * share)
        jitter_ps = round(self.jitter_us * 1e6)
        flows = [
            Flow(k + 1, 0, size, rtt_jitter_ps=0 if k else jitter_ps) for k in range(self.flows)
        ]
        if self.burst:
            flows.append(Flow(self.flows + 1, 0, _BURST_BYTES, start_ps=_BURST_PS))
        return Scenario(
            f"{self.flows} long flows",
            star(len(flows) + 1, gbps=LINE_GBPS, delay_ps=_DELAY_PS),
            tuple(flows),
            payload=_PAYLOAD,
            min_gbps=MIN_GBPS,
            jitter_ns=self.flows * _PACKET_NS,
            horizon_us=self.horizon_us,
        )


def cases(horizon_us: float) -> list[Case]:
    """Every law in every experiment."""
    rest: dict[str, Any] = {"horizon_us": horizon_us}
    return [
        *(Case("start", law, **rest) for law in LAWS),
        *(Case("burst", law, burst=True, **rest) for law in LAWS),
        *(Case("flows", law, flows, **rest) for flows in COUNTS for law in LAWS),
        *(
            Case("jitter", law, jitter_us=us, burst=True, **rest)
            for us in JITTERS_US
            for law in LAWS
        ),
    ]
