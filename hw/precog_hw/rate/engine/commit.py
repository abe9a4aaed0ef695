"""Ends events: what the program said, or the safe law, becomes the queue pair's decision."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.csr.layouts import DECISION
from precog_hw.rate.law_layouts import ABOUT, RAN
from precog_spec.config import NicConfig
from precog_spec.contract import Flag, Fmt
from precog_spec.engine.image_fields import BANKS, BUDGET_BITS
from precog_spec.engine.isa import SLOTS

from .beginning import first_base
from .flight import begun_layout
from .layouts import result_layout
from .safety import Safety
from .threads import DAMAGED, Status

__all__ = ["CLOSED", "ROW", "TRAP", "Commit"]

_SLOT_BITS = (SLOTS - 1).bit_length()
_BANK_BITS = (BANKS - 1).bit_length()
_RTT, _RATE, _WINDOW = Fmt.RTT.width, Fmt.RATE.width, Fmt.WINDOW.width
_TOLD = ("rated", "windowed", "rate", "window")
_WANTED = ("kind", "above", "rate", "window", "bounds")

#: Where the last trap was.
TRAP = data.StructLayout({"slot": _SLOT_BITS, "status": 2, "qp": 16, "turns": 12})
#: What is kept of a queue pair.
ROW = data.StructLayout(
    {"live": 1, "rate": _RATE, "window": _WINDOW, "base": _RTT, "tagged": 1, "tag": 32}
)
#: An event that ends, for the golden model: the program that it ran, if any.
CLOSED = data.StructLayout({"qp": 16, "live": 1, "bank": _BANK_BITS})


class Commit(wiring.Component):
    """Judges an event that has ended, writes its row, and offers its decision.

    Latency: 6 cycles. Throughput: an event in 8 cycles, with `Flight`.

    Parameters
    ----------
    config : NicConfig

    Members
    -------
    ended, of, said, lost, done_stb
        As `Flight`.
    budget, mtu : In
    fail_stb, fail_slot, fail_bank, trap : Out
        An event ended in a trap; the last one that did.
    damaged_stb : Out(1)
        A word of the event's program was not as it was written: its rate is held, as in a trap.
    put_stb, row : Out(1), Out(ROW)
        The row of the event's queue pair.
    safe_stb, over_stb : Out(1)
        The safe law decided; a trap is an overrun.
    passes : In(1)
        Another decision is offered, and must not be replaced.
    offers, decision, about : Out
    taken : In(1)
        The decision at the output is taken.
    close_stb, close : Out(1), Out(CLOSED)
        With `put_stb`.
    ran : Out(RAN)
        With `config.trace`: of the decision that is offered, without its strobe.
    """

    def __init__(self, config: NicConfig) -> None:
        self._config = config
        super().__init__(
            {
                "ended": In(1),
                "of": In(begun_layout(config)),
                "said": In(result_layout(config.qp_bits, ecc=config.guards_programs)),
                "lost": In(1),
                "done_stb": Out(1),
                "budget": In(BUDGET_BITS),
                "mtu": In(16),
                "fail_stb": Out(1),
                "fail_slot": Out(_SLOT_BITS),
                "fail_bank": Out(_BANK_BITS),
                "trap": Out(TRAP),
                "damaged_stb": Out(1),
                "put_stb": Out(1),
                "row": Out(ROW),
                "safe_stb": Out(1),
                "over_stb": Out(1),
                "passes": In(1),
                "offers": Out(1),
                "decision": Out(DECISION),
                "about": Out(ABOUT),
                "taken": In(1),
                "close_stb": Out(1),
                "close": Out(CLOSED),
                **({"ran": Out(RAN)} if config.trace else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.safety = safety = Safety()
        of = self.of
        trapped, damaged, status = Signal(), Signal(), Signal(Status)
        final = Signal(data.StructLayout({"rate": _RATE, "window": _WINDOW}))
        turns = Mux(self.lost, self.budget, self.said.turns)
        m.d.comb += [
            status.eq(Mux(self.lost, Status.OVERRUN, self.said.status)),
            trapped.eq(of.live & (status != Status.DONE)),
            safety.said.safe.eq(~of.live),
            safety.said.windows.eq(of.windows),
            *(safety.said[name].eq(self.said[name]) for name in _TOLD),
            *(getattr(safety, name).eq(of[name]) for name in _WANTED),
            safety.said.trapped.eq(trapped),
            safety.mtu.eq(self.mtu),
            self.row.live.eq(1),
            self.row.base.eq(of.base),
            self.row.rate.eq(final.rate),
            self.row.window.eq(final.window),
            self.row.tagged.eq(of.live | of.was_tagged),
            self.row.tag.eq(Mux(of.live, of.tag, of.was_tag)),
            self.fail_slot.eq(of.slot),
            self.fail_bank.eq(of.bank),
            self.over_stb.eq(self.fail_stb & (status == Status.OVERRUN)),
            self.safe_stb.eq(self.put_stb & ~of.live),
            self.close_stb.eq(self.put_stb),
            self.close.qp.eq(of.qp),
            self.close.live.eq(of.live),
            self.close.bank.eq(of.bank),
        ]
        if self._config.guards_programs:
            m.d.comb += damaged.eq(self.said.damaged & ~self.lost)
        with m.FSM(name="commit"):
            with m.State("SEEK"), m.If(self.ended):
                m.next = "JUDGE"
            with m.State("JUDGE"):
                # The scrubber judges a damaged word: the program is not to blame.
                m.d.comb += [
                    self.fail_stb.eq(trapped & ~damaged),
                    self.damaged_stb.eq(trapped & damaged),
                ]
                with m.If(trapped & ~damaged):
                    m.d.sync += [
                        self.trap.slot.eq(of.slot),
                        self.trap.status.eq(status),
                        self.trap.qp.eq(of.qp),
                        self.trap.turns.eq(turns),
                    ]
                m.next = "BOUND"
            with m.State("BOUND"):
                m.next = "CLAMP"
            with m.State("CLAMP"):
                m.next = "FINAL"
            with m.State("FINAL"):
                m.d.sync += [final.rate.eq(safety.o_rate), final.window.eq(safety.o_window)]
                m.next = "WRITE"
            with m.State("WRITE"):
                m.d.comb += self.put_stb.eq(1)
                m.next = "OFFER"
                with m.If(self.passes & ~self.taken):
                    m.next = "PASS"
            with m.State("OFFER"):
                m.d.comb += self.offers.eq(1)
                with m.If(self.taken):
                    m.d.comb += self.done_stb.eq(1)
                    m.next = "SEEK"
            with m.State("PASS"), m.If(self.taken):
                m.next = "OFFER"
        if self._config.trace:
            self._tell(m, Mux(damaged, DAMAGED, status), Mux(damaged, 0, turns), final)
        m.d.comb += [
            self.decision.eq(of.decision),
            self.about.eq(of.about),
            self.about.psched.eq(of.psched),
            self.about.above.eq(of.above),
            self.decision.rate.eq(final.rate),
            self.decision.window.eq(final.window),
        ]
        with m.If(of.held):
            m.d.comb += self.decision.flags[Flag.HELD].eq(1)
        return m

    def _tell(self, m: Module, status: Value, turns: Value, final: data.View) -> None:
        """What the event was, how it ended, and what that led to."""
        of, ran = self.of, self.ran
        m.d.comb += [
            ran.event.eq(of.kind),
            ran.base.eq(first_base(of, of)),
            ran.rate.eq(final.rate),
            ran.window.eq(final.window),
            *(ran[name].eq(of[name]) for name in ("rtt", "slot", "live", "marked", "above")),
        ]
        with m.If(of.live):
            m.d.comb += [ran.bank.eq(of.bank), ran.status.eq(status), ran.turns.eq(turns)]
