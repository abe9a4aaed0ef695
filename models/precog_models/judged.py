"""Records of ``precog model evaluate``: one model image in the closed loop, offline skill included.

A record is bound to its image by that image's SHA-256. Its own SHA-256, over everything else in
it, shows whether it was edited. It is no signature: a release signs what it says of its record.
The verdict is never read from a record, but derived again from its figures.

Every model that ships has its record next to its file: ``NAME.record.json``.
"""

import hashlib
import json
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from .limits import brief, read_json

__all__ = [
    "AGAINST",
    "FALSE",
    "SCENARIOS",
    "SEEDS",
    "find_record",
    "loop_failures",
    "read_record",
    "sealed",
    "verdict_of",
]

#: By the kind of a model, what it must have been judged in.
SCENARIOS: dict[str, tuple[str, ...]] = {
    "rtt": ("leaves", "messages"),
    "queue": ("messages", "duplex"),
    "start": ("rounds", "background"),
}
#: By the kind of a model, how many paired seeds decide. Queues of these scenarios are chaotic: any
#: change moves their p99, which has 95 % intervals of 8 % with 100 seeds, and 4 % with 300.
SEEDS = {"rtt": 20, "queue": 300, "start": 20}
AGAINST = ("alone", "inverted")  #: ratios that every row must have, and that are bounded
#: False predictions that may be in a row, and how a failure says so.
FALSE = {
    "inverted": "predictions are inverted",
    "random": "predictions are random",
    "stale": "predictions are stale",
    "rising": "a rise is always predicted",
    "falling": "a fall is always predicted",
}
_LIVE = "live"  # the models that run, where the record compares with them
_SHOWN = ("persistence", "untried")  # ratios that bound nothing
_MOST = 1e9  # of a ratio
_SUFFIX = ".record.json"
_MOST_BYTES = 1 << 20
_HOW = "make one with precog model evaluate"
_PARTS = {"image", "commit", "command", "kind", "bound", "offline", "closed_loop", "sha256"}


def _digest(found: Mapping[str, Any]) -> str:
    rest = {name: value for name, value in found.items() if name != "sha256"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def sealed(found: Mapping[str, Any]) -> dict[str, Any]:
    """A record with its own SHA-256, which shows later edits."""
    plain: dict[str, Any] = json.loads(json.dumps(found, allow_nan=False))
    return plain | {"sha256": _digest(plain)}


class _End(NamedTuple):
    """A 95 % interval whose upper end counts: of which measure, law and network, against what."""

    low: float | None
    high: float | None
    where: str
    to: str
    false: str


def _bounded(loop: Mapping[str, Any]) -> list[_End]:
    found = []
    for row in loop["results"]:
        others = (*AGAINST, *(name for name in (_LIVE, *FALSE) if name in row))
        for other in dict.fromkeys(others):
            to = "alone" if other in FALSE else other
            false = f", if {FALSE[other]}" if other in FALSE else ""
            for name, ratio in row[other].items():
                where = f"{name} under {row['law']} in {row['network']}"
                found.append(_End(ratio["low"], ratio["high"], where, to, false))
    return found


def loop_failures(loop: Mapping[str, Any], bound: float) -> list[str]:
    """Measures of a closed loop whose upper 95 % end is above `bound`, each as a sentence.

    Ratios to the law ``alone`` count, those of `FALSE` predictions, and those to the ``live``
    models where a row has them. An interval that contains 1 may have too few seeds, and not show
    a harm: its sentence says so.

    Raises
    ------
    KeyError
        A row lacks a ratio of `AGAINST`.
    """
    failed = []
    for low, high, where, to, false in _bounded(loop):
        if high is not None and high <= bound:
            continue
        told = "none" if high is None else f"{high:.3f}"
        more = ""
        if low is not None and low <= 1:
            more = f"; its interval begins at {low:.3f}: more seeds may decide"
        failed.append(
            f"{where} must be at most {bound:g} times that of {to}, not {told}{false}{more}"
        )
    return failed


def verdict_of(found: Mapping[str, Any]) -> str:
    """The verdict on a record's figures in one sentence: passed or not, and by how much."""
    bound = found["bound"]
    ends = [end for end in _bounded(found["closed_loop"]) if end.high is not None]
    failed = loop_failures(found["closed_loop"], bound)
    if not ends:
        return "not passed: no measure has an interval"
    _, high, where, to, false = max(ends, key=lambda end: end.high or 0.0)
    assert high is not None
    margin = f"{abs(high - bound):.3f} {'above' if high > bound else 'below'} the bound {bound:g}"
    few = "1 figure fails" if len(failed) == 1 else f"{len(failed)} figures fail"
    verdict = f"not passed, {few}" if failed else "passed"
    return f"{verdict}: worst upper end {high:.3f}, {margin} ({where}, to {to}{false})"


def read_record(path: Path, image: str) -> dict[str, Any]:
    """The record of an image; its verdict is not judged here.

    Parameters
    ----------
    path : Path
    image : str
        SHA-256 of the image's file, in hexadecimal digits.

    Raises
    ------
    ValueError
        There is no such file, it is no record, it was edited, or it is another image's.
    """
    if not path.is_file():
        raise ValueError(f"record {path} of image {image[:16]} must be a file: {_HOW}")
    try:
        found: dict[str, Any] = dict(read_json(path, _MOST_BYTES))
        missing = sorted(_PARTS - set(found))
        if missing:
            raise ValueError(f"it must have {', '.join(missing)}")
        loop = found["closed_loop"]
        whole = isinstance(found["offline"], list) and isinstance(loop["results"], list)
        if not whole or found["kind"] not in SCENARIOS or not loop["results"]:
            raise ValueError("it must have a known kind and results")
        _check(found)
        loop_failures(loop, found["bound"])
        digest = _digest(found)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{path} must be a record of precog model evaluate, but {error}: {_HOW}"
        ) from error
    if found["sha256"] != digest:
        raise ValueError(
            f"{path} must be as precog model evaluate wrote it, SHA-256 {found['sha256']}, but its "
            f"text has {digest}: it was edited; {_HOW}"
        )
    if found["image"] != image:
        raise ValueError(
            f"{path} must be of the image with SHA-256 {image}, not of {found['image']}: {_HOW}"
        )
    return found


