"""What programs hear of: samples, events and acknowledgements take turns."""

from enum import IntEnum

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.csr.layouts import DECISION
from precog_hw.rate.law_layouts import ABOUT, LAW_ACK, LAW_EVENT
from precog_hw.rows import BitMemory
from precog_hw.stream.queue import Queue
from precog_spec.config import NicConfig
from precog_spec.engine.events import EVENT_FIELDS, Kind
from precog_spec.law_fields import PROGRAM_EVENTS, SCORE_BITS, SENDERS_AT, EventKind

__all__ = ["WORDS", "Intake"]

_WAITING = 4  # events, and as many acknowledgements
WORDS = data.StructLayout({name: unsigned(form.width) for name, form, _ in EVENT_FIELDS})
_KINDS = {
    EventKind.CNP: Kind.CNP,
    EventKind.LOSS: Kind.LOSS,
    EventKind.SWEEP: Kind.TIMER,
    EventKind.SCORE: Kind.SCORE,
}


class _Source(IntEnum):
    """What an event is of."""

    SAMPLE = 0
    EVENT = 1
    ACK = 2


class Intake(wiring.Component):
    """Chooses the next event of a queue pair that runs a program; those of others go on.

    Latency: 4 cycles. Throughput: an event in every other cycle with `may`, of each source in every
    fourth.

    Parameters
    ----------
    config : NicConfig

    Members
    -------
    put_stb, put_qp, put_on : In
        Whether a queue pair runs a program, from the next cycle on.
    decision, about, offered, taken : In
        A decision on a sample that waits, or another one; it is taken in this cycle.
    known, own : Out(1)
        It is offered, and `own` holds: it is of a sample of a queue pair that runs a program.
    i_event, i_ack, o_event : streams
        As `ProgramStage`.
    hold : In(1)
    may, takes, qp : In(1), Out(1), Out
        An event may be chosen; one that was a cycle ago is taken, of this queue pair. Its words are
        there from the next cycle on, until the next one is chosen.
    words : Out(WORDS), sampled : Out(1)
        Without what the stage knows; it is of the decision that waits.
    command : Out(2)
        `ScoreCommand` of a score, for PSCHED.
    ignored, waits : Out(1)
        Strobe: its queue pair's program does not take the event. An event waits.
    """

    def __init__(self, config: NicConfig) -> None:
        self._config = config
        super().__init__(
            {
                "put_stb": In(1),
                "put_qp": In(config.qp_bits),
                "put_on": In(1),
                "decision": In(DECISION),
                "about": In(ABOUT),
                "offered": In(1),
                "taken": In(1),
                "known": Out(1),
                "own": Out(1),
                "i_event": In(stream.Signature(LAW_EVENT)),
                "i_ack": In(stream.Signature(LAW_ACK)),
                "o_event": Out(stream.Signature(LAW_EVENT)),
                "hold": In(1),
                "may": In(1),
                "takes": Out(1),
                "qp": Out(config.qp_bits),
                "words": Out(WORDS),
                "command": Out(2),
                "sampled": Out(1),
                "ignored": Out(1),
                "waits": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        events, acks = self._queues(m)
        event, ack, words = events.payload, acks.payload, self.words
        mine = self._mine(
            m,
            {
                _Source.SAMPLE: (self.decision.qp, self.offered, self.taken),
                _Source.EVENT: (event.qp, events.valid, events.ready),
                _Source.ACK: (ack.qp, acks.valid, acks.ready),
            },
        )
        decided, of_sample = mine[_Source.SAMPLE]
        told, of_event = mine[_Source.EVENT]
        heard, of_ack = mine[_Source.ACK]
        m.d.comb += [
            self.known.eq(decided),
            self.own.eq(of_sample & self.about.sample),
        ]
        passes = told & ~of_event
        owes, goes = Signal(), Signal()
        waits = {
            _Source.SAMPLE: decided & self.own,
            _Source.EVENT: told & of_event,
            _Source.ACK: heard,
        }
        chosen, last = self._turns(m, waits)
        m.d.sync += owes.eq((Cat(chosen.values()).any() & ~self.takes) | (owes & goes))
        is_score = event.kind == EventKind.SCORE
        hears = Cat(event.kind == kind for kind in PROGRAM_EVENTS).any()
        m.d.comb += [
            self.takes.eq(
                chosen[_Source.SAMPLE]
                | (chosen[_Source.EVENT] & hears)
                | (chosen[_Source.ACK] & of_ack)
            ),
            # Of two that are ignored, one in a cycle: they are counted. One that passes may be.
            goes.eq(passes & self.o_event.ready),
            self.ignored.eq(owes & ~goes),
            self.sampled.eq(last == _Source.SAMPLE),
            self.waits.eq(events.valid | acks.valid),
            self.o_event.payload.eq(event),
            self.o_event.valid.eq(passes),
            events.ready.eq(Mux(of_event, chosen[_Source.EVENT], passes & self.o_event.ready)),
            acks.ready.eq(chosen[_Source.ACK]),
        ]
        with m.If(Cat(chosen.values()).any()):
            m.d.sync += [words.eq(0), words.held.eq(self.hold)]
        with m.If(chosen[_Source.SAMPLE]):
            m.d.comb += self.qp.eq(self.decision.qp)
            m.d.sync += [
                last.eq(_Source.SAMPLE),
                words.kind.eq(Kind.SAMPLE),
                words.now.eq(self.about.t),
                words.rtt.eq(self.about.rtt),
                words.base.eq(self.decision.base),
                words.predicted.eq(self.decision.rtt_pred != 0),
                words.prediction.eq(self.decision.rtt_pred),
            ]
        with m.If(chosen[_Source.EVENT]):
            m.d.comb += self.qp.eq(event.qp)
            m.d.sync += [
                last.eq(_Source.EVENT),
                words.now.eq(event.t),
                words.score.eq(Mux(is_score, event.value, 0)),
                words.senders.eq(Mux(is_score, event.value >> SENDERS_AT, 0)),
                self.command.eq(event.value >> SCORE_BITS),
            ]
            with m.Switch(event.kind):
                for kind, heard in _KINDS.items():
                    with m.Case(kind):
                        m.d.sync += words.kind.eq(heard)
        with m.If(chosen[_Source.ACK]):
            m.d.comb += self.qp.eq(ack.qp)
            m.d.sync += [
                last.eq(_Source.ACK),
                words.kind.eq(Kind.ACK),
                words.now.eq(ack.t),
                *(words[name].eq(ack[name]) for name in ("rtt", "bytes", "marked", "seq", "next")),
            ]
        return m

    def _queues(self, m: Module) -> tuple[stream.Interface, stream.Interface]:
        """Events and acknowledgements wait here; of both one comes in a cycle."""
        m.submodules.events = events = Queue(LAW_EVENT, _WAITING)
        m.submodules.acks = acks = Queue(LAW_ACK, _WAITING)
        wiring.connect(m, wiring.flipped(self.i_event), events.i)
        comes = self.i_event.valid & events.i.ready
        m.d.comb += [
            acks.i.payload.eq(self.i_ack.payload),
            acks.i.valid.eq(self.i_ack.valid & ~comes),
            self.i_ack.ready.eq(acks.i.ready & ~comes),
        ]
        return events.o, acks.o

    def _mine(
        self, m: Module, heads: dict[_Source, tuple[Value, Value, Value]]
    ) -> dict[_Source, tuple[Value, Signal]]:
        """Of each head, its queue pair, offer and transfer: is it known, is it a program's.

        A head waits two cycles for the bit of its queue pair: the bits are in block RAM, and what
        that says is registered. After a change of the bits all heads wait again.
        """
        runs = BitMemory(m, "runs", unsigned(1), self._config.qps)
        m.d.comb += [
            runs.write.en.eq(self.put_stb),
            runs.write.addr.eq(self.put_qp),
            runs.write.data.eq(self.put_on),
        ]
        mine = {}
        for source, (qp, offered, taken) in heads.items():
            read = Signal(name=f"read_{source.name.lower()}")
            known = Signal(name=f"known_{source.name.lower()}")
            its = Signal(name=f"mine_{source.name.lower()}")
            stays = offered & ~taken & ~self.put_stb
            exists = (qp >> self._config.qp_bits) == 0
            m.d.sync += [
                read.eq(stays),
                known.eq(stays & read),
                its.eq(runs.read(m, qp) & exists),
            ]
            mine[source] = offered & known, its
        return mine

    def _turns(
        self, m: Module, waits: dict[_Source, Signal]
    ) -> tuple[dict[_Source, Signal], Signal]:
        """Which source was chosen a cycle ago, the last one behind the others; which that is."""
        last, sources = Signal(_Source), list(_Source)
        chosen = {source: Signal(name=f"chosen_{source.name.lower()}") for source in sources}
        for n, source in enumerate(sources):
            before = []
            for of_last in range(len(sources)):
                order = [*sources[of_last + 1 :], *sources[: of_last + 1]]
                ahead = order[: (n - of_last - 1) % len(sources)]
                before.append(Cat(waits[one] for one in ahead).any())
            free = ~Array(before)[last]
            may = self.may & ~Cat(chosen.values()).any()
            m.d.sync += chosen[source].eq(may & waits[source] & free)
        return chosen, last
