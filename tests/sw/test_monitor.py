"""The live view without a terminal, its stream, and a device that leaves and comes back."""

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from tests.command_line import ran
from textual.pilot import Pilot
from textual.widgets import DataTable, Static

from precog_host.device import Device
from precog_host.monitor.demo import Demo
from precog_host.monitor.sampling import Sampler, qp_list, sparkline
from precog_host.monitor.view import MonitorApp
from precog_host.transport import DeviceError

from .links import LoggedCard, udp_server

_URI = "emu:qps=8,trace=1"
Script = Callable[[MonitorApp, Pilot[None]], Awaitable[None]]


def drive(sampler: Sampler, script: Script) -> None:
    """Run a script in a view that takes snapshots only when it is told to."""

    async def go() -> None:
        app = MonitorApp(sampler, interval=3600)
        async with app.run_test(size=(140, 20)) as pilot:
            await settle(app, pilot)
            await script(app, pilot)

    asyncio.run(go())
    sampler.close()


async def settle(app: MonitorApp, pilot: Pilot[None]) -> None:
    await app.workers.wait_for_complete()
    await pilot.pause()


def column(app: MonitorApp, index: int) -> list[str]:
    table = app.query_one(DataTable)
    return [str(table.get_row_at(n)[index]) for n in range(table.row_count)]


def status(app: MonitorApp) -> str:
    return str(app.query_one(Static).content)


def test_the_view_shows_sorts_filters_and_pauses() -> None:
    sampler = Sampler(_URI, trace=True, before=Demo())

    async def script(app: MonitorApp, pilot: Pilot[None]) -> None:
        assert column(app, 0) == ["0", "1", "2", "3", "4", "5"]
        assert column(app, 1)[:4] == ["predpid", "pid", "pid", "pid"]
        assert column(app, 6)[1] == "–"  # pid predicts nothing
        assert float(column(app, 6)[0]) > 0
        assert "6 of 6 QPs" in status(app)
        for _ in range(3):
            app.refresh_data()
            await settle(app, pilot)
        assert len(column(app, 3)[0]) == 4  # a sparkline grows with each snapshot
        assert all(column(app, 7))
        rates = [qp.rate_gbps for qp in app.rows()]
        await pilot.press("s", "s")
        assert [qp.rate_gbps for qp in app.rows()] == sorted(rates)
        await pilot.press("r")
        assert [qp.rate_gbps for qp in app.rows()] == sorted(rates, reverse=True)
        assert "by rate Gb/s, falling" in status(app)
        await pilot.press("slash", *"1,4-5", "enter")
        assert sorted(column(app, 0)) == ["1", "4", "5"]
        assert "3 of 6 QPs" in status(app)
        await pilot.press("slash", *"5-1", "enter")
        assert "queue pairs must go upwards" in status(app)
        await pilot.press("space")
        shown = column(app, 4)
        app.refresh_data()
        await settle(app, pilot)
        assert column(app, 4) == shown
        assert "PAUSED" in status(app)
        await pilot.press("space")
        app.refresh_data()
        await settle(app, pilot)
        assert column(app, 4) != shown
        await pilot.press("q")

    drive(sampler, script)


def test_columns_are_sorted_by_a_click() -> None:
    sampler = Sampler(_URI, before=Demo())

    async def script(app: MonitorApp, pilot: Pilot[None]) -> None:
        await pilot.click(DataTable, offset=(2, 0))
        assert column(app, 0) == ["5", "4", "3", "2", "1", "0"]
        await pilot.click(DataTable, offset=(8, 0))
        assert column(app, 1) == sorted(column(app, 1))

    drive(sampler, script)


def test_a_device_that_leaves_and_comes_back(card: LoggedCard) -> None:
    with udp_server(card) as server:
        port = server.port
        sampler = Sampler(f"udp:127.0.0.1:{port}?timeout_ms=20&tries=2", qps={1})
        sampler.open()
        assert [qp.qp for qp in sampler.take().qps] == [1]

    async def script(app: MonitorApp, pilot: Pilot[None]) -> None:
        assert "no server listens there" in status(app)
        assert "trying again" in status(app)
        assert app.query_one(Static).has_class("failed")
        with udp_server(card, port=port):
            app.refresh_data()
            await settle(app, pilot)
            assert column(app, 0) == ["1"]
            assert "trying again" not in status(app)
            sampler.close()

    drive(sampler, script)


