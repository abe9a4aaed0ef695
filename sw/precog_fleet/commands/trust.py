"""``precog fleet trust``: who is a member, by the authority's word."""

from pathlib import Path
from typing import Annotated

import typer

from precog_host.output import JsonOption, emit, table

from ..errors import needs

__all__ = ["app"]

app = typer.Typer(
    help="Members: approve, list, revoke.", no_args_is_help=True, rich_markup_mode=None
)
_Authority = Annotated[
    Path, typer.Option("-a", "--authority", help="The authority's folder (precog fleet init).")
]


@app.command("list")
def list_(authority: _Authority, json_: JsonOption = False) -> None:
    """Show all members, the revoked as well."""
    with needs():
        from ..authority import Authority
        from ..clock import now_ms

    members = [
        (name, member.role, "revoked" if member.revoked else "active", member.public.hex())
        for name, member in Authority(authority).members(now_ms()).items()
    ]
    columns = ("name", "role", "status", "public")
    emit(
        {"members": [dict(zip(columns, row, strict=True)) for row in members]},
        lambda: table(columns, members),
        json_,
    )


@app.command()
def add(
    request: Annotated[Path, typer.Argument(help="request.json of precog fleet enroll.")],
    authority: _Authority,
    out: Annotated[Path, typer.Option("-o", "--out", help="File for the member's credentials.")],
    json_: JsonOption = False,
) -> None:
    """Approve a request. Compare the key that it names with the host's before."""
    with needs():
        from precog_models.durable import check_target

        from ..authority import Authority
        from ..clock import now_ms
        from ..member import Request

    check_target(out)
    asked = Request.load(request)
    Authority(authority).approve(asked, now_ms()).save(out)
    emit(
        {"name": asked.name, "role": asked.role, "public": asked.public, "credentials": str(out)},
        lambda: typer.echo(f"{asked.name} ({asked.role}) approved, key {asked.public}: {out}"),
        json_,
    )


@app.command()
def revoke(
    name: Annotated[str, typer.Argument(help="The member.")],
    authority: _Authority,
    later: Annotated[
        bool, typer.Option("--later", help="Do not connect: precog fleet trust tell does it.")
    ] = False,
    json_: JsonOption = False,
) -> None:
    """Revoke a member: from now on no member believes what it has signed."""
    with needs():
        from ..authority import Authority
        from ..clock import now_ms

    folder = Authority(authority)
    folder.revoke(name, now_ms())
    if later:
        done = {"name": name, "told": []}
        emit(done, lambda: typer.echo(f"{name} is revoked; no router knows yet"), json_)
        return
    _tell(folder, {"name": name}, f"{name} is revoked; ", json_)


@app.command()
def tell(authority: _Authority, json_: JsonOption = False) -> None:
    """Bring every membership and revocation to the routers, which spread them."""
    with needs():
        from ..authority import Authority

    _tell(Authority(authority), {}, "", json_)


def _tell(authority: object, done: dict[str, object], text: str, json_: bool) -> None:
    with needs():
        from ..announce import announce
        from ..authority import Authority
        from ..errors import FleetError

    assert isinstance(authority, Authority)
    try:
        routers = announce(authority)
    except FleetError as error:
        raise FleetError(f"{text}no router was told: {error}") from error
    if not routers:
        raise FleetError(f"{text}no router has acknowledged it: repeat with fleet trust tell")
    emit(
        done | {"told": routers},
        lambda: typer.echo(f"{text}told {', '.join(routers)}"),
        json_,
    )