def _check(found: Mapping[str, Any]) -> None:
    """Refuse parts of other types than those who read a record expect."""
    for name in ("image", "commit", "command", "sha256"):
        if not isinstance(found[name], str):
            raise ValueError(f"{name} must be text, not {brief(found[name])}")
    if not _is_number(found["bound"]):
        raise ValueError(f"bound must be a number, not {brief(found['bound'])}")
    seeds = found["closed_loop"]["seeds"]
    if type(seeds) is not int or seeds < 1:
        raise ValueError(f"seeds must be a number of runs, not {brief(seeds)}")
    if not all(isinstance(one, dict) for one in found["offline"]):
        raise ValueError("offline must be a list of objects")
    for row in found["closed_loop"]["results"]:
        _check_row(row)


def _check_row(row: Any) -> None:
    """A scenario under a law: the same measures against each that it was compared with."""
    if not isinstance(row, dict):
        raise ValueError(f"results must be objects, not {brief(row)}")
    for name in ("network", "law", "psched"):
        if not isinstance(row.get(name, ""), str):
            raise ValueError(f"{name} must be text, not {brief(row[name])}")
    measures = row["alone"]
    if not isinstance(measures, dict) or not measures:
        raise ValueError("results must have measures")
    for other in (*AGAINST, _LIVE, *FALSE, *_SHOWN):
        against = row.get(other, measures)
        if not isinstance(against, dict) or against.keys() != measures.keys():
            raise ValueError(f"{other} must have the measures {', '.join(measures)}")
        for name, ratio in against.items():
            whole = isinstance(ratio, dict) and {"mean", "low", "high"} <= ratio.keys()
            if not whole or not all(
                ratio[end] is None or _is_number(ratio[end]) for end in ("mean", "low", "high")
            ):
                raise ValueError(f"{other}'s {name} must have a mean and the ends of its interval")


def _is_number(value: object) -> bool:
    """Whether it is a ratio that may have been measured."""
    return type(value) in (int, float) and abs(value) <= _MOST  # type: ignore[arg-type]


def find_record(image: str, model: str | None = None) -> Path | None:
    """The record next to a model's file, or that of the shipped model with this SHA-256.

    None: there is neither.
    """
    if model and (own := Path(model).with_suffix(_SUFFIX)).is_file():
        return own
    folder = Path(str(resources.files("precog_models") / "pretrained"))
    for path in sorted(folder.glob(f"*{_SUFFIX}")):
        if json.loads(path.read_bytes())["image"] == image:
            return path
    return None
