"""Text of the engine's programs, both ways. Standard library only.

A line is ``[label:] [operation operands]``; ``;`` begins a comment. Operands: registers ``r7``,
numbers ``#-3``, slot memory ``p[12]``, the row ``s[2]``, words of the event ``e.rtt``. A branch
names a label further down. ``!`` behind an operation stores its result, ``>>3`` or ``<<8`` behind
a sum's operands shifts it.
"""

import re
from collections.abc import Mapping, Sequence

from precog_spec.engine.events import EVENT_FIELDS
from precog_spec.engine.isa import (
    CODE_WORDS,
    DIRECT_WORDS,
    EVENT_AT,
    FIRST_EVENTS,
    LEFT_MOST,
    NUMBER_BITS,
    OPS,
    REGISTERS,
    RESULTS,
    RIGHT_MOST,
    ROW_WORDS,
    SLOT_WORDS,
    Instruction,
    Op,
    Shape,
    Space,
)

__all__ = ["assemble", "disassemble", "listing"]

_LINE = re.compile(r"\s*(?:(?P<label>[A-Za-z_]\w*):)?\s*(?P<rest>[^;]*?)\s*(?:;.*)?$")
_EVENT_NAMES = [name for name, _, _ in EVENT_FIELDS]
_FAR = 1 << 11
_WORDS = ("rd", "ra", "space", "b", "c")
_LAYOUT = {
    Shape.THREE: ("rd", "ra", "b"),
    Shape.TWO: ("rd", "b"),
    Shape.PRODUCT: ("rd", "ra", "b", "shift"),
    Shape.INDEX: ("rd", "ra", "p"),
    Shape.STORE: ("s", "ra"),
    Shape.BRANCH: ("ra", "b", "target"),
    Shape.JUMP: ("target",),
    Shape.NONE: (),
    Shape.SUM: ("rd", "ra", "b"),
    Shape.COPY: ("rd", "b"),
}
_SHIFTS = (Shape.SUM, Shape.COPY)
_NO_SHIFT = 63  # to the left by nothing
_NUMBER_MAX = (1 << (NUMBER_BITS - 1)) - 1


def _between(text: str, what: str, most: int, least: int = 0) -> int:
    try:
        value = int(text, 0)
    except ValueError:
        raise ValueError(f"{what} must be a number, not {text!r}") from None
    if not least <= value <= most:
        raise ValueError(f"{what} must be in {least}..{most}, not {value}")
    return value


def _register(text: str) -> int:
    if not text.startswith("r"):
        raise ValueError(f"operand must be a register r0..r{REGISTERS - 1}, not {text!r}")
    return _between(text[1:], "register", REGISTERS - 1)


def _place(text: str, memory: str, words: int) -> int:
    found = re.fullmatch(rf"{memory}\[(\w+)\]", text)
    if not found:
        raise ValueError(f"operand must be {memory}[word], not {text!r}")
    return _between(found[1], f"word of {memory}", words - 1)


def _operand(text: str) -> tuple[Space, int]:
    if text.startswith("#"):
        return Space.NUMBER, _between(text[1:], "number", _NUMBER_MAX, ~_NUMBER_MAX)
    if text.startswith("e."):
        if text[2:] not in _EVENT_NAMES:
            raise ValueError(f"event word must be one of {', '.join(_EVENT_NAMES)}, not {text!r}")
        return Space.ROW, EVENT_AT + _EVENT_NAMES.index(text[2:])
    if text.startswith("p["):
        return Space.SLOT, _place(text, "p", DIRECT_WORDS)
    if text.startswith("s["):
        return Space.ROW, _place(text, "s", ROW_WORDS)
    return Space.REGISTER, _register(text)


def _first(text: str) -> tuple[bool, int]:
    """Whether a first operand is in memory, and its number."""
    space, place = _operand(text)
    if space is Space.REGISTER:
        return False, place
    number = place if place < ROW_WORDS else ROW_WORDS + place - EVENT_AT
    if space is not Space.ROW or number >= ROW_WORDS + FIRST_EVENTS:
        last = _EVENT_NAMES[FIRST_EVENTS - 1]
        raise ValueError(
            f"first operand must be a register, s[word], or one of e.kind..e.{last}, not {text!r}"
        )
    return True, number


def _target(text: str, here: int, labels: Mapping[str, int]) -> int:
    if text not in labels:
        raise ValueError(f"target must be a label of the program, not {text!r}")
    offset = labels[text] - here - 1
    if not 0 <= offset < _FAR:
        raise ValueError(f"target must lie further down: {text} is at {labels[text]}")
    return offset


def _shift(text: str) -> int:
    """A sum's shift."""
    if text.startswith("<<"):
        return _NO_SHIFT - _between(text[2:], "shift to the left", LEFT_MOST)
    return _between(text[2:], "shift to the right", RIGHT_MOST)


