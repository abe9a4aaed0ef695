"""PIDNN's control law with constant gains, thesis (14)-(20), and the window limit WIN.

Arithmetic and state are those of `precog_models.rate.pid`, `rate.window` and `rate.unit`. Three
multipliers do ten products: a wide one (two blocks) and one for the gains, whose operands are
registers that each step loads.
"""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from precog_hw.csr.layouts import DECISION, PARAMETERS
from precog_hw.dsp import Multiplier
from precog_hw.measure.reciprocal import Aligner, quotient
from precog_hw.measure.split import HALF_BITS, SplitMultiplier
from precog_hw.rate.layouts import TRUSTED_ADVICE, job_layout
from precog_spec.config import NicConfig
from precog_spec.contract import (
    INVERSE_FRAC_BITS,
    MEAN_GUARD_BITS,
    MEAN_SAMPLES,
    Algorithm,
    Flag,
    Fmt,
    inverse_table,
)

__all__ = ["Pid"]

_FRAC = Fmt.SRTT.frac_bits
_ERR_BITS = Fmt.ERR.width
_MEAN_BITS = _ERR_BITS + MEAN_GUARD_BITS
_DELTA_FRAC = Fmt.DELTA.frac_bits
_DELTA_DROP = Fmt.GAIN.frac_bits + Fmt.ERR.frac_bits - _DELTA_FRAC
_RATE_BITS = Fmt.RATE.width
_STATE = data.StructLayout(
    {
        "count": range(MEAN_SAMPLES + 1),  # samples seen, up to 256
        "mean": signed(_MEAN_BITS),  # of e(t)
        "error": signed(_ERR_BITS),  # e(t - 1)
        "rate": _RATE_BITS,
    }
)


