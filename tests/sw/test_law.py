"""``precog law``: what it prints is what the compiler and the interpreter say."""

import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.command_line import Ran, Run, ran

from precog_models.laws.compiler.compile import compile_law
from precog_models.laws.compiler.load import law_names, load
from precog_models.rate.engine.image import image_name, image_of
from precog_models.rate.engine.page import page
from precog_models.rate.engine.program import Program
from precog_spec.engine.image_fields import TAG_AT
from precog_spec.engine.isa import THREADS


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def go(*arguments: str) -> Ran:
        return ran(capsys, "law", *arguments)

    return go


def test_compile(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "timely.law"
    told = json.loads(run("compile", "timely", "-o", str(path), "-j")[1])
    program = Program.read(path.read_text())
    assert (told["law"], told["instructions"]) == ("timely", len(program.code))
    assert told["crc"] == f"{program.crc:#010x}"
    assert program.entries == {"on_sample": 0}
    assert program.state == ("last_rtt", "last_t", "count", "mean")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"code": [', '"code": [7, ', "program's CRC must be 0x[0-9a-f]{8}, not 0x"),
        ("precog-law-2", "precog-law-1", "program must be a file of `precog law compile`"),
        ("{", "[", "program must be a file of `precog law compile`"),
        ('"entries"', '"others"', "program must be a file of `precog law compile`"),
    ],
)
def test_a_program_that_was_changed(
    run: Run, tmp_path: Path, old: str, new: str, message: str
) -> None:
    path = tmp_path / "fixed.law"
    assert run("compile", "fixed", "-o", str(path))[0] == 0
    text = path.read_text()
    assert old in text
    with pytest.raises(ValueError, match=message):
        Program.read(text.replace(old, new, 1))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"code": (1 << 32,)}, "program's word 0 must have 32 bits, not be 4294967296"),
        ({"entries": {}}, "program must have an entry: one of on_ack"),
        ({"code": (0,) * 1025}, "program must have 1024 instructions at most, not 1025"),
        ({"code": (63 << 26,)}, "instruction 0: operation must be in 0..29, not 31 in 0xfc000000;"),
        ({"code": (0, 7 << 29)}, "instruction 1: BEQ has no result that goes to a row, in 0x"),
        ({"code": (14 << 26 | 1 << 14,)}, "must end with END or a branch, not run on after 0; no"),
        ({"code": (28 << 26 | 5, 0)}, "must end with END or a branch, not run on after 0; no com"),
        ({"code": (23 << 26 | 3 << 14, 0)}, "register r0 must be written before 0 reads it; no"),
        ({"entries": {"on_ack": 9}}, "entry must be in 0..2, not 9; no compiler made this program"),
        ({"entries": {"on_none": 0}}, "program's entry must be one of on_ack, on_sample, on_cnp"),
        ({"state": ("a",) * 15}, "program must have 14 fields of state at most, not 15"),
        ({"state": ("a",)}, "program must have a format for each of 1 fields, not 0"),
        ({"parameters": {"a": (511, 2)}}, "'a' must have words within 0..511, not 2 from 511 on"),
        ({"parameters": {"a": (-1, 1)}}, "'a' must have words within 0..511, not 1 from -1 on"),
        ({"parameters": {"a": (0, 0)}}, "'a' must have words within 0..511, not 0 from 0 on"),
        ({"fixed": {512: 0}}, "fixed word must have 48 bits and a place in 0..511, not be 0 at"),
        ({"fixed": {-1: 0}}, "fixed word must have 48 bits and a place in 0..511, not be 0 at -1"),
        ({"fixed": {0: 1 << 47}}, "fixed word must have 48 bits and a place in 0..511, not be 1"),
    ],
)
def test_a_foreign_program_that_no_image_holds(change: dict[str, Any], message: str) -> None:
    """Whoever writes a file writes its CRC, too."""
    made = compile_law(load("fixed")).program
    assert Program.read(made.text().encode()) == made
    with pytest.raises(ValueError, match=re.escape(message)):
        Program.read(replace(made, **change).text())


@pytest.mark.parametrize("raw", [b"\xff\xfe\0", b"", b"[" * 100_000, b'{"code": [Infinity]}'])
def test_a_file_that_is_no_program(raw: bytes) -> None:
    with pytest.raises(ValueError, match="program must be a file of `precog law compile`"):
        Program.read(raw)


@pytest.mark.parametrize("name", ["", "a\nb", "\x1b[2J", "l" * 17])
def test_a_name_that_no_image_holds(name: str) -> None:
    made = compile_law(load("fixed"))
    with pytest.raises(ValueError, match="name must have 1 to 16 ASCII characters that can be p"):
        image_of(replace(made.program, name=name), made.law.integers("default", 1000))


def test_a_file_whose_name_no_image_holds_is_not_compiled(run: Run, tmp_path: Path) -> None:
    path, output = tmp_path / "seventeen_letters.py", tmp_path / "out.law"
    path.write_text(Path(load("fixed").file).read_text())
    status, _, err = run("compile", str(path), "-o", str(output))
    assert status == 2
    assert "not be 'seventeen_letters': give the law's file such a name" in err
    assert not output.exists()


def test_state_is_kept_in_its_own_formats_only(tmp_path: Path) -> None:
    """A wider field's number may be none of a narrower one, for which the widths are proved."""
    path = tmp_path / "mine.py"

    def tag(form: str, step: int) -> int:
        path.write_text(
            "from precog_models.laws.language import Field, Q\nPARAMETERS = ()\n"
            f"STATE = (Field('size', {form}),)\nWINDOWED = False\n"
            f"def on_ack(p, s, e):\n    s.size = {step}\n    return e.rate\n"
        )
        return int(image_of(compile_law(load(path)).program, {})[TAG_AT])

    forms = ("Q(30, 0)", "Q(8, 0)", "Q(22, 8)", "Q(30, 0, signed=False)")
    assert len({tag(form, 1) for form in forms}) == len(forms)
    assert tag("Q(8, 0)", 1) == tag("Q(8, 0)", 2)


