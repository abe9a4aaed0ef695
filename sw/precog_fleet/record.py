"""The record of ``precog model evaluate``, without which there is no release.

The trainer makes it for its own models, and a release by hand reads the same file.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from precog_models.judged import SCENARIOS, loop_failures, read_record

from .errors import FleetError

__all__ = ["RECORD", "check_record", "record_failures"]

RECORD = "record.json"  #: its name in a folder of models


def record_failures(
    found: Mapping[str, Any], *, bound: float, seeds: int, scenarios: Sequence[str] = ()
) -> list[str]:
    """Why the image of a record may not be released, as sentences; see `check_record`."""
    loop = found["closed_loop"]
    seen = {row["network"] for row in loop["results"]}
    failed = [
        f"scenario {name} must be in the record: evaluate without --scenario"
        for name in tuple(scenarios) or SCENARIOS[found["kind"]]
        if name not in seen
    ]
    if loop["seeds"] < seeds:
        failed.append(f"seeds must be at least {seeds}, not {loop['seeds']}")
    return failed + loop_failures(loop, bound)


def check_record(
    path: Path, image: str, *, bound: float, seeds: int, scenarios: Sequence[str] = ()
) -> dict[str, Any]:
    """Judge a record: what a release says of one that passed.

    Parameters
    ----------
    path : Path
    image : str
        SHA-256 of the shared image, in hexadecimal digits.
    bound : float
        Of the upper 95 % ends.
    seeds : int
        The fewest that count.
    scenarios : sequence of str
        What the record must have; empty: all of the model's kind.

    Returns
    -------
    dict
        The record's commit (``evaluated``), its seeds and its scenarios.

    Raises
    ------
    ValueError
        There is no record, it was edited, or it is of another image.
    FleetError
        The image did not pass, or has too few seeds or scenarios.
    """
    found = read_record(path, image)
    failed = record_failures(found, bound=bound, seeds=seeds, scenarios=scenarios)
    if failed:
        raise FleetError(f"record {path} did not pass: {'; '.join(failed)}")
    return {
        "evaluated": str(found["commit"]),
        "loop_seeds": int(found["closed_loop"]["seeds"]),
        "scenarios": ", ".join(tuple(scenarios) or SCENARIOS[found["kind"]]),
    }
