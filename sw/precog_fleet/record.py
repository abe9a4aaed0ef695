"""The record of ``precog model evaluate``, without which no one releases models by hand.

Like an evaluation it is bound to one image by its SHA-256, and its verdict is worked out again.
"""

import json
from pathlib import Path
from typing import Any

from .errors import FleetError
from .evaluate import Limits, loop_failures

__all__ = ["AGAINST", "SCENARIOS", "check_record"]

#: By the kind of a model, what it must have been judged in.
SCENARIOS: dict[str, tuple[str, ...]] = {
    "rtt": ("leaves", "messages"),
    "queue": ("messages", "duplex"),
    "start": ("rounds", "background"),
}
AGAINST = ("alone", "inverted")  #: ratios of a row that are bounded
_MOST_BYTES = 1 << 20
_HOW = "make one with precog model evaluate, and give it with --record"


def check_record(path: Path, image: str, limits: Limits) -> dict[str, Any]:
    """What a release says of a record that passed: its commit, its seeds and its scenarios.

    Parameters
    ----------
    path : Path
    image : str
        SHA-256 of the shared image, in hexadecimal digits.
    limits : Limits
        Its `loop` and `seeds` count.

    Raises
    ------
    ValueError
        There is no record, it is damaged, of another image, or without a scenario.
    FleetError
        The image did not pass.
    """
    if not path.is_file():
        raise ValueError(f"release must have a record of its base, {image[:16]}: {_HOW}")
    try:
        with path.open("rb") as file:
            found = json.loads(file.read(_MOST_BYTES))
        loop, kind = found["closed_loop"], found["kind"]
        told: dict[str, Any] = {"evaluated": str(found["commit"]), "loop_seeds": int(loop["seeds"])}
        seen = {row["network"] for row in loop["results"]}
        failed = loop_failures(loop, limits.loop, AGAINST)
        missing = [name for name in SCENARIOS[kind] if name not in seen]
        digest = found["image"]
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} must be a record of precog model evaluate: {error!r}") from error
    if digest != image:
        raise ValueError(f"{path} must be of the image {image}, not of {digest}: {_HOW}")
    if missing:
        raise ValueError(f"{path} must have scenario {missing[0]}: evaluate without --scenario")
    if told["loop_seeds"] < limits.seeds:
        failed.insert(0, f"seeds must be at least {limits.seeds}, not {told['loop_seeds']}")
    if failed:
        raise FleetError(f"record {path} did not pass: {'; '.join(failed)}")
    return told | {"scenarios": ", ".join(SCENARIOS[kind])}
