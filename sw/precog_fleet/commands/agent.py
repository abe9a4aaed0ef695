"""``precog fleet agent`` and ``router``: the members that run all the time."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from precog_host.output import JsonOption, emit, printable
from precog_models.limits import DIGITS, brief

from ..errors import needs

__all__ = ["agent", "router"]

_Folder = Annotated[Path, typer.Argument(help="The member's folder (precog fleet join).")]
_Metrics = Annotated[
    str | None, typer.Option(help="Serve Prometheus metrics at ADDRESS:PORT.", metavar="AT")
]


def agent(
    folder: _Folder,
    device: Annotated[
        list[str], typer.Option("-d", "--device", help="Device URI; repeatable.", metavar="URI")
    ],
    releases: Annotated[
        str | None, typer.Option(help="Where releases come from: a folder or http(s)://.")
    ] = None,
    root: Annotated[
        Path | None, typer.Option(help="The repository's first root, needed once.")
    ] = None,
    model: Annotated[
        Path | None, typer.Option(help="Queue model before the first release.")
    ] = None,
    qp: Annotated[
        list[int] | None,
        typer.Option(
            help="Queue pair with queue models; repeatable; by default all bound ones.", min=0
        ),
    ] = None,
    destination: Annotated[
        list[str] | None,
        typer.Option(
            help="Where a queue pair leads, for devices without packets; repeatable.",
            metavar="QP=NAME",
        ),
    ] = None,
    router_at: Annotated[
        list[str] | None,
        typer.Option(
            "--router",
            help="This rack's router, tls/ADDRESS:PORT; repeatable; by default any of the fleet's.",
        ),
    ] = None,
    disk: Annotated[int, typer.Option(help="MiB of telemetry that are kept.", min=1)] = 1024,
    metrics: _Metrics = None,
    practice: Annotated[
        bool,
        typer.Option("--practice", help="Let queues of emulated and simulated devices swing."),
    ] = False,
    json_: JsonOption = False,
) -> None:
    """Read this host's devices, share what they see, and run the fleet's models; until ^C."""
    with needs():
        from precog_models.image import load

        from ..agent_process import AgentProcess
        from ..exporter import metrics_place, serve_metrics
        from ..hosting import until_stopped
        from ..modelset import ModelSet

    if metrics is not None:
        metrics_place(metrics)
    if root is not None and releases is None:
        raise ValueError("root must be left out without --releases: it is their first root")
    process = AgentProcess(
        folder,
        device,
        model=None if model is None else ModelSet(load(model)),
        releases=releases,
        root=None if root is None else root.read_bytes(),
        max_bytes=disk << 20,
        practice=practice,
        qps=qp,
        destinations=_destinations(destination),
        routers=router_at,
        report=lambda text: typer.echo(printable(text), err=True),
    )
    try:
        where = None if metrics is None else serve_metrics(metrics, process)
        name = process.agent.identity.name
        emit(
            {"name": name, "devices": device, "metrics": where},
            lambda: typer.echo(f"{name} reads {', '.join(device)}"),
            json_,
        )
        sys.stdout.flush()
        until_stopped(process.turn)
    finally:
        process.close()


def _destinations(texts: list[str] | None) -> dict[int, str] | None:
    """Names by queue pair, of arguments ``QP=NAME``."""
    found: dict[int, str] = {}
    for text in texts or ():
        with needs():
            from ..fields import NAME

        qp, _, name = text.partition("=")
        number = qp.isascii() and qp.isdecimal() and len(qp) <= DIGITS
        if not (number and NAME.fullmatch(name)) or int(qp) in found:
            raise ValueError(f"destination must be <QP>=<name> and each QP once, not {brief(text)}")
        found[int(qp)] = name
    return found or None


def router(
    folder: _Folder,
    listen: Annotated[
        str | None, typer.Option(help="tls/ADDRESS:PORT; by default the fleet's only router's.")
    ] = None,
    metrics: _Metrics = None,
    json_: JsonOption = False,
) -> None:
    """Relay records for a rack and hold what its agents need; until ^C."""
    with needs():
        from ..exporter import metrics_place, serve_metrics
        from ..hosting import until_stopped
        from ..router_process import RouterProcess

    if metrics is not None:
        metrics_place(metrics)
    process = RouterProcess(folder, listen, lambda text: typer.echo(printable(text), err=True))
    try:
        where = None if metrics is None else serve_metrics(metrics, process)
        emit(
            {"name": process.name, "listen": process.listen, "metrics": where},
            lambda: typer.echo(f"{process.name} listens at {process.listen}"),
            json_,
        )
        sys.stdout.flush()
        until_stopped(process.turn)
    finally:
        process.close()
