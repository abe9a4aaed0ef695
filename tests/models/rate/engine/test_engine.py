"""The engine's instructions: text and words both ways, and the interpreter against big integers."""

import random
from collections.abc import Callable

import numpy as np
import pytest
from tests.models.rate.engine.random_programs import random_code

from precog_models.rate.engine.arithmetic import reciprocal, rsqrt, zeros
from precog_models.rate.engine.assembler import assemble, disassemble, listing
from precog_models.rate.engine.machine import Status, run
from precog_models.rate.engine.verify import longest_turns, successors, verify
from precog_spec.engine.events import EVENT_FIELDS
from precog_spec.engine.isa import OPS, Instruction, Op, Space

_WORD = 1 << 48
_ONE = 1 << 24


def _signed(value: int, bits: int = 48) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _clamped(value: int) -> int:
    return min(max(value, -_WORD // 2), _WORD // 2 - 1)


def _product(a: int, b: int, c: int, half: bool) -> int:
    return (a * _signed(b, 26) + (1 << c >> 1 if half else 0)) >> c


def _fraction(a: int, b: int) -> int:
    part, whole = a % (1 << 40), b % (1 << 37)
    return _ONE if part >= whole else part * _ONE // whole


def _shifted(value: int, c: int) -> int:
    """A sum's shift: to the left from 39 on, by what the number lacks of 63."""
    return _signed(value) >> c if c < 39 else _signed(value) << (63 - c)


#: What an instruction gives for ra, b and its shift, in unbounded integers.
_MEANING: dict[Op, Callable[[int, int, int], int]] = {
    Op.ADD: lambda a, b, c: _shifted(a + b, c),
    Op.SUB: lambda a, b, c: _shifted(a - b, c),
    Op.RSB: lambda a, b, c: _shifted(b - a, c),
    Op.AND: lambda a, b, c: _shifted(a & b, c),
    Op.MIN: lambda a, b, c: min(a, b),
    Op.MAX: lambda a, b, c: max(a, b),
    Op.SHL: lambda a, b, c: a << (b % 64),
    Op.SHR: lambda a, b, c: a >> (b % 64),
    Op.SLS: lambda a, b, c: _clamped(a << min(b % 64, 47)),
    Op.SEQ: lambda a, b, c: a == b,
    Op.SNE: lambda a, b, c: a != b,
    Op.SLT: lambda a, b, c: a < b,
    Op.SGE: lambda a, b, c: a >= b,
    Op.MOV: lambda a, b, c: _shifted(b, c),
    Op.ABS: lambda a, b, c: _shifted(abs(b), c),
    Op.MUL: lambda a, b, c: _product(a, b, c, False),
    Op.MLR: lambda a, b, c: _product(a, b, c, True),
    Op.MLZ: lambda a, b, c: _product(a, b, (c - ((b >> 26) % 64)) % 64, False),
    Op.FRC: lambda a, b, c: _fraction(a, b),
    Op.RCP: lambda a, b, c: reciprocal(b) + (zeros(b) << 26),
    Op.RSQ: lambda a, b, c: rsqrt(b) + (zeros(b) // 2 << 26),
    Op.CLZ: lambda a, b, c: min(32 - (b % (1 << 32)).bit_length(), 31),
}


def _words(rng: random.Random) -> int:
    size = rng.getrandbits(rng.randrange(1, 48))
    ends = [0, 1, -1, _WORD // 2 - 1, -_WORD // 2, 1 << 25, (1 << 25) - 1]
    return rng.choice([*ends, size, -size, size, -size])


@pytest.mark.parametrize("op", _MEANING)
def test_an_instruction(op: Op, seed: int) -> None:
    """Each operation with random and extreme words."""
    rng = random.Random(seed)
    code = [Instruction(Op.MOV, 1, 0, Space.SLOT, 1), None, Instruction(Op.ST, 0, 2, Space.ROW, 5)]
    row, event = np.zeros(16, dtype=np.int64), np.zeros(len(EVENT_FIELDS), dtype=np.int64)
    slot = np.zeros(512, dtype=np.int64)
    for _ in range(400):
        a, b, c = _words(rng), _words(rng), rng.randrange(64)
        rd, stores = rng.choice((2, 18)), rng.random() < 0.5
        code[1] = Instruction(op, rd, 1, Space.SLOT, 2, c, stores)
        code[2] = Instruction(Op.ST, 0, rd, Space.ROW, 5)
        words = np.array([one.encoded() for one in [*code, Instruction(Op.END)] if one])
        slot[1:3] = a, b
        trace = np.zeros((4, 3), dtype=np.int64)
        status, turns, stored = run(words, 0, slot, row, event, 100, trace)
        assert (status, turns, stored) == (
            Status.DONE,
            3 + OPS[op].turns,
            1 << 5 | stores << 2,
        )
        assert row[2] == row[5] or not stores
        assert row[5] == trace[1, 1] == _signed(int(_MEANING[op](a, b, c))), (a, b, c)


def test_tables_are_as_near_as_they_say(seed: int) -> None:
    rng = random.Random(seed)
    worst = [0.0, 0.0]
    numbers = [*range(1, 600), *(1 << n for n in range(32)), *((1 << n) - 1 for n in range(2, 33))]
    for v in [*numbers, *(rng.getrandbits(rng.randrange(1, 33)) or 1 for _ in range(20_000))]:
        n, y, root = zeros(v), reciprocal(v), rsqrt(v)
        assert all(1 << 16 <= mantissa < 1 << 17 for mantissa in (y, root))
        worst[0] = max(worst[0], abs(y * 2.0 ** (n - 48) * v - 1))
        worst[1] = max(worst[1], abs(root * 2.0 ** ((n >> 1) - 32) * v**0.5 - 1))
    print(
        f"relative errors: reciprocal 2**{np.log2(worst[0]):.2f}, rsqrt 2**{np.log2(worst[1]):.2f}"
    )
    assert max(worst) <= 2**-16


def test_text_and_words_both_ways(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(60):
        code = random_code(rng, 100)
        assert assemble(listing(code, {0: "a note"})) == code
        assert [Instruction.decoded(one.encoded()) for one in code] == code
        assert all(0 <= one.encoded() < 1 << 32 for one in code)


def test_the_longest_path_is_the_longest(seed: int) -> None:
    """Against a walk through every path of small programs."""
    rng = random.Random(seed)

    def walk(code: list[Instruction], here: int) -> int:
        after = [walk(code, place) for place in successors(code, here)]
        return OPS[code[here].op].turns + max(after, default=0)

    for _ in range(200):
        code = random_code(rng, 12)
        turns, path = longest_turns(code, 0)
        assert turns == walk(code, 0) == sum(OPS[code[here].op].turns for here in path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("foo r1", "line 1: operation must be one of END, ADD"),
        ("\nadd r1, r2", "line 2: add must have 3 operands, not 2"),
        ("add r1, 7, #1", "line 1: operand must be a register r0..r31, not '7'"),
        ("mov r32, #1", r"line 1: register must be in 0\.\.31, not 32"),
        ("mov r1, #64", r"line 1: number must be in -64\.\.63, not 64"),
        ("add r1, p[3], r2", r"line 1: first operand must be a register, s\[word\], or one of e"),
        ("add r1, e.held, r2", r"one of e\.kind\.\.e\.mtu, not 'e\.held'"),
        ("mov r1, #x", "line 1: number must be a number, not 'x'"),
        ("mov r1, p[128]", r"line 1: word of p must be in 0\.\.127, not 128"),
        ("mov r1, e.foo", "line 1: event word must be one of kind, now"),
        ("st p[1], r1", r"line 1: operand must be s\[word\], not 'p\[1\]'"),
        ("mul r1, r2, r3, 64", r"line 1: shift must be in 0\.\.63, not 64"),
        ("add r1, r2, r3, >>39", r"line 1: shift to the right must be in 0\.\.38, not 39"),
        ("mov r1, r2, <<25", r"line 1: shift to the left must be in 0\.\.24, not 25"),
        ("beq! r1, r2, at1", "line 1: beq must have no !: it has no result"),
        ("jmp no", "line 1: target must be a label of the program, not 'no'"),
        ("a: end\njmp a", "line 2: target must lie further down: a is at 0"),
        ("a: end\na: end", "line 2: label must be defined once, not a"),
        ("end\n" * 1025, "program must have 1024 instructions at most, not 1025"),
    ],
)
def test_text_that_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        assemble(text)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ([Instruction(Op.MOV, 1, 0, Space.NUMBER, 1)], "must end with END or a branch"),
        ([Instruction(Op.ADD, 1, 2)], "register r2 must be written before 0 reads it"),
        ([Instruction(Op.ST, 0, 0, Space.SLOT, 1)], r"store at 0 must be to s\[0..15\]"),
        ([Instruction(Op.MOV, 1, 0, Space.ROW, 60)], "operand at 0 must be a row's or an event's"),
        ([Instruction(Op.MOV, 1, 0, Space.REGISTER, 40)], "register at 0 must be below 32, not 40"),
        (
            [Instruction(Op.LDX, 1, 0, Space.ROW, 1)],
            "table at 0 must be in slot memory",
        ),
        ([Instruction(Op.JMP, 0, 0, Space.REGISTER, 0, 5)], "must end with END or a branch"),
        ([Instruction(Op.END)] * 1025, "program must have 1024 instructions at most, not 1025"),
    ],
)
def test_programs_that_are_refused(code: list[Instruction], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        verify(code, [0])
    with pytest.raises(ValueError, match=r"entry must be in 0\.\.0, not 1"):
        verify([Instruction(Op.END)], [1])


def test_a_register_counts_only_if_every_path_writes_it() -> None:
    text = "mov r1, #1\nbeq r1, #1, a\nmov r2, #3\na: add r3, r1, r2\nend"
    with pytest.raises(ValueError, match="register r2 must be written before 3 reads it"):
        verify(assemble(text), [0])
    verify(assemble(text.replace("mov r2", "mov r9").replace("r1, r2", "r1, r1")), [0])


def test_traps_change_nothing() -> None:
    row, event = np.arange(16, dtype=np.int64), np.zeros(len(EVENT_FIELDS), dtype=np.int64)
    slot, trace = np.zeros(512, dtype=np.int64), np.zeros((0, 3), dtype=np.int64)
    start = [one.encoded() for one in assemble("mov r1, #9\nst s[3], r1")]
    for tail, budget, status in (
        ([31 << 26], 9, Status.ILLEGAL),
        ([1 << 31 | Op.BNE << 26, 0], 9, Status.ILLEGAL),
        ([0], 2, Status.OVERRUN),
        ([], 9, Status.FELL),
        ([0], 3, Status.DONE),
    ):
        code = np.array([*start, *tail], dtype=np.int64)
        assert run(code, 0, slot, row, event, budget, trace)[0] == status
        assert row[3] == (9 if status is Status.DONE else 3)
    with pytest.raises(ValueError, match=r"operation must be in 0\.\.29, not 31"):
        Instruction.decoded(63 << 26)
    with pytest.raises(ValueError, match="BNE has no result that goes to a row"):
        Instruction.decoded(1 << 31 | Op.BNE << 26)


def test_an_event_sees_the_row_as_it_was() -> None:
    row, event = np.arange(16, dtype=np.int64), np.zeros(len(EVENT_FIELDS), dtype=np.int64)
    text = "mov r1, s[2]\nadd r1, r1, #5\nst s[2], r1\nmov r2, s[2]\nst s[3], r2\nend"
    code = np.array([one.encoded() for one in assemble(text)], dtype=np.int64)
    run(code, 0, np.zeros(512, dtype=np.int64), row, event, 9, np.zeros((0, 3), dtype=np.int64))
    assert row[:4].tolist() == [0, 1, 7, 2]


def test_every_operation_has_a_text() -> None:
    assert OPS.keys() == set(Op)
    assert [int(op) for op in Op] == list(range(len(Op)))
    texts = {disassemble(Instruction(op, 1, 2, Space.REGISTER, 3, 0), 0).split()[0] for op in Op}
    assert texts == {op.name.lower() for op in Op}
