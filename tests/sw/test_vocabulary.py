"""Verbs of the command line: show shows, set, add and del change, as with ip and rdma."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.command_line import Run, plug_in
from tests.sw.support import keep_emulator

from precog_host import application
from precog_spec.trial_fields import TRIAL_KINDS

#: Verbs of commands on a device's state, as iproute2 has them.
_STATE = {"show", "set", "add", "del", "clear"}
#: Verbs of acts, which leave files, run for a while, or do something once.
_ACTS = {
    *("serve", "monitor", "load", "train", "quantize", "distill", "fit-queues", "import", "export"),
    *("save", "reset", "scrub", "inject", "raise", "kick", "read", "believe"),
    *("compile", "check", "trace", "follow", "list"),
}
_FULL = (
    "qps=8,sets=4,width=64,grants=1,wire=256,profile=1,forecast=1,receiver=1,senders=1,port=1,"
    "trace=1,trials=1,macs=2"
)


def commands(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[list[str], Any]]:
    """Path and command of each leaf of the host package, without plug-ins."""
    plug_in(monkeypatch, [])

    def walk(command: Any, path: list[str]) -> Iterator[tuple[list[str], Any]]:
        children = getattr(command, "commands", None)
        if children is None:
            yield path, command
        for name, child in (children or {}).items():
            yield from walk(child, [*path, name])

    yield from walk(application.command_line(), [])


def test_each_command_ends_in_a_verb(monkeypatch: pytest.MonkeyPatch) -> None:
    found = list(commands(monkeypatch))
    assert len(found) > 50
    for path, command in found:
        assert path[-1] in _STATE | _ACTS, f"{' '.join(path)} must end in a verb"
        first = command.help.split()[0]
        if path[-1] == "show":
            assert first == "Show", f"help of {' '.join(path)} must begin with Show"
        assert "after setting" not in command.help, f"{' '.join(path)} must do one thing"


def test_show_changes_nothing(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    """It writes selectors of rows, commands that fetch them, and snapshots of counters it reads."""
    emulator = keep_emulator(monkeypatch, _FULL)
    words = {word.address: word for word in emulator.map.words()}
    written: set[str] = set()
    plain = emulator.write32
    read = emulator.read32
    kept = emulator.map.block("COUNTERS").register("COMMAND").affects

    def reads(address: int) -> int:
        word = words[address]
        if word.table is not None and f"{word.block.name}.{word.table.name}" in kept:
            written.discard("COMMAND.snapshot")
        return read(address)

    def spy(address: int, value: int) -> None:
        word = words[address]
        assert word.register is not None
        if word.register.name == "COMMAND":
            bits = {field.name for field in word.register.fields if field.get(value)}
            written.update(f"COMMAND.{name}" for name in bits)
        else:
            written.add(word.register.name)
        plain(address, value)

    monkeypatch.setattr(emulator, "write32", spy)
    monkeypatch.setattr(emulator, "read32", reads)
    shows = [path for path, _ in commands(monkeypatch) if path[-1] == "show"]
    assert len(shows) > 20
    for path in shows:
        if path[0] == "dump":
            continue  # of a file
        arguments = ["0"] if path[:2] == ["packet", "destination"] else []
        status, out, err = run(*path, *arguments, "-j")
        assert status == 0, f"{path}: {err}"
        json.loads(out)
        assert "COMMAND.snapshot" not in written, f"{path} must read a counter of its snapshot"
    # A stale error of a window is cleared before its next command.
    fetched = {"COMMAND.fetch", *(f"COMMAND.fetch_{kind}" for kind in TRIAL_KINDS)}
    assert written == {"SELECT", "PLACE", "ERROR", *fetched}


def test_a_queue_pair_is_added_changed_and_taken_away(
    monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    emulator = keep_emulator(monkeypatch, _FULL)
    assert "no queue pair is enabled: precog qp add 0" in run("qp", "show")[1]
    status, out, _ = run("qp", "add", "1", "2", "-j")
    assert [(row["qp"], row["algorithm"]) for row in json.loads(out)] == [
        (1, "pid"),
        (2, "pid"),
    ]
    status, out, _ = run("cc", "algo", "set", "fixed", "--qp", "2", "-j")
    assert json.loads(out) == [{"qp": 1, "algorithm": "pid"}, {"qp": 2, "algorithm": "fixed"}]
    assert json.loads(run("cc", "algo", "show", "-j")[1])["fixed"] == [2]
    status, _, err = run("qp", "add", "2", "3")
    assert status == 2
    assert "QP 2 must not be enabled already: change it with precog cc algo set" in err
    bind = ("packet", "binding", "add", "2", "10.0.0.7", "--remote-qp", "17", "--local-qp", "18")
    assert run(*bind)[0] == 0
    shown = json.loads(run("packet", "score", "set", "2", "--score", "44", "-j")[1])
    assert shown[0]["score"] == 44
    shown = json.loads(run("packet", "score", "set", "2", "--source", "rtt", "-j")[1])
    assert (shown[0]["score"], shown[0]["score_source"]) == (44, "rtt")
    assert json.loads(run("packet", "score", "del", "2", "-j")[1])[0]["score"] is None
    assert run("qp", "forecast", "set", "2", "--model-slot", "3", "--source", "queue")[0] == 0
    assert run("cc", "sla", "set", "--qp", "2", "--psched", "--priority", "5")[0] == 0
    assert [row["qp"] for row in json.loads(run("qp", "del", "2", "-j")[1])] == [1]
    assert json.loads(run("packet", "binding", "show", "-j")[1]) == []
    assert emulator.nic.configuration(2) == emulator.nic.configuration(3)
    shown = json.loads(run("qp", "forecast", "show", "2", "3", "-j")[1])
    assert [(row["model_slot"], row["source"]) for row in shown] == [(None, "none")] * 2
    assert run("qp", "del", "1", "2")[0] == 2  # 2 is not there, so 1 stays
    assert json.loads(run("cc", "algo", "show", "-j")[1])["pid"] == [1]


def test_a_slot_s_model_is_taken_away(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    keep_emulator(monkeypatch, "sets=2")
    for slot in ("0", "1"):
        assert run("model", "load", "rtt-incast", "--slot", slot)[0] == 0
    status, _, err = run("model", "load", "rtt-incast")
    assert status == 2
    assert "all 2 model sets are mapped: take a slot's model away first (precog model del)" in err
    assert run("model", "del", "0")[0] == 0
    assert [row["slots"] for row in json.loads(run("model", "show", "-j")[1])["sets"]] == [[], [1]]
    assert run("model", "load", "rtt-incast")[0] == 0


def test_the_device_is_named_once_in_the_environment(
    monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    monkeypatch.setenv("PRECOG_DEVICE", "emu:qps=8")
    assert json.loads(run("device", "show", "-j")[1])["sizes"]["qps"] == 8
    shown = json.loads(run("device", "show", "-j", "-d", "emu:qps=16")[1])
    assert shown["sizes"]["qps"] == 16
    assert "PRECOG_DEVICE" in run("qp", "show", "--help")[1]
    assert run("model", "show", "rtt-incast")[0] == 0  # it is no option that was given


def test_the_shell_completes(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    # Typer would look for the shell among the processes above this one: there may be none.
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    monkeypatch.setattr(application, "command_line", application.command_line.__wrapped__)
    assert "_PRECOG_COMPLETE=complete_bash" in run("--show-completion", "bash")[1]
    assert "--install-completion" in run("--help")[1]
    for words, wanted in (
        ("precog qp ", {"show", "add", "del", "pacer"}),
        ("precog cc algo s", {"show", "set"}),
        ("precog qp show -d u", {"uart:", "udp:"}),
    ):
        monkeypatch.setenv("_PRECOG_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
        assert wanted <= set(run()[1].split())
