"""Arms that were run later, in a record that lacks them."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from precog_studies.prediction.arms import ARMS, FALSE, FORECASTS, OFF

__all__ = ["joined"]

_Said = Mapping[str, Any]


def joined(record: _Said, later: _Said) -> dict[str, Any]:
    """The record with the arms of a later run.

    Parameters
    ----------
    record, later : mapping
        As `precog study prediction` writes them. The record's `more` names the runs that were
        joined: command, commit, and the arms that are theirs.

    Raises
    ------
    ValueError
        The later run has another number of seeds, a case that the record lacks, other figures of
        an arm of both, or no arm of its own.
    """
    later = json.loads(json.dumps(later))
    if later["seeds"] != record["seeds"]:
        raise ValueError(f"seeds must be the record's {record['seeds']}, not {later['seeds']}")
    cases = dict(record["cases"])
    new: list[str] = []
    for name, case in later["cases"].items():
        if name not in cases:
            raise ValueError(f"case must be one of the record's {', '.join(cases)}, not {name!r}")
        before = cases[name]
        for arm, found in case["arms"].items():
            if before["arms"].get(arm, found) != found:
                raise ValueError(
                    f"arm {arm} of {name} must have the figures of the record's commit "
                    f"{record['commit']}: run all arms anew"
                )
        new += [arm for arm in case["arms"] if arm not in before["arms"]]
        cases[name] = before | {
            "arms": _merged(before["arms"], case["arms"], [*ARMS, *FALSE]),
            "against": _merged(before["against"], case["against"], [OFF, *FORECASTS]),
            "model": _merged(before["model"], case["model"], [*ARMS, *FALSE]),
        }
    if not new:
        raise ValueError("arm must be one that the record lacks: it has all of these")
    run = {"command": later["command"], "commit": later["commit"], "arms": list(dict.fromkeys(new))}
    return {**record, "more": [*record.get("more", []), run], "cases": cases}


def _merged(first: _Said, second: _Said, order: Iterable[str]) -> dict[str, Any]:
    both = {**first, **second}
    return {key: both[key] for key in order if key in both}
