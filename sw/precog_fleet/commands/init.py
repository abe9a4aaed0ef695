"""``precog fleet init``: a new fleet and its authority."""

from pathlib import Path
from typing import Annotated

import typer

from precog_host.output import JsonOption, emit

from ..errors import needs

__all__ = ["init"]


def init(
    folder: Annotated[Path, typer.Argument(help="New folder of the authority's keys.")],
    name: Annotated[str, typer.Option(help="Name of the fleet.")],
    router: Annotated[
        list[str], typer.Option(help="Where members find a router: tls/ADDRESS:PORT; repeatable.")
    ],
    json_: JsonOption = False,
) -> None:
    """Make a fleet: the authority that approves its members. Keep the folder safe."""
    with needs():
        from ..authority import Authority

    made = Authority.create(folder, name, tuple(router)).info
    emit(
        {"fleet": made.fleet, "authority": made.authority, "routers": list(made.routers)},
        lambda: typer.echo(f"fleet {made.fleet}, authority {made.authority}"),
        json_,
    )
