"""Arguments of the programs that synthesise: refused before minutes of work."""

from pathlib import Path

import pytest

from precog_sim.synth import __main__ as tables


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--limit-min 0", "--limit-min must be above 0, not 0"),
        ("--jobs 0", "--jobs must be 1 or more, not 0"),
        ("--netlist -1", "--netlist must be 0 or more, not -1"),
        ("--seeds 1 2 1", "--seeds must have each value once, not [1, 2, 1]"),
        ("--qps 3", "--qps must be powers of two, 2 or more, not 3"),
        ("--qps 64 --block core", "--qps must be left out without a block of law-engine,"),
        ("--out /dev/null", "file /dev/null: No such folder"),
        ("--record /tmp", "file /tmp: Is a directory"),
    ],
)
def test_tables_refuse_arguments_before_they_synthesise(
    words: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tables, "_place_all", None)
    monkeypatch.setattr("sys.argv", ["synth", *words.split()])
    with pytest.raises(SystemExit):
        tables.main()
    assert message in capsys.readouterr().err
