"""Loads and copies cost turns only on the paths that need them."""

from pathlib import Path

from tests.models.laws.law_bench import ThreeWays

from precog_models.laws.compiler.compile import Compiled, compile_law
from precog_models.laws.compiler.load import load
from precog_models.rate.engine.core import Core, event_words
from precog_spec.engine.events import Kind
from precog_spec.engine.isa import Instruction, Op

_HEAD = """
from precog_models.laws.language import *
PARAMETERS = (Parameter("k", Q(24, 0, signed=False), "", 5, "a number"),)
STATE = (Field("a", Q(24, 0, signed=False)), Field("b", Q(24, 0, signed=False)))
WINDOWED = False
"""
#: `b` has two values where it is returned: the row's, or the event's.
_SELDOM = """
def on_ack(p, s, e):
    if e.marked == 1:
        if e.bytes == 0:
            s.b = e.rtt
        return min(max(s.b + s.a, 100) + e.rtt, e.seq) + e.next + 9
    return 7
"""
#: Its word is wanted behind both sides of a condition, and on one of them before.
_OFTEN = """
def on_ack(p, s, e):
    x = p.k
    if e.bytes == 0:
        s.a = min(x, e.rtt)
        x = e.rtt
    if e.marked == 1:
        s.b = x
    return x
"""
#: Two results of one function.
_RESULT = """
def _larger(e):
    if e.rtt < e.seq:
        return 3 * e.seq
    return 5 * e.rtt

def on_ack(p, s, e):
    rate = _larger(e)
    return rate
"""


def _made(tmp_path: Path, body: str) -> Compiled:
    path = tmp_path / "law.py"
    path.write_text(_HEAD + body)
    return compile_law(load(path))


def _agree(made: Compiled) -> None:
    bench = ThreeWays(made, {"k": 5})
    for n in range(64):
        words = {"bytes": n & 1, "marked": n >> 1 & 1, "rtt": 100 * n + 1, "seq": 6400 - 100 * n}
        bench.event(Kind.ACK, next=n, **words)


def _turns(made: Compiled, **words: int) -> int:
    core = Core(made.program, {"k": 5})
    return int(core.event(0, event_words(Kind.ACK, **words), lines=99)[-1, 2])


def test_a_word_that_is_seldom_wanted(tmp_path: Path) -> None:
    """A branch, the result and the end; behind the branch another one, a load, and six steps."""
    made = _made(tmp_path, _SELDOM)
    _agree(made)
    assert [_turns(made, bytes=1, marked=marked) for marked in (0, 1)] == [3, 10]


def test_a_word_that_is_wanted_on_both_sides(tmp_path: Path) -> None:
    _agree(_made(tmp_path, _OFTEN))


def test_results_of_a_function_go_to_the_row_at_once(tmp_path: Path) -> None:
    made = _made(tmp_path, _RESULT)
    _agree(made)
    code = [Instruction.decoded(word) for word in made.program.code]
    assert [one.op for one in code if one.stores] == [Op.MUL, Op.MUL]
    assert Op.MOV not in {one.op for one in code}
