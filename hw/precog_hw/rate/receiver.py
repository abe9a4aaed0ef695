"""CPS-RX, the receiver: a congestion score's band decides on rate, priority and buffer.

Arithmetic and state are those of `precog_models.rate.receiver`.
"""

from amaranth.hdl import Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.latest import Latest
from precog_hw.pace.layouts import boost_layout
from precog_hw.rows import plain_memory
from precog_spec.config import NicConfig
from precog_spec.contract import Fmt
from precog_spec.law_fields import NO_SCORE, SCORE_BITS, SCORE_MAX, ScoreCommand
from precog_spec.receiver_fields import QUOTA_BITS, Act, Band, ReceiverKind

from .receiver_layouts import (
    COMMIT,
    CONFIG,
    EVENT,
    PARAMETERS,
    RESULT,
    STATE,
    quota_layout,
    word_layout,
)

__all__ = ["BandwidthMeter", "Receiver", "command_layout"]

_SUM_BITS = 32
_VISIT_CYCLES = 16  # between two visits


def command_layout(qp_bits: int) -> data.StructLayout:
    """A queue pair's configuration; with `clear` nothing of before counts."""
    return data.StructLayout({"qp": unsigned(qp_bits), "clear": unsigned(1), "config": CONFIG})


class BandwidthMeter(wiring.Component):
    """Whether bandwidth is available: what left in the last whole window was within the budget.

    Latency: 1 cycle. Throughput: every cycle. Cost: 100 flip-flops.

    Members
    -------
    sent : In(1), size : In(16)
        This many bytes have left.
    ticks : In(32)
        Length of a window in cycles; 0: bandwidth is always available.
    budget : In(32)
        Bytes.
    available : Out(1)
        Not before the first whole window.
    """

    sent: In(1)
    size: In(16)
    ticks: In(32)
    budget: In(32)
    available: Out(1)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        passed, kept = Signal(32), Signal(_SUM_BITS)
        total, whole = Signal(_SUM_BITS + 1), Signal(_SUM_BITS)
        m.d.comb += [
            total.eq(kept + Mux(self.sent, self.size, 0)),
            whole.eq(Mux(total[-1], (1 << _SUM_BITS) - 1, total)),
        ]
        m.d.sync += [passed.eq(passed + 1), kept.eq(whole)]
        with m.If(passed + 1 >= self.ticks):
            m.d.sync += [
                passed.eq(0),
                kept.eq(0),
                self.available.eq((self.ticks == 0) | (whole <= self.budget)),
            ]
        return m


class _Registers:
    """The event at work: its queue pair's row and configuration, and what follows from it."""

    def __init__(self, qp_bits: int) -> None:
        self.forgets = Signal(init=1)  # for `qps` cycles after a reset
        self.walks = Signal()  # queue pairs are visited
        self.visited = Signal(qp_bits)
        self.waited = Signal(range(_VISIT_CYCLES))
        self.scored = Signal()  # the last event was a score
        self.event = Signal(EVENT)
        self.clears = Signal()  # the row begins anew
        self.old = Signal(STATE)
        self.new = Signal(STATE)
        self.config = Signal(CONFIG)
        self.result = Signal(RESULT)
        self.used = Signal(QUOTA_BITS)  # cells beyond base quotas, of all queue pairs
        self.wanted = Signal(QUOTA_BITS)  # cells beyond the base quota that the band calls for
        self.others = Signal(QUOTA_BITS)  # cells that other queue pairs have of those
        self.done = Signal()


