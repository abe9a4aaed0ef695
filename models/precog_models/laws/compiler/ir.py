"""Steps and blocks: a law's event function after inlining, before it has registers.

Variables are assigned as often as the law assigns them. Blocks stand in an order in which control
only goes forward.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from precog_spec.engine.isa import Op, Space

__all__ = ["Block", "Branch", "Const", "Function", "Mem", "Operand", "Step", "Var"]


@dataclass(frozen=True)
class Var:
    """A local of the law, a state word under way (``s.name``) or a temporary (``%n``)."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Const:
    """A number that the compiler knows."""

    value: int

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True)
class Mem:
    """A word of slot memory, of the row as the event found it, or of the event."""

    space: Space
    name: str
    low: int
    high: int
    length: int = 0  # of a table
    values: tuple[int, ...] = ()  # of a constant table; files may give two the same name

    def __str__(self) -> str:
        return self.name


Operand = Var | Const | Mem


@dataclass
class Step:
    """One instruction to be; `b` is None where the operation has one operand, `a`."""

    op: Op
    out: Var | None
    a: Operand
    b: Operand | None
    c: int
    file: str
    line: int
    text: str  # of the source
    swaps: bool = False  # a product of which either factor can be the multiplier's small operand
    store: Mem | None = None  # a word of the row to which the result goes, too

    def operands(self) -> tuple[Operand, ...]:
        """What it reads."""
        return (self.a,) if self.b is None or self.op is Op.ST else (self.a, self.b)


@dataclass
class Branch:
    """Go to `yes` if the comparison holds, else to `no`."""

    op: Op
    a: Operand
    b: Operand
    yes: "Block"
    no: "Block"
    file: str
    line: int
    text: str


@dataclass(eq=False)
class Block:
    """Steps, then a branch, a jump to another block, or, without either, the end."""

    steps: list[Step] = field(default_factory=list)
    branch: Branch | None = None
    jump: "Block | None" = None

    def successors(self) -> tuple["Block", ...]:
        """Blocks that may follow."""
        if self.branch is not None:
            return (self.branch.yes, self.branch.no)
        return (self.jump,) if self.jump is not None else ()


@dataclass
class Function:
    """An event function: blocks, the first one being its entry."""

    name: str
    blocks: list[Block]

    def steps(self) -> Iterator[Step]:
        """All of them, in order."""
        for block in self.blocks:
            yield from block.steps
