"""The scrubber walks over stored words, corrects single errors, disables sets with double ones.

Golden models `precog_models.predict.ecc.decode_pairs` and `decode_program`; the walks are in
`ecc_walk`.

::

    timer ─► next pair of a valid set ─► even word ─► odd word ─► syndrome ─┬─ 0 ────────────► done
    command ─► engine held ─► word ─► flipped ──┘                           │
       ┌────────────────────────────────────────────────────────────────────┤
       ├─ a column of the matrix ─► engine held ─► word written ─► contexts void ─► done
       └─ something else ─► set invalid, slots disabled ─► done

With a law engine the scrubber walks over its programs, too: a word of a program follows each pair
of a set. Nothing is held for that: events that need a damaged word notice it, and say so.
"""

from amaranth.hdl import Array, Cat, Const, Module, Mux
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Member, Out

from precog_spec.config import NicConfig
from precog_spec.secded import PAIR_BITS, PROGRAM_WORDS

from .check_bits import CHECK_LATENCY, parity
from .ecc_walk import COLUMNS, FLIPS, Pause, Work, is_stored, of_tree, walk_programs, walk_sets
from .layouts import (
    answer_layout,
    load_layout,
    place_layout,
    program_place_layout,
    program_signature,
    scrub_layout,
)

__all__ = ["EVENTS", "FLIPS", "Scrubber", "last_layout", "last_program_layout", "program_ports"]

_GAP = 4  # cycles between two requests: `Thief` forgets the first
_QUIET = 8  # cycles that no inference is in flight: nothing of one is on its way
_SETTLE = 8  # cycles from a write's acceptance until it can be read
_FAIL = 12  # cycles that a set is failed: what was decided on it just before is undone, too

#: Strobes: a pair was checked; the walk begins anew; an error was corrected; one cannot be; a flip
#: was injected; a command was refused.
EVENTS = data.StructLayout(
    {"scrubbed": 1, "passes": 1, "corrected": 1, "uncorrectable": 1, "injected": 1, "refused": 1}
)


def last_layout(config: NicConfig) -> data.StructLayout:
    """Where the last error was; of an `uncorrectable` one the pair's even word."""
    return data.StructLayout(
        {"place": place_layout(config), "bit": 6, "uncorrectable": 1, "valid": 1}
    )


def last_program_layout(config: NicConfig) -> data.StructLayout:
    """Where the last error of a program was; `half` says whose bit it is, as in an injection."""
    place = program_place_layout(config.law_cores)
    return data.StructLayout({"place": place, "half": 1, "bit": 6, "uncorrectable": 1, "valid": 1})


def program_ports(config: NicConfig) -> dict[str, Member]:
    """Members for programs that lead to the host; none without ECC of programs."""
    if not config.guards_programs:
        return {}
    return {
        "inject_program": In(1),
        "inject_program_place": In(program_place_layout(config.law_cores)),
        "inject_program_half": In(1),
        "of_program": Out(1),
        "bank": Out(3),
        "last_program": Out(last_program_layout(config)),
    }


