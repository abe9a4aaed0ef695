"""``precog report``: the HTML page from the results of a demo."""

from pathlib import Path
from typing import Annotated

import typer

from precog_host.output import JsonOption, emit

__all__ = ["report"]


def report(
    folder: Annotated[Path, typer.Argument(help="Folder with result.json.")] = Path("build/demo"),
    json_: JsonOption = False,
) -> None:
    """Write report.html beside the results of `make demo`."""
    from precog_sim.report.page import render

    path = render(folder)
    emit({"path": str(path)}, lambda: typer.echo(str(path)), json_)
