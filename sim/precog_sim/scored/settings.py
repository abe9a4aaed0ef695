"""What is compared: laws and sources of scores, all with one set of constants.

Nothing was fitted to an outcome: laws, PSCHED, receivers and their constants are presets that were
there before, and models of queues have learnt from other networks. The budget, the queueing delay
that counts as congestion, is about one base RTT of the incast.
"""

from dataclasses import dataclass
from functools import cache

from precog_models.data.windows import BLOCKS, make_windows
from precog_models.image import Image, pretrained
from precog_models.train.distill import distill_image
from precog_models.tree_image import TreeImage
from precog_sim.forecast.scenarios import LAWS as QUEUE_LAWS
from precog_sim.forecast.scenarios import QueueRun, queue_trace
from precog_sim.loop import LoopSetup
from precog_sim.network import QUEUE_SOURCES, Scores
from precog_sim.scored.networks import START_GBPS

__all__ = [
    "ALONE",
    "BUDGET_US",
    "LAWS",
    "QUEUE_MODELS",
    "SOURCES",
    "Case",
    "cases",
    "queue_model",
]

BUDGET_US = 4.0
ALONE = "alone"
LAWS = {
    "timely": LoopSetup(preset="precog", algorithm="timely", timely="precog"),
    "dcqcn": LoopSetup(preset="precog", algorithm="dcqcn", dcqcn="vendor"),
}
QUEUE_MODELS = ("lstm", "tree")
_MIN_GBPS = 0.1
_TREE_SENDERS, _TREE_LOAD, _TREE_SEED, _TREE_US = 12, 0.6, 9_000, 4_000.0
_TREE_CHECK = 8  # blocks of `BLOCKS`; the rest is what its score's table is fitted to


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
    receiver : bool
        Scores act at the receiver, too.
    model : str
        What forecasts queues, of `QUEUE_MODELS`, where the source is one of these.
    psched : str
        Constants of PSCHED, where there are scores.
    """

    network: str
    law: str
    source: str = ALONE
    echo: bool = False
    skill: bool = True
    receiver: bool = False
    model: str = QUEUE_MODELS[0]
    psched: str = "precog"

    @property
    def forecasts(self) -> bool:
        """Whether a queue model makes the scores."""
        return self.source in QUEUE_SOURCES

    @property
    def options(self) -> str:
        """What the device must be built with, as a URI has it."""
        options = ["law_cores=1"]
        if self.forecasts:
            options += ["forecast=1,profile=1"] + ["tree=1"] * (self.model == "tree")
        return ",".join(options)

    def setup(self) -> LoopSetup:
        """What the device is told."""
        law = LAWS[self.law]
        scored = self.source != ALONE
        scores = None
        if scored:
            scores = Scores(self.source, BUDGET_US, echo=self.echo, receiver=self.receiver)
        return LoopSetup(
            preset=law.preset,
            algorithm=law.algorithm,
            timely=law.timely,
            dcqcn=law.dcqcn,
            min_gbps=_MIN_GBPS,
            init_gbps=START_GBPS[self.network],
            image=pretrained() if self.source == "model" else None,
            scores=scores,
            psched=self.psched,
            queue_model=queue_model(self.model) if self.forecasts else None,
            parameters=(("psched_skill", float(self.skill)),) if scored else (),
        )


@cache
def queue_model(name: str) -> Image | TreeImage:
    """The shipped LSTM of queues, one base RTT ahead; or a tree that has been grown on its answers.

    The tree sees queues of an incast and of a shared link under both laws, none of which is
    compared here.
    """
    lstm = pretrained("queue-1rtt")
    if name == "lstm":
        return lstm
    if name != "tree":
        raise ValueError(f"queue model must be one of {', '.join(QUEUE_MODELS)}, not {name!r}")
    runs = [
        QueueRun(group, law, _TREE_SENDERS, _TREE_LOAD, _TREE_SEED + k, _TREE_US)
        for k, (group, law) in enumerate(
            (g, w) for g in ("incast", "shared link") for w in QUEUE_LAWS
        )
    ]
    windows = make_windows([queue_trace(run)[0] for run in runs], stride=2)
    late = windows.block % BLOCKS >= _TREE_CHECK
    return distill_image(lstm, windows.select(~late), windows.select(late))


#: What is compared with a law alone: options of `Case`.
SOURCES: tuple[dict[str, object], ...] = (
    {"source": "oracle"},
    {"source": "oracle", "echo": True},
    {"source": "persistence"},
    {"source": "model"},
    {"source": "inverted"},
    {"source": "garbage"},
    {"source": "forged"},
    {"source": "constant"},
    {"source": "queue"},
    {"source": "queue", "echo": True},
    {"source": "queue", "echo": True, "receiver": True},
    {"source": "queue", "model": "tree"},
    {"source": "queue_inverted"},
    {"source": "oracle", "skill": False},
    {"source": "garbage", "skill": False},
    {"source": "forged", "skill": False},
    {"source": "constant", "skill": False},
    {"source": "queue", "skill": False},
    {"source": "queue", "echo": True, "receiver": True, "skill": False},
    {"source": "queue_inverted", "skill": False},
)


def cases(network: str, law: str, sources: tuple[str, ...] = ()) -> list[Case]:
    """A law alone, then with scores, of some sources or of all; the last ones are what the monitor
    prevents.

    Receivers act only where there is traffic both ways. Where all bytes are there from the start a
    model of send queues says 100 to the end: a sender that follows it blindly stops.
    """
    chosen = [options for options in SOURCES if not sources or options["source"] in sources]
    if network != "duplex":
        chosen = [options for options in chosen if "receiver" not in options]
    if network in ("incast", "leaves"):
        blind = [o for o in chosen if o["source"] in QUEUE_SOURCES and "skill" in o]
        chosen = [options for options in chosen if options not in blind]
    return [Case(network, law), *(Case(network, law, **o) for o in chosen)]  # type: ignore[arg-type]