class Scrubber(wiring.Component):
    """SECDED without a corrector between the memories and their readers.

    A word is read when its memory is idle: at the latest after one sample's slots (up to
    ``T * I * 16 / columns + 2`` cycles), or in a cycle that the MAC array leaves between two
    vectors. Only a write, which is as rare as an error, keeps samples waiting: until the inferences
    in flight have ended, and about 60 cycles plus one for each slot of the map.

    A program's word is read and written at a port that the law engine leaves alone. One that an
    event finds damaged is looked at next, whatever `enable` says.

    Latency: a pair takes about 40 cycles while the engine is idle and `period` cycles before it, a
    pass 277 pairs for each valid set, 525 with trees: within that time a double error is found, and
    16 cycles later no request gets the set any more. Cost: about 350 LUTs, 250 flip-flops.

    Parameters
    ----------
    config : NicConfig
        With `ecc`.

    Members
    -------
    enable, period : In(1), In(16)
        Walk; cycles between two pairs.
    scrub_stb : In(1)
        Walk once over all valid sets, from the first one, without a pause, whatever `enable` says.
    inject_stb, inject_place, inject_flips : In(1), In(place_layout), In(FLIPS)
        Flip stored bits, and let the walk find them before the next inference begins. Refused for a
        set that is not valid, a word that is not stored, and while `busy`.
    busy : Out(1)
        A command is being executed.
    working : Out(1)
        Something changes in this cycle, apart from what `valid` says and the pause.
    valid, in_use : In(sets)
        Sets that hold a model; those of inferences in flight.
    request, answer : Out(scrub_layout), In(answer_layout)
        To the memories; each request is answered once.
    put, put_ready : Out(load_layout), In(1)
        A word to be written.
    hold : Out(1)
        No inference may begin.
    renew_stb, renewing : Out(1), In(1)
        What was computed with `set` is void; being done, from the next cycle on.
    fail_stb : Out(1)
        `set` is not valid any more.
    set : Out(set_bits)
        Of both.
    events : Out(EVENTS)
    last : Out(last_layout)
    programs : Out(program_signature)
        With ECC of programs: the law engine.
    inject_program : In(1)
        As above: with `inject_stb`, the injection is at `inject_program_place`, in the word's data
        bits from 32 on and the last 4 check bits if `inject_program_half`, else in the others.
    of_program, bank : Out(1), Out(3)
        As above: `events` are of the program in this bank.
    last_program : Out(last_program_layout)
        As above.
    """

    def __init__(self, config: NicConfig) -> None:
        self._config = config
        programs = {"programs": Out(program_signature(max(config.law_cores, 1)))}
        super().__init__(
            {
                "enable": In(1),
                "period": In(16),
                "scrub_stb": In(1),
                "inject_stb": In(1),
                "inject_place": In(place_layout(config)),
                "inject_flips": In(FLIPS),
                "busy": Out(1),
                "working": Out(1),
                "valid": In(config.sets),
                "in_use": In(config.sets),
                "request": Out(scrub_layout(config)),
                "answer": In(answer_layout()),
                "put": Out(load_layout(config)),
                "put_ready": In(1),
                "hold": Out(1),
                "renew_stb": Out(1),
                "renewing": In(1),
                "fail_stb": Out(1),
                "set": Out(config.set_bits),
                "events": Out(EVENTS),
                "last": Out(last_layout(config)),
                **program_ports(config),
                **(programs if config.guards_programs else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        w = Work(self._config)
        m.submodules.pause = pause = Pause()
        self._check(m, w)
        self._commands(m, w)
        over = self.enable & pause.over
        m.d.comb += [
            pause.begin_stb.eq((w.step & ~w.any_program) | w.program_step | w.set_passes),
            pause.cycles.eq(self.period),
            w.sets_begin.eq(w.hurry | (over & w.any_valid)),
            w.programs_begin.eq(w.program_hurry | (over & w.any_program)),
            w.begins.eq(w.sets_begin | w.programs_begin),
            self.events.passes.eq(w.set_passes | w.program_passes),
        ]
        with m.If(w.set_passes):
            m.d.sync += w.hurry.eq(0)
        if self._config.guards_programs:
            self._programs(m, w)

        m.d.sync += w.wait.eq(w.wait - 1)
        with m.FSM(name="scrub") as fsm:
            self._begin(m, w)
            self._read(m, w)
            self._search(m, w)
            self._end(m, w)
        strobes = self.inject_stb | self.scrub_stb | w.suspected
        if self._config.guards_programs:
            strobes |= self.programs.suspect.valid
        m.d.comb += self.working.eq(~fsm.ongoing("IDLE") | w.begins | self.busy | strobes)
        found = self.events.corrected | self.events.uncorrectable
        with m.If(found & ~w.of_program):
            m.d.sync += [
                self.last.place.eq(w.at),
                self.last.place.word.eq(Cat(self.events.corrected & w.odd, w.at.word[1:])),
                self.last.bit.eq(Mux(self.events.corrected, w.bit, 0)),
                self.last.uncorrectable.eq(self.events.uncorrectable),
                self.last.valid.eq(1),
            ]
        return m

    def _check(self, m: Module, w: Work) -> None:
        """The syndrome of the pair that was read, and what is asked for and written."""
        # A set that is taken from under the walk: what was read of it means nothing.
        m.d.sync += w.used.eq(self.in_use.any())
        valid = self.valid.bit_select(w.at.set, 1)
        m.d.sync += [
            w.alive.eq(Mux(w.of_program, w.program_valid, valid)),
            w.any_valid.eq(self.valid.any()),
        ]
        with m.If(~w.alive):
            m.d.sync += w.gone.eq(1)

        check = parity(m, "stored", Cat(w.words[0][:32], w.words[1][:32]))
        m.d.sync += w.syndrome.eq(check ^ Cat(w.words[0][32:], w.words[1][32:]))
        same = Array(COLUMNS)[w.number] == w.syndrome
        m.d.sync += [w.found.eq(same & ~w.lacks), w.tried.eq(w.number)]
        m.d.sync += [
            w.mask.eq((1 << w.flips.first) | Mux(w.flips.double, 1 << w.flips.second, 0)),
            w.one.eq(1 << w.bit),
        ]
        m.d.comb += [
            w.bit.eq(Mux(w.number < PAIR_BITS, w.number[:5], 32 | w.number[:2])),
            self.busy.eq(w.asked | w.injecting | w.wanted | w.hurry | w.program_hurry),
            self.request.place.eq(w.at),
            self.request.place.word.eq(Cat(w.odd, w.at.word[1:])),
            self.put.set.eq(w.at.set),
            self.put.row.eq(w.at.row),
            self.put.word.eq(Cat(w.odd, w.at.word[1:])),
            self.put.data.eq(Mux(w.odd, w.words[1], w.words[0])[:32]),
            self.put.check.eq(Mux(w.odd, w.words[1], w.words[0])[32:]),
            self.put.copies.eq(Mux(of_tree(w.at), 0b100, Mux(w.at.second, 0b10, 0b01))),
            self.set.eq(w.at.set),
        ]

    def _commands(self, m: Module, w: Work) -> None:
        """The host's commands: an injection, a walk; the cursor's steps."""
        events = self.events
        with m.If(self.inject_stb):
            with m.If(self.busy):
                m.d.comb += events.refused.eq(1)
            with m.Else():
                m.d.sync += [
                    w.asked.eq(1),
                    w.target.eq(self.inject_place),
                    w.flips.eq(self.inject_flips),
                ]
        with m.Elif(self.scrub_stb):
            with m.If(self.busy):
                m.d.comb += events.refused.eq(1)
            with m.Else():
                m.d.sync += w.wanted.eq(1)

        walk_sets(m, w, self._config)

    def _begin(self, m: Module, w: Work) -> None:
        """States until a pair is read or written: idle, its set is looked up, inferences end."""
        events = self.events
        with m.State("IDLE"):
            m.d.sync += [w.at.eq(w.cursor), w.odd.eq(0), self.hold.eq(0), w.wait.eq(2)]
            with m.If(w.asked):
                m.d.sync += [w.at.eq(w.target), w.asked.eq(0), w.injecting.eq(1)]
                m.next = "SEEK"
            with m.Elif(w.wanted):
                m.d.sync += [w.wanted.eq(0), w.hurry.eq(1), w.cursor.eq(0)]
            with m.Elif(w.suspected | w.begins):
                m.next = "SEEK"
            if self._config.guards_programs:
                self._choose_program(m, w)
        with m.State("SEEK"), m.If(w.wait == 0):
            m.d.sync += [w.gone.eq(0), w.wait.eq(_QUIET)]
            stored = is_stored(w.at)
            if self._config.guards_programs:
                stored = Mux(w.of_program, w.program.at < PROGRAM_WORDS, stored)
            with m.If(~w.injecting):
                m.d.comb += w.skip.eq(~w.alive & ~w.of_program)
                if self._config.guards_programs:
                    m.d.comb += w.program_skip.eq(~w.alive & w.of_program & ~w.looking)
                m.next = "IDLE"
                with m.If(w.alive):
                    m.next = "READ"
            with m.Elif(w.alive & stored):
                m.d.sync += [self.hold.eq(~w.of_program), w.flipping.eq(1)]
                m.next = "QUIET"
                with m.If(w.of_program):
                    m.d.sync += w.odd.eq(w.program_half)
                    m.next = "READ"
            with m.Else():
                m.d.comb += events.refused.eq(1)
                m.d.sync += w.injecting.eq(0)
                m.next = "IDLE"
        with m.State("QUIET"):
            with m.If(w.used):
                m.d.sync += w.wait.eq(_QUIET)
            with m.Elif(w.wait == 0):
                m.next = "PUT"
                with m.If(w.flipping):
                    m.d.sync += w.odd.eq(w.at.word[0])
                    m.next = "READ"

    def _read(self, m: Module, w: Work) -> None:
        """States that read a pair's words, and flip bits of one for an injection."""
        with m.State("READ"):
            m.d.comb += self.request.valid.eq(~w.of_program)
            m.d.sync += w.wait.eq(_GAP)
            with m.If(self.answer.valid):
                m.d.sync += w.words[w.odd].eq(self.answer.word)
                m.next = "GAP"
            if self._config.guards_programs:
                self._read_program(m, w)
        with m.State("GAP"), m.If(w.wait == 0):
            m.d.sync += [w.wait.eq(CHECK_LATENCY), w.number.eq(0)]
            with m.If(w.flipping):
                m.next = "FLIP"
            with m.Elif(w.odd | w.of_program):
                m.next = "CHECK"
            with m.Else():
                m.d.sync += w.odd.eq(1)
                m.next = "READ"
        with m.State("FLIP"):
            m.d.sync += w.words[w.odd].eq(w.words[w.odd] ^ w.mask)
            m.next = "PUT"

    def _search(self, m: Module, w: Work) -> None:
        """States that look for the wrong bit: the column of the code that equals the syndrome."""
        with m.State("CHECK"), m.If(w.wait == 0):
            m.d.sync += w.wait.eq(_FAIL)
            m.next = "SEARCH"
            with m.If(w.gone | (w.syndrome == 0)):
                m.next = "DONE"
            with m.Elif(~w.syndrome.xor()):
                m.next = "FAIL"
        with m.State("SEARCH"):
            m.d.sync += [w.number.eq(w.number + 1), w.wait.eq(_FAIL)]
            with m.If(w.gone):
                m.next = "DONE"
            with m.Elif(w.found):
                m.d.sync += w.number.eq(w.tried)
                m.next = "LOCATE"
            with m.Elif(w.tried == len(COLUMNS) - 1):
                m.next = "FAIL"
        with m.State("LOCATE"):
            m.d.sync += [w.wait.eq(_QUIET), self.hold.eq(~w.of_program)]
            m.next = "CORRECT"
        with m.State("CORRECT"):
            m.d.sync += [w.odd.eq(w.which), w.words[w.which].eq(w.words[w.which] ^ w.one)]
            m.next = "QUIET"
            with m.If(w.of_program):
                m.next = "PUT"

    def _end(self, m: Module, w: Work) -> None:
        """States that write a word, renew or disable the set, and go on."""
        events = self.events
        with m.State("PUT"):
            ready = self.put_ready
            m.d.comb += self.put.en.eq(~w.gone & ~w.of_program)
            if self._config.guards_programs:
                m.d.comb += self.programs.put.en.eq(~w.gone & w.of_program)
                ready = Mux(w.of_program, self.programs.put_ready, ready)
            m.d.sync += w.wait.eq(_SETTLE)
            with m.If(w.gone):
                m.d.comb += events.refused.eq(w.flipping)
                m.d.sync += w.flipping.eq(0)
                m.next = "DONE"
            with m.Elif(ready):
                m.next = "SETTLE"
        with m.State("SETTLE"), m.If(w.wait == 0):
            with m.If(w.flipping):
                m.d.comb += events.injected.eq(1)
                m.d.sync += [w.flipping.eq(0), w.odd.eq(0)]
                m.next = "READ"
            with m.Elif(w.of_program):
                m.d.comb += events.corrected.eq(1)
                m.next = "DONE"
            with m.Else():
                m.d.comb += self.renew_stb.eq(1)
                m.next = "RENEW"
        with m.State("RENEW"), m.If(~self.renewing):
            m.d.comb += events.corrected.eq(1)
            m.next = "DONE"
        with m.State("FAIL"):
            m.d.comb += self.fail_stb.eq(~w.of_program)
            if self._config.guards_programs:
                m.d.comb += self.programs.fail_stb.eq(w.of_program)
            with m.If(w.wait == 0):
                m.d.comb += events.uncorrectable.eq(1)
                m.next = "DONE"
        with m.State("DONE"):
            steps = ~w.injecting & ~w.gone
            m.d.comb += [w.step.eq(steps & ~w.of_program), events.scrubbed.eq(~w.injecting)]
            m.d.sync += w.injecting.eq(0)
            if self._config.guards_programs:
                m.d.comb += w.program_step.eq(steps & w.of_program & ~w.looking)
                with m.If(~w.injecting & ~w.looking):
                    m.d.sync += w.program_turn.eq(~w.of_program)
            m.next = "IDLE"

    # --- programs of the law engine ---------------------------------------------------------------

    def _programs(self, m: Module, w: Work) -> None:
        """Commands and suspects, what is written, and the last error."""
        programs, place, events = self.programs, w.program, self.events
        walk_programs(m, w, self._config)
        m.d.sync += [
            w.program_valid.eq(programs.valid.bit_select(place.bank, 1)),
            w.any_program.eq(programs.valid.any()),
        ]
        with m.If(self.inject_stb & ~self.busy):
            m.d.sync += [
                w.asked_program.eq(self.inject_program),
                w.program_target.eq(self.inject_program_place),
                w.program_half.eq(self.inject_program_half),
            ]
        with m.If(programs.suspect.valid & ~w.suspected):
            m.d.sync += [w.suspected.eq(1), w.suspect.eq(programs.suspect.place)]
        with m.If(w.program_passes):
            m.d.sync += w.program_hurry.eq(0)
        even, odd = w.words[0], w.words[1]
        m.d.comb += [
            programs.request.place.eq(place),
            programs.put.place.eq(place),
            programs.put.data.eq(Cat(even[:32], odd[:32])),
            programs.put.check.eq(Cat(even[32:], odd[32:])),
            self.of_program.eq(w.of_program),
            self.bank.eq(place.bank),
        ]
        last = self.last_program
        with m.If((events.corrected | events.uncorrectable) & w.of_program):
            m.d.sync += [
                last.place.eq(place),
                last.half.eq(events.corrected & w.odd),
                last.bit.eq(Mux(events.corrected, w.bit, 0)),
                last.uncorrectable.eq(events.uncorrectable),
                last.valid.eq(1),
            ]

    def _choose_program(self, m: Module, w: Work) -> None:
        """In IDLE: the next word is a program's, by command, by an event, or in its turn."""
        m.d.sync += [w.program.eq(w.program_cursor), w.of_program.eq(0), w.looking.eq(0)]
        with m.If(w.asked):
            m.d.sync += [w.program.eq(w.program_target), w.of_program.eq(w.asked_program)]
        with m.Elif(w.wanted):
            m.d.sync += [w.program_hurry.eq(1), w.program_cursor.eq(0)]
        with m.Elif(w.suspected):
            m.d.sync += [w.program.eq(w.suspect), w.suspected.eq(0)]
            m.d.sync += [w.of_program.eq(1), w.looking.eq(1)]
        with m.Elif(w.begins):
            mine = w.programs_begin & (w.program_turn | ~w.sets_begin)
            m.d.sync += w.of_program.eq(mine)

    def _read_program(self, m: Module, w: Work) -> None:
        """In READ: a program's word comes as a whole."""
        answer = self.programs.answer
        m.d.comb += self.programs.request.valid.eq(w.of_program)
        with m.If(answer.valid):
            m.d.sync += [
                w.words[0].eq(Cat(answer.data[:32], answer.check[:4])),
                w.words[1].eq(Cat(answer.data[32:], Const(0, 16), answer.check[4:])),
            ]
            m.next = "GAP"
