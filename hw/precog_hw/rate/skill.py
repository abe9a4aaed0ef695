"""The skill monitor: is the predictor clearly better than persistence on this queue pair?

Arithmetic and state are those of `precog_models.rate.skill`.
"""

from amaranth.hdl import Module, Mux, Signal, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from precog_hw.rate.layouts import ADVICE, TRUSTED_ADVICE
from precog_spec.config import NicConfig
from precog_spec.contract import SKILL_PART_SHIFT, SKILL_SHIFT, Fmt

__all__ = ["SkillMonitor", "judged_layout"]

_ERROR_BITS = Fmt.SRTT.width + SKILL_SHIFT
_ROW = data.StructLayout(
    {
        "valid": unsigned(1),  # the last sample came with a prediction
        "pred": unsigned(Fmt.SRTT.width),
        "rtt": unsigned(Fmt.RTT.width),
        "error": unsigned(_ERROR_BITS),  # 64 times the mean of |RTT - prediction|
        "persistence": unsigned(_ERROR_BITS),  # 64 times the mean of |RTT - last RTT|
    }
)


def judged_layout(config: NicConfig) -> data.StructLayout:
    """A sample by which the last prediction is judged."""
    return data.StructLayout({"qp": unsigned(config.qp_bits), "rtt": unsigned(Fmt.RTT.width)})


class SkillMonitor(wiring.Component):
    """Passes advice on, and says whether to follow it.

    ::

        cycle 0    1      2       3            4         5         6          7...          then
        i ─► RAM ─► row ─► differences ─► sizes ─► sums ─► sides ─► compare ─► i_advice ─► RAM
                                                                                 └─► o_advice

    Latency: none from `i_advice` to `o_advice`, if the sample came 7 cycles before. Throughput: a
    sample in 10 cycles. Cost: qps x 133 bits of memory, no multiplier.

    Parameters
    ----------
    config : NicConfig

    Members
    -------
    i : In(stream.Signature(judged_layout(config)))
    i_advice : In(stream.Signature(ADVICE))
        One for each sample, in order.
    o_advice : Out(stream.Signature(TRUSTED_ADVICE))
    clear : In(1)
        Forget all about queue pair `clear_qp`; only while `idle`.
    clear_qp : In(qp_bits)
    idle : Out(1)
        No sample is being worked on.
    """

    i: stream.Interface
    i_advice: stream.Interface
    o_advice: stream.Interface
    clear: Signal
    clear_qp: Signal
    idle: Signal

    def __init__(self, config: NicConfig) -> None:
        self._qps = config.qps
        super().__init__(
            {
                "i": In(stream.Signature(judged_layout(config))),
                "i_advice": In(stream.Signature(ADVICE)),
                "o_advice": Out(stream.Signature(TRUSTED_ADVICE)),
                "clear": In(1),
                "clear_qp": In(config.qp_bits),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.rows = rows = Memory(shape=_ROW, depth=self._qps, init=[])
        write, read = rows.write_port(), rows.read_port()
        sample = Signal.like(self.i.payload)
        old, new = Signal(_ROW), Signal(_ROW)
        missed, moved = (Signal(signed(Fmt.SRTT.width + 1), name=n) for n in ("missed", "moved"))
        error, persistence = (
            Signal(Fmt.SRTT.width, name=n) for n in ("error_size", "persistence_size")
        )
        owed = Signal(_ERROR_BITS + 1)  # the least that persistence must have missed by
        most = Signal(_ERROR_BITS)
        advice, trusted = self.i_advice.payload, Signal()
        m.d.comb += [
            read.addr.eq(self.i.payload.qp),
            write.addr.eq(Mux(self.clear, self.clear_qp, sample.qp)),
            write.data.eq(Mux(self.clear, 0, new.as_value())),
            self.o_advice.payload.valid.eq(advice.valid),
            self.o_advice.payload.late.eq(advice.late),
            self.o_advice.payload.rtt_pred.eq(advice.rtt_pred),
            self.o_advice.payload.trusted.eq(trusted),
        ]
        with m.FSM(name="skill") as fsm:
            with m.State("IDLE"):
                m.d.comb += [self.i.ready.eq(~self.clear), write.en.eq(self.clear)]
                m.d.sync += sample.eq(self.i.payload)
                with m.If(self.i.valid & self.i.ready):
                    m.next = "LOAD"
            with m.State("LOAD"):
                m.d.sync += old.eq(read.data)
                m.next = "DIFFER"
            with m.State("DIFFER"):
                m.d.sync += [
                    missed.eq((sample.rtt << Fmt.SRTT.frac_bits) - old.pred),
                    moved.eq((sample.rtt - old.rtt) << Fmt.SRTT.frac_bits),
                ]
                m.d.sync += [
                    new.error.eq(old.error - (old.error >> SKILL_SHIFT)),
                    new.persistence.eq(old.persistence - (old.persistence >> SKILL_SHIFT)),
                ]
                m.next = "SIZE"
            with m.State("SIZE"):
                m.d.sync += [
                    error.eq(Mux(missed < 0, -missed, missed)),
                    persistence.eq(Mux(moved < 0, -moved, moved)),
                ]
                m.next = "SUM"
            with m.State("SUM"):
                m.d.sync += [
                    new.rtt.eq(sample.rtt),
                    new.error.eq(Mux(old.valid, new.error + error, old.error)),
                    new.persistence.eq(
                        Mux(old.valid, new.persistence + persistence, old.persistence)
                    ),
                ]
                m.next = "SIDES"
            with m.State("SIDES"):
                # A cycle of its own: two sums before the comparison would be the longest path.
                m.d.sync += [
                    owed.eq(new.error + (sample.rtt << Fmt.SRTT.frac_bits)),
                    most.eq(new.persistence - (new.persistence >> SKILL_PART_SHIFT)),
                ]
                m.next = "COMPARE"
            with m.State("COMPARE"):
                m.d.sync += trusted.eq(owed <= most)
                m.next = "ADVISE"
            with m.State("ADVISE"):
                m.d.comb += [
                    self.o_advice.valid.eq(self.i_advice.valid),
                    self.i_advice.ready.eq(self.o_advice.ready),
                ]
                m.d.sync += [
                    new.valid.eq(advice.valid),
                    new.pred.eq(Mux(advice.valid, advice.rtt_pred, 0)),
                ]
                with m.If(self.o_advice.valid & self.o_advice.ready):
                    m.next = "STORE"
            with m.State("STORE"):
                m.d.comb += write.en.eq(1)
                m.next = "IDLE"
        m.d.comb += self.idle.eq(fsm.ongoing("IDLE"))
        return m
