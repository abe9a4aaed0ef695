"""The campaign: which mistakes it makes, and that it tells those that are noticed from others."""

import ast
import json
import random
from pathlib import Path

import pytest

from precog_sim.mutation import __main__ as command
from precog_sim.mutation import campaign as campaigns
from precog_sim.mutation.blocks import BLOCKS, Block
from precog_sim.mutation.campaign import CampaignError, campaign
from precog_sim.mutation.explained import EXPLAINED
from precog_sim.mutation.operators import changed, changes

ROOT = Path(__file__).parents[3]
SOURCE = '''
"""A block, so to speak: ä."""
WIDTH = 3


class Block:
    def __init__(self, width: int = 4) -> None:
        self.width = width + 1

    def elaborate(self, m, a, b):
        z = Signal(range(a + 1), init=1, name=f"z{a - 1}", attrs={"keep": 1})
        m.d.comb += [self.x.eq(a & ~b), self.y.eq(Mux(a, 7, b))]
        with m.If(a == b):
            m.d.sync += self.z.eq(a - 1)
        m.d.comb += Assert(a < b, "never")
        if not a:
            raise ValueError(f"a must be {a + 1}")
'''


def test_which_mistakes_are_made() -> None:
    made = {changed(SOURCE, change).strip() for change in changes(SOURCE)}
    lines = {
        next(new for old, new in zip(SOURCE.strip().splitlines(), text.splitlines(), strict=True)
             if old != new).strip()
        for text in made
    }  # fmt: skip
    assert lines == {
        'z = Signal(range(a - 1), init=1, name=f"z{a - 1}", attrs={"keep": 1})',
        'z = Signal(range(a + 1), init=2, name=f"z{a - 1}", attrs={"keep": 1})',
        "m.d.comb += [self.x.eq(a | ~b), self.y.eq(Mux(a, 7, b))]",
        "m.d.comb += [self.x.eq(a & (b)), self.y.eq(Mux(a, 7, b))]",
        "m.d.comb += [[], self.y.eq(Mux(a, 7, b))]",
        "m.d.comb += [self.x.eq(a & ~b), []]",
        "m.d.comb += [self.x.eq(a & ~b), self.y.eq(Mux(a, b, 7))]",
        "m.d.comb += [self.x.eq(a & ~b), self.y.eq(Mux(a, 8, b))]",
        "with m.If(a != b):",
        "with m.If(1):",
        "m.d.sync += self.z.eq(a + 1)",
        "m.d.sync += self.z.eq(a - 2)",
        "m.d.sync += []",
        "if (a):",
        "if (not (not a)):",
    }


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: str(block.name))
def test_mistakes_in_a_block_are_programs(block: Block, seed: int) -> None:
    source = (ROOT / block.file).read_text()
    found = changes(source)
    assert len(found) > 20
    for change in random.Random(seed).sample(found, 20):
        ast.parse(changed(source, change))
    for test in block.tests:
        assert (ROOT / test).exists()


def test_what_is_explained_still_stands_there() -> None:
    for file, old, new in EXPLAINED:
        path = ROOT / file
        text = " ".join(line.strip() for line in path.read_text().splitlines())
        assert old in text, f"{file} has no longer {old!r}"
        assert old != new


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One with a block of two lines, of which its test looks at one."""
    root = tmp_path / "repository"
    (root / "hw").mkdir(parents=True)
    (root / "tests").mkdir()
    (root / "pyproject.toml").write_text('[tool.pytest.ini_options]\npythonpath = ["hw"]\n')
    (root / "hw/toy.py").write_text(
        "def more(a):\n    return a + 1\n\n\ndef less(a):\n    return a - 1\n"
    )
    (root / "tests/test_toy.py").write_text(
        "import toy\n\n\ndef test_more():\n    assert toy.more(3) == 4\n"
    )
    monkeypatch.setattr(command, "_ROOT", root)
    monkeypatch.setattr(command, "BLOCKS", (Block("toy", "hw/toy.py", ("tests/test_toy.py",)),))
    return root


def test_what_nobody_notices_is_listed(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert command.main(["toy", "--out", str(out)]) == 1
    rows = json.loads((out / "summary.json").read_text())
    assert [(row["line"], row["new"], row["by"]) for row in rows] == [
        (2, "return a - 1", "tests/test_toy.py::test_more"),
        (2, "return a + 2", "tests/test_toy.py::test_more"),
        (6, "return a + 1", ""),
        (6, "return a - 2", ""),
    ]
    assert "4 mutants, 0 explained, 2 not noticed" in capsys.readouterr().out
    assert (repository / "hw/toy.py").read_text().count("a + 1") == 1


def test_what_is_explained_is_no_failure(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    why = {("hw/toy.py", "return a - 1", f"return a {new}"): "unused" for new in ("+ 1", "- 2")}
    for key, value in why.items():
        monkeypatch.setitem(EXPLAINED, key, value)
    assert command.main(["toy", "--out", str(tmp_path / "out")]) == 0


def test_a_block_that_fails_already_is_an_error(repository: Path, tmp_path: Path) -> None:
    (repository / "tests/test_toy.py").write_text("def test_more():\n    assert False\n")
    (block,) = command.BLOCKS
    with pytest.raises(CampaignError, match=r"toy must pass before it is changed, but .*test_more"):
        list(campaign(repository, tmp_path / "tree", block, 1, 1))


def test_the_seed_draws(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaigns, "_judged", lambda *_: ("", 0.0))
    (block,) = command.BLOCKS

    def drawn(seed: int) -> list[tuple[int, str]]:
        found = campaign(repository, tmp_path / "tree", block, 2, seed)
        return [(one.line, one.new) for one in found]

    assert drawn(1) == drawn(1)
    assert len({tuple(drawn(seed)) for seed in range(8)}) > 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "a block must be one of toy, not 'nothing'"),
        (["--count", "0"], "count must be 1 or more, not 0"),
    ],
)
def test_refusals(
    repository: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    with pytest.raises(SystemExit):
        command.main(arguments)
    assert message in capsys.readouterr().err
