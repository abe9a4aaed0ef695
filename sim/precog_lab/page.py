"""The page of one run of the lab: ``lab.html``, with its data in ``lab.json``."""

import json
from pathlib import Path

from precog_sim.report.templates import rendered

from .run import Outcome
from .series import Series, drawn

__all__ = ["write_page"]

_SHOWN = 5  # things that did not hold


def write_page(folder: Path, outcome: Outcome, series: Series) -> Path:
    """Write both files.

    Parameters
    ----------
    folder : Path
        Made if it is not there.
    outcome : Outcome
    series : Series

    Returns
    -------
    Path
        The page.

    Raises
    ------
    OSError
        The folder cannot be written to.
    """
    folder.mkdir(parents=True, exist_ok=True)
    figures = outcome.figures
    course = series.as_dict()
    data = {**figures, "series": course}
    (folder / "lab.json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    picture = drawn({"": course}, "goodput and queue of the first guest's link")
    context = {
        "f": figures,
        "failed": outcome.differences[:_SHOWN],
        "drawn": picture[picture.index("<svg") :],
        "rest": [
            (name, value) for name, value in figures.items() if not isinstance(value, (dict, list))
        ],
    }
    page = folder / "lab.html"
    page.write_text(rendered("lab.html.j2", context), encoding="utf-8")
    return page
