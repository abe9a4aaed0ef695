"""The reference page of the law engine's instructions, made from their tables."""

from precog_spec.engine import isa
from precog_spec.engine.events import EVENT_FIELDS, EVENTS, ROW_OUTPUTS
from precog_spec.markdown import table

__all__ = ["page"]

_TEXT = {
    isa.Shape.THREE: "rd, ra, b",
    isa.Shape.TWO: "rd, b",
    isa.Shape.PRODUCT: "rd, ra, b, shift",
    isa.Shape.INDEX: "rd, ra, p[base]",
    isa.Shape.STORE: "s[word], ra",
    isa.Shape.BRANCH: "ra, b, target",
    isa.Shape.JUMP: "target",
    isa.Shape.NONE: "",
    isa.Shape.SUM: "rd, ra, b, shift",
    isa.Shape.COPY: "rd, b, shift",
}


def page() -> str:
    """Markdown."""
    operations = [
        (
            f"`{op.name.lower()} {_TEXT[form.shape]}`".replace(" `", "`"),
            int(op),
            form.turns,
            f"`{form.meaning}`" if "=" in form.meaning else form.meaning,
        )
        for op, form in sorted(isa.OPS.items())
    ]
    spaces = [
        (int(isa.Space.REGISTER), "`r0`..`r31`", "registers"),
        (int(isa.Space.NUMBER), "`#-64`..`#63`", "a number"),
        (int(isa.Space.SLOT), f"`p[0]`..`p[{isa.DIRECT_WORDS - 1}]`", "parameters and constants"),
        (int(isa.Space.ROW), f"`s[0]`..`s[{isa.ROW_WORDS - 1}]`", "row of the queue pair"),
        (int(isa.Space.ROW), f"`e.name`, from {isa.EVENT_AT} on", "words of the event"),
    ]
    events = [(f"`e.{name}`", form.width, text) for name, form, text in EVENT_FIELDS]
    outputs = ", ".join(f"`s[{n}]` {name}" for n, (name, _) in enumerate(ROW_OUTPUTS))
    entries = ", ".join(f"`{name}`" for name in EVENTS)
    introduction = (isa.__doc__ or "").partition("\n\n")[2].strip()
    return f"""# Instructions of the law engine

{introduction}

An instruction's 32 bits are `stores[31] op[30:26] rd[25:21] ra[20:16] space[15:14] memory[13]
b[12:6] c[5:0]`; `stores` is the text's `!`. With `memory` the first operand is no register: `ra` is
0 to {isa.ROW_WORDS - 1} for a word of the row, `s[0]` to `s[{isa.ROW_WORDS - 1}]`, and more for the
first {isa.FIRST_EVENTS} words of the event. A branch's offset from the next instruction is `rd`
above `c`, a shift is `c`, a table's base is `c` above `b`. In text, a sum's shift is `>>3` or
`<<8`. A turn is {isa.THREADS} cycles; a core runs {isa.THREADS} events at once. A program has
{isa.CODE_WORDS} instructions and {isa.SLOT_WORDS} words at most, a row {isa.ROW_WORDS} words:
{outputs}, then the law's state. There are {isa.SLOTS} programs; each may have an entry for
{entries}.

## Operations

{table(("instruction", "code", "turns", "effect"), operations)}

An operation that is not in this table, `stores` without a result, more turns than the budget, and
running past the last instruction are traps: the event changes nothing, and the program's slot is
disabled. A division by 0 is no trap: `frc` then gives 2**24, and `rcp` and `rsq` take 0 for 1.

## The last operand

{table(("space", "text", "what"), spaces)}

## Words of an event

{table(("word", "bits", "meaning"), events)}
"""
