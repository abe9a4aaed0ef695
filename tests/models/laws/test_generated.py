"""The compiler against Python itself: generated functions, random inputs, equal results.

A generator writes the text of laws that cover the language; what the compiler cannot prove safe is
drawn again. `--volume 34` makes a thousand functions with a thousand inputs each.
"""

import random
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from precog_models.laws.compiler.compile import Compiled, compile_law
from precog_models.laws.compiler.errors import LawError
from precog_models.laws.compiler.load import load
from precog_models.rate.engine.core import Core
from precog_models.rate.engine.machine import Status
from precog_spec.engine.events import EVENT_FIELDS, Kind

_HEAD = """
from precog_models.laws.language import *
PARAMETERS = (
    Parameter("p0", FACTOR, "", 0.5, ""),
    Parameter("p1", Q(0, 12), "", 0.25, ""),
    Parameter("p2", Q(16, 0, signed=False), "", 77, ""),
    Parameter("table", FACTOR, "", 0, "", 8, lambda numbers: [1] * 8),
)
STATE = (
    Field("s0", Q(24, 12)), Field("s1", Q(8, 0, signed=False)), Field("s2", Fmt.RATE),
    Field("s3", Q(1, 32, signed=False)),
)
WINDOWED = True
SMALL = (3, -5, 1 << 20, 0)
"""
_STATE = {"s0": (-(1 << 36), (1 << 36) - 1), "s1": (0, 255), "s2": (0, (1 << 32) - 1)}
_STATE["s3"] = (0, (1 << 33) - 1)
_WORDS = ("rtt", "bytes", "now", "rate", "min_rate", "max_rate", "base", "marked", "score", "seq")
_LEAVES = (
    [f"e.{name}" for name in _WORDS] + [f"s.{name}" for name in _STATE] + ["p.p0", "p.p1", "p.p2"]
)
_INPUTS = 1000
_UNPROVED = ("beyond", "at once", "26 bits", "instructions", "parameters and", "negative")


