"""Mutants: a block's own source with one deliberate mistake.

A property that no mistake can break proves nothing. Each mutant replaces one piece of text, which
must occur in the source exactly once, so that a mutant cannot silently stop being one.
"""

import importlib.util
import sys
import types
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Mutant", "mutated", "reimported"]

_SOURCE = "__precog_mutated_source__"


@dataclass(frozen=True)
class Mutant:
    """One mistake.

    Attributes
    ----------
    proof : str
        Name of the proof that must catch it.
    module : str
        The module that is changed.
    old, new : str
        The text that is replaced, and by what.
    mistake : str
        The mistake in words.
    quick : bool
        Part of the fast subset.
    cycles : int, optional
        From reset, in which it shows; by default the proof's depth.
    step : bool
        The proof refutes it by its induction step: from reset it shows too late for a solver.
    """

    proof: str
    module: str
    old: str
    new: str
    mistake: str
    quick: bool = False
    cycles: int | None = None
    step: bool = False


@contextmanager
def mutated(mutant: Mutant) -> Iterator[types.ModuleType]:
    """Within the context, `mutant.module` is the mutated one for every import.

    Raises
    ------
    ValueError
        The text to be replaced does not occur exactly once.
    """
    with _executed(mutant.module, mutant.old, mutant.new) as module:
        yield module


@contextmanager
def reimported(*names: str) -> Iterator[types.ModuleType]:
    """Within the context, the modules are executed anew, in this order; gives the last.

    A module that has imported names from a mutated one still has the old names. Blocks that are
    made of others are hence to be taken from here.
    """
    with ExitStack() as stack:
        modules = [stack.enter_context(_executed(name)) for name in names]
        yield modules[-1]


@contextmanager
def _executed(name: str, old: str = "", new: str = "") -> Iterator[types.ModuleType]:
    """Executes a module's text in its place, `old` replaced by `new`."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise ValueError(f"module must exist, not {name!r}")
    original = sys.modules.get(name)
    # Mutations nest: the inner one starts from the outer one's text.
    source = getattr(original, _SOURCE, None) or Path(spec.origin).read_text()
    if old:
        if source.count(old) != 1:
            raise ValueError(
                f"the mutant's text must occur once in {name}, "
                f"not {source.count(old)} times: {old!r}"
            )
        source = source.replace(old, new)
    module = types.ModuleType(name)
    module.__file__ = spec.origin
    module.__package__ = spec.parent
    module.__spec__ = spec
    setattr(module, _SOURCE, source)
    sys.modules[name] = module
    try:
        exec(compile(source, spec.origin, "exec"), module.__dict__)
        yield module
    finally:
        if original is None:
            del sys.modules[name]
        else:
            sys.modules[name] = original
