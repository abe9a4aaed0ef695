"""The studies other than the demo: laws that share a link, scores in the closed loop, figure 20.

They take longer than a demo and are run by commands of their own, which leave JSON files in
``docs/evidence/data``; here those become what the page shows.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from precog_sim.report.codec import decode

__all__ = [
    "LAW_NAMES",
    "SOURCE_NAMES",
    "Claimed",
    "Curve",
    "Figure20",
    "Interval",
    "Scored",
    "ScoredLine",
    "Sharing",
    "SharingLine",
    "Studies",
]

#: Laws of the fairness study, in words.
LAW_NAMES = {
    "pid": "PID",
    "predpid": "LSTM + PID",
    "timely-gradient": "TIMELY, gradient alone",
    "timely-analysis": "TIMELY as analysed",
    "timely-paper": "TIMELY as published",
    "timely-scaled": "TIMELY, scaled",
    "timely-patched": "TIMELY, patched",
    "dcqcn-vendor": "DCQCN, vendor’s constants",
    "dcqcn-ns3": "DCQCN, ns‑3’s constants",
}
#: Sources of scores, in words.
SOURCE_NAMES = {
    "oracle": "the truth, from the switches",
    "persistence": "it goes on as measured",
    "model": "the LSTM",
    "inverted": "the opposite of the truth",
    "garbage": "random numbers",
    "queue": "forecasts of send queues",
    "queue_inverted": "the opposite of forecasts of send queues",
}
_COLUMNS = (
    ("start", 2, 0.0),
    ("burst", 2, 0.0),
    ("flows", 32, 0.0),
    ("flows", 256, 0.0),
    ("jitter", 2, 20.0),
)


@dataclass(frozen=True)
class SharingLine:
    """One law of the fairness study.

    Parameters
    ----------
    law : str
        A key of `LAW_NAMES`.
    start, burst, some, many, jitter : float
        Jain's index: two flows undisturbed; two after a burst; 32 flows; 256; two of which one has
        jitter of 20 us.
    utilisation : float
        Of the link after the burst, in percent.
    queue_p99_kb : float
        After the burst.
    over_time : tuple of float
        Jain's index in equal parts of the run with the burst.
    """

    law: str
    start: float
    burst: float
    some: float
    many: float
    jitter: float
    utilisation: float
    queue_p99_kb: float
    over_time: tuple[float, ...]


@dataclass(frozen=True)
class Sharing:
    """The fairness study: every law, and how often RTL and golden model were compared in it."""

    lines: tuple[SharingLine, ...]
    horizon_ms: float
    decisions: int
    mismatches: int


@dataclass(frozen=True)
class Interval:
    """A mean and its 95 % interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class ScoredLine:
    """One law in one network with one source of scores; ratios to the law alone.

    Parameters
    ----------
    network, law, source : str
        As in `precog_sim.scored.settings`.
    echo : bool
        Scores act when they have come back from the receiver.
    skill : bool
        The skill monitor was on.
    receiver : bool
        Scores act at the receiver, too.
    model : str
        What forecasts send queues.
    """

    network: str
    law: str
    source: str
    echo: bool
    skill: bool
    receiver: bool
    model: str
    followed: float
    slowdown_p50: Interval
    slowdown_p99: Interval
    queue_p99_kb: Interval
    jain: Interval


@dataclass(frozen=True)
class Scored:
    """The study of scores."""

    lines: tuple[ScoredLine, ...]
    seeds: int
    limit: float

    @property
    def worst_nonsense(self) -> float:
        """The greatest upper end of an interval of scores without sense, the monitor on."""
        return max(
            interval.high
            for line in self.lines
            if line.skill and line.source in ("inverted", "garbage", "queue_inverted")
            for interval in (line.slowdown_p50, line.slowdown_p99, line.queue_p99_kb)
        )


@dataclass(frozen=True)
class Curve:
    """One law of figure 20: the p95 of slowdowns by size; None where flows did not finish."""

    name: str
    label: str
    p95: tuple[Interval | None, ...]


