"""The scrubber's walks over stored words, and what its parts share.

The order over sets is `secded.guarded_pairs`; programs follow word by word, bank by bank.
"""

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from precog_spec.config import NicConfig
from precog_spec.secded import (
    PAIR_BITS,
    PROGRAM_ENTRIES,
    PROGRAM_SLOT,
    PROGRAM_WORDS,
    SECOND_ROWS,
    STORED_BITS,
    TAIL_PAIRS,
    TAIL_ROW,
    check_bits,
    columns,
    program_bits,
)

from .layouts import place_layout, program_place_layout

__all__ = [
    "COLUMNS",
    "FLIPS",
    "Pause",
    "Work",
    "is_stored",
    "of_tree",
    "walk_programs",
    "walk_sets",
]

_CHECK = check_bits(PAIR_BITS)
COLUMNS = (*columns(PAIR_BITS), *(1 << r for r in range(_CHECK)))

#: One or two bits of a stored word, of 36.
FLIPS = data.StructLayout({"first": 6, "second": 6, "double": 1})


class Work:
    """Signals that the scrubber's parts share."""

    def __init__(self, config: NicConfig) -> None:
        place = place_layout(config)
        self.cursor = Signal(place)
        self.at = Signal(place)
        self.target = Signal(place)
        self.asked = Signal()  # an injection waits
        self.wanted = Signal()  # a walk of the host's waits
        self.hurry = Signal()  # on that walk
        self.injecting = Signal()
        self.flipping = Signal()
        self.flips = Signal(FLIPS)
        self.mask = Signal(STORED_BITS)
        self.words = Signal(data.ArrayLayout(STORED_BITS, 2), reset_less=True)
        self.odd = Signal()
        self.number = Signal(range(len(COLUMNS)))
        self.bit = Signal(6)
        self.syndrome = Signal(_CHECK)
        self.wait = Signal(4)
        self.alive = Signal()
        self.gone = Signal()
        self.used = Signal()
        self.any_valid = Signal()
        self.found = Signal()
        self.tried = Signal.like(self.number)  # of the cycle before
        self.which = Mux(self.number < PAIR_BITS, self.number[5], self.number[2])
        self.one = Signal(STORED_BITS, reset_less=True)  # from LOCATE to CORRECT
        self.step = Signal()  # the cursor goes to the next pair
        self.skip = Signal()  # the cursor goes to the next set
        self.begins = Signal()
        self.sets_begin = Signal()
        self.set_passes = Signal()
        self._programs(config)

    def _programs(self, config: NicConfig) -> None:
        """The same of the law engine's programs; all of it is 0 where they are not guarded."""
        guarded = config.guards_programs
        place = program_place_layout(max(config.law_cores, 1))

        def flag(name: str) -> Value:
            return Signal(name=name) if guarded else Const(0)

        self.program_cursor = Signal(place)
        self.program = Signal(place)
        self.program_target = Signal(place)
        self.program_half = Signal()
        self.suspect = Signal(place)
        self.suspected = flag("suspected")  # a word that an event has found damaged waits
        self.looking = flag("looking")  # at it
        self.of_program = flag("of_program")  # `program` counts, in place of `at`
        self.asked_program = flag("asked_program")
        self.program_turn = flag("program_turn")  # the next word is a program's
        self.program_hurry = flag("program_hurry")
        self.program_valid = flag("program_valid")
        self.any_program = flag("any_program")
        self.program_step = flag("program_step")
        self.program_skip = flag("program_skip")
        self.program_passes = flag("program_passes")
        self.programs_begin = Signal()
        self.lacks: Value = Const(0)  # the word of `program` has no bit `number`
        if guarded:
            at, number = self.program.at, self.number
            lacks = Mux(at < PROGRAM_SLOT, number[5], number[4:6].all())
            lacks = Mux(at < PROGRAM_ENTRIES, lacks, number >= program_bits(PROGRAM_ENTRIES))
            self.lacks = self.of_program & (number < PAIR_BITS) & lacks


