"""Limits on files that others made."""

from pathlib import Path

import pytest

from precog_models.limits import DEPTH, parse_json, read_json


def _nested(depth: int) -> str:
    return '{"a":' * depth + "1" + "}" * depth


@pytest.mark.parametrize("text", [_nested(DEPTH + 1), _nested(100_000), "[" * 100_000])
def test_deep_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="JSON must be nested at most 32 deep"):
        parse_json(text)
    assert parse_json(_nested(DEPTH))


def test_a_large_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("[1,2]")
    assert read_json(path, 5) == [1, 2]
    with pytest.raises(ValueError, match=r"a\.json must have at most 4 bytes$"):
        read_json(path, 4)
