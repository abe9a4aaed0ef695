"""``precog fleet enroll`` and ``join``: a host makes its keys, then takes what was approved."""

import re
from pathlib import Path
from typing import Annotated

import typer

from precog_host.output import JsonOption, emit

from ..errors import needs

__all__ = ["enroll", "join"]

_Folder = Annotated[Path, typer.Argument(help="The member's folder.")]


def enroll(
    folder: _Folder,
    name: Annotated[str, typer.Option(help="Name of the member.")],
    role: Annotated[str, typer.Option(help="agent, router or trainer.")] = "agent",
    address: Annotated[
        list[str] | None,
        typer.Option(help="Address at which others connect to a router; repeatable."),
    ] = None,
    json_: JsonOption = False,
) -> None:
    """Make this host's keys and a request for the authority; the keys stay here."""
    with needs():
        from ..member import Member

    asked = Member.enroll(folder, name, role, address or ())
    path = folder / "request.json"
    emit(
        {"name": name, "role": role, "public": asked.public, "request": str(path)},
        lambda: typer.echo(f"{path}: approve it with precog fleet trust add; key {asked.public}"),
        json_,
    )


def join(
    folder: _Folder,
    credentials: Annotated[Path, typer.Argument(help="File of precog fleet trust add.")],
    authority: Annotated[
        str | None,
        typer.Option(help="Join only if the authority has this key, 64 hexadecimal digits."),
    ] = None,
    json_: JsonOption = False,
) -> None:
    """Take the credentials that the authority gave; the member can then start."""
    with needs():
        from .. import places
        from ..member import Credentials, Member
        from ..places import require

    require(folder, places.MEMBER)
    given = Credentials.load(credentials)
    if authority is not None and not re.fullmatch("[0-9A-Fa-f]{64}", authority):
        raise ValueError(f"authority must be 64 hexadecimal digits, not {authority!r}")
    if authority is not None and given.fleet.get("authority") != authority.lower():
        raise ValueError(f"authority must be {authority}, not {given.fleet.get('authority')}")
    member = Member.join(folder, given)
    info = member.info
    emit(
        {"name": member.name, "fleet": info.fleet, "authority": info.authority},
        lambda: typer.echo(f"{member.name} joined {info.fleet}, authority {info.authority}"),
        json_,
    )
