"""The scrubber walks over stored words, corrects single errors, disables sets with double ones.

Golden model `precog_models.predict.ecc.decode_pairs`; the order of the walk is
`secded_fields.pairs`.

::

    timer ─► next pair of a valid set ─► even word ─► odd word ─► syndrome ─┬─ 0 ────────────► done
    command ─► engine held ─► word ─► flipped ──┘                           │
       ┌────────────────────────────────────────────────────────────────────┤
       ├─ a column of the matrix ─► engine held ─► word written ─► contexts void ─► done
       └─ something else ─► set invalid, slots disabled ─► done
"""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from precog_spec.config import NicConfig
from precog_spec.secded import (
    PAIR_BITS,
    SECOND_ROWS,
    STORED_BITS,
    TAIL_PAIRS,
    TAIL_ROW,
    check_bits,
    columns,
)

from .check_bits import CHECK_LATENCY, parity
from .layouts import answer_layout, load_layout, place_layout, scrub_layout

__all__ = ["EVENTS", "FLIPS", "Scrubber", "last_layout"]

_CHECK = check_bits(PAIR_BITS)
_COLUMNS = (*columns(PAIR_BITS), *(1 << r for r in range(_CHECK)))
_GAP = 4  # cycles between two requests: `Thief` forgets the first
_QUIET = 8  # cycles that no inference is in flight: nothing of one is on its way
_SETTLE = 8  # cycles from a write's acceptance until it can be read
_FAIL = 12  # cycles that a set is failed: what was decided on it just before is undone, too

#: Strobes: a pair was checked; the walk begins anew; an error was corrected; one cannot be; a flip
#: was injected; a command was refused.
EVENTS = data.StructLayout(
    {"scrubbed": 1, "passes": 1, "corrected": 1, "uncorrectable": 1, "injected": 1, "refused": 1}
)

#: One or two bits of a stored word, of 36.
FLIPS = data.StructLayout({"first": 6, "second": 6, "double": 1})


def last_layout(config: NicConfig) -> data.StructLayout:
    """Where the last error was; of an `uncorrectable` one the pair's even word."""
    return data.StructLayout(
        {"place": place_layout(config), "bit": 6, "uncorrectable": 1, "valid": 1}
    )


class _Work:
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
        self.number = Signal(range(len(_COLUMNS)))
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


