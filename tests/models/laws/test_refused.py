"""Every construct that the law language refuses: the message names file, line and remedy."""

import re
from pathlib import Path

import pytest

from precog_models.laws.compiler.compile import compile_law
from precog_models.laws.compiler.errors import LawError
from precog_models.laws.compiler.load import load

_HEAD = """
from precog_models.laws.language import *
from precog_models.laws.language import Fmt
PARAMETERS = (Parameter("gain", FACTOR, "", 0.5, "a gain"),
              Parameter("table", FACTOR, "", 0, "a table", 4, lambda numbers: [1, 2, 3, 4]))
STATE = (Field("mean", Q(24, 12)), Field("count", Q(8, 0, signed=False)))
WINDOWED = False
TABLE = (5, 6, 7)
WORDS = ("a", "b")
HALF = 0.5
WIDE, HUGE = (0, 1 << 47), 1 << 62
def twice(x):
    return 2 * x
def again(x):
    return again(x)
def default(x=1):
    return x
def bumped(s):
    s.count = 0
    return 1
def grows(s) -> bool:
    s.count = min(s.count + 1, 255)
    return s.count > 3
def raised(x):
    x += 1
    return x
def three():
    return 1, 2, 3
def mixed(x):
    if x > 0:
        return 1
    return x > 0
def nothing() -> None:
    pass
def gives() -> None:
    return 1
def falls(x):
    if x > 0:
        return 1
def on_sample(p, s, e):
"""
_LINE = len(_HEAD.splitlines()) + 1


def _law(tmp_path: Path, body: str, head: str = _HEAD) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(head + "".join(f"    {line}\n" for line in body.splitlines()))
    return path


