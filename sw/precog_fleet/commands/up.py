"""``precog fleet up``: a whole fleet on this machine, for a first try."""

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from precog_host.output import JsonOption, emit

from ..errors import needs

if TYPE_CHECKING:
    from ..trial import Trial

__all__ = ["up"]

_LAST_PORT = 65535
_PAUSE_S = 0.2


def up(
    folder: Annotated[Path, typer.Argument(help="Folder of all members; made the first time.")],
    agents: Annotated[
        int, typer.Option(help="Agents, each with an emulated device.", min=1, max=256)
    ] = 5,
    metrics: Annotated[
        int | None,
        typer.Option(help="Serve metrics of agent n at this port plus n.", min=1, max=65535),
    ] = None,
    releases: Annotated[Path | None, typer.Option(help="Repository of releases, a folder.")] = None,
    json_: JsonOption = False,
) -> None:
    """Run authority, router and agents on emulated devices whose queues swing; until ^C."""
    with needs():
        from ..hosting import until_stopped
        from ..places import REPOSITORY, require
        from ..trial import Trial

    if metrics is not None and metrics + agents - 1 > _LAST_PORT:
        raise ValueError(
            f"metrics must be at most {_LAST_PORT} less {agents - 1} agents, not {metrics}"
        )
    more = [] if releases is None else ["--releases", str(releases)]
    if releases is not None:
        require(releases, REPOSITORY)
        more += ["--root", str(releases / REPOSITORY.marker)]
    trial = Trial(folder, agents, more, metrics=metrics)

    def say() -> None:
        emit(
            {"members": trial.members},
            lambda: typer.echo(
                f"{agents} agents run; look at them with precog fleet status {trial.members[0]}"
            ),
            json_,
        )
        sys.stdout.flush()

    # Starting is made of turns, too: a signal ends a turn in order, and no member is left.
    turns = _turns(trial, say)
    try:
        until_stopped(lambda: next(turns))
    finally:
        trial.stop()


def _turns(trial: "Trial", say: Callable[[], None]) -> Iterator[None]:
    """Start the members, `say` that they work, and watch them for ever."""
    trial.start()
    typer.echo("starting; the first time an agent compiles the golden models, a minute", err=True)
    while not trial.ready():
        time.sleep(_PAUSE_S)
        yield
    say()
    while True:
        trial.check()
        time.sleep(_PAUSE_S)
        yield
