"""``precog law`` on a device: loading, slots, what is refused, queue pairs that run programs."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.sw.support import keep_emulator

from precog_host import cli

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    keep_emulator(monkeypatch, "law_cores=1,qps=4,sets=2")

    def go(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as done:
            cli.main(arguments)
        captured = capsys.readouterr()
        return int(done.value.code or 0), captured.out, captured.err

    return go


def test_a_law_is_loaded_and_queue_pairs_run_it(run: Run) -> None:
    assert run("qp", "add", "1")[0] == 0
    status, out, _ = run("law", "load", "lockstep", "--slot", "2", "-j")
    assert status == 0
    assert json.loads(out)["law"] == "lockstep"
    shown = json.loads(run("cc", "algo", "set", "lockstep", "--qp", "1", "-j")[1])
    assert shown == [{"qp": 1, "algorithm": "law:2"}]
    # A swap: the slot stands for another bank, the queue pair for the same slot.
    swapped = json.loads(run("law", "load", "swift", "--slot", "2", "-j")[1])
    assert (swapped["law"], swapped["bank"]) == ("swift", 1)
    assert json.loads(run("cc", "algo", "show", "-j")[1])["law:2"] == [1]
    assert run("law", "del", "2")[0] == 0
    slots = json.loads(run("law", "list", "-j")[1])["slots"]
    assert [one["law"] for one in slots] == [None] * 8
    state = json.loads(run("law", "set", "--budget", "500", "--threshold-us", "20", "-j")[1])
    assert (state["budget"], state["threshold_ticks"]) == (500, 20_000)


def test_a_compiled_program_needs_its_parameters(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "fixed.json"
    assert run("law", "compile", "fixed", "-o", str(path))[0] == 0
    assert run("law", "load", str(path))[0] == 0
    path.write_text(path.read_text().replace('"crc": ', '"crc": 1'))
    status, _, err = run("law", "load", str(path), "--slot", "1")
    assert status == 2
    assert "CRC must be" in err
    assert [one["law"] for one in json.loads(run("law", "list", "-j")[1])["slots"][:2]] == [
        "fixed",
        None,
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("law", "load", "lockstep", "--slot", "8"), "law slot must be in 0..7, not 8"),
        (("law", "load", "lockstep", "gain=1"), "parameter must be one of"),
        (("law", "load", "nothing"), "nothing"),
        (("law", "del", "3"), "law slot 3 must have a program: precog law list shows them"),
        (("law", "set", "--budget", "1024"), "budget must be in 1..1023, not 1024"),
        (("cc", "algo", "set", "lockstep", "--qp", "0"), "load others with precog law load"),
    ],
)
def test_what_is_refused(run: Run, arguments: tuple[str, ...], message: str) -> None:
    if arguments[:2] == ("cc", "algo"):
        run("qp", "add", "0")
    status, _, err = run(*arguments)
    assert status == 2
    assert message in err