#: A function's body, and what is said of it.
_REFUSED = [
    # statements
    ("for i in 3: pass", "loops are not in the language; write the steps out"),
    ("while True: pass", "loops are not in the language"),
    ("def f(): pass", "a function must stand at the top of the file"),
    ("assert e.rtt", "assert is not in the language"),
    ("raise ValueError", "raise is not in the language"),
    ("try: pass\nfinally: pass", "try is not in the language"),
    ("import os", "import must stand at the top"),
    ("from os import path", "import must stand at the top"),
    ("global x", "global is not in the language; declare a field of STATE"),
    ("del s.mean", "del is not in the language"),
    ("with e: pass", "with is not in the language"),
    ("match e.rtt:\n  case 1: pass", "match is not in the language; write if and elif"),
    ("class A: pass", "statement is not in the language; write assignments, if and return"),
    ("1", "statement has no effect; remove it"),
    ("twice(1)", "only a function that is declared -> None can be called alone"),
    ("max(1, 2)", "only a function that is declared -> None can be called alone"),
    ("gives()", "a function that is declared -> None must return nothing"),
    ("return nothing()", "nothing must return one number here"),
    ("a = b = 1", "one assignment at a time"),
    ("return e.rate\na = 1", "statement is never reached"),
    ("return", "return must give a value"),
    ("if e.rtt > 1: return e.rate", "every path must end with return"),
    ("return e.rate, 1", "event of a law with WINDOWED = False must return the rate alone"),
    ("p.gain = 1", "only words of s can be assigned"),
    ("e.rtt = 1", "only words of s can be assigned"),
    ("s.other = 1", "word of s must be declared in STATE: one of mean, count"),
    ("TABLE[0] = 1", "only names and s.x can be assigned"),
    ("e = 1", "e is a record; choose another name"),
    ("a, b = three()", "2 names must take as many values, not 3"),
    ("a, b = e.rtt", "several names take a tuple or what a function returns"),
    ("a = 1\na = e.rtt > 1", "a must stay a number, or a condition"),
    # expressions
    ("return 0.5", "floats are not in the language; write an integer in LSB"),
    ("return HALF", "floats are not in the language"),
    ("return 'a'", "a constant must be an integer, not str"),
    ("return None", "a constant must be an integer, not NoneType"),
    ("return e.rate / 2", r"operator is not in the language; write fraction\(a, b\)"),
    ("return e.rate // 2", "operator is not in the language; write fraction"),
    ("return e.rate % 2", r"operator is not in the language; write wrap\(a, n\)"),
    ("return e.rate ** 2", "operator is not in the language; write the product"),
    ("return e.rate | 2", "operator is not in the language; write [+]"),
    ("return e.rate ^ 2", "operator is not in the language; write a comparison"),
    ("return e.rate @ 2", r"operator is not in the language; write [*]"),
    ("return ~e.rate", "~ is not in the language; write -x - 1"),
    ("return [1]", "expression is not in the language"),
    ("return lambda: 1", "expression is not in the language"),
    ("return e", "a record is no number"),
    ("return e.other", "word of e must be one of kind, now, rtt"),
    ("return p.other", "word of p must be one of gain, table"),
    ("return Fmt.RATE", "only p, s and e have attributes"),
    ("return p.table", "a table must have an index"),
    ("return WORDS[0]", "a constant must be an integer, not str"),
    ("return e.rate[0]", "only a tuple of integers or a table parameter has an index"),
    ("return TABLE[3]", r"index must be in 0\.\.2, not 3"),
    ("return TABLE[e.marked + 2]", r"index may be 2\.\.3, beyond 0\.\.2; clamp it"),
    ("return other", "name must be defined before it is used"),
    ("if e.rtt > 1: a = 1\nreturn a", "a may have no value here; assign it on every path"),
    ("return 1 << 63", r"shift must be in 0\.\.62, not 63"),
    # conditions
    ("return e.rtt > 1", "a condition is no number; write 1 if"),
    ("return 1 + (e.rtt > 1)", "a condition is no number"),
    ("s.count = e.rtt > 1", "a condition is no number"),
    ("if e.marked: pass", "a number is no condition; compare it, as in x != 0"),
    ("if 1 < e.rtt < 3: pass", "write a comparison of two numbers, and `and` between"),
    ("if e.rtt in TABLE: pass", "comparison must be one of == != < <= > >="),
    ("if e.rtt is e.base: pass", "comparison must be one of"),
    # calls
    ("return print(1)", "of Python's own functions only abs, max and min are in the language"),
    ("return missing(1)", "name must be defined before it is used"),
    ("return e.rate.bit_length()", "only functions that have a name of the file can be called"),
    ("return Field(1, 2)", "only align, clamp, .* and plain functions of a file can be called"),
    ("return clamp(v=1)", "arguments must be given by position"),
    ("return max(*TABLE)", "arguments must be given by position"),
    ("return max(1)", "max must have at least 2 arguments, not 1"),
    ("return clamp(1, 2)", "clamp must have 3 arguments, not 2"),
    ("return rounded(e.rtt, e.rtt)", "the last argument of rounded must be a constant"),
    ("return wrap(e.rtt, 0)", r"the last argument must be in 1\.\.47, not 0"),
    ("return again(1)", "recursion is not in the language"),
    ("return default(1)", "default must have plain arguments without defaults"),
    ("return twice(1, 2)", "twice must have 1 arguments, not 2"),
    ("return twice(e)", "arguments called p, s and e must be the records, and only they"),
    ("return bumped(1)", "arguments called p, s and e must be the records"),
    ("return s.count + bumped(s)", "a function that takes s must be called alone"),
    ("return three()", "three must return one number here"),
    ("return mixed(1)", "every return of a function must give as many values, of one kind"),
    ("return falls(1)", "every path must end with return"),
    # what cannot be proved
    ("return e.rate + 1", r"rate may be 1\.\.2\*\*32 when it is returned, beyond its format"),
    (
        "s.count = s.count + 1\nreturn 1",
        r"count may be 1\.\.256 when it is stored, beyond .*; clamp it",
    ),
    ("return e.now << 8", r"result may be 0\.\..*, beyond the engine's 48-bit word; shift or"),
    (
        "small = e.rtt < 1 << 47\nreturn 1 if small else 2",
        r"must be in -2\*\*47\.\.2\*\*47 - 1, the",
    ),
    (
        "return (1 << 60) >> max(wrap(e.rtt, 5), 29)",
        "constant must be in .*, not 1152921504606846976",
    ),
    (
        "return (wrap(e.rtt, 2) * (1 << 60)) >> 40",
        "constant must be in .*, not 1152921504606846976",
    ),
    ("return WIDE[wrap(e.rtt, 1)] >> 40", r"`WIDE`: numbers of a table must be in -2\*\*47"),
    ("return (HUGE * 4) >> 60", "a constant must have 63 bits at most, also under way"),
    ("return s.count + (1 if grows(s) else 0)", r"`grows\(s\)`: a function that takes s must be"),
    (
        "if s.count < (2 if grows(s) else 1): pass\nreturn 1",
        "a function that takes s must be called",
    ),
    ("return s.count + raised(bumped(s))", "a function that takes s must be called alone"),
    (
        "first = HUGE\nHUGE = 1\nreturn 1",
        "`HUGE`: name has no value yet; assign it before, or choose",
    ),
    ("if e.rtt > 9:\n  return HUGE >> 40\nHUGE = 1\nreturn HUGE", "name has no value yet"),
    ("return e.rate,", r"`return \(e.rate,\)`: one value has no comma behind it"),
    ("mean, = twice(1)\nreturn 1", "one value has no comma behind it"),
    ("return (e.now << 7) * e.bytes", r"one factor must have 26 bits"),
    (
        "return (e.now << 7) * e.base",
        r"product may be .*, beyond 63 bits; shift a factor",
    ),
    ("return (e.rate * e.rate) >> 40", "one factor must have 26 bits, sign included"),
    ("return e.rtt << e.rtt", r"shift may be 0\.\..*, beyond 0\.\.47; clamp it to 0\.\.47"),
    ("return fraction(-e.rtt, 1)", "first argument may be .*; clamp it"),
    ("return fraction(1, e.now)", "second argument may be .*; clamp it"),
    ("return reciprocal(e.now)", "argument may be .*; clamp it to 0"),
    ("return (e.rtt - e.base) & (e.base - e.rtt)", "one side of & must not be negative"),
]


