"""Scores and levels that packets bring become events, between those of the laws."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.csr.qp import config_layout
from precog_hw.latest import Latest
from precog_hw.rate.law_layouts import LAW_EVENT
from precog_hw.rows import BitMemory
from precog_spec.config import NicConfig
from precog_spec.contract import Fmt
from precog_spec.law_fields import (
    LEVEL_ALONE,
    NO_SCORE,
    SCORE_BITS,
    SENDERS_AT,
    SENDERS_BITS,
    EventKind,
)

__all__ = ["ScoreEvents", "hears_levels"]

_SCORE_BITS = SCORE_BITS + 2
_LISTENS = data.StructLayout({"scores": 1, "levels": 1})


def hears_levels(config: NicConfig) -> bool:
    """Whether programs hear of levels."""
    return bool(config.senders and config.law_cores)


class ScoreEvents(wiring.Component):
    """Events of the laws pass, and take turns with the scores of queue pairs that listen.

    Those that run PSCHED do, and with a law engine those that run a program.

    ::

        score ─► [listens?] ─► last one of every queue pair ─┬─► o
        i ───────────────────────────────────────────────────────┘

    Every packet may bring a score; of those that wait the last one counts. A clear takes those that
    wait back: where one has its turn already, "none" follows it. An event bears the time at which
    it is offered.

    Programs also hear the level of their receiver: each event of theirs has the one in force, and a
    level that is new makes one by itself, without a score. It leaves a score that waits as it is.
    With `follows` a score bears the level that its queue pair has heard last, and so says nothing
    new of it.

    Latency: 1 cycle from `i` to `o`, 9 from a score. Throughput: an event per cycle, a score in 4.
    Cost at 1024 queue pairs: `Latest` of 10 bits, 1 DP16KD.

    Parameters
    ----------
    config : NicConfig
    follows : bool
        Levels come with the events of `i`.

    Members
    -------
    heard, heard_slot, heard_score : In
        A packet of a known queue pair has brought a score; above it, a `ScoreCommand`.
    news, level : In
        With `hears_levels`, without `follows`: a packet of `heard_slot` has brought a new level, or
        the host believes one; the one in force.
    now : In(40)
        Ticks.
    command_stb, command : In
        What is configured, as it is.
    i : In(stream.Signature(LAW_EVENT))
    o : Out(stream.Signature(LAW_EVENT))
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, config: NicConfig, *, follows: bool = False) -> None:
        self._qps, self._programs = config.qps, bool(config.law_cores)
        self._levels = hears_levels(config) and not follows
        self._follows = self._programs and follows
        level = {"level": unsigned(SENDERS_BITS)} if self._levels else {}
        self._word = data.StructLayout(
            {"qp": unsigned(config.qp_bits), "score": unsigned(_SCORE_BITS), **level}
        )
        super().__init__(
            {
                "heard": In(1),
                "heard_slot": In(config.qp_bits),
                "heard_score": In(_SCORE_BITS),
                **({"news": In(1), "level": In(SENDERS_BITS)} if self._levels else {}),
                "now": In(Fmt.TIME.width),
                "command_stb": In(1),
                "command": In(config_layout(config)),
                "i": In(stream.Signature(LAW_EVENT)),
                "o": Out(stream.Signature(LAW_EVENT)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        kept = "score" if self._levels else ""
        m.submodules.latest = latest = Latest(self._word, kept=kept)
        listens = BitMemory(m, "listens", _LISTENS, self._qps)
        command, write = self.command, listens.write
        runs = command.config.enable & command.config.algorithm[-1] & self._programs
        m.d.comb += [
            write.en.eq(self.command_stb & command.apply),
            write.addr.eq(command.qp),
            write.data.scores.eq((command.config.enable & command.config.psched) | runs),
            write.data.levels.eq(runs),
        ]
        # Who listens is known in the next cycle: scores and clears wait for it.
        heard, slot, score = Signal(), Signal.like(self.heard_slot), Signal.like(self.heard_score)
        clears, cleared = Signal(), Signal.like(command.qp)
        m.d.sync += [
            heard.eq(self.heard),
            slot.eq(self.heard_slot),
            score.eq(self.heard_score),
            clears.eq(self.command_stb & command.clear),
            cleared.eq(command.qp),
        ]
        # A clear waits for a cycle without a score; a later one of the same queue pair counts.
        takes_back, of = Signal(), Signal.like(self.heard_slot)
        listening = listens.read(m, self.heard_slot)
        tells = heard & listening.scores
        if self._levels:
            news, level = Signal(), Signal.like(self.level)
            m.d.sync += [news.eq(self.news), level.eq(self.level)]
            tells |= news & listening.levels
            m.d.comb += [
                latest.i.level.eq(Mux(tells & listening.levels, level, 0)),
                # What a clear still has to take back does not stay.
                latest.keeps.eq(tells & ~heard & ~(takes_back & (slot == of))),
            ]
        with m.If(clears):
            m.d.sync += [takes_back.eq(1), of.eq(cleared)]
        with m.Elif(~tells | (slot == of)):
            m.d.sync += takes_back.eq(0)
        m.d.comb += [
            latest.i_stb.eq(tells | takes_back),
            latest.tells.eq(tells),
            latest.i.qp.eq(Mux(tells, slot, of)),
            latest.i.score.eq(
                Mux(tells, Mux(heard, score, LEVEL_ALONE), NO_SCORE),
            ),
        ]

        event, score_turn = self.o.payload, Signal()
        free, wins = Signal(), Signal()
        may, followed = self._followed(m, latest.o, clears, cleared)
        m.d.comb += [
            free.eq(~self.o.valid | self.o.ready),
            wins.eq(latest.o.valid & may & (score_turn | ~self.i.valid)),
            latest.o.ready.eq(free & wins),
            self.i.ready.eq(free & ~wins),
        ]
        with m.If(free):
            m.d.sync += [self.o.valid.eq(self.i.valid | wins), event.eq(self.i.payload)]
            with m.If(self.i.valid | wins):
                m.d.sync += score_turn.eq(~wins)
            with m.If(wins):
                m.d.sync += [
                    event.kind.eq(EventKind.SCORE),
                    event.qp.eq(latest.o.payload.qp),
                    event.t.eq(self.now),
                    event.value.eq(self._value(latest.o.payload, followed)),
                ]
        return m

    def _followed(
        self, m: Module, waiting: stream.Interface, clears: Value, cleared: Value
    ) -> tuple[Value, Value]:
        """The level that the queue pair of the score that waits has heard last, once it is known.

        Also says whether it is. A clear waits for a cycle in which no level passes.
        """
        if not self._follows:
            return Const(1), Const(0, SENDERS_BITS)
        levels = BitMemory(m, "levels", unsigned(SENDERS_BITS), self._qps)
        event, passes, known = self.i.payload, Signal(), Signal()
        forgets, whose = Signal(), Signal.like(self.heard_slot)
        m.d.comb += [
            passes.eq(
                self.i.valid
                & self.i.ready
                & (event.kind == EventKind.SCORE)
                & ((event.qp >> len(whose)) == 0)
            ),
            levels.write.en.eq(passes | forgets),
            levels.write.addr.eq(Mux(passes, event.qp, whose)),
            levels.write.data.eq(Mux(passes, event.value >> SENDERS_AT, 0)),
        ]
        m.d.sync += known.eq(waiting.valid & ~waiting.ready)
        with m.If(clears):
            m.d.sync += [forgets.eq(1), whose.eq(cleared)]
        with m.Elif(~passes | (event.qp == whose)):
            m.d.sync += forgets.eq(0)
        return known, levels.read(m, waiting.payload.qp)

    def _value(self, word: data.View, followed: Value) -> Value:
        if not (self._levels or self._follows):
            return Value.cast(word.score)
        level = followed if self._follows else word.level
        return Cat(word.score, Const(0, SENDERS_AT - _SCORE_BITS), level)
