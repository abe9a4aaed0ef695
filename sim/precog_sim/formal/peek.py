"""Signals inside a block, by name: induction needs to speak about a block's own registers.

The one place of the proofs that leans on Amaranth's private modules.
"""

from amaranth.hdl import Elaboratable, Signal, Value
from amaranth.hdl._ast import AnySeq
from amaranth.hdl._ir import Fragment

__all__ = ["Opened", "free"]


def free(bits: int) -> Value:
    """A value that the solver chooses anew in every cycle."""
    value: Value = AnySeq(bits)
    return value


class Opened:
    """A block elaborated once, whose inner signals can be named.

    Parameters
    ----------
    block : Elaboratable

    Attributes
    ----------
    fragment : Fragment
        Goes into ``m.submodules`` in the block's place.
    """

    def __init__(self, block: Elaboratable) -> None:
        self.fragment = Fragment.get(block, None)

    def __getitem__(self, path: str) -> Signal:
        """The signal ``submodule.submodule.name`` that the block assigns.

        Raises
        ------
        KeyError
            No signal, or more than one, has that name.
        """
        found = self.every(path)
        if len(found) != 1:
            raise KeyError(f"one signal must be called {path!r}, not {len(found)}")
        return found[0]

    def every(self, path: str) -> list[Signal]:
        """All signals of that name that the block assigns."""
        *parts, name = path.split(".")
        fragment = self.fragment
        for part in parts:
            fragment = next(sub for sub, label, _ in fragment.subfragments if label == part)
        found = {
            id(signal): signal
            for statements in fragment.statements.values()
            for statement in statements
            for signal in statement._lhs_signals()
            if signal.name == name
        }
        return list(found.values())
