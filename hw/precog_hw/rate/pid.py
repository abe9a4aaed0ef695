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
from precog_hw.near import near
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


class _Registers:
    """The job at work, the multipliers' operands, and what one step leaves for later ones."""

    def __init__(self, config: NicConfig) -> None:
        self.job = Signal(job_layout(config))
        self.old = Signal(_STATE)
        self.new = Signal(_STATE)
        self.flags = {flag: Signal(name=flag.name.lower()) for flag in Flag}
        self.go = Signal()  # the job's advice is there
        self.step = Signal(21)  # bit n - 1: cycle n
        # The wide multiplier: loaded at the end of cycles 2, 5, 11, 16 and 17.
        self.wide = SplitMultiplier(signed(35), signed(18), dsp=config.dsp)
        self.a = Signal(signed(35))
        self.b = Signal(signed(18))
        self.product = Signal(signed(53))  # a register of its own for those whose sums are long
        # The gains' multiplier: loaded at the end of cycles 5, 6 and 8.
        self.gain = Multiplier(_ERR_BITS, Fmt.GAIN.width, dsp=config.dsp)
        self.term = Signal(signed(_ERR_BITS))
        self.factor = Signal(signed(Fmt.GAIN.width))
        self.none = Signal()  # no sample so far
        self.rate = Signal(_RATE_BITS)  # to act on
        self.inverse = Signal(INVERSE_FRAC_BITS + 1)  # of the number of samples
        self.total = Signal(signed(_ERR_BITS + Fmt.GAIN.width + 2))  # of the gains' products


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
    withhold : In(1)
        With `config.trials`: a trial follows no advice.
    advised : Out(1)
        As above, of the decision at `o`: there was advice for it, whether it was followed or not.
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
            | ({"withhold": In(1), "advised": Out(1)} if config.trials else {})
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        at = _Registers(self._config)
        job, flags = at.job, at.flags
        self._sequence(m, at)
        value = self._input(m, at)
        self._multipliers(m, at)
        self._settle(m, at)
        self._terms(m, at, self._error(m, at, value))
        self._delta(m, at)
        self._rate(m, at)
        self._window(m, at)
        m.d.comb += [
            flags[Flag.TARGET_MOVED].eq(job.moved),
            self.o.payload.qp.eq(job.sample.qp),
            self.o.payload.target.eq(job.target),
            self.o.payload.base.eq(job.sample.base),
            self.o.payload.srtt.eq(job.sample.srtt),
            self.o.payload.rate.eq(at.new.rate),
            self.o.payload.flags.eq(Cat(flags[flag] for flag in Flag)),
        ]
        return m

    def _sequence(self, m: Module, at: _Registers) -> None:
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
            at.go.eq(ready & self.i_advice.valid),
            write.en.eq(at.step[16 - 1] | self.clear),
            write.addr.eq(Mux(self.clear, self.clear_qp, at.job.sample.qp)),
            write.data.eq(Mux(self.clear, 0, at.new.as_value())),
        ]
        # A job without a window ends before its last steps: they are not the next job's.
        running = Cat(at.go, at.step) & ~self.idle.replicate(len(at.step))
        m.d.sync += [load.eq(Cat(accept, load)), at.step.eq(running)]
        with m.If(self.idle):
            m.d.sync += at.job.eq(self.i.payload)
        with m.If(accept):
            m.d.sync += self.idle.eq(0)
        with m.If(load[0]):
            m.d.sync += at.old.eq(read.data)
        with m.If(load[1]):
            m.d.sync += ready.eq(1)
        with m.If(at.go):
            m.d.sync += ready.eq(0)
        with m.If(Mux(_limited(at.job), at.step[21 - 1], at.step[15 - 1])):
            m.d.sync += self.o.valid.eq(1)
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += [self.o.valid.eq(0), self.idle.eq(1)]

    def _input(self, m: Module, at: _Registers) -> Value:
        """Cycle 1: what the law controls, in SRTT's format, chosen by flags made in cycle 0."""
        job, flags = at.job, at.flags
        advice, shown = self.i_advice.payload, self.o.payload.rtt_pred
        wants = job.config.algorithm == Algorithm.PREDPID
        below, above = Signal(), Signal()
        doubted = ~advice.trusted & self.parameters.skill_monitor
        follows = wants & advice.valid & ~doubted & ~self.hold
        if self._config.trials:
            follows &= ~self.withhold
            with m.If(at.go):
                m.d.sync += self.advised.eq(wants & advice.valid & ~self.hold)
        with m.If(at.go):
            m.d.sync += [
                below.eq(advice.rtt_pred < job.low),
                above.eq(advice.rtt_pred > job.high),
                flags[Flag.PREDICTED].eq(follows),
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

    def _multipliers(self, m: Module, at: _Registers) -> None:
        """Both multipliers get their operands from registers."""
        m.submodules.wide = wide = at.wide
        m.d.comb += [wide.a.eq(at.a), wide.b.eq(at.b)]
        m.d.sync += at.product.eq(wide.low + (wide.high << HALF_BITS))
        m.submodules.gain = gain = at.gain
        m.d.comb += [gain.a.eq(at.term), gain.b.eq(at.factor)]

    def _settle(self, m: Module, at: _Registers) -> None:
        """Settled before the advice comes: the rate to act on, the number of samples, 1 / n."""
        m.submodules.inverses = inverses = Memory(
            shape=INVERSE_FRAC_BITS + 1, depth=MEAN_SAMPLES, init=inverse_table()
        )
        inverse_read = inverses.read_port()
        # A count of 256 has a bit of its own, and 255 is all ones.
        full = at.old.count[-1]
        last = at.old.count[:-1] | full.replicate(len(at.old.count) - 1)
        m.d.comb += inverse_read.addr.eq(last)
        m.d.sync += [
            at.none.eq(at.old.count == 0),
            at.rate.eq(Mux(_fixed(at.job) | at.none, at.job.config.init_rate, at.old.rate)),
            at.new.count.eq(Mux(full, MEAN_SAMPLES, at.old.count + 1)),
            at.inverse.eq(inverse_read.data),
        ]

    def _error(self, m: Module, at: _Registers, value: Value) -> Value:
        """Cycles 1 to 4: the error e(t), which is right in cycles 5 and 6."""
        m.submodules.aligner = aligner = Aligner()
        m.d.comb += [aligner.d.eq(value), aligner.n.eq(at.job.n)]
        late, beyond = Signal(Fmt.SRTT.width), Signal()
        m.d.sync += [late.eq(value), beyond.eq(late >= at.job.most)]
        with m.If(at.step[2 - 1]):
            m.d.sync += [at.a.eq(aligner.o), at.b.eq(at.job.y)]
        # Limited in its register: the sum is long, and so is what follows.
        ratio = quotient(at.wide.high, at.wide.low, minus=Fmt.ERR.one)[:_ERR_BITS].as_signed()
        return near(m, "error", ratio, dsp=self._config.dsp, when=beyond, to=Fmt.ERR.max)

    def _terms(self, m: Module, at: _Registers, error: Value) -> None:
        """Cycles 5 to 9: the mean error, and the sum of the proportional and derivative terms."""
        par = self.parameters
        change = Signal(signed(_ERR_BITS + 1))
        m.d.sync += change.eq(Mux(at.none, 0, error - at.old.error))
        with m.If(at.step[5 - 1]):
            m.d.sync += [
                at.new.error.eq(error),
                at.term.eq(error),
                at.factor.eq(par.kp),
                at.a.eq((error << MEAN_GUARD_BITS) - at.old.mean),
                at.b.eq(at.inverse),
            ]
        with m.If(at.step[6 - 1]):
            m.d.sync += [at.term.eq(_saturated(change, _ERR_BITS)), at.factor.eq(par.kd)]
        with m.If(at.step[7 - 1]):
            m.d.sync += at.new.mean.eq(
                _plus(at.old.mean, at.wide.low + (at.wide.high << HALF_BITS), INVERSE_FRAC_BITS)
            )
        with m.If(at.step[7 - 1] | at.step[8 - 1]):
            # One adder: the choice comes before it.
            m.d.sync += at.total.eq(
                Mux(at.step[7 - 1], 1 << (_DELTA_DROP - 1), at.total) + at.gain.p
            )
        with m.If(at.step[8 - 1]):
            m.d.sync += [
                at.term.eq(at.new.mean >> MEAN_GUARD_BITS),
                at.factor.eq(par.ki),
            ]

    def _delta(self, m: Module, at: _Registers) -> None:
        """Cycles 9 to 11: the integral term joins the sum, whose limits follow."""
        par = self.parameters
        fixed = _fixed(at.job)
        # Clamps compare sums that are less by the bound, which takes no time after the sum.
        delta = Signal(signed(len(at.total) - _DELTA_DROP + 1))
        above, below = Signal.like(at.total), Signal.like(at.total)
        m.d.sync += [
            above.eq(at.total - ((par.dmax + 1) << _DELTA_DROP)),
            below.eq(at.total - (par.dmin << _DELTA_DROP)),
        ]
        crossed, bounded, low = Signal(), Signal(), Signal()
        high = ~bounded  # the sum's sign as it comes
        m.d.sync += crossed.eq(par.dmin > par.dmax)
        with m.If(at.step[10 - 1]):
            m.d.sync += [
                delta.eq((at.total + at.gain.p) >> _DELTA_DROP),
                bounded.eq(above + at.gain.p < 0),
                low.eq(below + at.gain.p < 0),
            ]
        with m.If(at.step[11 - 1]):
            m.d.sync += [
                at.a.eq(at.rate),
                at.b.eq(Mux(high | crossed, par.dmax, Mux(low, par.dmin, delta))),
                at.flags[Flag.DELTA_CLAMPED].eq(~fixed & (high | low)),
            ]
            with m.If(fixed):
                m.d.sync += at.b.eq(0)

    def _rate(self, m: Module, at: _Registers) -> None:
        """Cycles 12 to 15: the rate moves by delta and stays inside its bounds."""
        config = at.job.config
        wanted = Signal(_RATE_BITS + 1)
        room, excess = Signal(signed(_RATE_BITS + 1)), Signal(signed(_RATE_BITS + 2))
        inverted, limited, slow = Signal(), Signal(), Signal()
        fast = ~limited
        m.d.sync += [
            excess.eq(at.rate - config.max_rate - 1),
            room.eq(at.rate - config.min_rate),
            inverted.eq(config.min_rate > config.max_rate),
        ]
        with m.If(at.step[14 - 1]):
            m.d.sync += [
                wanted.eq(_plus(at.rate, at.product, _DELTA_FRAC)),
                limited.eq(_plus(excess, at.product, _DELTA_FRAC) < 0),
                slow.eq(_plus(room, at.product, _DELTA_FRAC) < 0),
            ]
        with m.If(at.step[15 - 1]):
            m.d.sync += [
                at.new.rate.eq(
                    Mux(fast | inverted, config.max_rate, Mux(slow, config.min_rate, wanted))
                ),
                at.flags[Flag.RATE_CLAMPED].eq(fast | slow),
                self.o.payload.window.eq(0),
            ]

    def _window(self, m: Module, at: _Registers) -> None:
        """Cycles 16 to 21: WIN, which is the rate times the base RTT, the base in two pieces."""
        par = self.parameters
        base = at.job.sample.base
        part, bytes_ = Signal(_RATE_BITS + HALF_BITS), Signal(Fmt.WINDOW.width)
        with m.If(at.step[16 - 1]):
            m.d.sync += [at.a.eq(at.new.rate), at.b.eq(base[:HALF_BITS])]
        with m.If(at.step[17 - 1]):
            m.d.sync += at.b.eq(base[HALF_BITS:])
        with m.If(at.step[19 - 1]):
            m.d.sync += part.eq(at.product)
        with m.If(at.step[20 - 1]):
            m.d.sync += bytes_.eq((part + (at.product << HALF_BITS)) >> Fmt.RATE.frac_bits)
        with m.If(at.step[21 - 1] & _limited(at.job)):
            m.d.sync += self.o.payload.window.eq(Mux(bytes_ < par.mtu, par.mtu, bytes_))


def _fixed(job: data.View) -> Value:
    """The queue pair's law is none of those that move the rate."""
    algorithm = job.config.algorithm
    return (algorithm != Algorithm.PID) & (algorithm != Algorithm.PREDPID)


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