@pytest.mark.parametrize(("body", "message"), _REFUSED)
def test_the_message(body: str, message: str, tmp_path: Path) -> None:
    path = _law(tmp_path, body)
    with pytest.raises(LawError, match=message) as caught:
        compile_law(load(path))
    text = str(caught.value)
    assert text.startswith(f"{path}:")
    assert re.match(rf"{re.escape(str(path))}:(\d+): `", text)
    assert 12 <= caught.value.line <= _LINE + body.count("\n")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("WINDOWED = False", "WINDOWED = 1", "WINDOWED must be True or False, not 1"),
        ("WINDOWED = False", "PRESETS = 3\nWINDOWED = False", "PRESETS must be a dict of Preset"),
        (
            "WINDOWED = False",
            "PRESETS = {'a': Preset('b', {'gain': 3})}\nWINDOWED = False",
            r"preset a: gain must be in 0\.\.2, not 3",
        ),
        (
            'Field("count"',
            'Field("mean"',
            "STATE must have distinct lower-case names .* not 'mean'",
        ),
        ('Field("count"', 'Field("class"', "lower-case names that are no keywords, not 'class'"),
        ('Field("count"', "Field(5", "STATE must have distinct lower-case names .* not 5"),
        ('Field("mean", Q(24, 12))', 'Field("mean", "Q")', "format of mean must be a Q, not 'Q'"),
        (
            'Field("mean", Q(24, 12))',
            'Field("mean", Q(40, 8, signed=False))',
            "format of mean must have 48 bits at most, 47 unsigned, not Q\\(",
        ),
        ('"gain", FACTOR', '"gain", Q(60, 0)', "format of gain must have 48 bits at most"),
        ('Parameter("gain"', 'Parameter("Gain"', "PARAMETERS must have distinct lower-case names"),
        (
            "STATE = (",
            "STATE = 1; (",
            "STATE must be a tuple of Field, not 1; a law in real numbers runs in precog sim",
        ),
        (
            "def on_sample(p, s, e)",
            "def on_sample(p, s)",
            "must have plain arguments p, s, e and no",
        ),
        ("def on_sample(p, s, e)", "def on_sample(p, s, *e)", "must have plain arguments p, s, e"),
        ("def on_sample(p, s, e)", "def on_sample(p, s, e=1)", "must have plain arguments p, s, e"),
        ("def on_sample(p, s, e)", "def on_other(p, s, e)", "event must be one of on_ack"),
        ("def on_sample(p, s, e)", "on_ack = 1\ndef a(p, s, e)", "on_ack must be a function"),
        ("def on_sample(p, s, e)", "def other(p, s, e)", "law must hear an event"),
        ("def on_sample(p, s, e)", "def on_sample(p, s, e", "file must be Python"),
        ("TABLE = ", "TABLE = 1 / 0 + ", "file must run: ZeroDivisionError"),
        ("TABLE = ", "exit()\nTABLE = ", "file must run: SystemExit"),
        ('"", 0.5, "a gain"', '"", 3, "a gain"', r"preset default: gain must be in 0\.\.2, not 3"),
        (
            '"", 0.5, "a gain"',
            '"", "3", "a gain"',
            "preset default: gain must be a number, not '3'",
        ),
        ("[1, 2, 3, 4]", "[1 // 0]", "preset default: tables must be made: ZeroDivisionError"),
        (
            "WINDOWED = False",
            "PRESETS = {'default': Preset('b', {})}\nWINDOWED = False",
            "PRESETS must be under texts other than 'default', not 'default'",
        ),
        (
            "WINDOWED = False",
            "PRESETS = {'a': Preset('b', None)}\nWINDOWED = False",
            "values of a preset must be a mapping, not None",
        ),
        ('"", 0.5, "a gain"', '"s", 0.5, "a gain"', "unit of parameter gain must be"),
        ('"a table", 4', '"a table", 0', "parameter table must have both length and made"),
        (
            '"a gain")',
            '"a gain", fact="base")',
            "fact of parameter gain must be ''",
        ),
        ('"a gain")', '"a gain", fact="network_base")', "unit of parameter gain must be 'us'"),
    ],
)
def test_declarations(old: str, new: str, message: str, tmp_path: Path) -> None:
    assert _HEAD.count(old) == 1
    path = _law(tmp_path, "return e.rate", _HEAD.replace(old, new))
    with pytest.raises(LawError, match=message):
        load(path)


