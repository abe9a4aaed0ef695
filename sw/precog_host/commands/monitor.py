"""``precog monitor``: a live view of a device's queue pairs, or their numbers again and again."""

import dataclasses
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from precog_host.output import DeviceOption, JsonOption, emit, pair_table
from precog_host.transport import DeviceError

if TYPE_CHECKING:
    from precog_host.monitor.sampling import Sampler, Snapshot
    from precog_host.monitor.view import MonitorApp

_COLUMNS = (
    ("qp", "qp"),
    ("algorithm", "algorithm"),
    ("rate_gbps", "rate Gb/s"),
    ("rtt_us", "rtt µs"),
    ("rtt_pred_us", "pred µs"),
    ("score", "score"),
    ("decisions_per_s", "decisions/s"),
    ("flags", "flags"),
)
_SHOT_ROUNDS = 16  # snapshots before a picture: its sparklines are full
_SHOT_PAUSES, _SHOT_PAUSE = 200, 0.05  # seconds each, at most
_SHOT_SIZE = (132, 14)


def monitor(
    qp: Annotated[
        str | None, typer.Option(help="QP slots, such as 1,3-5; by default all enabled.")
    ] = None,
    interval: Annotated[float, typer.Option(help="Seconds between snapshots.")] = 1.0,
    once: Annotated[bool, typer.Option("--once", help="One snapshot, no live view.")] = False,
    count: Annotated[
        int | None, typer.Option(help="With -j: end after this many snapshots.", min=1)
    ] = None,
    trace: Annotated[
        bool,
        typer.Option(
            "--trace", help="RTT and score from the trace; other readers lose its records."
        ),
    ] = False,
    demo: Annotated[
        bool, typer.Option("--demo", help="Let queue pairs of emu: or sim: do something.")
    ] = False,
    screenshot: Annotated[
        Path | None, typer.Option(help="Write a picture of the view (SVG) and end.")
    ] = None,
    browser: Annotated[
        int | None,
        typer.Option(
            metavar="PORT", help="Show the view at http://127.0.0.1:PORT.", min=1, max=65535
        ),
    ] = None,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Watch rates, RTTs, predictions and scores; -j prints a line for each snapshot, until ^C."""
    from precog_host.monitor.demo import Demo
    from precog_host.monitor.sampling import Sampler, qp_list
    from precog_models.durable import check_target

    if not 0.05 <= interval <= 3600:
        raise ValueError(f"interval must be in 0.05..3600 seconds, not {interval!r}")
    if count is not None and not json_:
        raise ValueError("count must come with -j: the view ends with q")
    if count is not None and once:
        raise ValueError("count must be left out with --once")
    wanted = None if qp is None else qp_list(qp)
    if wanted is not None and not wanted:
        raise ValueError(f"queue pairs must be a list such as 1,3-5, not {qp!r}")
    if screenshot is not None:
        if screenshot.suffix != ".svg":
            raise ValueError(f"screenshot must be a file .svg, not {screenshot}")
        check_target(screenshot)
    elif not (once or json_ or browser or sys.stdout.isatty() or "TEXTUAL_DRIVER" in os.environ):
        raise ValueError("monitor needs a terminal: give --once, or -j for a stream")
    if browser is not None and (once or json_ or screenshot is not None):
        raise ValueError("browser must come without --once, -j and --screenshot")
    view = None if once or (json_ and screenshot is None) else _view()
    feed = Demo() if demo else None
    sampler = Sampler(
        device, qps=wanted, trace=trace, before=feed, check=None if feed is None else feed.check
    )
    try:
        sampler.open()  # a wrong URI is an error now, a device that leaves later is not
        if browser is not None:
            sampler.close()
            _serve(browser, device, qp, interval, {"--trace": trace, "--demo": demo})
        elif screenshot is not None:
            assert view is not None
            _picture(view(sampler, interval), sampler, screenshot)
            done = {"path": str(screenshot)}
            emit(done, lambda: typer.echo(str(screenshot)), json_)
        elif once:
            snapshot = sampler.take()
            if snapshot.error is not None:
                raise DeviceError(snapshot.error)
            emit(_plain(snapshot), lambda: _show(snapshot), json_)
        elif json_:
            _stream(sampler, interval, count)
        else:
            assert view is not None
            view(sampler, interval).run()
    finally:
        sampler.close()


def _serve(port: int, device: str, qp: str | None, interval: float, flags: dict[str, bool]) -> None:
    """The view for browsers."""
    from precog_host.monitor.browser import serve_view

    arguments = ["-d", device, "--interval", str(interval)]
    arguments += [] if qp is None else ["--qp", qp]
    arguments += [flag for flag, wanted in flags.items() if wanted]
    typer.echo(f"http://127.0.0.1:{port} shows the view; ^C ends it", err=True)
    serve_view(arguments, port)


def _plain(snapshot: "Snapshot") -> dict[str, Any]:
    return dataclasses.asdict(snapshot)


def _show(snapshot: "Snapshot") -> None:
    rows = [tuple(getattr(qp, name) for name, _ in _COLUMNS) for qp in snapshot.qps]
    pair_table([title for _, title in _COLUMNS], rows)


def _stream(sampler: "Sampler", interval: float, count: int | None) -> None:
    """A line of JSON for each snapshot; the device's errors are lines, too."""
    made = 0
    due = time.monotonic()
    while count is None or made < count:
        snapshot = sampler.take()
        emit(_plain(snapshot), lambda: None, True)
        sys.stdout.flush()
        made += 1
        due = max(due + interval, time.monotonic() - interval)
        if count is None or made < count:
            time.sleep(max(0.0, due - time.monotonic()))


def _view() -> "type[MonitorApp]":
    try:
        from precog_host.monitor.view import MonitorApp
    except ImportError as error:
        raise DeviceError(
            "the live view needs textual: pip install 'precog[monitor]', or give --once or -j"
        ) from error
    return MonitorApp


def _picture(app: "MonitorApp", sampler: "Sampler", path: Path) -> None:
    """The view, drawn without a terminal after enough snapshots."""
    import asyncio

    from precog_models.durable import write_durably

    for _ in range(_SHOT_ROUNDS):
        sampler.take()

    async def draw() -> str:
        async with app.run_test(size=_SHOT_SIZE) as pilot:
            await app.workers.wait_for_complete()
            names, drawn = {qp.algorithm for qp in app.rows()}, ""
            for _ in range(_SHOT_PAUSES):  # a table is laid out some time after it was filled
                await pilot.pause(_SHOT_PAUSE)
                drawn = str(app.export_screenshot(title="precog monitor"))
                if all(name in drawn for name in names):
                    break
            return drawn

    write_durably(path, asyncio.run(draw()).encode())
