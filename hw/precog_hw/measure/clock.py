"""The card's time: ticks, which stamps count, and nanoseconds, which stand on the wire."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from precog_spec.frames.cps import NS_BITS

__all__ = ["Clock"]

_PS = 1000  # in a nanosecond


class Clock(wiring.Component):
    """Counts its own cycles: a tick is one of them.

    Nanoseconds are exact on average: the picoseconds that are left over are carried on, so that
    ``ns`` is ``ticks * tick_ps / 1000`` rounded down.

    Latency: none. Throughput: -. Cost: 64 + 40 + 10 flip-flops with their carry chains, and the
    latch of the host's read.

    Parameters
    ----------
    tick_ps : int
        Length of a cycle in picoseconds.

    Members
    -------
    ticks : Out(64)
        Cycles since reset.
    ns : Out(40)
        Nanoseconds since reset; wraps.
    read : In(1)
        `low` is being read: keep the high half of the same instant.
    low, high : Out(32)
        Halves of `ticks`; `high` is the one that was kept.

    Raises
    ------
    ValueError
        `tick_ps` is not positive.
    """

    def __init__(self, tick_ps: int) -> None:
        if tick_ps <= 0:
            raise ValueError(f"tick_ps must be positive, not {tick_ps!r}")
        self._tick_ps = tick_ps
        super().__init__(
            {
                "ticks": Out(64),
                "ns": Out(NS_BITS),
                "read": In(1),
                "low": Out(32),
                "high": Out(32),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        whole, rest = divmod(self._tick_ps, _PS)
        over = Signal(range(_PS))
        m.d.sync += self.ticks.eq(self.ticks + 1)
        with m.If(over + rest >= _PS):
            m.d.sync += [self.ns.eq(self.ns + whole + 1), over.eq(over + rest - _PS)]
        with m.Else():
            m.d.sync += [self.ns.eq(self.ns + whole), over.eq(over + rest)]
        m.d.comb += self.low.eq(self.ticks[:32])
        with m.If(self.read):
            m.d.sync += self.high.eq(self.ticks[32:])
        return m
