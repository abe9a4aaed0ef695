"""``precog fleet repository`` and ``release``: models that may go out, signed by TUF's roles."""

from pathlib import Path
from typing import Annotated

import typer

from precog_host.output import JsonOption, emit, group, table

from ..errors import needs

__all__ = ["app", "release"]

app = group("Repository of releases: a folder that any static HTTP server may offer.")
_Folder = Annotated[Path, typer.Argument(help="The repository's folder.")]
_Keys = Annotated[
    list[Path],
    typer.Option("-k", "--keys", help="Folder of keys; repeatable, as they may lie apart."),
]
_Count = Annotated[int, typer.Option(min=1, max=16, help="Keys of the role.")]
_Threshold = Annotated[int, typer.Option(min=1, max=16, help="Keys that must sign.")]


@app.command()
def init(
    folder: _Folder,
    keys: Annotated[Path, typer.Option("-k", "--keys", help="New folder of all keys.")],
    root_keys: _Count = 3,
    root_threshold: _Threshold = 2,
    targets_keys: _Count = 2,
    targets_threshold: _Threshold = 2,
    json_: JsonOption = False,
) -> None:
    """Make a repository and its keys. Move the root's and targets' keys apart."""
    with needs():
        from ..clock import now_ms
        from ..repository import Repository, Roles

    roles = Roles((root_keys, root_threshold), (targets_keys, targets_threshold))
    Repository.create(folder, keys, now_ms, roles)
    root = folder / "metadata" / "1.root.json"
    emit(
        {"repository": str(folder), "keys": str(keys), "root": str(root)},
        lambda: typer.echo(f"{folder}: give agents {root} (precog fleet agent --root)"),
        json_,
    )


@app.command()
def renew(folder: _Folder, keys: _Keys, json_: JsonOption = False) -> None:
    """Sign again what expires soon: members refuse a repository that is not renewed."""
    with needs():
        from ..clock import now_ms
        from ..repository import Repository

    done = Repository(folder, keys, now_ms).renew()
    emit(
        {"repository": str(folder), "renewed": done},
        lambda: typer.echo(f"{folder}: renewed {', '.join(done) or 'nothing, it lasts'}"),
        json_,
    )


@app.command("list")
def list_(folder: _Folder, json_: JsonOption = False) -> None:
    """Show the releases that are kept."""
    with needs():
        from ..clock import now_ms
        from ..repository import Repository

    repository = Repository(folder, (), now_ms)
    digests = {number: digest.hex() for digest, number in repository.digests().items()}
    rows = [
        {"release": number, "digest": digests[number], **about}
        for number, about in repository.releases().items()
    ]
    columns = ("release", "skill", "windows", "evaluated", "loop_seeds", "forced", "digest")
    emit(
        {"releases": rows},
        lambda: table(columns, [tuple(row.get(name) for name in columns) for row in rows]),
        json_,
    )


def release(
    models: Annotated[Path, typer.Argument(help="Folder of models that passed fleet evaluate.")],
    repository: Annotated[Path, typer.Option("-r", "--repository", help="Its folder.")],
    keys: _Keys,
    record: Annotated[
        Path | None,
        typer.Option(
            help="Record of their base by precog model evaluate; by default the one that fleet "
            "evaluate left in their folder."
        ),
    ] = None,
    force: Annotated[
        str,
        typer.Option(
            help="Release them although they did not pass, or were not judged: the reason, which "
            "is signed with the release.",
            metavar="REASON",
        ),
    ] = "",
    json_: JsonOption = False,
) -> None:
    """Release models that passed their evaluation; agents run them once they are rolled out."""
    with needs():
        from ..clock import now_ms
        from ..evaluate import Limits
        from ..repository import Repository
        from ..trainer import release_models

    opened = Repository(repository, keys, now_ms)
    opened.check_keys()
    number, digest = release_models(opened, models, Limits(), force=force, record=record)
    emit(
        {"release": number, "digest": digest.hex(), "repository": str(repository)},
        lambda: typer.echo(
            f"release {number}, SHA-256 {digest.hex()}: bring it out with precog fleet rollout"
        ),
        json_,
    )
