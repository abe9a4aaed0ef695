"""What is compared: who knows what when a flow starts, and what receivers say."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from precog_models.laws.lockstep_hints import PRESETS
from precog_net.workloads import Traffic
from precog_sim.network import Hints
from precog_studies.prediction.guesses import LEAST, inverted, scrambled, tagged, truth

__all__ = [
    "ARMS",
    "BULK",
    "BULK_LEVEL",
    "EARLIER",
    "FALSE",
    "FIRST",
    "FORECASTS",
    "GBPS",
    "HOSTS",
    "LIARS",
    "OFF",
    "WITHOUT_MODEL",
    "Arm",
]

GBPS = 100.0  #: of links
FIRST = 16_000  #: bytes before a receiver's first word
LIARS = (0, 1, 2, 3)  #: hosts that lie alone
BULK = 3_000_000  #: bytes: a longer flow may have a law of its own, `Arm.bulk`
_BULK_START = PRESETS["bulk"].values["start"]  # part of its link, at a start
BULK_LEVEL = round(math.log2(2 / _BULK_START))  #: what it believes then: two shares are that part
_LAW, _HEEDS = "card:lockstep", "card:lockstep_hints"
_BULK_HEEDS, _BULK_LAW = f"{_HEEDS}:preset=bulk", f"{_LAW}:start_gbps={GBPS * _BULK_START:g}"

#: Predictors at a start, from what a NIC has seen of the destination.
FORECASTS = {
    "persistence": "N of its last flow to the destination",
    "ar": "auto-regression",
    "tree": "decision tree",
    "lstm": "LSTM",
    "gru": "GRU in real numbers",
}

EARLIER = 16  #: runs that hosts have had before, in an arm of theirs

WITHOUT_MODEL = "persistence_host"  #: hosts that have no model

#: Forecasts as hosts heed them, each by its own trial: the forecast, the runs before, and whether
#: other hosts than these had them.
HOSTS: dict[str, tuple[str, int | None, bool]] = {
    WITHOUT_MODEL: ("persistence", None, False),
    **{
        f"{source}_{known}": (source, earlier, told)
        for source in ("tree", "lstm")
        for known, earlier, told in (
            ("cold", 0, False),
            ("fleet", EARLIER, True),
            ("warm", EARLIER, False),
        )
    },
}

#: Hints of a run, from its flows, what other runs taught, and the seed.
Make = Callable[[Traffic, dict[str, int], int], Hints]
#: Their guesses.
Guess = Callable[[Traffic, dict[str, int], int], tuple[int, ...]]


@dataclass(frozen=True)
class Arm:
    """One way to start and to be told.

    Parameters
    ----------
    title : str
    law : str
        As ``--law`` has it.
    hints : callable
    start_gbps : float, optional
        Instead of the case's own.
    predictor : str
        Guesses are this one's, of `starts.predictors`; "": they are not predicted.
    guesses : bool
        Flows believe a level at their start.
    tried : bool
        Its guesses are heeded only if they showed skill before (`trials`).
    earlier : int, optional
        Its guesses are heeded where they showed skill to the flow's host (`starts.heeding`), in
        this many runs of other seeds and in this one; elsewhere what the receiver told last is.
    told : bool
        Hosts were not in the earlier runs, but have their outcomes as a prior.
    bulk : str
        Law of flows of more than `BULK` bytes, which believe `BULK_LEVEL` at least where receivers
        say N; "": `law`.
    """

    title: str
    law: str
    hints: Make
    start_gbps: float | None = None
    predictor: str = ""
    guesses: bool = False
    tried: bool = True
    earlier: int | None = None
    told: bool = False
    bulk: str = ""


def _fixed(hints: Hints) -> Make:
    return lambda _traffic, _prior, _seed: hints


def _echo(first: int = 0, lie: str = "") -> Make:
    return _fixed(Hints(echo=True, least=LEAST, first=first, lie=lie))


def _guessed(guess: Guess) -> Make:
    """Hints that guess, for each flow, how many flows will share its link."""
    return lambda traffic, known, seed: Hints(
        echo=True, least=LEAST, guesses=guess(traffic, known, seed)
    )


def _tried(earlier: int | None, told: bool = False) -> str:
    if earlier is None:
        return "untried"
    tried = f" for {earlier} runs before" if earlier and not told else ""
    prior = f", with a prior of {earlier} runs before" if told else ""
    return f"tried by each host{tried}{prior}; persistence where it has not passed"


def _tagged(traffic: Traffic, known: dict[str, int], _seed: int) -> tuple[int, ...]:
    return tagged(traffic, known)


def _true(traffic: Traffic, _known: dict[str, int], _seed: int) -> tuple[int, ...]:
    return truth(traffic)


def _random(traffic: Traffic, _known: dict[str, int], seed: int) -> tuple[int, ...]:
    return scrambled(truth(traffic), seed)


def _inverted(traffic: Traffic, _known: dict[str, int], _seed: int) -> tuple[int, ...]:
    return tuple(inverted(truth(traffic)).tolist())


def _split(traffic: Traffic, _known: dict[str, int], _seed: int) -> tuple[int, ...]:
    """Right at receivers of even numbers, inverted at the others."""
    true = truth(traffic)
    return tuple(np.where(traffic.dst % 2 == 0, true, inverted(true)).tolist())


OFF = "off"

ARMS: dict[str, Arm] = {
    OFF: Arm("nothing: lockstep, start at line rate", _LAW, _fixed(Hints())),
    "start10": Arm("nothing known, start at 10 Gb/s", _LAW, _fixed(Hints()), 10.0),
    "echo": Arm("receiver says N on each ACK", _HEEDS, _echo()),
    "first_echo": Arm("first window 16 KB, then N", _HEEDS, _echo(FIRST)),
    "bulk_alone": Arm(
        "nothing known; messages of 3 MB and more start at 25 Gb/s",
        _LAW,
        _fixed(Hints()),
        bulk=_BULK_LAW,
    ),
    "bulk": Arm(
        "N; messages of 3 MB and more start at a quarter of the link",
        _HEEDS,
        _echo(),
        bulk=_BULK_HEEDS,
    ),
    "prior": Arm(
        "as `bulk`, and the fleet's prior by class of flow",
        _HEEDS,
        _guessed(_tagged),
        guesses=True,
        bulk=_BULK_HEEDS,
    ),
    **{
        name: Arm(
            f"N, and a forecast by the NIC: {title}", _HEEDS, _echo(), predictor=name, guesses=True
        )
        for name, title in FORECASTS.items()
    },
    **{
        name: Arm(
            f"as `{source}`, {_tried(earlier, told)}",
            _HEEDS,
            _echo(),
            predictor=source,
            guesses=True,
            tried=False,
            earlier=earlier,
            told=told,
        )
        for name, (source, earlier, told) in HOSTS.items()
    },
    "oracle": Arm(
        "as `bulk`, and an oracle of N at the start",
        _HEEDS,
        _guessed(_true),
        guesses=True,
        bulk=_BULK_HEEDS,
    ),
}

#: What must do no harm: false words, and false guesses.
FALSE: dict[str, Arm] = {
    **{
        f"lie_{lie}": Arm(f"N is false: {lie}", _HEEDS, _echo(lie=lie))
        for lie in ("most", "nothing", "random", "inverted", "stale")
    },
    "liars": Arm(
        "four receivers say 15, others the truth",
        _HEEDS,
        _fixed(Hints(echo=True, least=LEAST, lie="most", liars=LIARS)),
    ),
    "guess_random": Arm(
        "guesses at random",
        _HEEDS,
        _guessed(_random),
        guesses=True,
    ),
    "guess_inverted": Arm("inverted guesses", _HEEDS, _guessed(_inverted), guesses=True),
    "guess_turned": Arm(
        "inverted guesses of a source that showed skill before",
        _HEEDS,
        _guessed(_inverted),
        guesses=True,
        tried=False,
    ),
    **{
        name: Arm(
            f"{title}, {_tried(EARLIER)}",
            _HEEDS,
            _guessed(guess),
            guesses=True,
            tried=False,
            earlier=EARLIER,
        )
        for name, title, guess in (
            ("random_warm", "guesses at random", _random),
            ("inverted_warm", "inverted guesses", _inverted),
            ("split_warm", "guesses right at half of the receivers, else inverted", _split),
        )
    },
}
