"""From a law to its program, and what was proved on the way."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from precog_spec.contract import Q
from precog_spec.engine.isa import Instruction

from ...rate.engine.program import Program
from ...rate.engine.verify import longest_turns, verify
from .emit import Memory, emit
from .errors import LawError
from .intervals import Width, prove
from .load import Law
from .lower import lower
from .optimise import optimise

__all__ = ["Compiled", "compile_law"]


@dataclass(frozen=True)
class Compiled:
    """A law's program, and for each event the widths and the longest path.

    Attributes
    ----------
    widths : dict of str to list of Width
        Range of every result, by event.
    paths : dict of str to list of int
        Addresses of a longest path, by event.
    """

    law: Law
    program: Program
    widths: Mapping[str, list[Width]]
    paths: Mapping[str, list[int]]


def compile_law(law: Law) -> Compiled:
    """Compile: prove every width, then make microcode.

    Raises
    ------
    LawError
        The law is none of the language, or something cannot be proved or does not fit.
    """
    try:
        return _compiled(law)
    except RecursionError as error:
        problem = "constructs must not stand so deep in each other; write several statements"
        raise LawError(law.file, 0, problem) from error


def _shown(form: Q) -> str:
    """A format as ``q24.8``, or ``uq24.8`` without a sign."""
    return f"{'' if form.signed else 'u'}q{form.int_bits}.{form.frac_bits}"


def _compiled(law: Law) -> Compiled:
    memory = Memory(law)
    code: list[Instruction] = []
    notes: dict[int, str] = {}
    entries: dict[str, int] = {}
    widths: dict[str, list[Width]] = {}
    known: dict[object, str] = {}
    for event, source in law.events.items():
        if source in known:
            entries[event], widths[event] = entries[known[source]], widths[known[source]]
            continue
        known[source] = event
        function = lower(law, event)
        widths[event] = prove(function)
        optimise(function)
        entries[event] = len(code)
        made, lines = emit(law, function, memory, len(code))
        code += made
        notes |= lines
    verify(code, entries.values())
    longest = {event: longest_turns(code, entry) for event, entry in entries.items()}
    program = Program(
        name=law.name,
        code=tuple(one.encoded() for one in code),
        entries=entries,
        parameters={
            one.name: (memory.places[f"p.{one.name}"], max(one.length, 1)) for one in law.parameters
        },
        fixed=memory.fixed,
        state=tuple(one.name for one in law.state),
        formats=tuple(_shown(one.format) for one in law.state),
        windowed=law.windowed,
        turns={event: turns for event, (turns, _) in longest.items()},
    )
    paths = {event: path for event, (_, path) in longest.items()}
    return Compiled(law, replace(program, notes=notes), widths, paths)
