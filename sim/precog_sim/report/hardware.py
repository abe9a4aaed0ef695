"""The hardware table's lines, from what the last ``make synth`` recorded."""

import json
from dataclasses import fields
from pathlib import Path

from precog_sim.report.codec import decode
from precog_sim.report.data import Hardware

__all__ = ["read_hardware"]


def read_hardware(path: Path) -> tuple[Hardware, ...]:
    """Read the core's synthesis results; keys that `Hardware` does not have are left out.

    Parameters
    ----------
    path : Path
        ``docs/synth.json`` or ``build/synth/summary.json``.

    Returns
    -------
    tuple of Hardware
        Empty where the file does not exist: nothing was synthesised.

    Raises
    ------
    ValueError
        The file has no such list; the message names it.
    """
    if not path.is_file():
        return ()
    known = {field.name for field in fields(Hardware)}
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        data = record.get("core") if isinstance(record, dict) else None
        if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
            raise ValueError('"core" must be a list of objects, not anything else')
        kept = [{key: item[key] for key in item if key in known} for item in data]
        return tuple(decode(Hardware, item, f"[{i}]") for i, item in enumerate(kept))
    except ValueError as error:
        raise ValueError(
            f"{path} must list synthesis results: {error}; run `make synth`"
        ) from error
