"""``precog fleet status``: members, models, skill, destinations, once or as a live view."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from precog_host.output import JsonOption, emit, printable, table

from ..errors import needs

__all__ = ["status"]

_MEMBERS = (
    ("name", "name"),
    ("role", "role"),
    ("state", "state"),
    ("release", "release"),
    ("shadow", "shadow"),
    ("skill", "skill"),
    ("up", "up"),
    ("cards", "cards"),
    ("windows", "windows"),
    ("lost", "lost"),
    ("rows", "rows"),
    ("rollbacks", "rollbacks"),
    ("refused", "refused"),
)


def status(
    folder: Annotated[Path, typer.Argument(help="Folder of any member.")],
    watch: Annotated[bool, typer.Option("--watch", help="Go on until ^C.")] = False,
    json_: JsonOption = False,
) -> None:
    """Show who lives, what runs with which skill, what was refused, and who is congested."""
    if watch and json_:
        raise ValueError("watch must be without --json: ask again for another state")
    with needs():
        from ..looking import Look, view
        from ..member import Member

    look = Look(Member(folder))
    try:
        found = look.settle()
        if not watch:
            emit(dict(found), lambda: _show(found), json_)
            return
        from rich.live import Live
        from rich.text import Text

        from ..clock import now_ms

        with Live(screen=False, auto_refresh=False) as live:
            while True:
                live.update(Text.from_ansi(_drawn(view(look.store, now_ms()))), refresh=True)
                for _ in range(10):
                    look.turn()
    finally:
        look.close()


def _drawn(found: Mapping[str, Any]) -> str:
    """The tables as text."""
    import io
    from contextlib import redirect_stdout

    text = io.StringIO()
    with redirect_stdout(text):
        _show(found)
    return text.getvalue()


def _show(found: Mapping[str, Any]) -> None:
    from ..speaking import twin_of

    best = {(row["origin"], row["model"]): row["skill"] for row in found["skill"]}
    rows = []
    for member in found["members"]:
        shown = dict(member)
        skill = best.get((member["name"], f"r{member.get('release')}"))
        shown["skill"] = None if skill is None else round(skill, 3)
        shown["refused"] = _refused(member.get("refused"))
        rows.append([shown.get(key) for key, _ in _MEMBERS])
    table([title for _, title in _MEMBERS], rows)
    for name in found["twins"]:
        typer.echo(printable(f"error: {twin_of(name)}"))
    rollout = found["rollout"]
    if rollout is None:
        typer.echo("\nno rollout: members run the models that came with them")
    else:
        typer.echo(
            f"\nrelease {rollout['release']} runs on {rollout['share']:.0%}, "
            f"release {rollout['previous']} on the others"
        )
    for row in found["drift"]:
        typer.echo(printable(f"{row['origin']} asks for new models: skill {row['skill']}"))
    if found["hotspots"]:
        typer.echo("")
        columns = ("destination", "reporters", "queue_pairs", "rate_gbps", "rtt_us", "rtt_p99_us")
        table(columns, [[row[name] for name in columns] for row in found["hotspots"]])


def _refused(counts: Mapping[str, int] | None) -> str | None:
    if counts is None:
        return None
    return " ".join(f"{name}:{n}" for name, n in counts.items()) or None