def test_what_does_not_fit(tmp_path: Path) -> None:
    many = ", ".join(f'Field("f{n}", FACTOR)' for n in range(15))
    path = _law(
        tmp_path, "return e.rate", _HEAD + f"    pass\nSTATE = ({many})\ndef on_ack(p, s, e):\n"
    )
    with pytest.raises(LawError, match="STATE must have 14 fields at most, not 15"):
        load(path)
    sums = "\n".join(f"x{n} = e.rtt + {n}" for n in range(40))
    total = " + ".join(f"x{n}" for n in range(40))
    path = _law(tmp_path, f"{sums}\nif e.marked == 1: return e.rtt\nreturn {total}")
    with pytest.raises(LawError, match="more than 32 values are needed at once"):
        compile_law(load(path))
    path = _law(
        tmp_path,
        "return wrap(" + " + ".join(f"max(e.rtt, {1000 + n})" for n in range(260)) + ", 32)",
    )
    with pytest.raises(LawError, match="law must have 128 parameters and constants at most"):
        compile_law(load(path))
    steps = "\n".join("s.count = min(s.count + e.marked, 255)" for _ in range(600))
    path = _law(tmp_path, f"{steps}\nreturn e.rate")
    with pytest.raises(LawError, match="law must have 1024 instructions at most"):
        compile_law(load(path))
    doubling = "".join(f"def f{n + 1}(x):\n    return f{n}(x) & f{n}(1)\n" for n in range(14))
    head = _HEAD.replace("def on_sample", f"def f0(x):\n    return x\n{doubling}def on_sample")
    path = _law(tmp_path, "return f14(e.rate)", head)
    with pytest.raises(LawError, match="an event must take 4096 steps at most"):
        compile_law(load(path))
    deep = "if e.rtt == 0: return 1\n" + "elif e.rtt == 1: return 1\n" * 900 + "return 2"
    path = _law(tmp_path, deep)
    with pytest.raises(LawError, match="constructs must not stand so deep in each other"):
        compile_law(load(path))


def test_names_of_laws(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"law must be a file that ends in \.py, or dcqcn, fixed"):
        load("language")
    with pytest.raises(
        ValueError, match=r"none\.py must be a readable file: No such file or directory$"
    ):
        load(tmp_path / "none.py")
    law = load("timely")
    with pytest.raises(ValueError, match=r"preset of timely must be one of default, paper, .* not"):
        law.integers("other", 1000)
    with pytest.raises(ValueError, match=r"parameter must be one of ai, alpha, .* not 'other'"):
        law.integers("default", 1000, other=1)
