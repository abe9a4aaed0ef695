"""Every command line in the documents is one that this installation has, with its options."""

import argparse
import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from precog_host.application import command_line

_ROOT = Path(__file__).parents[2]
_DOCUMENTS = [_ROOT / "README.md", *sorted((_ROOT / "docs").rglob("*.md"))]


def lines(text: str, *program: str) -> Iterator[list[str]]:
    """Words after `program` of each command line: of code blocks, and between backticks."""
    blocks = re.findall(r"^```\w*\n(.*?)^```", text, re.S | re.M)
    prose = re.sub(r"^```\w*\n.*?^```", "", text, flags=re.S | re.M)
    pieces = [line.split(" #")[0] for block in blocks for line in block.splitlines()]
    pieces += re.findall(r"`([^`]+)`", prose)
    for piece in pieces:
        for command in re.split(r"[;|]|&&", piece):
            words = command.split()
            if words[: len(program)] == list(program):
                yield words[len(program) :]


def wrong(root: Any, words: list[str]) -> str:
    """The first word that the command line does not have, or nothing."""
    command = root
    rest = list(words)
    while rest and rest[0] in getattr(command, "commands", {}):
        command = command.commands[rest.pop(0)]
    placeholder = not rest or rest[0].startswith(("-", "…", "<")) or rest[0].isupper()
    if getattr(command, "commands", None) and not placeholder:
        return rest[0]
    if command.context_settings.get("ignore_unknown_options"):  # a study reads them itself
        return ""
    known = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
    for word in rest:
        option = word.split("=")[0]
        if re.match(r"--?[a-z]", option) and option not in known | {"--help", "--version"}:
            return option
    return ""


def test_the_documents_commands_exist() -> None:
    root = command_line()
    found = [
        (path.name, words)
        for path in _DOCUMENTS
        for words in lines(path.read_text(), "precog")
        if words
    ]
    assert len(found) > 60
    bad = [f"{name}: precog {' '.join(w)}: {wrong(root, w)}" for name, w in found if wrong(root, w)]
    assert bad == []


def test_a_wrong_command_is_found() -> None:
    root = command_line()
    assert wrong(root, ["model", "list"]) == "list"
    assert wrong(root, ["qp", "show", "--clear"]) == "--clear"
    assert wrong(root, ["qp", "add", "3", "--algo", "pid"]) == ""
    assert wrong(root, ["study", "NAME"]) == ""
    assert wrong(root, ["study", "rivals", "--page", "x.md"]) == ""


class _Parsed(Exception):
    """A program's arguments were accepted."""


_PARSE = argparse.ArgumentParser.parse_args


def _parse(self: argparse.ArgumentParser, *given: Any) -> NoReturn:
    _PARSE(self, *given)
    raise _Parsed


def _complain(self: argparse.ArgumentParser, message: str) -> NoReturn:
    raise ValueError(message)


def refused(monkeypatch: pytest.MonkeyPatch, words: list[str]) -> str:
    """What ``python -m`` with these words complains of, or nothing; the program does no work."""
    name = f"precog_{words[0]}"
    try:
        module = importlib.import_module(name)
        if hasattr(module, "__path__"):
            module = importlib.import_module(f"{name}.__main__")
    except ModuleNotFoundError as error:
        return str(error)
    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", _parse)
    monkeypatch.setattr(argparse.ArgumentParser, "error", _complain)
    monkeypatch.setattr(sys, "argv", [name, *(word.strip("'") for word in words[1:])])
    try:
        module.main()
    except _Parsed:
        return ""
    except ValueError as error:
        return str(error)
    return "reads no arguments"


def _programs(text: str) -> Iterator[list[str]]:
    """Words after ``python -m precog_`` and ``precog study`` in lines without placeholders."""
    for words in lines(text, "python", "-m"):
        if words[0].startswith("precog_") and not {"NAME", "…"} & set(words):
            yield [words[0].removeprefix("precog_"), *words[1:]]
    for words in lines(text, "precog", "study"):
        if words and words[0].islower():
            yield [f"studies.{words[0].replace('-', '_')}", *words[1:]]


def test_the_documents_programs_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [(path.name, words) for path in _DOCUMENTS for words in _programs(path.read_text())]
    assert len(found) > 20
    bad = [f"{name}: {' '.join(w)}: {why}" for name, w in found if (why := refused(monkeypatch, w))]
    assert bad == []


def test_a_wrong_program_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "invalid choice: 'laws'" in refused(monkeypatch, ["sim.synth", "--block", "laws"])
    assert "--speed" in refused(monkeypatch, ["sim.faults", "--speed", "3"])
    assert "precog_sim.absent" in refused(monkeypatch, ["sim.absent"])