class Receiver(wiring.Component):
    """Scores in; commands for the local law, priorities and quotas out, each when it changes.

    ::

        heard ─► last one of every queue pair ─┐
        i_config ──────────────────────────────┼─► row ─► age ─► band ─► acts ─► room ─► extra ─┐
        a visit, when nothing waits ───────────┘                                                │
        score, o_boost, o_quota (the last ones of every queue pair), commit ◄───────────────────┘

    Of scores of a queue pair that wait the last one counts. Every queue pair is visited once in
    `qps` x 16 cycles or, while scores keep the unit busy, `qps` x 22: a visit that is due follows a
    score. Then its score ages, and what registers have changed is carried out.

    Latency: 16 cycles from a score to `o_score`, 23 to `o_boost` and `o_quota`. Throughput: an
    event in 11 cycles. Cost at 1024 queue pairs: 3 x `Latest`, 61 + 19 bits of block RAM per queue
    pair, 300 flip-flops; no multiplier.

    Parameters
    ----------
    config : NicConfig

    Members
    -------
    heard, heard_slot, heard_score : In
        A packet of a known queue pair has brought a score.
    available : In(1)
        Bandwidth is (`BandwidthMeter`).
    now : In(40)
        Ticks.
    parameters : In(PARAMETERS)
    i_config : In(stream.Signature(command_layout(qp_bits)))
        Every queue pair must get one with `clear` after a reset, before its first score; it is
        taken once nothing of before the reset waits any more.
    score_stb, score : Out(1), Out(word_layout)
        For the local law: score and, above it, `ScoreCommand`.
    o_boost : Out(stream.Signature(boost_layout(qps)))
    o_quota : Out(stream.Signature(quota_layout(qp_bits)))
        What is to be added to a queue pair's priority, and its quota in cells.
    commit_stb, commit : Out(1), Out(COMMIT)
        Each event as it takes effect, for the golden model.
    merged : Out(1)
        A score replaces one that waits.
    """

    i_config: stream.Interface
    o_boost: stream.Interface
    o_quota: stream.Interface
    parameters: data.View

    def __init__(self, config: NicConfig) -> None:
        bits = self._bits = config.qp_bits
        self._qps, self._relaxed = config.qps, config.relaxed
        self._score = word_layout(bits, "score", SCORE_BITS)
        self._boost = boost_layout(config.qps)
        self._quota = quota_layout(bits)
        super().__init__(
            {
                "heard": In(1),
                "heard_slot": In(bits),
                "heard_score": In(SCORE_BITS),
                "available": In(1),
                "now": In(Fmt.TIME.width),
                "parameters": In(PARAMETERS),
                "i_config": In(stream.Signature(command_layout(bits))),
                "score_stb": Out(1),
                "score": Out(word_layout(bits, "value", SCORE_BITS + 2)),
                "o_boost": Out(stream.Signature(self._boost)),
                "o_quota": Out(stream.Signature(self._quota)),
                "commit_stb": Out(1),
                "commit": Out(COMMIT),
                "merged": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.scores = scores = Latest(self._score, relaxed=self._relaxed)
        m.submodules.rows = rows = plain_memory(STATE, self._qps)
        m.submodules.configs = configs = plain_memory(CONFIG, self._qps)
        m.d.comb += [
            scores.i_stb.eq(self.heard),
            scores.tells.eq(1),
            scores.i.qp.eq(self.heard_slot),
            scores.i.score.eq(self.heard_score),
            self.merged.eq(scores.merged),
        ]
        at, command = _Registers(self._bits), self.i_config.payload
        row_read, row_write = rows.read_port(), rows.write_port()
        config_read, config_write = configs.read_port(), configs.write_port()
        m.d.comb += [
            *(
                port.addr.eq(at.event.qp)
                for port in (row_read, row_write, config_read, config_write)
            ),
            row_write.data.eq(at.new),
            config_write.data.eq(at.config),
            self.commit.event.eq(at.event),
            self.commit.result.eq(at.result),
        ]

        self._walk(m, at)
        with m.FSM(name="receiver"):
            self._take(m, at, scores.o)
            with m.State("LOAD"):
                m.next = "ROW"
            with m.State("ROW"):
                m.d.sync += [
                    at.old.eq(Mux(at.clears, 0, row_read.data.as_value())),
                    at.config.eq(config_read.data),
                ]
                with m.If(at.event.kind == ReceiverKind.CONFIGURE):
                    m.d.sync += at.config.eq(command.config)
                m.next = "AGE"
            self._find_band(m, at)
            self._act(m, at)
            self._grow(m, at)
            with m.State("DONE"):
                m.d.comb += [
                    at.done.eq(1),
                    row_write.en.eq(1),
                    config_write.en.eq(at.event.kind == ReceiverKind.CONFIGURE),
                    self.i_config.ready.eq(at.event.kind == ReceiverKind.CONFIGURE),
                ]
                m.d.sync += at.used.eq(at.used - at.old.extra + at.new.extra)
                m.next = "IDLE"
        self._tell(m, at)
        return m

    def _walk(self, m: Module, at: _Registers) -> None:
        """Count the cycles to the next visit, and those in which `Latest` forgets."""
        passed = Signal(self._bits)
        m.d.sync += passed.eq(passed + at.forgets)
        with m.If(passed == self._qps - 1):
            m.d.sync += at.forgets.eq(0)
        with m.If(at.waited != 0):
            m.d.sync += at.waited.eq(at.waited - 1)

    def _take(self, m: Module, at: _Registers, scores: stream.Interface) -> None:
        """IDLE: take a configuration, else a score or a visit, in turns."""
        command, due = self.i_config.payload, at.walks & (at.waited == 0)
        with m.State("IDLE"):
            m.d.sync += [
                at.event.t.eq(self.now),
                at.event.available.eq(self.available),
                at.event.score.eq(NO_SCORE),
                at.clears.eq(0),
            ]
            with m.If(self.i_config.valid & ~at.forgets):
                m.d.sync += [
                    at.event.kind.eq(ReceiverKind.CONFIGURE),
                    at.event.qp.eq(command.qp),
                    at.clears.eq(command.clear),
                    at.walks.eq(1),
                ]
                m.next = "LOAD"
            with m.Elif(scores.valid & ~(at.scored & due)):
                m.d.comb += scores.ready.eq(1)
                m.d.sync += [
                    at.scored.eq(1),
                    at.event.kind.eq(ReceiverKind.SCORE),
                    at.event.qp.eq(scores.payload.qp),
                    at.event.score.eq(scores.payload.score),
                ]
                m.next = "LOAD"
            with m.Elif(due):
                m.d.sync += [
                    at.scored.eq(0),
                    at.event.kind.eq(ReceiverKind.VISIT),
                    at.event.qp.eq(at.visited),
                    at.visited.eq(at.visited + 1),
                    at.waited.eq(_VISIT_CYCLES - 1),
                ]
                m.next = "LOAD"

    def _find_band(self, m: Module, at: _Registers) -> None:
        """AGE to BAND: the band of the score, of which hysteresis and age decide."""
        par, band, was = self.parameters, at.result.band, at.old.band
        age = Signal(Fmt.TIME.width)
        score, falls, stays = Signal(SCORE_BITS), Signal(2), Signal(2)
        is_score = at.event.kind == ReceiverKind.SCORE
        with m.State("AGE"):
            m.d.sync += [
                at.new.eq(at.old),
                at.result.was.eq(was),
                at.result.acts.eq(0),
                age.eq(at.event.t - at.old.score_t),
                score.eq(Mux(at.event.score > SCORE_MAX, SCORE_MAX, at.event.score)),
            ]
            m.next = "SCORE"
        with m.State("SCORE"):
            m.d.sync += [falls.eq(_band(score, par)), stays.eq(_band(score + par.hysteresis, par))]
            m.next = "BAND"
        with m.State("BAND"):
            least = Mux(stays < was, stays, was)
            aged = (was != Band.NONE) & (par.ticks != 0) & ~age[-1] & (age > par.ticks)
            m.d.sync += [band.eq(Band.NONE), at.result.score.eq(NO_SCORE)]
            with m.If(is_score):
                m.d.sync += at.new.score_t.eq(at.event.t)
                with m.If(at.event.score != NO_SCORE):
                    m.d.sync += [at.result.score.eq(score), band.eq(falls)]
                    with m.If((was != Band.NONE) & (score != 0) & (least > falls)):
                        m.d.sync += band.eq(least)
            with m.Elif((at.event.kind == ReceiverKind.VISIT) & ~aged):
                m.d.sync += band.eq(was)
            with m.If((at.event.kind == ReceiverKind.VISIT) & aged):
                m.d.sync += _bit(at.result.acts, Act.AGED).eq(1)
            m.next = "ACT"

    def _act(self, m: Module, at: _Registers) -> None:
        """ACT: command for the local law, the priority, and how many cells the band calls for."""
        par, band, was = self.parameters, at.result.band, at.old.band
        is_score = at.event.kind == ReceiverKind.SCORE
        with m.State("ACT"):
            high = band == Band.HIGH
            grown = Signal(QUOTA_BITS + 15)
            m.d.comb += grown.eq(at.config.base_quota << par.shift)
            most = Mux(grown[QUOTA_BITS:].any(), (1 << QUOTA_BITS) - 1, grown[:QUOTA_BITS])
            holds = (band == Band.MEDIUM) | ((band == Band.LOW) & ~at.event.available)
            commands = par.rate & at.config.commands
            m.d.sync += [
                at.new.band.eq(band),
                at.new.boost.eq(Mux(high & par.priority & at.config.boosts, par.boost, 0)),
                at.wanted.eq(
                    Mux(high & par.quota & at.config.grows, most - at.config.base_quota, 0)
                ),
                at.others.eq(at.used - at.old.extra),
                at.result.command.eq(ScoreCommand.FREE),
                _bit(at.result.acts, Act.BAND).eq(band != was),
                _bit(at.result.acts, Act.COMMAND).eq(
                    is_score | ((band == Band.NONE) & (was != Band.NONE))
                ),
                _bit(at.result.acts, Act.STARVED).eq(
                    is_score & commands & (band == Band.LOW) & ~at.event.available
                ),
            ]
            with m.If(commands):
                with m.If(high):
                    m.d.sync += at.result.command.eq(ScoreCommand.REDUCE)
                with m.Elif(holds):
                    m.d.sync += at.result.command.eq(ScoreCommand.HOLD)
            m.next = "ROOM"

    def _grow(self, m: Module, at: _Registers) -> None:
        """ROOM to SUM: as many of those cells as the limit of all leaves."""
        par, room = self.parameters, Signal(QUOTA_BITS)
        is_score = at.event.kind == ReceiverKind.SCORE
        with m.State("ROOM"):
            m.d.sync += [
                room.eq(Mux(at.others < par.limit, par.limit - at.others, 0)),
                at.result.boost.eq(at.new.boost),
                _bit(at.result.acts, Act.BOOST).eq(at.new.boost != at.old.boost),
            ]
            m.next = "EXTRA"
        with m.State("EXTRA"):
            m.d.sync += [
                at.new.extra.eq(Mux(at.wanted < room, at.wanted, room)),
                _bit(at.result.acts, Act.SHORT).eq(is_score & (room < at.wanted)),
            ]
            m.next = "SUM"
        with m.State("SUM"):
            m.d.sync += [
                at.result.quota.eq(at.config.base_quota + at.new.extra),
                _bit(at.result.acts, Act.QUOTA).eq(
                    (at.new.extra != at.old.extra) | (at.event.kind == ReceiverKind.CONFIGURE)
                ),
            ]
            m.next = "DONE"

    def _tell(self, m: Module, at: _Registers) -> None:
        """The event's outcome: a score for the local law; priority and quota where they change."""
        acts = at.result.acts
        m.d.comb += [
            self.commit_stb.eq(at.done),
            self.score_stb.eq(at.done & _bit(acts, Act.COMMAND)),
            self.score.qp.eq(at.event.qp),
            self.score.value.eq(at.result.score | (at.result.command << SCORE_BITS)),
        ]
        for name, layout, act in (
            ("boost", self._boost, Act.BOOST),
            ("quota", self._quota, Act.QUOTA),
        ):
            latest = Latest(layout, relaxed=self._relaxed)
            m.submodules[f"{name}s"] = latest
            m.d.comb += [
                latest.i_stb.eq(at.done & _bit(acts, act)),
                latest.tells.eq(1),
                latest.i.qp.eq(at.event.qp),
                latest.i[name].eq(at.result[name]),
            ]
            wiring.connect(m, latest.o, wiring.flipped(getattr(self, f"o_{name}")))


def _band(score: Value, parameters: data.View) -> Value:
    return Mux(
        score >= parameters.high,
        Band.HIGH.value,
        Mux(score >= parameters.low, Band.MEDIUM.value, Band.LOW.value),
    )


def _bit(acts: Signal, act: Act) -> Signal:
    return acts[act.value.bit_length() - 1]
