"""Odd but legal Python: plain Python, numba and the engine agree on it."""

import random
from pathlib import Path

import pytest
from tests.models.laws.law_bench import ThreeWays

from precog_models.laws.compiler.compile import compile_law
from precog_models.laws.compiler.load import load
from precog_spec.engine.events import EVENT_FIELDS, Kind

_HEAD = """
from precog_models.laws.language import *
PARAMETERS = ()
STATE = (Field("x", Q(30, 0, signed=False)),)
WINDOWED = False
TABLE = (1, 2, 3, 3)
"""
_OTHER = """
TABLE = (1, 3, 2, 3)
def other(i):
    return TABLE[i]
"""
_ODD = {
    "a function's 11th call beside another's first": (
        "def f(x):\n    y = x + 1\n    return y\n"
        "def f1(x):\n    y = x + 100\n    a = f(x)\n" + "    a = f(a)\n" * 10 + "    return y + a\n"
        "def on_ack(p, s, e):\n    return f1(e.bytes >> 3)\n"
    ),
    "equal names of two files' tables": (
        "from .other import other\n"
        "def on_ack(p, s, e):\n    i = wrap(e.rtt, 2)\n    return TABLE[i] * 16 + other(i)\n"
    ),
    "conditions that change the state": (
        "def grows(s) -> bool:\n    s.x = min(s.x + 1, 1000)\n    return s.x > 30\n"
        "def on_ack(p, s, e):\n    a = grows(s)\n    b = not grows(s) and (grows(s) or s.x > 40)\n"
        "    x = 5 if grows(s) else s.x\n    if grows(s) and s.x > 50 or grows(s):\n"
        "        return x + (2000 if a else 3000) + (4000 if b else 8000)\n"
        "    return 1 if grows(s) else s.x\n"
    ),
    "a comparison with the word's end": (
        "def on_ack(p, s, e):\n    v = wrap(e.rtt, 5) + 1\n"
        "    above = v > (1 << 47) - 1\n    most = v <= (1 << 47) - 1\n"
        "    s.x = (1 if above else 2) + (4 if most else 8)\n    return s.x\n"
    ),
}


@pytest.mark.parametrize("odd", _ODD)
def test_the_engine_does_what_python_does(odd: str, seed: int, tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text(_OTHER)
    path = tmp_path / "mine.py"
    path.write_text(_HEAD + _ODD[odd])
    ways = ThreeWays(compile_law(load(path)), {})
    draw = random.Random(seed)
    for _ in range(50):
        words = {name: draw.getrandbits(form.width) for name, form, _ in EVENT_FIELDS[1:]}
        ways.event(Kind.ACK, **words)
