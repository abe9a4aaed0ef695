"""A program: what is loaded into one of the engine's slots. Standard library only."""

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from precog_spec.engine.events import EVENTS, ROW_OUTPUTS
from precog_spec.engine.isa import CODE_WORDS, ROW_WORDS, SLOT_WORDS, WORD, Instruction

from ...limits import parse_json
from .verify import verify

__all__ = ["Program"]

_FORMAT = "precog-law-2"
_STATE_MOST = ROW_WORDS - len(ROW_OUTPUTS)
_WORDS = range(-(1 << WORD - 1), 1 << WORD - 1)


@dataclass(frozen=True)
class Program:
    """Microcode of a law.

    Attributes
    ----------
    name : str
        The law's.
    code : tuple of int
        Encoded instructions.
    entries : dict
        First address by event; events that the law does not hear are absent.
    parameters : dict
        (first word in slot memory, words) by parameter.
    fixed : dict
        Words of slot memory that parameters do not change: tables and constants, by place.
    state : tuple of str
        Fields of the row, from its third word on.
    formats : tuple of str
        Their formats, as ``uq24.8``. State in other formats is not what was proved.
    windowed : bool
        The row's second word is a window.
    turns : dict
        Most turns that an event takes, by event.
    notes : dict
        Source line of an instruction, by address; not part of the image.
    """

    name: str
    code: tuple[int, ...]
    entries: Mapping[str, int]
    parameters: Mapping[str, tuple[int, int]]
    fixed: Mapping[int, int]
    state: tuple[str, ...]
    formats: tuple[str, ...]
    windowed: bool
    turns: Mapping[str, int]
    notes: Mapping[int, str] = field(default_factory=dict, compare=False)

    @property
    def crc(self) -> int:
        """CRC-32 of everything that the engine executes: code, entries, fixed words."""
        return zlib.crc32(json.dumps(self._executed(), sort_keys=True).encode())

    def _executed(self) -> dict[str, object]:
        return {
            "code": list(self.code),
            "entries": dict(self.entries),
            "fixed": {str(place): word for place, word in self.fixed.items()},
            "parameters": {name: list(place) for name, place in self.parameters.items()},
            "state": list(self.state),
            "formats": list(self.formats),
            "windowed": self.windowed,
        }

    def instructions(self) -> list[Instruction]:
        """The code, decoded.

        Raises
        ------
        ValueError
            A word is no instruction; the message names its address.
        """
        code = []
        for here, word in enumerate(self.code):
            try:
                code.append(Instruction.decoded(word))
            except ValueError as error:
                raise ValueError(f"instruction {here}: {error}") from error
        return code

    def slot_words(self, values: Mapping[str, int | Sequence[int]]) -> list[int]:
        """Slot memory with these parameters.

        Raises
        ------
        ValueError
            A parameter is missing or unknown, a table has another length, or a number is no word.
        """
        if values.keys() != self.parameters.keys():
            names = ", ".join(self.parameters) or "none"
            raise ValueError(f"parameters must be {names}, not {', '.join(values) or 'none'}")
        words = [0] * SLOT_WORDS
        for place, word in self.fixed.items():
            words[place] = word
        for name, (place, length) in self.parameters.items():
            value = values[name]
            table = [value] if isinstance(value, int) else list(value)
            if len(table) != length:
                raise ValueError(f"table {name} must have {length} words, not {len(table)}")
            for number in table:
                if number not in _WORDS:
                    raise ValueError(f"{name} must be in {_WORDS[0]}..{_WORDS[-1]}, not {number}")
            words[place : place + length] = table
        return words

    def text(self) -> str:
        """The program as a file: JSON with a CRC-32."""
        body = {
            "format": _FORMAT,
            "name": self.name,
            "crc": self.crc,
            "turns": dict(self.turns),
            **self._executed(),
        }
        return json.dumps(body, sort_keys=True) + "\n"

    @classmethod
    def read(cls, text: str | bytes) -> "Program":
        """The program of a file.

        Raises
        ------
        ValueError
            It is none, or was changed.
        """
        try:
            body = parse_json(text)
            if body["format"] != _FORMAT:
                raise ValueError(f"its format is {body['format']!r}")
            program = cls(
                name=str(body["name"]),
                code=tuple(int(word) for word in body["code"]),
                entries={str(name): int(at) for name, at in body["entries"].items()},
                parameters={
                    str(name): (int(place), int(words))
                    for name, (place, words) in body["parameters"].items()
                },
                fixed={int(place): int(word) for place, word in body["fixed"].items()},
                state=tuple(str(name) for name in body["state"]),
                formats=tuple(str(one) for one in body["formats"]),
                windowed=bool(body["windowed"]),
                turns={str(name): int(turns) for name, turns in body["turns"].items()},
            )
            crc = int(body["crc"])
        except (ValueError, OverflowError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"program must be a file of `precog law compile`: {error}") from error
        if crc != program.crc:
            raise ValueError(
                f"program's CRC must be {program.crc:#010x}, not {crc:#010x}: it was changed, "
                "compile it anew"
            )
        program._check()
        return program

    def _check(self) -> None:
        """Refuse numbers that have no place in an image, and code that could trap."""
        if len(self.code) > CODE_WORDS:
            raise ValueError(
                f"program must have {CODE_WORDS} instructions at most, not {len(self.code)}"
            )
        events = ", ".join(EVENTS)
        if not self.entries:
            raise ValueError(f"program must have an entry: one of {events}")
        for event in self.entries:
            if event not in EVENTS:
                raise ValueError(f"program's entry must be one of {events}, not {event!r}")
        for here, word in enumerate(self.code):
            if not 0 <= word < 1 << 32:
                raise ValueError(f"program's word {here} must have 32 bits, not be {word}")
        if len(self.state) > _STATE_MOST:
            raise ValueError(
                f"program must have {_STATE_MOST} fields of state at most, not {len(self.state)}"
            )
        if len(self.formats) != len(self.state):
            raise ValueError(
                f"program must have a format for each of {len(self.state)} fields, not "
                f"{len(self.formats)}"
            )
        for name, (place, words) in self.parameters.items():
            if not (0 <= place < place + words <= SLOT_WORDS):
                raise ValueError(
                    f"parameter {name!r} must have words within 0..{SLOT_WORDS - 1}, not {words} "
                    f"from {place} on"
                )
        for place, word in self.fixed.items():
            if not 0 <= place < SLOT_WORDS or word not in _WORDS:
                raise ValueError(
                    f"fixed word must have {WORD} bits and a place in 0..{SLOT_WORDS - 1}, not be "
                    f"{word} at {place}"
                )
        try:
            verify(self.instructions(), self.entries.values())
        except ValueError as error:
            raise ValueError(f"{error}; no compiler made this program, compile the law") from error
