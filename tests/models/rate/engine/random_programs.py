"""Programs of the law engine, drawn at random."""

import random

from precog_spec.engine.events import EVENT_FIELDS
from precog_spec.engine.isa import EVENT_AT, OPS, RESULTS, Instruction, Op, Shape, Space

__all__ = ["random_code"]

_NO_FIRST = (Shape.TWO, Shape.COPY, Shape.JUMP, Shape.NONE)


def random_code(rng: random.Random, length: int, registers: int = 32) -> list[Instruction]:
    """A program of any instructions whose branches stay inside, END at its end."""
    code = []
    for here in range(length):
        op = rng.choice([op for op in Op if op is not Op.END])
        shape, space = OPS[op].shape, Space(rng.randrange(4))
        far = rng.randrange(length - here)
        b = rng.randrange(-64, 64) if space is Space.NUMBER else rng.randrange(16)
        if space is Space.REGISTER:
            b = rng.randrange(registers)
        if space is Space.ROW and rng.random() < 0.5:
            b = EVENT_AT + rng.randrange(len(EVENT_FIELDS))
        rd, ra, c = rng.randrange(registers), rng.randrange(registers), 0
        if shape is Shape.PRODUCT:
            c = rng.randrange(64)
        if shape in (Shape.SUM, Shape.COPY):
            c = rng.choice((0, rng.randrange(64)))
        if shape is Shape.INDEX:
            space, b, c = Space.SLOT, rng.randrange(128), rng.randrange(4)
        if shape is Shape.STORE:
            rd, space, b = 0, Space.ROW, rng.randrange(16)
        if shape in (Shape.BRANCH, Shape.JUMP):
            rd, c = far >> 6, far & 63
        if shape is Shape.JUMP:
            ra, space, b = 0, Space.REGISTER, 0
        if shape in (Shape.TWO, Shape.COPY):
            ra = 0
        stores = shape in RESULTS and rng.random() < 0.2
        memory = shape not in _NO_FIRST and rng.random() < 0.3
        if memory:
            ra = rng.randrange(32)
        code.append(Instruction(op, rd, ra, space, b, c, stores, memory))
    return [*code, Instruction(Op.END)]
