"""Plug-ins of the command line, and what their failures look like."""

from importlib.metadata import EntryPoint

import pytest
import typer
from tests.command_line import Run, plug_in

from precog_host import application, cli


def plug(monkeypatch: pytest.MonkeyPatch, points: dict[str, object]) -> None:
    class Point(EntryPoint):
        def load(self) -> object:
            found = points[self.name]
            if isinstance(found, Exception):
                raise found
            return found

    plug_in(monkeypatch, [Point(name, "x:y", application.ENTRY_POINT_GROUP) for name in points])


def test_plug_ins_join_their_groups(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    group = typer.Typer()
    group.command("one")(lambda: typer.echo("group"))
    group.command("two")(lambda: None)
    plug(
        monkeypatch,
        {
            "single": lambda: typer.echo("single"),
            "model.extra": lambda: typer.echo("extra"),
            "pid.tune": lambda: typer.echo("tune"),
            "pid.other": lambda: None,
            "sim": group,
        },
    )
    assert run("single").out == "single\n"
    assert run("model", "extra").out == "extra\n"
    assert run("pid", "tune").out == "tune\n"
    assert run("sim", "one").out == "group\n"
    assert "load" in run("model", "--help").out


def test_a_plug_in_that_cannot_be_imported_says_what_is_missing(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = ModuleNotFoundError("No module named 'amaranth'", name="amaranth")
    plug(monkeypatch, {"synth": missing, "stale": ImportError("cannot import name 'synth'")})
    for command, what_to_do in (
        ("synth", "amaranth must be installed: pip install 'precog[hw]'"),
        ("stale", "cannot import name 'synth': install precog again, pip install -e . in its"),
    ):
        ran = run(command)
        assert ran.status == 2
        assert ran.err.startswith(f"error: command {command} is not available: {what_to_do}")
    assert run("cc", "counter", "show", "-j").status == 0


def test_what_nobody_foresaw_is_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise TypeError("no such thing\x1b[2J")

    def memory() -> None:
        raise MemoryError

    plug(monkeypatch, {"work": fail, "more": memory})
    ran = run("work")
    said = "error: internal error, TypeError: no such thing\ufffd[2J; --debug shows where\n"
    assert (ran.status, ran.err) == (1, said)
    ran = run("more")
    assert (ran.status, ran.err) == (1, "error: memory is exhausted: give smaller sizes\n")
    monkeypatch.setenv("PRECOG_DEBUG", "1")
    with pytest.raises(TypeError):
        cli.main(["work"])
    monkeypatch.delenv("PRECOG_DEBUG")
    with pytest.raises(TypeError):
        cli.main(["work", "--debug"])


def test_an_interrupt_is_status_130(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    plug(monkeypatch, {"work": interrupted})
    ran = run("work")
    assert (ran.status, ran.err.strip()) == (130, "error: command was interrupted")


def test_failed_work_is_status_1(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise RuntimeError("simulation did not end")

    plug(monkeypatch, {"work": fail})
    ran = run("work")
    assert (ran.status, ran.err) == (1, "error: simulation did not end\n")
