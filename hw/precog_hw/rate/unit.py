"""The rate unit: configuration memory, target adjuster, law. Thesis (14)-(20), RTTch, WIN.

The golden model is `precog_models.rate.unit`.
"""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from precog_hw.activity import ACTIVITY, hold
from precog_hw.config import NicConfig
from precog_hw.csr.layouts import DECISION, PARAMETERS, QP_CONFIG_LAYOUT
from precog_hw.csr.qp_window import config_layout
from precog_hw.rate.layouts import ADVICE, rate_sample_layout
from precog_hw.rate.pid import Pid
from precog_hw.rate.target_adjuster import TargetAdjuster

__all__ = ["RateUnit"]


class RateUnit(wiring.Component):
    """From samples, and what the predictor says of them, to decisions, in order.

    ::

        i ─► target adjuster ─► pid ─► o
        command ─► [configuration] ┘▲
        i_advice ───────────────────┘

    Latency: 16 cycles from the advice to the decision (22 with a window), if the sample came 24
    cycles before the advice. Throughput: one decision every 22 (26) cycles.
    Cost: 3 multipliers, 1 block RAM of inverses, qps x 303 bits of memory.

    Parameters
    ----------
    config : NicConfig

    Members
    -------
    i : In(stream.Signature(rate_sample_layout(config)))
    i_advice : In(stream.Signature(ADVICE))
        One for each sample, in order.
    o : Out(stream.Signature(DECISION))
    command : In(stream.Signature(config_layout(config)))
        Configure (`apply`) and reset (`clear`) a queue pair. Taken while nothing is in flight, and
        before a sample that waits at `i`.
    parameters : In(PARAMETERS)
        To be held while a sample is in flight.
    activity : Out(ACTIVITY)
        The bits of this unit and its parts (`precog_hw.activity`).
    """

    LATENCY = 16
    """Cycles from the advice's transfer to the decision's offer, without a window."""
    WINDOW_LATENCY = 6
    """Cycles that a window adds."""

    i: stream.Interface
    i_advice: stream.Interface
    o: stream.Interface
    command: stream.Interface
    parameters: data.View
    activity: data.View

    def __init__(self, config: NicConfig) -> None:
        self._config = config
        super().__init__(
            {
                "i": In(stream.Signature(rate_sample_layout(config))),
                "i_advice": In(stream.Signature(ADVICE)),
                "o": Out(stream.Signature(DECISION)),
                "command": In(stream.Signature(config_layout(config))),
                "parameters": In(PARAMETERS),
                "activity": Out(ACTIVITY),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.configs = configs = Memory(
            shape=QP_CONFIG_LAYOUT, depth=self._config.qps, init=[]
        )
        write, read = configs.write_port(), configs.read_port()
        m.submodules.adjuster = adjuster = TargetAdjuster(self._config)
        m.submodules.pid = pid = Pid(self._config)

        wiring.connect(m, adjuster.o, pid.i)
        wiring.connect(m, wiring.flipped(self.i_advice), pid.i_advice)
        wiring.connect(m, pid.o, wiring.flipped(self.o))

        command = self.command.payload
        # No sample is admitted while a command waits: once idle, the unit stays so.
        quiet, apply, clear = Signal(), Signal(), Signal()
        soon = Signal()
        m.d.comb += soon.eq(adjuster.idle & pid.idle & self.command.valid & ~quiet)
        m.d.sync += [
            quiet.eq(soon),
            apply.eq(soon & command.apply),
            clear.eq(soon & command.clear),
        ]
        m.d.comb += [
            self.command.ready.eq(quiet),
            adjuster.i.payload.eq(self.i.payload),
            adjuster.i.valid.eq(self.i.valid & ~self.command.valid),
            self.i.ready.eq(adjuster.i.ready & ~self.command.valid),
            write.en.eq(apply),
            write.addr.eq(command.qp),
            write.data.eq(command.config),
            read.addr.eq(adjuster.config_addr),
            adjuster.config_data.eq(read.data),
        ]
        for unit in (adjuster, pid):
            m.d.comb += [
                unit.parameters.eq(self.parameters),
                unit.clear.eq(clear),
                unit.clear_qp.eq(command.qp),
            ]
        activity = self.activity
        starts = {
            "adjuster": ~adjuster.idle | self.i.valid | self.command.valid,
            "pid": ~pid.idle | pid.i.valid | self.i_advice.valid | self.command.valid,
        }
        works = {unit: hold(m, unit, start, 1) for unit, start in starts.items()}
        m.d.comb += [activity[unit].eq(work) for unit, work in works.items()]
        # Not of `activity`'s own bits: a simulator that takes it for one word would see a loop.
        m.d.comb += activity.rate.eq(works["adjuster"] | works["pid"])
        return m