def walk_sets(m: Module, w: Work, config: NicConfig) -> None:
    """From pair to pair, copy to copy and set to set; says when it begins anew."""
    cursor, step, skip = w.cursor, w.step, w.skip
    pair = cursor.word[1:]
    row_ends, first_ends, second_ends, set_ends = (Signal() for _ in range(4))
    m.d.comb += [
        row_ends.eq(pair.all()),
        first_ends.eq(
            ~(cursor.second | of_tree(cursor)) & (cursor.row == TAIL_ROW) & (pair == TAIL_PAIRS - 1)
        ),
        second_ends.eq(cursor.second & (cursor.row == SECOND_ROWS[1] - 1) & row_ends),
        set_ends.eq(second_ends),
    ]
    if config.tree:
        m.d.comb += set_ends.eq(cursor.tree & (cursor.row == TAIL_ROW - 1) & row_ends)
    with m.If(skip | (step & set_ends)):
        m.d.sync += [cursor.eq(0), cursor.set.eq(cursor.set + 1)]
        m.d.comb += w.set_passes.eq(cursor.set == config.sets - 1)
    with m.Elif(step & first_ends):
        m.d.sync += [cursor.word.eq(0), cursor.row.eq(SECOND_ROWS[0]), cursor.second.eq(1)]
    if config.tree:
        with m.Elif(step & second_ends):
            place = {"set": cursor.set, "tree": 1}
            m.d.sync += cursor.eq(0)
            m.d.sync += [cursor[name].eq(value) for name, value in place.items()]
    with m.Elif(step):
        m.d.sync += [cursor.word.eq(cursor.word + 2), cursor.row.eq(cursor.row + row_ends)]


def walk_programs(m: Module, w: Work, config: NicConfig) -> None:
    """From word to word, copy to copy and bank to bank; says when it begins anew."""
    cursor = w.program_cursor
    ends, last_core = cursor.at == PROGRAM_WORDS - 1, cursor.core == config.law_cores - 1
    next_bank = w.program_skip | (w.program_step & ends & last_core)
    m.d.comb += w.program_passes.eq(next_bank & cursor.bank.all())
    with m.If(next_bank):
        m.d.sync += [cursor.at.eq(0), cursor.core.eq(0), cursor.bank.eq(cursor.bank + 1)]
    with m.Elif(w.program_step & ends):
        m.d.sync += [cursor.at.eq(0), cursor.core.eq(cursor.core + 1)]
    with m.Elif(w.program_step):
        m.d.sync += cursor.at.eq(cursor.at + 1)


class Pause(wiring.Component):
    """Time between two pairs.

    Latency: 1 cycle. Throughput: not a stream. Cost: 16 flip-flops and a decrementer.

    Members
    -------
    begin_stb, cycles : In(1), In(16)
        A pause of this many cycles begins.
    over : Out(1)
        There is none.
    """

    begin_stb: In(1)
    cycles: In(16)
    over: Out(1)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        left = Signal(16)
        m.d.comb += self.over.eq(left == 0)
        with m.If(self.begin_stb):
            m.d.sync += left.eq(self.cycles)
        with m.Elif(left != 0):
            m.d.sync += left.eq(left - 1)
        return m


def is_stored(place: data.View) -> Value:
    """There is such a word."""
    low, high = SECOND_ROWS
    first = (place.row < TAIL_ROW) | (place.word < 2 * TAIL_PAIRS)
    second = (place.row >= low) & (place.row < high)
    third = ~place.second & (place.row < TAIL_ROW)
    return Mux(of_tree(place), third, Mux(place.second, second, first))


def of_tree(place: data.View) -> Value:
    """It is in the trees' memory."""
    has = "tree" in place.shape().members
    return Value.cast(place.tree) if has else Const(0)
