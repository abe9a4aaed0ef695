"""``precog serve``: one process has the device, others reach it."""

import json
import os
import signal
import subprocess
import sys
import threading

import pytest

from precog_host import cli
from precog_host.device import Device
from precog_host.transport import DeviceError


def test_a_served_card_keeps_its_state_between_commands(
    capsys: pytest.CaptureFixture[str],
) -> None:
    start = (  # what a shell starts in the background ignores interrupts
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from precog_host.cli import main; main()"
    )
    # Its line comes through a pipe at once, also where Python does not write unbuffered anyway.
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    server = subprocess.Popen(
        [sys.executable, "-c", start, "serve", "--udp", "0", "-j", "-d", "emu:qps=8"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=plain,
    )
    watchdog = threading.Timer(60, server.kill)  # then there is no line
    watchdog.start()
    try:
        assert server.stdout is not None
        told = json.loads(server.stdout.readline())
        assert told["device"] == "emu:qps=8"

        def run(*arguments: str) -> str:
            capsys.readouterr()
            with pytest.raises(SystemExit) as caught:
                cli.main([*arguments, "-d", told["uri"], "-j"])
            assert not caught.value.code
            return capsys.readouterr().out

        run("qp", "add", "3", "--algo", "pid")
        shown = json.loads(run("qp", "show"))
        assert [(row["qp"], row["algorithm"]) for row in shown] == [(3, "pid")]
        with (
            Device.open(told["uri"]),
            pytest.raises(DeviceError, match="in use by another client"),
        ):
            Device.open(told["uri"] + "?timeout_ms=20&tries=2")
    finally:
        watchdog.cancel()
        server.send_signal(signal.SIGINT)
        out, errors = server.communicate(timeout=60)
    assert server.returncode == 130
    assert "has the device" in errors
    assert not out


def test_refusals(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in (
        (("--hold", "0"), "hold must be above 0 seconds, not 0.0"),
        (("--bind", "203.0.113.7"), "UDP port 1234 at '203.0.113.7' cannot be had"),
        (("--udp", "65536"), "65536"),
    ):
        with pytest.raises(SystemExit) as caught:
            cli.main(["serve", *arguments])
        assert caught.value.code == 2
        assert message in capsys.readouterr().err
