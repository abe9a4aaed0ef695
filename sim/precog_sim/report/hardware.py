"""The hardware table's lines, from what the last ``make synth`` recorded."""

import json
from dataclasses import fields
from pathlib import Path

from precog_sim.report.codec import decode
from precog_sim.report.data import Hardware

__all__ = ["read_hardware"]


def read_hardware(path: Path) -> tuple[Hardware, ...]:
    """Read the core's lines, those with lanes; keys that `Hardware` does not have are left out.

    Parameters
    ----------
    path : Path
        ``docs/evidence/data/synth.json`` or ``build/synth/summary.json``.

    Returns
    -------
    tuple of Hardware
        Empty where the file does not exist: nothing was synthesised.

    Raises
    ------
    ValueError
        The file is no list of lines; the message names it.
    """
    if not path.is_file():
        return ()
    known = {field.name for field in fields(Hardware)}
    try:
        lines = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(lines, list) or not all(isinstance(line, dict) for line in lines):
            raise ValueError("it must be a list of objects, not anything else")
        cores = [line for line in lines if "lanes" in line]
        kept = [{key: line[key] for key in line if key in known} for line in cores]
        return tuple(decode(Hardware, item, f"[{i}]") for i, item in enumerate(kept))
    except ValueError as error:
        raise ValueError(
            f"{path} must list synthesis results: {error}; run `make synth`"
        ) from error