def _instruction(rest: str, here: int, labels: Mapping[str, int]) -> Instruction:
    name, _, texts = rest.partition(" ")
    stores = name.endswith("!")
    name = name.removesuffix("!")
    if name.upper() not in Op.__members__:
        raise ValueError(f"operation must be one of {', '.join(Op.__members__)}, not {name!r}")
    op = Op[name.upper()]
    shape = OPS[op].shape
    if stores and shape not in RESULTS:
        raise ValueError(f"{name} must have no !: it has no result")
    layout = _LAYOUT[shape]
    given = [text.strip() for text in texts.split(",")] if texts.strip() else []
    shift = given.pop() if shape in _SHIFTS and given and given[-1][:2] in ("<<", ">>") else None
    if len(given) != len(layout):
        raise ValueError(f"{name} must have {len(layout)} operands, not {len(given)}")
    fields, memory = dict.fromkeys(_WORDS, 0), False
    for part, text in zip(layout, given, strict=True):
        if part == "rd":
            fields["rd"] = _register(text)
        elif part == "ra":
            memory, fields["ra"] = _first(text)
        elif part == "b":
            fields["space"], fields["b"] = _operand(text)
        elif part == "shift":
            fields["c"] = _between(text, "shift", 63)
        elif part == "target":
            offset = _target(text, here, labels)
            fields["rd"], fields["c"] = offset >> 6, offset & 63
        elif part == "p":
            base = _place(text, part, SLOT_WORDS)
            fields["space"] = Space.SLOT
            fields["b"], fields["c"] = base % DIRECT_WORDS, base // DIRECT_WORDS
        else:
            fields["space"], fields["b"] = Space.ROW, _place(text, part, ROW_WORDS)
    if shift is not None:
        fields["c"] = _shift(shift)
    values = (Space(fields["space"]), fields["b"], fields["c"], stores, memory)
    return Instruction(op, fields["rd"], fields["ra"], *values)


def assemble(text: str) -> list[Instruction]:
    """Instructions of a text.

    Raises
    ------
    ValueError
        A line is none of the language; the message names its number.
    """
    labels: dict[str, int] = {}
    lines: list[tuple[int, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        found = _LINE.match(line)
        assert found is not None  # the pattern takes every line
        if found["label"] is not None:
            if found["label"] in labels:
                raise ValueError(f"line {number}: label must be defined once, not {found['label']}")
            labels[found["label"]] = len(lines)
        if found["rest"]:
            lines.append((number, found["rest"]))
    if len(lines) > CODE_WORDS:
        raise ValueError(f"program must have {CODE_WORDS} instructions at most, not {len(lines)}")
    code = []
    for here, (number, rest) in enumerate(lines):
        try:
            code.append(_instruction(rest, here, labels))
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None
    return code


def _shown(space: Space, b: int) -> str:
    if space is Space.REGISTER:
        return f"r{b}"
    if space is Space.NUMBER:
        return f"#{b}"
    if space is Space.SLOT:
        return f"p[{b}]"
    if b < EVENT_AT:
        return f"s[{b}]"
    return f"e.{_EVENT_NAMES[b - EVENT_AT]}"


def _shown_first(one: Instruction) -> str:
    if not one.memory:
        return f"r{one.ra}"
    if one.ra < ROW_WORDS:
        return f"s[{one.ra}]"
    return f"e.{_EVENT_NAMES[one.ra - ROW_WORDS]}"


def disassemble(one: Instruction, here: int) -> str:
    """Text of the instruction at address `here`; a branch's label is ``at`` and the address."""
    parts = {
        "rd": f"r{one.rd}",
        "ra": _shown_first(one),
        "b": "",
        "p": f"p[{one.base}]",
        "s": f"s[{one.b}]",
        "shift": str(one.c),
        "target": f"at{here + 1 + one.offset}",
    }
    layout = _LAYOUT[OPS[one.op].shape]
    if "b" in layout:
        parts["b"] = _shown(one.space, one.b)
    operands = [parts[part] for part in layout]
    if OPS[one.op].shape in _SHIFTS and one.c:
        right = one.c <= RIGHT_MOST
        operands.append(f">>{one.c}" if right else f"<<{_NO_SHIFT - one.c}")
    name = one.op.name.lower() + "!" * one.stores
    return f"{name} {', '.join(operands)}".strip()


def listing(code: Sequence[Instruction], notes: Mapping[int, str] | None = None) -> str:
    """Text that `assemble` takes back; `notes` become comments, by address."""
    targets = {
        here + 1 + one.offset
        for here, one in enumerate(code)
        if OPS[one.op].shape in (Shape.BRANCH, Shape.JUMP)
    }
    lines = []
    for here, one in enumerate(code):
        label = f"at{here}:" if here in targets else ""
        text = f"{label:8}{disassemble(one, here)}"
        note = (notes or {}).get(here)
        lines.append(f"{text:40}; {note}" if note else text)
    return "\n".join(lines) + "\n"
