"""Programs that argparse reads the words of: they look at their outputs before the work."""

import re
import sys
from argparse import ArgumentTypeError
from importlib import import_module
from pathlib import Path

import pytest

from precog_sim.targets import new_file, new_folder

_ROOT = Path(__file__).resolve().parents[2]
_OPTION = re.compile(r'add_argument\(\s*"(--\w+)", type=(new_\w+|Path)')
_FOUND = [
    (".".join(path.relative_to(root).with_suffix("").parts), option, kind)
    for root, files in ((_ROOT / "sim", "**/*.py"), (_ROOT, "tests/fleet/campaign.py"))
    for path in sorted(root.glob(files))
    for option, kind in _OPTION.findall(path.read_text())
]


def test_no_output_is_left_out() -> None:
    """An option of a plain path would be found unfit after the work."""
    assert [found for found in _FOUND if found[2] == "Path"] == []
    named = {option for _, option, _ in _FOUND}
    assert named == {"--into", "--out", "--page", "--record", "--runs", "--save", "--work"}


def test_a_file_is_no_folder_and_a_folder_no_file(tmp_path: Path) -> None:
    with pytest.raises(ArgumentTypeError, match=r"^file /dev/null: No such folder$"):
        new_folder("/dev/null")
    with pytest.raises(ArgumentTypeError, match=rf"^file {tmp_path}: Is a directory"):
        new_file(str(tmp_path))


@pytest.mark.parametrize(("module", "option", "kind"), _FOUND)
def test_a_place_that_takes_no_files_is_refused_at_the_start(
    module: str,
    option: str,
    kind: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", [module, option, "/proc/x"])
    with pytest.raises(SystemExit, match="2"):
        import_module(module).main()
    said = f"argument {option}: file /proc: Folder must take new files: No"
    assert said in capsys.readouterr().err
