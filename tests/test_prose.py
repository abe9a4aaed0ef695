"""Words that our prose does without: none in documents and packages."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[1]
_PARTS = ("hw", "models", "sim", "sw")

#: What a page that a program writes says; the program's text counts with its package.
_GENERATED = "; do not edit."
_REFERENCE = _ROOT / "docs/reference/generated"

#: Each has a plain equivalent: a noun, "in addition to", "too", a number, "none".
WORDS = (
    "whoever",
    "beside",
    "likewise",
    "so many",
    "what comes",
    "what waits",
    "nobody",
    "everybody",
)
_WORDS = re.compile(rf"\b({'|'.join(word.replace(' ', chr(92) + 's+') for word in WORDS)})\b", re.I)


def found(text: str) -> list[str]:
    """The words in a text, in order."""
    return [" ".join(word.lower().split()) for word in _WORDS.findall(text)]


def documents() -> Iterator[Path]:
    """Every document that a person writes."""
    for path in (*_ROOT.glob("*.md"), *(_ROOT / "docs").rglob("*.md")):
        generated = _GENERATED in path.read_text(encoding="utf-8")
        if not generated and path.parent != _REFERENCE:
            yield path


@pytest.mark.parametrize("path", sorted(documents()), ids=lambda path: path.name)
def test_documents(path: Path) -> None:
    assert found(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("part", _PARTS)
def test_packages(part: str) -> None:
    files = {path: found(path.read_text()) for path in (_ROOT / part).rglob("*.py")}
    bad = {str(path): words for path, words in files.items() if words}
    assert bad == {}, "write the sentence with its subject first, in standard terms"


def test_words_are_found() -> None:
    assert found("Whoever stands beside it; besides, so\nmany likewise.") == [
        "whoever",
        "beside",
        "so many",
        "likewise",
    ]
