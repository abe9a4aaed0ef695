"""``precog law`` on a device: loading, slots, what is refused, queue pairs that run programs."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.command_line import Ran, Run, ran
from tests.sw.support import keep_emulator

from precog_models.rate.engine.program import Program


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    keep_emulator(monkeypatch, "law_cores=1,qps=4,sets=2")

    def go(*arguments: str) -> Ran:
        return ran(capsys, *arguments)

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
    assert (swapped["law"], swapped["bank"]) == ("swift", 2)  # timely has 0
    assert json.loads(run("cc", "algo", "show", "-j")[1])["law:2"] == [1]
    assert run("law", "del", "2")[0] == 0
    slots = json.loads(run("law", "list", "-j")[1])["slots"]
    assert [one["law"] for one in slots] == [None] * 7 + ["timely"]
    state = json.loads(run("law", "set", "--budget", "500", "--threshold-us", "20", "-j")[1])
    assert (state["budget"], state["threshold_ticks"]) == (500, 20_000)


def test_a_compiled_program_needs_its_parameters(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "fixed.json"
    assert run("law", "compile", "fixed", "-o", str(path))[0] == 0
    assert run("law", "load", str(path))[0] == 0
    path.write_text(path.read_text().replace('"crc": ', '"crc": 1'))
    status, _, err = run("law", "load", str(path), "--slot", "1")
    assert status == 2
    assert f"error: {path}: program's CRC must be" in err
    assert "it was changed, compile it anew" in err
    assert [one["law"] for one in json.loads(run("law", "list", "-j")[1])["slots"][:2]] == [
        "fixed",
        None,
    ]


def test_a_program_that_no_compiler_made_leaves_what_is_live(run: Run, tmp_path: Path) -> None:
    """It is refused before a word of it is written."""
    path = tmp_path / "fixed.law"
    assert run("law", "compile", "fixed", "-o", str(path))[0] == 0
    made = Program.read(path.read_text())
    assert run("law", "load", str(path))[0] == 0
    live = run("law", "list", "-j")
    path.write_text(replace(made, code=(63 << 26, *made.code[1:])).text())
    status, _, err = run("law", "load", str(path))
    assert status == 2
    assert f"error: {path}: instruction 0: operation must be in 0..29, not 31" in err
    assert run("law", "list", "-j") == live


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("1.5", "ai must be a whole number, not 1.5"),
        ("nan", "ai must be a whole number, not nan"),
        ("1e999", "ai must be a whole number, not inf"),
        ("1e15", "ai must be in -140737488355328..140737488355327, not 1000000000000000"),
    ],
)
def test_a_compiled_program_takes_words(run: Run, tmp_path: Path, value: str, message: str) -> None:
    path = tmp_path / "timely.law"
    assert run("law", "compile", "timely", "-o", str(path))[0] == 0
    names = Program.read(path.read_text()).parameters
    status, out, err = run("law", "load", str(path), *(f"{name}={value}" for name in names))
    assert (status, out) == (2, "")
    # Parameters are in the program's order.
    assert message.replace("ai", next(iter(names)), 1) in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("law", "load", "lockstep", "--slot", "8"), "law slot must be in 0..7, not 8"),
        (("law", "load", "lockstep", "gain=1"), "parameter must be one of"),
        # Words that are arguments of functions are names as any other.
        (("law", "load", "lockstep", "self=1"), "parameter must be one of"),
        (("law", "load", "lockstep", "preset=1"), "parameter must be one of"),
        (("law", "load", "lockstep", "tick_ps=1"), "parameter must be one of"),
        (("law", "load", "nothing"), "nothing"),
        (("law", "load", "none.law"), "program none.law must be a file of precog law compile: "),
        (("law", "del", "3"), "law slot 3 must have a program: precog law list shows them"),
        (("law", "set", "--budget", "1024"), "budget must be in 1..1023, not 1024"),
        (("law", "set", "--timer-us", "-1"), "timer_us must be in 0..16777.2, not -1.0"),
        (("law", "set", "--timer-us", "nan"), "timer_us must be in 0..16777.2, not nan"),
        (("law", "set", "--timer-us", "1e999"), "timer_us must be in 0..16777.2, not inf"),
        (("law", "set", "--timer-us", "1e-9"), "timer_us must be 0 or at least 0.001, not 1e-09"),
        (("law", "set", "--threshold-us", "0"), "threshold must be in 1..16777215 ticks, not 0"),
        (("cc", "algo", "set", "lockstep", "--qp", "0"), "load others with precog law load"),
        (
            ("cc", "algo", "set", "law:5", "--qp", "0"),
            "law slot 5 must have a program, not none: load one with precog law load LAW --slot 5",
        ),
        (("qp", "add", "1", "--algo", "law:0"), "law slot 0 must have a program, not none"),
    ],
)
def test_what_is_refused(run: Run, arguments: tuple[str, ...], message: str) -> None:
    if arguments[:2] == ("cc", "algo"):
        run("qp", "add", "0")
    status, _, err = run(*arguments)
    assert status == 2
    assert message in err


def test_timely_and_dcqcn_are_loaded_when_they_are_named(run: Run) -> None:
    """The engine's last free slots stand for them."""
    assert run("law", "load", "swift", "--slot", "7")[0] == 0
    shown = json.loads(run("qp", "add", "1", "2", "-j")[1])
    assert [(row["qp"], row["algorithm"]) for row in shown] == [(1, "timely"), (2, "timely")]
    shown = json.loads(run("cc", "algo", "set", "dcqcn", "--qp", "2", "--qp", "1", "-j")[1])
    assert shown == [{"qp": 1, "algorithm": "dcqcn"}, {"qp": 2, "algorithm": "dcqcn"}]
    slots = json.loads(run("law", "list", "-j")[1])["slots"]
    assert [one["law"] for one in slots] == [None] * 5 + ["dcqcn", "timely", "swift"]
    running = json.loads(run("cc", "algo", "show", "-j")[1])
    assert running == {"fixed": [], "pid": [], "predpid": [], "dcqcn": [1, 2]}
    # Another program of the law stands for its name; one that is taken away comes again.
    assert run("law", "del", "5")[0] == 0
    assert json.loads(run("cc", "algo", "show", "-j")[1])["law:5"] == [1, 2]
    assert run("law", "load", "dcqcn", "--slot", "0", "--preset", "paper")[0] == 0
    assert run("cc", "algo", "set", "dcqcn", "--qp", "1")[0] == 0
    assert json.loads(run("cc", "algo", "show", "-j")[1]) == {
        **{"fixed": [], "pid": [], "predpid": [], "dcqcn": [1]},
        "law:5": [2],
    }