class Scrubber(wiring.Component):
    """SECDED without a corrector between the memories and their readers.

    A word is read when its memory is idle: at the latest after one sample's slots (up to
    ``T * I * 16 / columns + 2`` cycles), or in a cycle that the MAC array leaves between two
    vectors. Only a write, which is as rare as an error, keeps samples waiting: until the inferences
    in flight have ended, and about 60 cycles plus one for each slot of the map.

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
    """

    def __init__(self, config: NicConfig) -> None:
        self._config = config
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
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        w = _Work(self._config)
        m.submodules.pause = pause = _Pause()
        self._check(m, w)
        self._commands(m, w)
        m.d.comb += [
            pause.begin_stb.eq(w.step | self.events.passes),
            pause.cycles.eq(self.period),
            w.begins.eq(w.hurry | (self.enable & w.any_valid & pause.over)),
        ]
        with m.If(self.events.passes):
            m.d.sync += w.hurry.eq(0)

        m.d.sync += w.wait.eq(w.wait - 1)
        with m.FSM(name="scrub") as fsm:
            self._begin(m, w)
            self._read(m, w)
            self._search(m, w)
            self._end(m, w)
        strobes = self.inject_stb | self.scrub_stb
        m.d.comb += self.working.eq(~fsm.ongoing("IDLE") | w.begins | self.busy | strobes)
        with m.If(self.events.corrected | self.events.uncorrectable):
            m.d.sync += [
                self.last.place.eq(w.at),
                self.last.place.word.eq(Cat(self.events.corrected & w.odd, w.at.word[1:])),
                self.last.bit.eq(Mux(self.events.corrected, w.bit, 0)),
                self.last.uncorrectable.eq(self.events.uncorrectable),
                self.last.valid.eq(1),
            ]
        return m

    def _check(self, m: Module, w: _Work) -> None:
        """The syndrome of the pair that was read, and what is asked for and written."""
        # A set that is taken from under the walk: what was read of it means nothing.
        m.d.sync += w.used.eq(self.in_use.any())
        m.d.sync += [
            w.alive.eq(self.valid.bit_select(w.at.set, 1)),
            w.any_valid.eq(self.valid.any()),
        ]
        with m.If(~w.alive):
            m.d.sync += w.gone.eq(1)

        check = parity(m, "stored", Cat(w.words[0][:32], w.words[1][:32]))
        m.d.sync += w.syndrome.eq(check ^ Cat(w.words[0][32:], w.words[1][32:]))
        m.d.sync += [w.found.eq(Array(_COLUMNS)[w.number] == w.syndrome), w.tried.eq(w.number)]
        m.d.sync += [
            w.mask.eq((1 << w.flips.first) | Mux(w.flips.double, 1 << w.flips.second, 0)),
            w.one.eq(1 << w.bit),
        ]
        m.d.comb += [
            w.bit.eq(Mux(w.number < PAIR_BITS, w.number[:5], 32 | w.number[:2])),
            self.busy.eq(w.asked | w.injecting | w.wanted | w.hurry),
            self.request.place.eq(w.at),
            self.request.place.word.eq(Cat(w.odd, w.at.word[1:])),
            self.put.set.eq(w.at.set),
            self.put.row.eq(w.at.row),
            self.put.word.eq(Cat(w.odd, w.at.word[1:])),
            self.put.data.eq(Mux(w.odd, w.words[1], w.words[0])[:32]),
            self.put.check.eq(Mux(w.odd, w.words[1], w.words[0])[32:]),
            self.put.copies.eq(Mux(_of_tree(w.at), 0b100, Mux(w.at.second, 0b10, 0b01))),
            self.set.eq(w.at.set),
        ]

    def _commands(self, m: Module, w: _Work) -> None:
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

        self._walk(m, w.cursor, w.step, w.skip)

    def _begin(self, m: Module, w: _Work) -> None:
        """States until a pair is read or written: idle, its set is looked up, inferences end."""
        events = self.events
        with m.State("IDLE"):
            m.d.sync += [w.at.eq(w.cursor), w.odd.eq(0), self.hold.eq(0), w.wait.eq(2)]
            with m.If(w.asked):
                m.d.sync += [w.at.eq(w.target), w.asked.eq(0), w.injecting.eq(1)]
                m.next = "SEEK"
            with m.Elif(w.wanted):
                m.d.sync += [w.wanted.eq(0), w.hurry.eq(1), w.cursor.eq(0)]
            with m.Elif(w.begins):
                m.next = "SEEK"
        with m.State("SEEK"), m.If(w.wait == 0):
            m.d.sync += [w.gone.eq(0), w.wait.eq(_QUIET)]
            with m.If(~w.injecting):
                m.d.comb += w.skip.eq(~w.alive)
                m.next = "IDLE"
                with m.If(w.alive):
                    m.next = "READ"
            with m.Elif(w.alive & _stored(w.at)):
                m.d.sync += [self.hold.eq(1), w.flipping.eq(1)]
                m.next = "QUIET"
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

    def _read(self, m: Module, w: _Work) -> None:
        """States that read a pair's words, and flip bits of one for an injection."""
        with m.State("READ"):
            m.d.comb += self.request.valid.eq(1)
            m.d.sync += w.wait.eq(_GAP)
            with m.If(self.answer.valid):
                m.d.sync += w.words[w.odd].eq(self.answer.word)
                m.next = "GAP"
        with m.State("GAP"), m.If(w.wait == 0):
            m.d.sync += [w.wait.eq(CHECK_LATENCY), w.number.eq(0)]
            with m.If(w.flipping):
                m.next = "FLIP"
            with m.Elif(w.odd):
                m.next = "CHECK"
            with m.Else():
                m.d.sync += w.odd.eq(1)
                m.next = "READ"
        with m.State("FLIP"):
            m.d.sync += w.words[w.odd].eq(w.words[w.odd] ^ w.mask)
            m.next = "PUT"

    def _search(self, m: Module, w: _Work) -> None:
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
            with m.Elif(w.tried == len(_COLUMNS) - 1):
                m.next = "FAIL"
        with m.State("LOCATE"):
            m.d.sync += [w.wait.eq(_QUIET), self.hold.eq(1)]
            m.next = "CORRECT"
        with m.State("CORRECT"):
            m.d.sync += [w.odd.eq(w.which), w.words[w.which].eq(w.words[w.which] ^ w.one)]
            m.next = "QUIET"

    def _end(self, m: Module, w: _Work) -> None:
        """States that write a word, renew or disable the set, and go on."""
        events = self.events
        with m.State("PUT"):
            m.d.comb += self.put.en.eq(~w.gone)
            m.d.sync += w.wait.eq(_SETTLE)
            with m.If(w.gone):
                m.d.comb += events.refused.eq(w.flipping)
                m.d.sync += w.flipping.eq(0)
                m.next = "DONE"
            with m.Elif(self.put_ready):
                m.next = "SETTLE"
        with m.State("SETTLE"), m.If(w.wait == 0):
            with m.If(w.flipping):
                m.d.comb += events.injected.eq(1)
                m.d.sync += [w.flipping.eq(0), w.odd.eq(0)]
                m.next = "READ"
            with m.Else():
                m.d.comb += self.renew_stb.eq(1)
                m.next = "RENEW"
        with m.State("RENEW"), m.If(~self.renewing):
            m.d.comb += events.corrected.eq(1)
            m.next = "DONE"
        with m.State("FAIL"):
            m.d.comb += self.fail_stb.eq(1)
            with m.If(w.wait == 0):
                m.d.comb += events.uncorrectable.eq(1)
                m.next = "DONE"
        with m.State("DONE"):
            m.d.comb += [w.step.eq(~w.injecting & ~w.gone), events.scrubbed.eq(~w.injecting)]
            m.d.sync += w.injecting.eq(0)
            m.next = "IDLE"

    def _walk(self, m: Module, cursor: data.View, step: Signal, skip: Signal) -> None:
        """From pair to pair, copy to copy and set to set; says when it begins anew."""
        pair = cursor.word[1:]
        row_ends, first_ends, second_ends, set_ends = (Signal() for _ in range(4))
        m.d.comb += [
            row_ends.eq(pair.all()),
            first_ends.eq(
                ~(cursor.second | _of_tree(cursor))
                & (cursor.row == TAIL_ROW)
                & (pair == TAIL_PAIRS - 1)
            ),
            second_ends.eq(cursor.second & (cursor.row == SECOND_ROWS[1] - 1) & row_ends),
            set_ends.eq(second_ends),
        ]
        if self._config.tree:
            m.d.comb += set_ends.eq(cursor.tree & (cursor.row == TAIL_ROW - 1) & row_ends)
        with m.If(skip | (step & set_ends)):
            m.d.sync += [cursor.eq(0), cursor.set.eq(cursor.set + 1)]
            m.d.comb += self.events.passes.eq(cursor.set == self._config.sets - 1)
        with m.Elif(step & first_ends):
            m.d.sync += [cursor.word.eq(0), cursor.row.eq(SECOND_ROWS[0]), cursor.second.eq(1)]
        if self._config.tree:
            with m.Elif(step & second_ends):
                place = {"set": cursor.set, "tree": 1}
                m.d.sync += cursor.eq(0)
                m.d.sync += [cursor[name].eq(value) for name, value in place.items()]
        with m.Elif(step):
            m.d.sync += [cursor.word.eq(cursor.word + 2), cursor.row.eq(cursor.row + row_ends)]


class _Pause(wiring.Component):
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


def _stored(place: data.View) -> Value:
    """There is such a word."""
    low, high = SECOND_ROWS
    first = (place.row < TAIL_ROW) | (place.word < 2 * TAIL_PAIRS)
    second = (place.row >= low) & (place.row < high)
    third = ~place.second & (place.row < TAIL_ROW)
    return Mux(_of_tree(place), third, Mux(place.second, second, first))


def _of_tree(place: data.View) -> Value:
    """It is in the trees' memory."""
    has = "tree" in place.shape().members
    return Value.cast(place.tree) if has else Const(0)
