"""The fleet's page: what `precog fleet demo` measured, as data and as one HTML file."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from precog_sim.report.codec import decode

__all__ = ["Fleet", "Gain", "Spot", "Step"]

#: Marks of the demo that divide its course, in words.
MARKS = {
    "first job": "first models are trained",
    "first release": "they run everywhere",
    "drift": "other traffic",
    "second job": "agents ask; training",
    "second release": "new models run everywhere",
    "bad release": "a bad release",
    "rollback": "it is rolled back",
}
_MS = 1000.0


@dataclass(frozen=True)
class Gain:
    """A skill or a gain with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Step:
    """One step of a rollout.

    Parameters
    ----------
    s : float
        From the first window.
    release : int
    what, why : str
    share : int
        Thousandths of all agents.
    """

    s: float
    release: int
    what: str
    why: str
    share: int


@dataclass(frozen=True)
class Spot:
    """One destination over time, by the word of its reporters.

    Parameters
    ----------
    name : str
    s, rtt_us, p99_us : tuple of float
    """

    name: str
    s: tuple[float, ...]
    rtt_us: tuple[float, ...]
    p99_us: tuple[float, ...]


@dataclass(frozen=True)
class Fleet:
    """One run of the demo.

    Parameters
    ----------
    agents : int
    end_s : float
        Of the course, from the first window.
    skill_s, skill : tuple of float
        Skill over persistence of all agents in slices of time.
    before, after, gain, fallen, regained, drift_gain : Gain
        Skill before and after the first release, what that gained; after drift, with the second
        release, and what that gained.
    runs : dict of str to tuple of (float, int)
        By agent: when a release went live, and which.
    steps : tuple of Step
    spots : tuple of Spot
    marks : dict of str to float
        Seconds.
    """

    agents: int
    end_s: float
    skill_s: tuple[float, ...]
    skill: tuple[float, ...]
    before: Gain
    after: Gain
    gain: Gain
    fallen: Gain
    regained: Gain
    drift_gain: Gain
    runs: dict[str, tuple[tuple[float, int], ...]]
    steps: tuple[Step, ...]
    spots: tuple[Spot, ...]
    marks: dict[str, float]
    converge_p50_s: float
    converge_max_s: float
    reports: int
    bytes_per_agent_s: float
    lost_records: int
    forged_sent: int
    forged_accepted: int
    rollback_s: float
    bad_release_ran: bool
    failed: tuple[str, ...]
    events: tuple[tuple[float, str], ...]

    @classmethod
    def read(cls, path: Path) -> "Fleet":
        """Read what ``precog fleet demo -o`` wrote.

        Raises
        ------
        OSError
            The file cannot be read.
        ValueError
            It is not such a file; the message names it.
        """
        try:
            return _fleet(json.loads(path.read_text(encoding="utf-8")))
        except (KeyError, TypeError, IndexError, ValueError) as error:
            raise ValueError(
                f"{path} must be what `precog fleet demo -o` writes: {error!r}"
            ) from error

    @property
    def releases(self) -> list[int]:
        """Releases that ran anywhere."""
        return sorted({release for course in self.runs.values() for _, release in course})

    def running(self, release: int, s: float) -> int:
        """Agents that run a release at a time."""
        return sum(
            next((of for at, of in reversed(course) if at <= s), -1) == release
            for course in self.runs.values()
        )


def _fleet(data: dict[str, Any]) -> Fleet:
    course = data["skill"]["course"]
    began = min(row["at"] for row in (*course, *data["runs"]))

    def since(at: int) -> float:
        return float(at - began) / _MS

    runs: dict[str, list[tuple[float, int]]] = {}
    for row in data["runs"]:
        runs.setdefault(str(row["agent"]), []).append((since(row["at"]), int(row["release"])))
    names = sorted({row["destination"] for row in data["hotspots"]})
    spots = []
    for name in names:
        rows = [row for row in data["hotspots"] if row["destination"] == name]
        columns = {field: [row[field] for row in rows] for field in ("rtt_us", "rtt_p99_us")}
        times = [since(row["at"]) for row in rows]
        spots.append(
            decode(
                Spot,
                {
                    "name": name,
                    "s": times,
                    "rtt_us": columns["rtt_us"],
                    "p99_us": columns["rtt_p99_us"],
                },
                name,
            )
        )
    steps = [
        Step(since(row["at"]), row["release"], row["what"], row["why"], row["share"])
        for row in data["rollouts"]
    ]
    gains = {
        "before": data["skill"]["before"],
        "after": data["skill"]["after"],
        "gain": data["skill"]["gain"],
        "fallen": data["drift"]["fallen"],
        "regained": data["drift"]["after"],
        "drift_gain": data["drift"]["gain"],
    }
    marks = {name: since(at) for name, at in data["marks"].items()}
    last = [since(row["at"]) for row in (*data["hotspots"], *data["runs"])]
    return Fleet(
        agents=int(data["agents"]),
        end_s=max(*marks.values(), *last),
        skill_s=tuple(since(row["at"]) for row in course),
        skill=tuple(float(row["skill"]) for row in course),
        **{name: decode(Gain, gain, name) for name, gain in gains.items()},
        runs={name: tuple(course) for name, course in sorted(runs.items(), key=_numbered)},
        steps=tuple(steps),
        spots=tuple(spots),
        marks=marks,
        converge_p50_s=float(data["converge_s"]["p50"]),
        converge_max_s=float(data["converge_s"]["max"]),
        reports=int(data["converge_s"]["reports"]),
        bytes_per_agent_s=float(data["bytes_per_agent_s"]),
        lost_records=int(data["lost_records"]),
        forged_sent=int(data["forged"]["sent"]),
        forged_accepted=int(data["forged"]["accepted"]),
        rollback_s=float(data["rollback_s"]),
        bad_release_ran=bool(data["bad_release_ran"]),
        failed=tuple(data["failed"]),
        events=tuple((since(row["at"]), str(row["what"])) for row in data["events"]),
    )


def _numbered(item: tuple[str, Any]) -> tuple[int, str]:
    """host2 comes before host10."""
    return len(item[0]), item[0]
