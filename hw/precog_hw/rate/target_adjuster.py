"""The RTT target of a queue pair, its adjuster RTTch (thesis 3.5.4), and what follows from them.

All that does not depend on the prediction happens here, while the predictor works: the target, its
reciprocal, and the range that a prediction is clamped to. Rules and state are those of
`precog_models.rate.target_adjuster`.
"""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from precog_hw.csr.layouts import PARAMETERS, QP_CONFIG_LAYOUT
from precog_hw.measure.reciprocal import Reciprocal
from precog_hw.measure.serial import SerialMultiplier
from precog_hw.rate.layouts import job_layout, rate_sample_layout
from precog_spec.config import NicConfig
from precog_spec.contract import Fmt

__all__ = ["TargetAdjuster"]

_FRAC = Fmt.SRTT.frac_bits
_BITS = Fmt.SRTT.width
_MAX = Fmt.SRTT.max
_MEAN_SHIFT = 3
_COUNT_MAX = 255
_LIMIT_DROP = 16 - _FRAC
_STATE = data.StructLayout(
    {
        "offset": signed(_BITS + 1),  # target minus nominal target
        "mean": signed(_BITS + 1),  # decaying mean of RTT - target
        "count": signed(9),  # samples on one side, its sign
    }
)


class TargetAdjuster(wiring.Component):
    """One sample at a time, from the measured RTT to a job for the law.

    ::

        cycle 2   3        4 .. 8     9         10     11     12, 13   13 .. 16  17, 18
        state ─► nominal ─► + offset, ─► RTT - ─► gap ─► mean ─► fired ─► clamp ──► offset, write
        config   bounds     clamp: target target  side   count   + mean
                                   └─► 1 / target, 12 cycles ─► y
        rtt ─► RTT * limit, 9 cycles ─► low, high

    Latency: 21 cycles from the sample's transfer to the job's offer: the predictor takes longer, so
    the two products are made of additions.
    Throughput: one sample every 22 cycles. Cost: no multiplier, qps x 75 bits of memory.

    Parameters
    ----------
    config : NicConfig

    Members
    -------
    i : In(stream.Signature(rate_sample_layout(config)))
    o : Out(stream.Signature(job_layout(config)))
    parameters : In(PARAMETERS)
    config_addr : Out(qp_bits)
    config_data : In(QP_CONFIG_LAYOUT)
        Configuration of `config_addr`, one cycle later.
    clear : In(1)
        Forget all about queue pair `clear_qp`; only while `idle` and no sample is offered.
    clear_qp : In(qp_bits)
    idle : Out(1)
        No sample is being worked on.
    """

    i: stream.Interface
    o: stream.Interface
    parameters: data.View
    config_addr: Signal
    config_data: data.View
    clear: Signal
    clear_qp: Signal
    idle: Signal

    def __init__(self, config: NicConfig) -> None:
        self._config = config
        super().__init__(
            {
                "i": In(stream.Signature(rate_sample_layout(config))),
                "o": Out(stream.Signature(job_layout(config))),
                "parameters": In(PARAMETERS),
                "config_addr": Out(config.qp_bits),
                "config_data": In(QP_CONFIG_LAYOUT),
                "clear": In(1),
                "clear_qp": In(config.qp_bits),
                "idle": Out(1, init=1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        job, sample = self.o.payload, self.o.payload.sample
        accept = Signal()
        step = Signal(20)  # bit n - 1: cycle n
        busy = Signal()
        m.d.comb += [
            self.i.ready.eq(self.idle),
            accept.eq(self.i.valid & self.i.ready),
        ]
        m.d.sync += step.eq(Cat(accept, step))
        with m.If(accept):
            m.d.sync += [sample.eq(self.i.payload), self.idle.eq(0), busy.eq(1)]
        with m.If(step[20 - 1]):
            m.d.sync += [self.o.valid.eq(1), busy.eq(0)]
        with m.Elif(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.If(~busy & (~self.o.valid | self.o.ready)):
            m.d.sync += self.idle.eq(~accept)

        m.submodules.states = states = Memory(shape=_STATE, depth=self._config.qps, init=[])
        write, read = states.write_port(), states.read_port()
        old, new = Signal(_STATE), Signal(_STATE)
        m.d.comb += [
            read.addr.eq(self.i.payload.qp),
            self.config_addr.eq(self.i.payload.qp),
            write.en.eq(step[18 - 1] | self.clear),
            write.addr.eq(Mux(self.clear, self.clear_qp, sample.qp)),
            write.data.eq(Mux(self.clear, 0, new.as_value())),
        ]
        with m.If(step[1 - 1]):
            m.d.sync += [old.eq(read.data), job.config.eq(self.config_data)]

        self._target(m, step, old, new)
        self._advice_range(m, step)
        m.submodules.reciprocal = reciprocal = Reciprocal()
        m.d.comb += [
            reciprocal.stb.eq(step[9 - 1]),
            reciprocal.v.eq(job.target),
            job.n.eq(reciprocal.n),
            job.y.eq(reciprocal.y),
        ]
        # 33 targets less a little: shifts, since synthesis makes a multiplier of `33 *`.
        less = Signal(Fmt.SRTT.width)
        m.d.sync += [
            less.eq(job.target - (job.target >> (Fmt.ERR.frac_bits - 2))),
            job.most.eq((job.target << 5) + less),
        ]
        return m

    def _target(self, m: Module, step: Value, old: data.View, new: data.View) -> None:
        """Cycles 3 to 17. Registers without an enable hold what their sources hold."""
        job, par, config = self.o.payload, self.parameters, self.o.payload.config
        fine, base = job.sample.rtt << _FRAC, job.sample.base << _FRAC

        nominal, low, high = Signal(_BITS), Signal(_BITS), Signal(_BITS)  # cycle 3
        wanted = Signal(signed(_BITS + 3))  # cycle 4
        m.d.sync += [
            nominal.eq(Mux(config.target_mode, _limited(base + par.queue_budget), config.target)),
            low.eq(_limited(base + par.rttch_margin)),
            high.eq(_limited(base + (base << 1))),
            wanted.eq(nominal + old.offset),
        ]
        within = _clamped(m, wanted, low, high)
        with m.If(step[8 - 1]):
            m.d.sync += job.target.eq(Mux(config.rttch, within, nominal))

        gap = Signal(signed(_BITS + 1))  # cycle 9
        apart, above = Signal(signed(_BITS + 2)), Signal()  # cycle 10
        m.d.sync += [gap.eq(fine - job.target), apart.eq(gap - old.mean), above.eq(gap > 0)]

        mean, count = Signal(signed(_BITS + 1)), Signal(signed(9))  # cycle 11
        crossed = Mux(above, old.count < 0, old.count > 0)
        end = Mux(above, _COUNT_MAX, -_COUNT_MAX)
        half = Const(1 << (_MEAN_SHIFT - 1), _MEAN_SHIFT)
        m.d.sync += [
            # One sum: the rounding half stands below the mean's LSB.
            mean.eq((Cat(half, old.mean).as_signed() + apart) >> _MEAN_SHIFT),
            count.eq(
                Mux(
                    crossed,
                    0,
                    Mux(old.count == end, end, old.count + Mux(above, Const(1, signed(2)), -1)),
                )
            ),
        ]
        aim, size = Signal(signed(_BITS + 3)), Signal(8)  # cycle 12
        m.d.sync += [
            aim.eq(job.target + mean),
            size.eq(Mux(count < 0, -count, count)),
            job.moved.eq(config.rttch & (size > par.rttch_threshold)),  # cycle 13
        ]
        kept = Signal(_BITS)  # cycle 16
        m.d.sync += kept.eq(_clamped(m, aim, low, high))
        m.d.sync += [  # cycle 17
            new.offset.eq(Mux(config.rttch, Mux(job.moved, kept - nominal, old.offset), 0)),
            new.mean.eq(Mux(config.rttch, mean, 0)),
            new.count.eq(Mux(config.rttch & ~job.moved, count, 0)),
        ]

    def _advice_range(self, m: Module, step: Value) -> None:
        """RTT * (1 +- limit)."""
        job, par = self.o.payload, self.parameters
        fine = job.sample.rtt << _FRAC
        m.submodules.reach = reach = SerialMultiplier(Fmt.RTT.width, 16)
        distance = reach.p >> _LIMIT_DROP
        m.d.comb += [
            reach.stb.eq(step[2 - 1]),
            reach.a.eq(job.sample.rtt),
            reach.b.eq(par.advice_limit),
        ]
        m.d.sync += [
            job.low.eq(Mux(par.advice_clamp, fine - distance, 0)),
            job.high.eq(Mux(par.advice_clamp, _limited(fine + distance), _MAX)),
        ]


def _limited(value: Value) -> Value:
    """Unsigned `value` limited to SRTT's format."""
    return Mux(value[_BITS:].any(), _MAX, value[:_BITS])


def _clamped(m: Module, value: Value, low: Value, high: Value) -> Value:
    """`value` at least `low`, then at most `high`: 3 cycles and the logic of a choice."""
    under, over, raised = Signal(), Signal(), Signal(_BITS + 2)
    m.d.sync += [
        under.eq(value < low),
        raised.eq(Mux(under, low, value)),
        over.eq(raised > high),
    ]
    return Mux(over, high, raised[:_BITS])