def test_a_name_in_a_bank_steers_no_terminal() -> None:
    assert image_name(np.frombuffer(b"a\0\x1b[2J\xff\0", dtype="<u4").tolist()) == "a??[2J?"


def test_check(run: Run) -> None:
    told = json.loads(run("check", "pid", "--widths", "-j")[1])
    (event,) = told["events"]
    assert event["event"] == "on_sample"
    assert event["cycles"] == THREADS * event["turns"] > 0
    assert max(line["bits"] for line in told["widths"]) == event["bits"] <= told["word_bits"] == 48
    gap = next(line for line in told["widths"] if line["construct"] == "(error << _GUARD) - s.mean")
    assert (gap["bits"], gap["range"]) == (27, "about -2**25..about 2**26")
    assert "nothing beyond 48 bits" in run("check", "pid")[1]


def test_a_construct_of_another_file_is_shown_with_its_name(run: Run) -> None:
    told = json.loads(run("check", "swift", "--widths", "-j")[1])
    assert {line["file"] for line in told["widths"]} == {"swift.py", "library.py"}
    assert told["widths"][0]["file"] == "swift.py"
    assert "library.py:" in json.loads(run("show", "swift", "--code", "-j")[1])["code"]


def test_show(run: Run) -> None:
    rows = json.loads(run("show", "-j")[1])
    assert [row["law"] for row in rows] == law_names()
    told = json.loads(run("show", "dcqcn", "--code", "-j")[1])
    assert told["presets"]["paper"] == "Zhu et al., SIGCOMM 2015"
    assert [one["name"] for one in told["parameters"]][:2] == ["g", "alpha_ticks"]
    assert told["code"].splitlines()[-1].split() == ["end"]
    assert "rate timer runs" in run("show", "dcqcn")[1]


def test_trace_names_the_words_that_there_are(run: Run) -> None:
    status, _, err = run("trace", "timely", "s.mean=4")
    assert (status, "not 's.mean'" in err) == (2, True)
    assert {"mean,", "last_rtt,", "rtt,"} <= set(err.split())


def test_trace_tells_a_state_from_an_event_of_the_same_name(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "from precog_models.laws.language import Field, Fmt\nPARAMETERS = ()\n"
        "STATE = (Field('rate', Fmt.RTT),)\nWINDOWED = False\n"
        "def on_ack(p, s, e):\n    s.rate = (s.rate >> 1) + 1\n    return e.rate\n"
    )
    words = ("rate=7", "s.rate=8")
    told = json.loads(run("trace", str(path), *words, "--event", "on_ack", "-j")[1])
    assert (told["row"]["rate"], told["row"]["s.rate"]) == (7, 5)


def test_trace(run: Run) -> None:
    """The routine's second sample by hand: mean 64, gradient 1/16, a fall of 1/16 * 0.8."""
    words = (
        "rtt=2304",
        "now=6024",
        "rate=268435456",
        "last_rtt=2048",
        "last_t=5000",
        "mean=1245184",
    )
    told = json.loads(run("trace", "timely", *words, "-j")[1])
    mean = 1245184 + round((256 * 4096 - 1245184) * 335544 / (1 << 24))
    fall = (round(mean * 13421773 / (1 << 24)) << 24) // (4180 << 12)
    assert told["row"]["mean"] == mean
    assert told["row"]["rate"] == 268435456 - round(268435456 * fall / (1 << 24))
    cycles = [line["cycle"] for line in told["lines"]]
    assert all(after - before in (THREADS, 4 * THREADS) for before, after in pairwise(cycles))
    assert told["lines"][-1]["instruction"] == "end"
    assert "e.now - s.last_t" in run("trace", "timely", *words)[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("check", "none"), "law must be a file that ends in .py, or dcqcn, fixed"),
        (("check", "none.py"), "law none.py must be a readable file"),
        (("trace", "timely", "foo=1"), "word must be one of base, bytes, count"),
        (("trace", "timely", "kind=1"), "word kind must be left out: --event says it"),
        (("trace", "timely", "rtt=1.5"), "rtt must be a whole number, not 1.5"),
        (("trace", "timely", "rtt=nan"), "rtt must be a whole number, not nan"),
        (("trace", "timely", "rtt=1e999"), "rtt must be a whole number, not inf"),
        (("trace", "timely", "rtt=-1"), "rtt must be in 0..16777215, not -1"),
        (("trace", "timely", "mean=1e30"), "mean must be in -68719476736..68719476735, not"),
        (
            ("trace", "timely", "--event", "on_ack"),
            "event must be one that timely hears, on",
        ),
        (("trace", "timely", "--preset", "x"), "preset of timely must be one of default, paper"),
        (("compile", "fixed", "-o", "/none/x"), "/none"),
    ],
)
def test_what_is_refused(run: Run, arguments: tuple[str, ...], message: str) -> None:
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert message in err


def test_a_mistake_in_a_file_is_one_line(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "PARAMETERS = STATE = ()\nWINDOWED = False\ndef on_ack(p, s, e):\n    return e.rate / 2\n"
    )
    status, _, err = run("check", str(path))
    assert status == 2
    assert f"{path}:4: `e.rate / 2`: operator is not in the language; write fraction(a, b)" in err
    assert err.count("\n") == 1


def test_the_page_has_every_instruction() -> None:
    text = page()
    assert "| `frc rd, ra, b` | 18 | 4 |" in text
    assert "| `e.rtt` | 24 | round-trip time" in text
    assert "Branches only go forward" in text
