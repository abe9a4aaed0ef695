"""Mutants: a block's own source with one deliberate mistake.

A property that no mistake can break proves nothing. Each mutant replaces one piece of text, which
must occur in the source exactly once, so that a mutant cannot silently stop being one.
"""

import importlib.util
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Mutant", "mutated"]

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
    """

    proof: str
    module: str
    old: str
    new: str
    mistake: str
    quick: bool = False


@contextmanager
def mutated(mutant: Mutant) -> Iterator[types.ModuleType]:
    """Within the context, `mutant.module` is the mutated one for every import.

    Raises
    ------
    ValueError
        The text to be replaced does not occur exactly once.
    """
    spec = importlib.util.find_spec(mutant.module)
    if spec is None or spec.origin is None:
        raise ValueError(f"module must exist, not {mutant.module!r}")
    original = sys.modules.get(mutant.module)
    # Mutations nest: the inner one starts from the outer one's text.
    source = getattr(original, _SOURCE, None) or Path(spec.origin).read_text()
    if source.count(mutant.old) != 1:
        raise ValueError(
            f"the mutant's text must occur once in {mutant.module}, "
            f"not {source.count(mutant.old)} times: {mutant.old!r}"
        )
    module = types.ModuleType(mutant.module)
    module.__file__ = spec.origin
    module.__package__ = spec.parent
    module.__spec__ = spec
    source = source.replace(mutant.old, mutant.new)
    setattr(module, _SOURCE, source)
    sys.modules[mutant.module] = module
    try:
        exec(compile(source, spec.origin, "exec"), module.__dict__)
        yield module
    finally:
        if original is None:
            del sys.modules[mutant.module]
        else:
            sys.modules[mutant.module] = original
