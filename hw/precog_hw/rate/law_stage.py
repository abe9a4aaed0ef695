"""Behind the rate unit: its decisions pass, and events for PSCHED alone take turns with them."""

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from precog_hw.csr.layouts import DECISION
from precog_hw.csr.qp import config_layout
from precog_hw.rate.law_layouts import ABOUT, LAW_EVENT
from precog_spec.config import NicConfig
from precog_spec.contract import Flag, Fmt
from precog_spec.law_fields import PSCHED_EVENTS, SCORE_BITS, EventKind, ScoreCommand

__all__ = ["RAW", "LawStage"]

#: What those behind want to know of a sample, and whether its queue pair runs PSCHED.
RAW = data.StructLayout({"rtt": Fmt.RTT.width, "t": Fmt.TIME.width, "psched": 1})


class LawStage(wiring.Component):
    """Decisions pass; of an event that PSCHED takes a decision without a rate is made.

    ::

        i ───────┬──────────────────► o
        i_raw ───┘               ▲
        i_event ─► [takes?] ─────┘

    Each of both keeps its order; the golden model is told the events in the order of `o`.

    Latency: of what passes none, of an event 3 cycles. Throughput: an event in 4 cycles; decisions
    pass in the cycles between. Cost: 100 flip-flops.

    Parameters
    ----------
    config : NicConfig

    Members
    -------
    i : In(stream.Signature(DECISION))
    i_raw : In(stream.Signature(RAW))
        One for each decision, there with it or earlier.
    i_event : In(stream.Signature(LAW_EVENT))
        Of one of the `PSCHED_EVENTS`.
    o : Out(stream.Signature(DECISION))
        One for each decision of `i` and each event that is not ignored. Of an event's the slot and
        `Flag.EVENT` count, the other fields are 0.
    about : Out(ABOUT)
        Of the decision at `o`.
    ignored : Out(1)
        Strobe: an event of a queue pair that does not exist or is not enabled, or that PSCHED does
        not take.
    command : In(stream.Signature(config_layout(config)))
        Configure (`apply`) and reset (`clear`) a queue pair. While it waits, `i` must be empty.
    busy : Out(1)
        There is work.
    """

    i: stream.Interface
    i_raw: stream.Interface
    i_event: stream.Interface
    o: stream.Interface
    about: data.View
    ignored: Signal
    command: stream.Interface
    busy: Signal

    def __init__(self, config: NicConfig) -> None:
        self._config = config
        super().__init__(
            {
                "i": In(stream.Signature(DECISION)),
                "i_raw": In(stream.Signature(RAW)),
                "i_event": In(stream.Signature(LAW_EVENT)),
                "o": Out(stream.Signature(DECISION)),
                "about": Out(ABOUT),
                "ignored": Out(1),
                "command": In(stream.Signature(config_layout(config))),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        job, event = self.i_event.payload, Signal(LAW_EVENT)
        offers, passing = Signal(), Signal()
        taken, exists = self._taken(m), (job.qp >> self._config.qp_bits) == 0
        with m.FSM(name="stage") as fsm:
            with m.State("IDLE"):
                with m.If(self.command.valid):
                    m.next = "COMMAND"
                with m.Elif(self.i_event.valid):
                    m.d.sync += event.eq(job)
                    m.next = "EVENT"
            with m.State("EVENT"):
                m.d.comb += self.i_event.ready.eq(1)
                m.next = "PASS"
                with m.If(~(exists & taken & _is_one(job.kind, PSCHED_EVENTS))):
                    m.d.comb += self.ignored.eq(1)
                    m.next = "IDLE"
            # What is being offered must not be replaced.
            with m.State("PASS"), m.If(~passing | self.o.ready):
                m.next = "OFFER"
            with m.State("OFFER"):
                m.d.comb += offers.eq(1)
                with m.If(self.o.ready):
                    m.next = "IDLE"
            with m.State("COMMAND"):
                m.d.comb += self.command.ready.eq(1)
                m.next = "IDLE"
        m.d.comb += [
            passing.eq(self.i.valid & ~offers),
            self.o.valid.eq(passing | offers),
            self.i.ready.eq(self.o.ready & passing),
            self.i_raw.ready.eq(self.i.ready & self.i.valid),
            self.busy.eq(~fsm.ongoing("IDLE") | self.command.valid | self.i_event.valid),
        ]
        self._tell(m, event, offers)
        return m

    def _tell(self, m: Module, event: data.View, offers: Signal) -> None:
        """What is at the output, and of what it is."""
        raw, about, decision = self.i_raw.payload, self.about, self.o.payload
        m.d.comb += [
            decision.eq(self.i.payload),
            about.t.eq(raw.t),
            about.psched.eq(raw.psched),
            about.sample.eq(1),
            about.rated.eq(1),
            about.score.eq(event.value),
            about.command.eq(event.value >> SCORE_BITS),
            about.rtt.eq(raw.rtt),
            about.above.eq(0),  # only the law engine has a threshold
        ]
        with m.If(offers):
            m.d.comb += [
                decision.as_value().eq(0),
                decision.qp.eq(event.qp),
                decision.flags.eq(1 << Flag.EVENT),
                about.t.eq(event.t),
                about.psched.eq(1),
                about.sample.eq(0),
                about.rated.eq(0),
                about.rtt.eq(0),
                about.above.eq(0),  # again: Verilog's always @* would never run for a constant
                about.score_stb.eq(
                    (event.kind == EventKind.SCORE) & (about.command != ScoreCommand.KEEP)
                ),
            ]

    def _taken(self, m: Module) -> Value:
        """PSCHED takes events of the queue pair of the one that waits; known a cycle later."""
        m.submodules.takers = takers = Memory(shape=1, depth=self._config.qps, init=[])
        write, read = takers.write_port(), takers.read_port()
        command = self.command.payload
        # An event that was let through before its queue pair runs a program is ignored.
        programmed = command.config.algorithm[-1] & bool(self._config.law_cores)
        m.d.comb += [
            write.en.eq(self.command.valid & self.command.ready & command.apply),
            write.addr.eq(command.qp),
            write.data.eq(command.config.enable & command.config.psched & ~programmed),
            read.addr.eq(self.i_event.payload.qp),
        ]
        return read.data


def _is_one(kind: Value, kinds: tuple[EventKind, ...]) -> Value:
    return Cat(kind == one for one in kinds).any()