def test_a_name_is_the_first_slot_that_has_it(run: Run) -> None:
    for slot in ("2", "5"):
        assert run("law", "load", "lockstep", "--slot", slot)[0] == 0
    shown = json.loads(run("qp", "add", "1", "--algo", "lockstep", "-j")[1])
    assert [row["algorithm"] for row in shown] == ["law:2"]
    _, _, err = run("qp", "add", "2", "--algo", "swift")
    assert "law:7, timely, dcqcn, not 'swift'; load others with precog law load" in err


def test_a_slot_that_loses_its_program_names_its_queue_pairs(run: Run) -> None:
    assert run("law", "load", "timely", "--slot", "0")[0] == 0
    assert run("qp", "add", "1", "3", "--algo", "timely")[0] == 0
    _, said, _ = run("law", "del", "0")
    assert said == "law slot 0 has no program; QP 1, 3 run the safe law\n"


def test_no_slot_is_taken_from_another_law(run: Run) -> None:
    for slot in range(8):
        assert run("law", "load", "fixed", "--slot", str(slot))[0] == 0
    status, _, err = run("qp", "add", "1")
    assert status == 2
    assert "all 8 law slots have programs, and none has timely" in err
    assert json.loads(run("qp", "show", "-j")[1]) == []


def test_time_passes_for_programs(run: Run) -> None:
    assert json.loads(run("law", "list", "-j")[1])["timer_ticks"] == 50_000
    assert json.loads(run("law", "set", "--timer-us", "0", "-j")[1])["timer_ticks"] == 0
    assert "programs do not hear that time passes" in run("law", "list")[1]
    assert "time passes four times in 7000 ticks" in run("law", "set", "--timer-us", "7")[1]
