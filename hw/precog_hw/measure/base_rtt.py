"""Base RTT of every queue pair: the minimum of the last one to two windows of time.

Rules and state are those of `precog_models.measure.base_rtt`.
"""

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from precog_spec.config import NicConfig
from precog_spec.contract import BASE_EARLY_BITS, BASE_NONE, Fmt

__all__ = ["BaseRtt"]

_STATE = data.StructLayout(
    {
        "valid": unsigned(1),
        "current": unsigned(Fmt.RTT.width),  # minimum of the running epoch
        "previous": unsigned(Fmt.RTT.width),  # minimum of the one before
        "start": unsigned(Fmt.TIME.width),  # of the running epoch
    }
)


class BaseRtt(wiring.Component):
    """Windowed minimum, two numbers and a time stamp per queue pair.

    Latency: `base` is right 6 cycles after `stb` and holds until the next. Throughput: one sample
    every 6 cycles. Cost: qps x 89 bits of memory, no multiplier.

    Parameters
    ----------
    config : NicConfig

    Members
    -------
    stb : In(1)
        Take a sample.
    qp : In(qp_bits)
    rtt : In(24)
        Ticks.
    t : In(40)
        Ticks.
    window : In(32)
        Epoch in ticks; 0: without end.
    clear : In(1)
        Forget all about `qp`; not within 6 cycles after `stb`, nor together with it.
    cancel : In(1)
        In the cycle after `stb`: the sample was none.
    base : Out(24)
        Base RTT in ticks, the sample included.
    """

    stb: Signal
    qp: Signal
    rtt: Signal
    t: Signal
    window: Signal
    clear: Signal
    cancel: Signal
    base: Signal

    def __init__(self, config: NicConfig) -> None:
        self._qps = config.qps
        super().__init__(
            {
                "stb": In(1),
                "qp": In(config.qp_bits),
                "rtt": In(Fmt.RTT.width),
                "t": In(Fmt.TIME.width),
                "window": In(32),
                "clear": In(1),
                "cancel": In(1),
                "base": Out(Fmt.RTT.width),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.states = states = Memory(shape=_STATE, depth=self._qps, init=[])
        write, read = states.write_port(), states.read_port()
        old, new = Signal(_STATE), Signal(_STATE)
        step = Signal(5)  # bit n - 1: cycle n
        qp, rtt, t = (Signal.like(signal) for signal in (self.qp, self.rtt, self.t))
        m.d.comb += read.addr.eq(self.qp)
        m.d.sync += step.eq(Cat(self.stb, step & ~self.cancel.replicate(len(step))))
        with m.If(self.stb):
            m.d.sync += [qp.eq(self.qp), rtt.eq(self.rtt), t.eq(self.t)]

        # Cycle 1: a block RAM's output is late; it gets a register of its own.
        with m.If(step[0]):
            m.d.sync += old.eq(read.data)

        # Cycle 2.
        elapsed = Signal(Fmt.TIME.width)
        least = Signal(Fmt.RTT.width)
        m.d.sync += [
            elapsed.eq(t - old.start),
            least.eq(Mux(old.current < rtt, old.current, rtt)),
        ]

        # Cycle 3: a stamp shortly before the epoch, or a window without end, leaves it running.
        ends, expires = Signal(), Signal()
        runs = elapsed[BASE_EARLY_BITS:].all() | (self.window == 0)
        m.d.sync += [
            ends.eq((elapsed >= self.window) & ~runs),
            expires.eq((elapsed >= self.window << 1) & ~runs),
        ]

        # Cycle 4.
        m.d.sync += new.valid.eq(1)
        with m.If(~old.valid | expires):
            m.d.sync += [new.current.eq(rtt), new.previous.eq(BASE_NONE), new.start.eq(t)]
        with m.Elif(ends):
            m.d.sync += [
                new.current.eq(rtt),
                new.previous.eq(old.current),
                new.start.eq(old.start + self.window),
            ]
        with m.Else():
            m.d.sync += [
                new.current.eq(least),
                new.previous.eq(old.previous),
                new.start.eq(old.start),
            ]

        # Cycle 5.
        with m.If(step[4]):
            m.d.sync += self.base.eq(Mux(new.current < new.previous, new.current, new.previous))
        m.d.comb += [
            write.en.eq(step[4] | self.clear),
            write.addr.eq(Mux(self.clear, self.qp, qp)),
            write.data.eq(Mux(self.clear, 0, new.as_value())),
        ]
        return m
