"""Every command line in the documents is one that this installation has, with its options."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from precog_host.application import command_line

_ROOT = Path(__file__).parents[2]
_DOCUMENTS = [_ROOT / "README.md", *sorted((_ROOT / "docs").rglob("*.md"))]


def lines(text: str) -> Iterator[list[str]]:
    """Words of each command line: of code blocks, and between backticks."""
    blocks = re.findall(r"^```\w*\n(.*?)^```", text, re.S | re.M)
    prose = re.sub(r"^```\w*\n.*?^```", "", text, flags=re.S | re.M)
    pieces = [line.split(" #")[0] for block in blocks for line in block.splitlines()]
    pieces += re.findall(r"`([^`]+)`", prose)
    for piece in pieces:
        for command in re.split(r"[;|]|&&", piece):
            words = command.split()
            if words[:1] == ["precog"]:
                yield words[1:]


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
        (path.name, words) for path in _DOCUMENTS for words in lines(path.read_text()) if words
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