def test_others_may_use_a_served_device_between_snapshots(card: LoggedCard) -> None:
    with udp_server(card) as server:
        first, second = (Sampler(f"udp:127.0.0.1:{server.port}", qps={0}) for _ in range(2))
        for _ in range(3):
            assert first.take().error is None
            assert second.take().error is None
        first.close()
        second.close()


def test_the_demo_writes_nothing_to_a_device_that_takes_no_samples() -> None:
    """A card in service keeps its laws and parameters."""
    card = LoggedCard()
    with Device(card) as device:
        card.log.clear()
        with pytest.raises(DeviceError, match=r"takes its samples from the wire.*use emu: or sim:"):
            Demo()(device)
        assert card.log == []


def test_stream_once_and_picture(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    def run(*arguments: str) -> str:
        done = ran(capsys, "monitor", "-d", _URI, *arguments)
        assert not done.status, done.err
        return done.out

    lines = run("--demo", "-j", "--count", "3", "--interval", "0.05", "--qp", "0,2").splitlines()
    shots: list[dict[str, Any]] = [json.loads(line) for line in lines]
    assert [[qp["qp"] for qp in shot["qps"]] for shot in shots] == [[0, 2]] * 3
    assert shots[0]["qps"][0]["decisions_per_s"] is None
    assert shots[2]["qps"][0]["decisions_per_s"] > 0
    assert shots[2]["qps"][0]["decisions"] == 3 * 41  # samples and one score
    assert json.loads(run("--once", "-j")) | {"t": 0} == {"t": 0, "qps": [], "error": None}
    assert "no queue pair is enabled" in run("--once")
    assert "timely" in run("--once", "--demo", "-d", "emu:law_cores=1")
    path = tmp_path / "view.svg"
    assert run("--demo", "--trace", "--screenshot", str(path)) == f"{path}\n"
    assert path.read_text().count("predpid") == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "monitor needs a terminal: give --once, or -j"),
        (("--interval", "0"), "interval must be in 0.05..3600 seconds, not 0.0"),
        (("--count", "3"), "count must come with -j"),
        (("--once", "-j", "--count", "3"), "count must be left out with --once"),
        (("--once", "--qp", "x"), "queue pairs must be a list such as 1,3-5, not 'x'"),
        (("--once", "--qp", ","), "queue pairs must be a list such as 1,3-5, not ','"),
        (("--once", "--qp", "64"), "QP must be in 0..63, not 64"),
        (("--once", "--trace"), "device has no trace"),
        (("--once", "-d", "udp:127.0.0.1:9?tries=1"), "no server listens there"),
        (
            ("--browser", "0"),
            "invalid value for '--browser': Input should be greater than or equal to 1",
        ),
        (("--browser", "80", "--once"), "browser must come without --once, -j and --screenshot"),
        (("--screenshot", "x.png"), "screenshot must be a file .svg, not x.png"),
    ],
)
def test_refusals(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    done = ran(capsys, "monitor", *arguments)
    assert done.status == 2
    assert message in done.err


async def _drawn(port: int, text: str) -> None:
    """Wait until the page at `port` draws `text`."""
    drawn = ""
    async with aiohttp.ClientSession() as session:
        while True:
            try:
                view = await session.ws_connect(f"ws://127.0.0.1:{port}/ws?width=99&height=20")
                break
            except aiohttp.ClientConnectorError:
                await asyncio.sleep(0.1)
        async with view:
            async for message in view:
                assert message.type is aiohttp.WSMsgType.BINARY, message
                drawn += message.data.decode()
                if text in drawn:
                    return
    raise AssertionError(f"view ended, having drawn {drawn!r}")


def test_browsers_see_the_view() -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = "from precog_host.cli import main; main()"
    arguments = ["monitor", "--browser", str(port), "-d", _URI, "--demo"]
    with subprocess.Popen([sys.executable, "-c", command, *arguments]) as server:
        try:
            asyncio.run(asyncio.wait_for(_drawn(port, "predpid"), 60))
        finally:
            server.terminate()
        assert server.wait(20) == 0


def test_lists_and_sparklines() -> None:
    assert qp_list("1, 3-5,") == {1, 3, 4, 5}
    assert sparkline([]) == ""
    assert sparkline([5, 5]) == "▁▁"
    assert sparkline([0, 1, 7], 2) == "▁█"
    with pytest.raises(DeviceError, match="URI must be"):
        Sampler("nothing").open()