@dataclass(frozen=True)
class Claimed:
    """A sentence of the thesis as a ratio of p95s: it says whether that is below one."""

    text: str
    below_one: bool
    ratio: Interval | None
    holds: bool | None


@dataclass(frozen=True)
class Figure20:
    """The study of figure 20.

    Parameters
    ----------
    sizes : tuple of int
        Greatest size of each part, bytes.
    """

    seeds: int
    duration_ms: float
    sizes: tuple[int, ...]
    curves: tuple[Curve, ...]
    claims: tuple[Claimed, ...]

    @classmethod
    def of(cls, data: dict[str, Any]) -> "Figure20":
        """From the record of `precog study figure20`."""
        curves = tuple(
            Curve(name, law["label"], tuple(_around(part) for part in law["p95"]["parts"]))
            for name, law in data["laws"].items()
        )
        claims = tuple(
            Claimed(one["text"], one["below_one"], _around(one["ratio"]), one["holds"])
            for one in data["claims"]
        )
        return cls(data["seeds"], data["duration_ms"], tuple(data["sizes"]), curves, claims)


def _around(told: dict[str, float] | None) -> Interval | None:
    if told is None:
        return None
    mean, half = told["mean"], told["half_width"]
    return Interval(mean, mean - half, mean + half)


@dataclass(frozen=True)
class Studies:
    """Results of the commands other than the demo; None where they were not run."""

    sharing: Sharing | None = None
    scored: Scored | None = None
    figure20: Figure20 | None = None

    @classmethod
    def read(cls, docs: Path) -> "Studies":
        """Read ``fairness.json``, ``scored.json`` and ``figure20.json`` of a folder.

        Raises
        ------
        ValueError
            A file is damaged; the message names it and the command that makes it.
        """
        return cls(
            _read(docs / "fairness.json", _sharing, "precog study fairness"),
            _read(docs / "scored.json", _scored, "precog study scores"),
            _read(docs / "figure20.json", Figure20.of, "precog study figure20"),
        )


def _read(path: Path, make: Any, command: str) -> Any:
    if not path.is_file():
        return None
    try:
        return make(json.loads(path.read_text(encoding="utf-8")))
    except (KeyError, TypeError, IndexError, ValueError) as error:
        raise ValueError(f"{path} must be what `{command}` writes: {error!r}") from error


def _sharing(data: dict[str, Any]) -> Sharing:
    def found(law: str, experiment: str, flows: int, jitter_us: float) -> dict[str, Any]:
        for row in data["results"]:
            key = (row["law"], row["experiment"], row["flows"], row["jitter_us"])
            if key == (law, experiment, flows, jitter_us):
                return dict(row)
        raise ValueError(f"results must have {law} in {experiment} with {flows} flows")

    lines = []
    for law in data["laws"]:
        rows = [found(law, *column) for column in _COLUMNS]
        burst = rows[1]
        line = dict(
            zip(
                ("start", "burst", "some", "many", "jitter"), [r["jain"] for r in rows], strict=True
            )
        ) | {
            "law": law,
            "utilisation": 100 * burst["utilisation"],
            "queue_p99_kb": burst["queue_p99_kb"],
            "over_time": burst["jain_over_time"],
        }
        lines.append(decode(SharingLine, line, law))
    agreed = data["agreement"]
    return Sharing(
        tuple(lines),
        float(found(lines[0].law, *_COLUMNS[1])["horizon_us"]) * 1e-3,
        sum(row["decisions"] for row in agreed),
        sum(row["mismatches"] for row in agreed),
    )


def _scored(data: dict[str, Any]) -> Scored:
    lines = []
    for n, row in enumerate(data["results"]):
        if row["source"] == "alone":
            continue
        names = ("slowdown_p50", "slowdown_p99", "queue_p99_kb", "jain")
        told = ("network", "law", "source", "echo", "skill", "receiver", "model")
        line = {key: row[key] for key in told}
        line |= {"followed": row["figures"]["followed"]}
        line |= {name: row["ratios"][name] for name in names}
        lines.append(decode(ScoredLine, line, f"results[{n}]"))
    return Scored(tuple(lines), int(data["seeds"]), float(data["limit"]))
