"""``precog report``: HTML pages from the results of demos."""

from pathlib import Path
from typing import Annotated

import typer

from precog_host.output import JsonOption, emit

__all__ = ["report"]


def report(
    folder: Annotated[Path, typer.Argument(help="Folder with result.json.")] = Path("build/demo"),
    fleet: Annotated[
        Path | None, typer.Option(help="File of `precog fleet demo -o`: its page instead.")
    ] = None,
    json_: JsonOption = False,
) -> None:
    """Write report.html into a demo's folder of results, or fleet.html into a fleet's."""
    from precog_sim.report.fleet_page import render_fleet
    from precog_sim.report.page import render

    path = render(folder) if fleet is None else render_fleet(fleet)
    emit({"path": str(path)}, lambda: typer.echo(str(path)), json_)
