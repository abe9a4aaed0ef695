"""``precog fleet rollout``, ``rollback``, ``trainer``: releases go out, by hand or by the loop."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from precog_host.output import JsonOption, emit, printable
from precog_models.judged import SEEDS
from precog_models.limits import DIGITS, brief

from ..errors import needs
from .learn import runner_of

if TYPE_CHECKING:
    from ..rollouts import Stages

__all__ = ["rollback", "rollout", "trainer"]

_Folder = Annotated[Path, typer.Argument(help="The trainer's folder (precog fleet join).")]
_Repository = Annotated[
    Path | None, typer.Option("-r", "--repository", help="Folder of the repository.")
]
_Shares = Annotated[
    str, typer.Option(help="Thousandths of all agents, stage by stage.", metavar="N,…,1000")
]
_Dwell = Annotated[float, typer.Option(help="Seconds of a stage, at least.")]
_Patience = Annotated[float, typer.Option(help="Seconds to wait for agents' reports.")]
_Quorum = Annotated[float, typer.Option(help="Share of a stage's agents that must report.")]
_Tolerance = Annotated[float, typer.Option(help="By how much the median skill may fall.")]
_NONE = "no rollout was begun from {}: give the number of a release"


def _stages(
    shares: str, dwell: float, patience: float, quorum: float, tolerance: float
) -> "Stages":
    from ..rollouts import Stages

    parts = shares.split(",")
    if not all(part.strip().isdecimal() and len(part) <= DIGITS for part in parts):
        raise ValueError(
            f"shares must be numbers with commas, such as 50,250,1000, not {brief(shares)}"
        )
    for name, value in (("dwell", dwell), ("patience", patience)):
        if not 0 <= value < 1e8:
            raise ValueError(f"{name} must be in 0..1e8 seconds, not {value!r}")
    numbers = tuple(int(part) for part in parts)
    return Stages(
        numbers, round(dwell * 1000), round(patience * 1000), quorum=quorum, tolerance=tolerance
    )


def rollout(
    folder: _Folder,
    release: Annotated[int | None, typer.Argument(help="Number of the release.", min=1)] = None,
    repository: _Repository = None,
    shares: _Shares = "50,250,1000",
    dwell: _Dwell = 60.0,
    patience: _Patience = 3600.0,
    quorum: _Quorum = 0.5,
    tolerance: _Tolerance = 0.02,
    status: Annotated[
        bool, typer.Option("--status", help="Show what runs and what happened; connect nowhere.")
    ] = False,
    json_: JsonOption = False,
) -> None:
    """Bring a release to all agents by stages; without a number, go on, or say the last again.

    A stage goes on when its agents report that they do no worse; else everything goes back, and
    the exit status is 1.
    """
    with needs():
        from ..clock import now_ms
        from ..errors import FleetError
        from ..hosting import member_of_role
        from ..repository import Repository
        from ..rollouts import Rollouts
        from ..store import Store
        from ..trainer_process import TrainerNode

    stages = _stages(shares, dwell, patience, quorum, tolerance)
    if status:
        if release is not None:
            raise ValueError(f"release must be left out with --status, not {release}")
        member_of_role(folder, "trainer")
        if not (folder / "rollouts.json").is_file():
            raise FleetError(_NONE.format(folder))
        told = Rollouts(folder / "rollouts.json", Store(bytes(32)), lambda *_: False, stages)
        found = told.status(now_ms())
        emit(found, lambda: _show(found), json_)
        return
    if release is not None and repository is None:
        raise ValueError(f"repository of release {release} must be given: -r FOLDER")
    digest = b""
    if release is not None and repository is not None:
        digest = Repository(repository, (), now_ms).models(release)[1]
    node = TrainerNode(folder, stages)
    try:
        if release is not None:
            _met(node)
            node.rollouts.start(release, digest, now_ms())
        elif not node.rollouts.history:
            raise FleetError(_NONE.format(folder))
        while node.rollouts.running:
            _tell(node.turn(), json_)
        node.be_heard(20.0)
        found = node.rollouts.status(now_ms())
    finally:
        node.close()
    emit(found, lambda: _show(found), json_)
    last = found["history"][-1]
    if last["what"] != "done":
        raise FleetError(f"release {last['release']} was rolled back: {last['why']}")


def _met(node: Any) -> None:
    """Hear from a router who the agents are."""
    from ..errors import FleetError

    if not node.wait_until_heard(20.0):
        raise FleetError(node.uplink.error or "no router has told its records within 20 s")


def _tell(events: list[str], json_: bool) -> None:
    for event in events:
        typer.echo(printable(event), err=json_)


def _show(found: dict[str, Any]) -> None:
    under_way = found["rollout"]
    live = found["live"]["release"]
    typer.echo(f"live: {f'release {live}' if live else 'shipped models'}")
    if under_way is not None:
        typer.echo(
            f"under way: release {under_way['release']}, stage {under_way['stage']} of "
            f"{under_way['stages']}, {under_way['share'] / 10:g} % of agents"
        )
    for row in found["history"][-8:]:
        typer.echo(printable(f"release {row['release']} {row['what']}: {row['why']}"))


def rollback(
    folder: _Folder,
    why: Annotated[str, typer.Option(help="For the history.")] = "by hand",
    json_: JsonOption = False,
) -> None:
    """Let all agents run what ran before the last rollout, at once."""
    with needs():
        from ..trainer_process import ask_for_rollback

    found = ask_for_rollback(folder, why)
    last = found["history"][-1]
    emit(
        {"release": last["release"], "what": last["what"], "why": last["why"]},
        lambda: typer.echo(printable(f"release {last['release']} {last['what']}: {last['why']}")),
        json_,
    )


def trainer(
    folder: _Folder,
    telemetry: Annotated[
        list[Path], typer.Option("-t", "--telemetry", help="Folder of parts; repeatable.")
    ],
    repository: Annotated[Path, typer.Option("-r", "--repository", help="Its folder.")],
    keys: Annotated[list[Path], typer.Option("-k", "--keys", help="Its keys; repeatable.")],
    asks: Annotated[int, typer.Option(min=1, help="Agents that must ask for models.")] = 1,
    pause: Annotated[float, typer.Option(help="Seconds from one job to the next.")] = 600.0,
    hours: Annotated[float | None, typer.Option(help="How old telemetry may be.")] = None,
    seeds: Annotated[int, typer.Option(min=2, help="Of the closed loop.")] = SEEDS["queue"],
    workers: Annotated[int, typer.Option(min=1, help="Processes that train.")] = 2,
    ray: Annotated[str | None, typer.Option(help="Train on a Ray cluster.")] = None,
    now: Annotated[bool, typer.Option("--now", help="Begin with a job, unasked.")] = False,
    shares: _Shares = "50,250,1000",
    dwell: _Dwell = 60.0,
    patience: _Patience = 3600.0,
    quorum: _Quorum = 0.5,
    tolerance: _Tolerance = 0.02,
    json_: JsonOption = False,
) -> None:
    """Train, release and roll out whenever agents ask for it; until ^C."""
    with needs("fleet,train,sim"):
        from precog_models.image import pretrained

        from ..agent_process import SHIPPED_MODEL
        from ..clock import now_ms
        from ..collect import check_telemetry
        from ..evaluate import Limits, closed_loop
        from ..hosting import until_stopped
        from ..modelset import ModelSet
        from ..repository import Repository
        from ..train import FleetRecipe
        from ..trainer import Job, Trainer
        from ..trainer_process import TrainerNode, in_background

    stages = _stages(shares, dwell, patience, quorum, tolerance)
    for name, value in (("pause", pause), ("hours", hours)):
        if value is not None and not 0 <= value < 1e8:
            raise ValueError(f"{name} must be in 0..1e8, not {value!r}")
    opened = Repository(repository, keys, now_ms)
    opened.check_keys()
    for place in telemetry:
        check_telemetry(place)
    runner = runner_of(workers, ray)
    limits = Limits(seeds=min(seeds, Limits().seeds))
    job = Job(tuple(telemetry), FleetRecipe(), runner, closed_loop(), limits, seeds)
    node = TrainerNode(folder, stages)
    try:
        node.trainer = Trainer(
            folder / "trainer",
            node.store,
            node.rollouts,
            opened,
            job,
            ModelSet(pretrained(SHIPPED_MODEL)),
            in_background,
            asks=asks,
            pause_ms=round(pause * 1000),
            window_ms=None if hours is None else round(hours * 3_600_000),
        )
        if now and node.trainer.status(now_ms())["job"] is None:
            node.trainer.wanted = "by hand"
        emit(
            {"trainer": str(folder), "repository": str(repository)},
            lambda: typer.echo(f"{folder} trains when agents ask, into {repository}"),
            json_,
        )
        sys.stdout.flush()

        def turn() -> None:
            _tell(node.turn(), json_)
            sys.stdout.flush()

        until_stopped(turn)
    finally:
        runner.close()
        node.close()