class _Writer:
    """Text of one law."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names: list[str] = []
        self.flags: list[str] = []
        self.helpers: list[tuple[str, int]] = []
        self.lines: list[str] = []
        self.event = False

    def number(self, depth: int) -> str:
        """An expression that is a number, most often of a bounded size."""
        pick = self.random.choice
        if depth <= 0 or self.random.random() < 0.15:
            constant = str(
                pick([0, 1, 2, 255, -1, -128, 129, 1 << 24, self.random.getrandbits(30)])
            )
            return pick([constant, *[pick(_LEAVES)] * 3, *self.names[-4:]])
        a, b = self.number(depth - 1), self.number(depth - 1)
        small = f"clamp({b}, -(1 << 25), (1 << 25) - 1)"
        forms = [
            f"{a} + {b}",
            f"{a} - ({b})",
            f"-({a})",
            f"min({a}, {b})",
            f"max({a}, {b}, {self.number(0)})",
            f"abs({a})",
            f"clamp({a}, {b}, {self.number(0)})",
            f"({a}) >> {self.random.randrange(40)}",
            f"clamp({a}, -9999, 99999) << {self.random.randrange(20)}",
            f"(({a}) >> clamp({b}, 0, 40))",
            f"({a}) & {self.random.getrandbits(self.random.randrange(1, 47))}",
            f"wrap({a}, {self.random.randrange(1, 47)})",
            f"scale(clamp({a}, -(1 << 36), 1 << 36), wrap({b}, 24))",
            f"clamp({a}, -(1 << 36), 1 << 36) * clamp({b}, -500, 500)",
            f"(wrap({a}, 36) * {small}) >> {self.random.randrange(15, 50)}",
            f"(wrap({a}, 36) * wrap({b}, 25) + (1 << 30)) >> 31",
            f"rounded({a}, {self.random.randrange(30)})",
            f"fraction(wrap({a}, 40), wrap({b}, 37))",
            f"reciprocal(wrap({a}, 32))",
            f"rsqrt(wrap({a}, 32))",
            f"zeros(wrap({a}, 32))",
            f"((wrap({a}, 40) * reciprocal(wrap({b}, 32))) >> {self.random.randrange(11, 30)}) >> "
            f"({self.random.randrange(31, 48)} - zeros(wrap({b}, 32)))",
            f"((wrap({a}, 40) * rsqrt(wrap({b}, 32))) >> {self.random.randrange(11, 30)}) >> "
            f"({self.random.randrange(15, 48)} - (zeros(wrap({b}, 32)) >> 1))",
            f"align({a}, clamp({b}, 0, 47))",
            f"SMALL[wrap({a}, 2)]",
            f"p.table[wrap({a}, 3)]",
            f"({a} if {self.condition(depth - 1)} else {b})",
        ]
        return pick(forms)

    def condition(self, depth: int) -> str:
        """An expression that is a condition."""
        sign = self.random.choice(["==", "!=", "<", "<=", ">", ">="])
        plain = f"{self.number(depth - 1)} {sign} {self.number(depth - 1)}"
        if depth <= 0:
            return plain
        one, other = self.condition(depth - 1), self.condition(depth - 1)
        forms = [plain, f"({one} and {other})", f"({one} or {other})", f"not ({one})"]
        forms += [f"({plain})", *self.flags[-2:]]
        return self.random.choice(forms)

    def block(self, indent: str, depth: int, kept: bool) -> None:
        """Statements; names that they define stay known if `kept`."""
        names, flags = list(self.names), list(self.flags)
        for _ in range(self.random.randrange(1, 5)):
            self._statement(indent, depth)
        if not kept:
            self.names, self.flags = names, flags

    def _statement(self, indent: str, depth: int) -> None:
        kind = self.random.random()
        if kind < 0.35:
            value = self.number(3)
            name = self.random.choice([f"x{len(self.names)}", *self.names[-2:]])
            self.lines.append(f"{indent}{name} = {value}")
            if name not in self.names:
                self.names.append(name)
        elif kind < 0.45:
            value = self.condition(2)
            self.flags.append(f"c{len(self.lines)}")
            self.lines.append(f"{indent}{self.flags[-1]} = {value}")
        elif kind < 0.55 and self.names:
            self.lines.append(f"{indent}{self.random.choice(self.names)} += {self.number(2)}")
        elif kind < 0.75:
            name = self.random.choice(list(_STATE))
            low, high = _STATE[name]
            self.lines.append(f"{indent}s.{name} = clamp({self.number(3)}, {low}, {high})")
        elif depth > 0:
            self._if(indent, depth)
        else:
            self.lines.append(f"{indent}pass")

    def _if(self, indent: str, depth: int) -> None:
        self.lines.append(f"{indent}if {self.condition(2)}:")
        self.block(indent + "    ", depth - 1, kept=False)
        if self.random.random() < 0.3:
            result = self.result() if self.event else self.number(2)
            self.lines.append(f"{indent}    return {result}")
        if self.random.random() < 0.4:
            self.lines.append(f"{indent}elif {self.condition(1)}:")
            self.block(indent + "    ", depth - 1, kept=False)
        if self.random.random() < 0.6:
            self.lines.append(f"{indent}else:")
            self.block(indent + "    ", depth - 1, kept=False)

    def result(self) -> str:
        """Rate and window."""
        top = (1 << 32) - 1
        return f"clamp({self.number(2)}, 0, {top}), clamp({self.number(2)}, 0, {top})"

    def helper(self) -> None:
        """A function that the law calls."""
        name, count = f"h{len(self.helpers)}", self.random.randrange(1, 4)
        self.names = [f"x{n}" for n in range(count)]
        self.lines.append(f"def {name}(p, s, e, {', '.join(self.names)}):")
        self.block("    ", 1, kept=True)
        if self.random.random() < 0.5:
            self.lines += [f"    if {self.condition(1)}:", f"        return {self.number(2)}"]
        self.lines.append(f"    return {self.number(2)}")
        self.helpers.append((name, count))
        self.names, self.flags = [], []

    def law(self) -> str:
        """The file."""
        for _ in range(self.random.randrange(3)):
            self.helper()
        self.lines.append("def on_sample(p, s, e):")
        self.event = True
        self.block("    ", 2, kept=True)
        for name, count in self.helpers:
            values = ", ".join(self.number(1) for _ in range(count))
            self.lines.append(f"    y{name} = {name}(p, s, e, {values})")
            self.names.append(f"y{name}")
        self.block("    ", 2, kept=True)
        self.lines.append(f"    return {self.result()}")
        return _HEAD + "\n".join(self.lines) + "\n"


def _generated(seed: int, path: Path) -> tuple[str, Compiled]:
    """The first law of a seed that the compiler takes, and its text."""
    for attempt in range(500):
        text = _Writer(seed * 1000 + attempt).law()
        path.write_text(text)
        try:
            return text, compile_law(load(path))
        except LawError as error:
            if not any(part in str(error) for part in _UNPROVED):
                raise AssertionError(f"{error}\n{text}") from error
    raise AssertionError(f"seed {seed} gave no law that can be proved")


def _value(rng: np.random.Generator, low: int, high: int) -> int:
    """Of a range: its ends, small numbers, numbers of any size."""
    size = int(2 ** rng.uniform(0, max(high, -low).bit_length()))
    values = [low, high, 0, 1, size, -size, int(rng.integers(low, high + 1))]
    return min(max(values[rng.integers(len(values))], low), high)


def _compare(text: str, made: Compiled, rng: np.random.Generator) -> int:
    """Runs both sides on random inputs; most turns that an event took."""
    law = made.law
    parameters: dict[str, int | list[int]] = {}
    for one in law.parameters:
        values = [_value(rng, one.format.min, one.format.max) for _ in range(one.length or 1)]
        parameters[one.name] = values if one.length else values[0]
    core = Core(made.program, parameters)
    record = SimpleNamespace(**parameters)
    events = np.zeros((_INPUTS, len(EVENT_FIELDS)), dtype=np.int64)
    rows = np.zeros((_INPUTS, 16), dtype=np.int64)
    for n in range(_INPUTS):
        events[n] = [_value(rng, form.min, form.max) for _, form, _ in EVENT_FIELDS]
        events[n, 0] = Kind.SAMPLE
        rows[n, 2:6] = [_value(rng, *limits) for limits in _STATE.values()]
    before = rows.copy()
    ends = core.events(rows, events)
    assert (ends[:, 0] == Status.DONE).all()
    assert ends[:, 1].max() <= made.program.turns["on_sample"]
    function = law.events["on_sample"]
    names = [name for name, _, _ in EVENT_FIELDS]
    for n in range(_INPUTS):
        state = SimpleNamespace(**dict(zip(_STATE, before[n, 2:6].tolist(), strict=True)))
        event = SimpleNamespace(**dict(zip(names, events[n].tolist(), strict=True)))
        result = [*map(int, function(record, state, event)), *map(int, vars(state).values())]
        assert rows[n, :6].tolist() == result, f"{event}\n{before[n]}\n{text}"
    return int(ends[:, 1].max())


def test_the_engine_does_what_the_function_does(
    seed: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    rng = np.random.default_rng(seed)
    count = 30 * request.config.getoption("--volume")
    lines, longest = 0, 0
    for n in range(count):
        text, made = _generated(seed + n, tmp_path / f"law{n}.py")
        lines += len(made.program.code)
        longest = max(longest, _compare(text, made, rng))
    print(f"{count} functions x {_INPUTS} inputs, {lines} instructions; {longest} turns at most")
