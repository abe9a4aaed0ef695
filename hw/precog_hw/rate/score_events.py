"""Congestion scores that packets bring become events, between those of the laws."""

from amaranth.hdl import Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.csr.qp import config_layout
from precog_hw.latest import Latest
from precog_hw.rate.law_layouts import LAW_EVENT
from precog_hw.rows import BitMemory
from precog_spec.config import NicConfig
from precog_spec.contract import Fmt
from precog_spec.law_fields import NO_SCORE, SCORE_BITS, EventKind

__all__ = ["ScoreEvents"]

_SCORE_BITS = SCORE_BITS + 2


class ScoreEvents(wiring.Component):
    """Events of the laws pass, and take turns with the scores of queue pairs that listen.

    Those that run PSCHED do, and with a law engine those that run a program.

    ::

        score ─► [listens?] ─► last one of every queue pair ─┬─► o
        i ───────────────────────────────────────────────────────┘

    Every packet may bring a score; of those that wait the last one counts. A clear takes those that
    wait back: where one has its turn already, "none" follows it. An event bears the time at which
    it is offered.

    Latency: 1 cycle from `i` to `o`, 9 from a score. Throughput: an event per cycle, a score in 4.
    Cost at 1024 queue pairs: `Latest` of 10 bits, 1 DP16KD.

    Parameters
    ----------
    config : NicConfig

    Members
    -------
    heard, heard_slot, heard_score : In
        A packet of a known queue pair has brought a score; above it, a `ScoreCommand`.
    now : In(40)
        Ticks.
    command_stb, command : In
        What is configured, as it is.
    i : In(stream.Signature(LAW_EVENT))
    o : Out(stream.Signature(LAW_EVENT))
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, config: NicConfig) -> None:
        self._qps, self._programs = config.qps, bool(config.law_cores)
        self._word = data.StructLayout(
            {"qp": unsigned(config.qp_bits), "score": unsigned(_SCORE_BITS)}
        )
        super().__init__(
            {
                "heard": In(1),
                "heard_slot": In(config.qp_bits),
                "heard_score": In(_SCORE_BITS),
                "now": In(Fmt.TIME.width),
                "command_stb": In(1),
                "command": In(config_layout(config)),
                "i": In(stream.Signature(LAW_EVENT)),
                "o": Out(stream.Signature(LAW_EVENT)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.latest = latest = Latest(self._word)
        listens = BitMemory(m, "listens", unsigned(1), self._qps)
        command, write = self.command, listens.write
        runs = command.config.algorithm[-1] & self._programs
        m.d.comb += [
            write.en.eq(self.command_stb & command.apply),
            write.addr.eq(command.qp),
            write.data.eq(command.config.enable & (command.config.psched | runs)),
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
        tells = heard & listens.read(m, self.heard_slot)
        with m.If(clears):
            m.d.sync += [takes_back.eq(1), of.eq(cleared)]
        with m.Elif(~tells | (slot == of)):
            m.d.sync += takes_back.eq(0)
        m.d.comb += [
            latest.i_stb.eq(tells | takes_back),
            latest.tells.eq(tells),
            latest.i.qp.eq(Mux(tells, slot, of)),
            latest.i.score.eq(Mux(tells, score, NO_SCORE)),
        ]

        event, score_turn = self.o.payload, Signal()
        free, wins = Signal(), Signal()
        m.d.comb += [
            free.eq(~self.o.valid | self.o.ready),
            wins.eq(latest.o.valid & (score_turn | ~self.i.valid)),
            latest.o.ready.eq(free & wins),
            self.i.ready.eq(free & ~wins),
        ]
        with m.If(free):
            m.d.sync += [self.o.valid.eq(self.i.valid | latest.o.valid), event.eq(self.i.payload)]
            with m.If(self.i.valid | latest.o.valid):
                m.d.sync += score_turn.eq(~wins)
            with m.If(wins):
                m.d.sync += [
                    event.kind.eq(EventKind.SCORE),
                    event.qp.eq(latest.o.payload.qp),
                    event.t.eq(self.now),
                    event.value.eq(latest.o.payload.score),
                ]
        return m
