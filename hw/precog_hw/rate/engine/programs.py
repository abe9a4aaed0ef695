"""A core's programs: instructions and slot memory, and what happens where a word is damaged.

Golden model: `precog_models.rate.engine.machine`, `Status.DAMAGED`.

Words are not corrected on their way (decision 13): a corrector would stand in the path from memory
to register file. Each word that an instruction uses is compared with all its check bits while the
instruction runs. One that is damaged ends its event as a trap does: nothing is stored and the rate
is held. The slot stays, since the program is not to blame. The scrubber corrects the word, or takes
the program away.
"""

from functools import reduce
from operator import or_
from typing import Any, Protocol

from amaranth.hdl import Cat, Const, Module, Value, signed, unsigned
from amaranth.lib.wiring import In, Member, Out

from precog_hw.predict.layouts import program_answer_layout, program_scrub_layout
from precog_spec.engine.isa import CODE_WORDS, SLOT_WORDS, SLOTS, WORD, Op, Space
from precog_spec.secded import (
    PAIR_BITS,
    PROGRAM_ENTRIES,
    PROGRAM_SLOT,
    check_bits,
)

from .memory import Ecc, ProgramMemory, Write
from .units import delayed

__all__ = ["Programs", "program_ports"]

_PLACE_BITS = (SLOT_WORDS - 1).bit_length()


def program_ports(cores: int, *, ecc: bool) -> dict[str, Member]:
    """Members for check bits and the scrubber; none without `ecc`."""
    if not ecc:
        return {}
    return {
        "check": In(check_bits(PAIR_BITS)),
        "scrub": In(program_scrub_layout(cores)),
        "scrubbed": Out(program_answer_layout()),
        "suspect": Out(program_scrub_layout(cores)),
    }


class Pipeline(Protocol):
    """The part of a `Core` that its programs need: their ports, and values by stage."""

    code: Any
    code_stb: Any
    slot: Any
    slot_stb: Any
    check: Any
    scrub: Any
    scrubbed: Any
    suspect: Any
    i: Any
    threads: Any
    dispatcher: Any
    words: dict[int, Any]
    live: list[Value]
    phase: list[Value]
    slots: list[Value]
    pc: list[Value]


class Programs:
    """Memories of programs in a core.

    Parameters
    ----------
    m : Module
        Of the core.
    core : Pipeline
    ecc : bool
    """

    def __init__(self, m: Module, core: Pipeline, *, ecc: bool) -> None:
        self._m, self._core, self._ecc = m, core, ecc

    def fetch(self, pc: Value, slot: Value) -> Value:
        """An instruction, a cycle later."""
        write, stb = self._core.code, self._core.code_stb
        self._code = ProgramMemory(
            self._m,
            "code",
            unsigned(32),
            SLOTS * CODE_WORDS,
            addr=Cat(pc, slot),
            write=Write(Cat(write.place, write.slot), write.word, stb),
            ecc=self._asked(0, PROGRAM_SLOT),
        )
        return self._code.data

    def word(self, place: Value, slot: Value) -> Value:
        """A word of slot memory, a cycle later."""
        write, stb = self._core.slot, self._core.slot_stb
        self._place = place
        self._memory = ProgramMemory(
            self._m,
            "slot_memory",
            signed(WORD),
            SLOTS * SLOT_WORDS,
            addr=Cat(place, slot),
            write=Write(Cat(write.place, write.slot), write.word, stb),
            ecc=self._asked(PROGRAM_SLOT, PROGRAM_ENTRIES),
        )
        return self._memory.data

    def _asked(self, first: int, end: int) -> Ecc | None:
        """The scrubber's request, if it is of one of these words; they are a power of two."""
        if not self._ecc:
            return None
        asked = self._core.scrub
        asks = asked.valid & (asked.place.at >= first) & (asked.place.at < end)
        bits = (end - first - 1).bit_length()
        return Ecc(self._core.check, asks, Cat(asked.place.at[:bits], asked.place.bank))

    def watch(self) -> None:
        """End events that need a damaged word, in stage 6, and tell the scrubber of it."""
        m, core = self._m, self._core
        threads, dispatcher, suspect = core.threads, core.dispatcher, core.suspect
        word, phase = core.words[3], core.phase[3]
        # The first turn of `Op.LDX` reads a word that it does not use.
        named = (word.space == Space.SLOT) & ((word.op != Op.LDX) | (phase != 0))
        uses = delayed(m, core.live[3] & named, 3, "uses")
        damaged = delayed(m, self._code.damaged, 1, "code_damaged") & core.live[5]
        instruction = delayed(m, damaged, 1, "instruction_damaged")
        m.d.comb += threads.damaged.eq(instruction | (uses & self._memory.damaged))
        # The word's number: 1024 and its place.
        at = Cat(delayed(m, self._place, 3, "used"), Const(PROGRAM_SLOT >> _PLACE_BITS, 2))
        event = core.i.payload
        m.d.sync += [
            suspect.valid.eq(threads.damaged),
            suspect.place.bank.eq(core.slots[6]),
            suspect.place.at.eq(at),
        ]
        with m.If(instruction):
            m.d.sync += suspect.place.at.eq(core.pc[6])
        with m.Elif(dispatcher.start_stb & dispatcher.damaged & ~threads.damaged):
            m.d.sync += [
                suspect.valid.eq(1),
                suspect.place.bank.eq(event.slot),
                suspect.place.at.eq(Cat(event.words.kind, Const(PROGRAM_ENTRIES >> 3, 8))),
            ]
        m.d.comb += [dispatcher.check.eq(core.check), dispatcher.scrub.eq(core.scrub)]
        answers = (self._code.answer, self._memory.answer, dispatcher.scrubbed)
        parts = [answer.as_value() for answer in answers if answer is not None]
        m.d.sync += core.scrubbed.as_value().eq(reduce(or_, parts))
