"""A restart of the LSTM engine while the core around it goes on."""

from amaranth.hdl import Module, Signal, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from precog_spec.config import NicConfig

__all__ = ["Restart"]

_OWED = 8  # requests without an answer: a request that waits and the engine's jobs are fewer


class Restart(wiring.Component):
    """Resets the engine and answers every request that it had already accepted.

    The caller first waits until nothing is in flight, if it can: then a restart is the reset alone.
    Requests that a stuck engine never ends are answered in its stead, in order, without a model;
    inputs that still arrive for them are taken.

    The engine's reset empties its contexts, `qps` cycles in which a request waits. Its memories of
    weights keep their words and take those that come meanwhile; sets and the map are not the
    engine's.

    Latency: from `i_restart.valid` to its transfer 3 cycles, 1 and 2 for each answer if any is due,
    with trees `qps` more. Cost: 32 flip-flops.

    Parameters
    ----------
    config : NicConfig

    Members
    -------
    i_restart : In(stream.Signature(0))
        Restart; taken when it is done.
    asked, kind : In(1)
        The engine takes a request; its kind of head.
    fed : In(1)
        Inputs are taken.
    answered : In(1)
        An answer is taken.
    hold : Out(1)
        No request may be made.
    reset : Out(1)
        The engine's.
    feeds : Out(1)
        Take inputs in the engine's place.
    pays, owed_kind : Out(1)
        Offer an answer without a model in the engine's place, of this kind.
    working : Out(1)
        A register changes in this cycle, or may.
    wipe_stb, wipe_qp : Out
        Forget a queue pair's profiles, with `config.tree`.
    """

    i_restart: stream.Interface

    def __init__(self, config: NicConfig) -> None:
        self._config = config
        super().__init__(
            {
                "i_restart": In(stream.Signature(unsigned(0))),
                "asked": In(1),
                "kind": In(1),
                "fed": In(1),
                "answered": In(1),
                "hold": Out(1),
                "reset": Out(1),
                "feeds": Out(1),
                "pays": Out(1),
                "owed_kind": Out(1),
                "working": Out(1),
                "wipe_stb": Out(1),
                "wipe_qp": Out(config.qp_bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # Kinds of the requests without an answer, the oldest at bit 0.
        owed, kinds = Signal(range(_OWED + 1)), Signal(_OWED)
        unfed = Signal(range(_OWED + 1))
        left = Signal.like(owed)
        m.d.comb += left.eq(owed - self.answered)
        m.d.sync += [
            owed.eq(left + self.asked),
            unfed.eq(unfed + self.asked - self.fed),
        ]
        with m.If(self.answered):
            m.d.sync += kinds.eq(kinds >> 1)
        with m.If(self.asked):
            m.d.sync += kinds.bit_select(left, 1).eq(self.kind)
        m.d.comb += [self.owed_kind.eq(kinds[0]), self.hold.eq(self.i_restart.valid)]

        with m.FSM(name="restart") as fsm:
            with m.State("WORK"), m.If(self.i_restart.valid):
                m.d.sync += self.reset.eq(1)
                m.next = "RESET"
            with m.State("RESET"):
                m.d.sync += self.reset.eq(0)
                m.next = "WIPE" if self._config.tree else "PAY"
            if self._config.tree:
                with m.State("WIPE"):
                    m.d.comb += self.wipe_stb.eq(1)
                    m.d.sync += self.wipe_qp.eq(self.wipe_qp + 1)
                    with m.If(self.wipe_qp == self._config.qps - 1):
                        m.d.sync += self.wipe_qp.eq(0)
                        m.next = "PAY"
            with m.State("PAY"), m.If((owed == 0) & (unfed == 0)):
                m.d.comb += self.i_restart.ready.eq(1)
                m.next = "WORK"
        # No request waits now. Registers: both are in the path of every input and answer.
        pay = fsm.ongoing("PAY")
        m.d.sync += [
            self.pays.eq(pay & (owed > self.answered)),
            self.feeds.eq(pay & (unfed > self.fed)),
        ]
        moves = self.asked | self.fed | self.answered | self.i_restart.valid
        m.d.comb += self.working.eq(moves | ~fsm.ongoing("WORK"))
        return m