class Pid(wiring.Component):
    """One job at a time, from what the predictor says to a decision.

    ::

        cycle 0     1     2, 3     4     5, 6        7       8, 9      10     11
        advice ─► limits ─► align ─► [y] ─► e ─┬─► [Kp e] [Kd de] ───► sum ─► [Ki] ─► + ─► clamp
                                               └─► e - mean ─► [1/n] ─► mean ─┘             │
                           window, 16..22 ◄─ rate, 15 ◄─ clamp ◄─ rate + ◄─ [rate delta] ◄──┘

    Latency: 16 cycles from the advice's transfer to the decision's offer, 22 with a window. A job
    is ready for its advice 3 cycles after its transfer.
    Throughput: one job every 20 cycles, 26 with a window. Cost: 3 multipliers, 1 block RAM of
    inverses, qps x 85 bits of memory.

    Parameters
    ----------
    config : NicConfig

    Members
    -------
    i : In(stream.Signature(job_layout(config)))
    i_advice : In(stream.Signature(TRUSTED_ADVICE))
        One for each job, in order.
    o : Out(stream.Signature(DECISION))
    parameters : In(PARAMETERS)
    hold : In(1)
        Follow no advice.
    clear : In(1)
        Forget all about queue pair `clear_qp`; only while `idle` and no job is offered.
    clear_qp : In(qp_bits)
    idle : Out(1)
        No job is being worked on.
    """

    i: stream.Interface
    i_advice: stream.Interface
    o: stream.Interface
    parameters: data.View
    hold: Signal
    clear: Signal
    clear_qp: Signal
    idle: Signal

    def __init__(self, config: NicConfig) -> None:
        self._config = config
        super().__init__(
            {
                "i": In(stream.Signature(job_layout(config))),
                "i_advice": In(stream.Signature(TRUSTED_ADVICE)),
                "o": Out(stream.Signature(DECISION)),
                "parameters": In(PARAMETERS),
                "hold": In(1),
                "clear": In(1),
                "clear_qp": In(config.qp_bits),
                "idle": Out(1, init=1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        job = Signal(job_layout(self._config))
        old, new = Signal(_STATE), Signal(_STATE)
        flags = {flag: Signal(name=flag.name.lower()) for flag in Flag}
        go = Signal()
        step = Signal(21)  # bit n - 1: cycle n

        self._sequence(m, job, old, new, go, step)
        value = self._input(m, job, go, flags)
        self._law(m, job, old, new, step, value, flags)
        m.d.comb += [
            flags[Flag.TARGET_MOVED].eq(job.moved),
            self.o.payload.qp.eq(job.sample.qp),
            self.o.payload.target.eq(job.target),
            self.o.payload.base.eq(job.sample.base),
            self.o.payload.srtt.eq(job.sample.srtt),
            self.o.payload.rate.eq(new.rate),
            self.o.payload.flags.eq(Cat(flags[flag] for flag in Flag)),
        ]
        return m

    def _sequence(
        self,
        m: Module,
        job: data.View,
        old: data.View,
        new: data.View,
        go: Signal,
        step: Signal,
    ) -> None:
        """Take a job, read its state, wait for its advice, run the steps, offer the decision."""
        m.submodules.states = states = Memory(shape=_STATE, depth=self._config.qps, init=[])
        write, read = states.write_port(), states.read_port()
        load = Signal(2)
        ready = Signal()
        accept = Signal()
        m.d.comb += [
            self.i.ready.eq(self.idle),
            accept.eq(self.i.valid & self.i.ready),
            read.addr.eq(self.i.payload.sample.qp),
            self.i_advice.ready.eq(ready),
            go.eq(ready & self.i_advice.valid),
            write.en.eq(step[16 - 1] | self.clear),
            write.addr.eq(Mux(self.clear, self.clear_qp, job.sample.qp)),
            write.data.eq(Mux(self.clear, 0, new.as_value())),
        ]
        # A job without a window ends before its last steps: they are not the next job's.
        running = Cat(go, step) & ~self.idle.replicate(len(step))
        m.d.sync += [load.eq(Cat(accept, load)), step.eq(running)]
        with m.If(self.idle):
            m.d.sync += job.eq(self.i.payload)
        with m.If(accept):
            m.d.sync += self.idle.eq(0)
        with m.If(load[0]):
            m.d.sync += old.eq(read.data)
        with m.If(load[1]):
            m.d.sync += ready.eq(1)
        with m.If(go):
            m.d.sync += ready.eq(0)
        with m.If(Mux(_limited(job), step[21 - 1], step[15 - 1])):
            m.d.sync += self.o.valid.eq(1)
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += [self.o.valid.eq(0), self.idle.eq(1)]

    def _input(self, m: Module, job: data.View, go: Signal, flags: dict[Flag, Signal]) -> Value:
        """Cycle 1: what the law controls, in SRTT's format, chosen by flags made in cycle 0."""
        advice, shown = self.i_advice.payload, self.o.payload.rtt_pred
        wants = job.config.algorithm == Algorithm.PREDPID
        below, above = Signal(), Signal()
        doubted = ~advice.trusted & self.parameters.skill_monitor
        with m.If(go):
            m.d.sync += [
                below.eq(advice.rtt_pred < job.low),
                above.eq(advice.rtt_pred > job.high),
                flags[Flag.PREDICTED].eq(wants & advice.valid & ~doubted & ~self.hold),
                flags[Flag.NO_MODEL].eq(wants & ~advice.valid & ~advice.late),
                flags[Flag.LATE].eq(advice.late),
                flags[Flag.UNSKILLED].eq(wants & advice.valid & doubted),
                flags[Flag.HELD].eq(self.hold),
                shown.eq(Mux(advice.valid, advice.rtt_pred, 0)),
            ]
        predicted = flags[Flag.PREDICTED]
        m.d.comb += flags[Flag.ADVICE_CLAMPED].eq(predicted & (below | above))
        limited = Mux(below, job.low, Mux(above, job.high, shown))
        return Mux(predicted, limited, job.sample.rtt << _FRAC)

    def _law(
        self,
        m: Module,
        job: data.View,
        old: data.View,
        new: data.View,
        step: Signal,
        value: Value,
        flags: dict[Flag, Signal],
    ) -> None:
        """Cycles 1 to 21."""
        par, config = self.parameters, job.config
        pid, predpid = Algorithm.PID, Algorithm.PREDPID
        fixed = (config.algorithm != pid) & (config.algorithm != predpid)
        dsp = self._config.dsp

        # The wide multiplier: loaded at the end of cycles 2, 5, 11, 16 and 17.
        m.submodules.wide = wide = SplitMultiplier(signed(35), signed(18), dsp=dsp)
        a, b = Signal(signed(35)), Signal(signed(18))
        product = Signal(signed(53))  # a register of its own for those whose sums are long
        m.d.comb += [wide.a.eq(a), wide.b.eq(b)]
        m.d.sync += product.eq(wide.low + (wide.high << HALF_BITS))
        # The gains' multiplier: loaded at the end of cycles 5, 6 and 8.
        m.submodules.gain = gain = Multiplier(_ERR_BITS, Fmt.GAIN.width, dsp=dsp)
        term, factor = Signal(signed(_ERR_BITS)), Signal(signed(Fmt.GAIN.width))
        m.d.comb += [gain.a.eq(term), gain.b.eq(factor)]

        # Settled before the advice comes: the rate to act on, the number of samples, 1 / n.
        rate = Signal(_RATE_BITS)
        m.submodules.inverses = inverses = Memory(
            shape=INVERSE_FRAC_BITS + 1, depth=MEAN_SAMPLES, init=inverse_table()
        )
        inverse_read = inverses.read_port()
        inverse = Signal(INVERSE_FRAC_BITS + 1)
        # A count of 256 has a bit of its own, and 255 is all ones.
        full = old.count[-1]
        last = old.count[:-1] | full.replicate(len(old.count) - 1)
        none = Signal()  # so far
        m.d.comb += inverse_read.addr.eq(last)
        m.d.sync += [
            none.eq(old.count == 0),
            rate.eq(Mux(fixed | none, config.init_rate, old.rate)),
            new.count.eq(Mux(full, MEAN_SAMPLES, old.count + 1)),
            inverse.eq(inverse_read.data),
        ]

        m.submodules.aligner = aligner = Aligner()
        m.d.comb += [aligner.d.eq(value), aligner.n.eq(job.n)]
        late, beyond = Signal(Fmt.SRTT.width), Signal()
        m.d.sync += [late.eq(value), beyond.eq(late >= job.most)]
        with m.If(step[2 - 1]):
            m.d.sync += [a.eq(aligner.o), b.eq(job.y)]
        # Limited in the cycle after the sum, which is long. Right in cycles 5 and 6.
        ratio, over = Signal(signed(_ERR_BITS), reset_less=True), Signal()
        m.d.sync += [
            ratio.eq(quotient(wide.high, wide.low, minus=Fmt.ERR.one)),
            over.eq(beyond),
        ]
        error = Mux(over, Fmt.ERR.max, ratio)[:_ERR_BITS].as_signed()

        change = Signal(signed(_ERR_BITS + 1))
        m.d.sync += change.eq(Mux(none, 0, error - old.error))
        with m.If(step[5 - 1]):
            m.d.sync += [
                new.error.eq(error),
                term.eq(error),
                factor.eq(par.kp),
                a.eq((error << MEAN_GUARD_BITS) - old.mean),
                b.eq(inverse),
            ]
        with m.If(step[6 - 1]):
            m.d.sync += [term.eq(_saturated(change, _ERR_BITS)), factor.eq(par.kd)]
        total = Signal(signed(_ERR_BITS + Fmt.GAIN.width + 2))
        with m.If(step[7 - 1]):
            m.d.sync += new.mean.eq(
                _plus(old.mean, wide.low + (wide.high << HALF_BITS), INVERSE_FRAC_BITS)
            )
        with m.If(step[7 - 1] | step[8 - 1]):
            # One adder: the choice comes before it.
            m.d.sync += total.eq(Mux(step[7 - 1], 1 << (_DELTA_DROP - 1), total) + gain.p)
        with m.If(step[8 - 1]):
            m.d.sync += [
                term.eq(new.mean >> MEAN_GUARD_BITS),
                factor.eq(par.ki),
            ]

        # Clamps compare sums that are less by the bound, which takes no time after the sum.
        delta = Signal(signed(len(total) - _DELTA_DROP + 1))
        above, below = Signal.like(total), Signal.like(total)
        m.d.sync += [
            above.eq(total - ((par.dmax + 1) << _DELTA_DROP)),
            below.eq(total - (par.dmin << _DELTA_DROP)),
        ]
        crossed, bounded, low = Signal(), Signal(), Signal()
        high = ~bounded  # the sum's sign as it comes
        m.d.sync += crossed.eq(par.dmin > par.dmax)
        with m.If(step[10 - 1]):
            m.d.sync += [
                delta.eq((total + gain.p) >> _DELTA_DROP),
                bounded.eq(above + gain.p < 0),
                low.eq(below + gain.p < 0),
            ]
        with m.If(step[11 - 1]):
            m.d.sync += [
                a.eq(rate),
                b.eq(Mux(high | crossed, par.dmax, Mux(low, par.dmin, delta))),
                flags[Flag.DELTA_CLAMPED].eq(~fixed & (high | low)),
            ]
            with m.If(fixed):
                m.d.sync += b.eq(0)

        wanted = Signal(_RATE_BITS + 1)
        room, excess = Signal(signed(_RATE_BITS + 1)), Signal(signed(_RATE_BITS + 2))
        inverted, limited, slow = Signal(), Signal(), Signal()
        fast = ~limited
        m.d.sync += [
            excess.eq(rate - config.max_rate - 1),
            room.eq(rate - config.min_rate),
            inverted.eq(config.min_rate > config.max_rate),
        ]
        with m.If(step[14 - 1]):
            m.d.sync += [
                wanted.eq(_plus(rate, product, _DELTA_FRAC)),
                limited.eq(_plus(excess, product, _DELTA_FRAC) < 0),
                slow.eq(_plus(room, product, _DELTA_FRAC) < 0),
            ]
        with m.If(step[15 - 1]):
            m.d.sync += [
                new.rate.eq(
                    Mux(fast | inverted, config.max_rate, Mux(slow, config.min_rate, wanted))
                ),
                flags[Flag.RATE_CLAMPED].eq(fast | slow),
                self.o.payload.window.eq(0),
            ]

        # WIN: rate times base RTT, the base in two pieces.
        base = job.sample.base
        part, bytes_ = Signal(_RATE_BITS + HALF_BITS), Signal(Fmt.WINDOW.width)
        with m.If(step[16 - 1]):
            m.d.sync += [a.eq(new.rate), b.eq(base[:HALF_BITS])]
        with m.If(step[17 - 1]):
            m.d.sync += b.eq(base[HALF_BITS:])
        with m.If(step[19 - 1]):
            m.d.sync += part.eq(product)
        with m.If(step[20 - 1]):
            m.d.sync += bytes_.eq((part + (product << HALF_BITS)) >> Fmt.RATE.frac_bits)
        with m.If(step[21 - 1] & _limited(job)):
            m.d.sync += self.o.payload.window.eq(Mux(bytes_ < par.mtu, par.mtu, bytes_))


def _limited(job: data.View) -> Value:
    """A window belongs to this decision: WIN is on, and the law is none of those without one."""
    return job.config.win & (job.config.algorithm <= Algorithm.PREDPID)


def _plus(value: Value, product: Value, drop: int) -> Value:
    """`value` plus `product` without its low `drop` bits, rounded to nearest, ties up.

    Written as one sum: no second carry chain for the rounding.
    """
    half = Const(1 << (drop - 1), drop)
    shifted = Cat(half, value)
    if value.shape().signed:
        shifted = shifted.as_signed()
    return (shifted + product) >> drop


def _saturated(value: Value, bits: int) -> Value:
    """Signed `value` of one bit more than `bits`, limited to a signed word of `bits` bits."""
    over = value[-1] != value[-2]
    return Mux(over, Cat((~value[-1]).replicate(bits - 1), value[-1]), value[:bits]).as_signed()
