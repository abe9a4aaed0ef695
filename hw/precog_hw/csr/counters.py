"""64-bit event counters that are read in two halves."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Counters"]


class Counters(wiring.Component):
    """One 64-bit counter per event.

    A count is kept as a low half, its carry and a high half that takes the carry one cycle later,
    so that no 64-bit carry chain exists; what is read is the low half of one cycle before, which
    fits the high half.

    Latency: an event shows in `low` 2 cycles later. Throughput: every event in every cycle.
    Cost: 97 flip-flops per event and 32 for the latch.

    Parameters
    ----------
    count : int
        Number of events, 1 or more.
    init : int
        What every counter starts from, 64 bits.
    amount_bits : int
        The last event counts up by an `amount` of so many bits; 0: by one, as the others.

    Members
    -------
    events : In(count)
        Bit n counts up counter n.
    amount : In(amount_bits)
        With the last event.
    index : In(range(count))
        Counter to be read.
    read : In(1)
        `low` is being read: keep the high half of the same instant.
    clear : In(1)
        Strobe: all counters are 0, with what has happened until now.
    low, high : Out(32)
        Halves of counter `index`; `high` is the one that was kept.

    Raises
    ------
    ValueError
        `count` is smaller than 1 or `init` is not a 64-bit number.
    """

    def __init__(self, count: int, *, init: int = 0, amount_bits: int = 0) -> None:
        if count < 1:
            raise ValueError(f"count must be at least 1, not {count!r}")
        if not 0 <= init < 1 << 64:
            raise ValueError(f"init must be a 64-bit unsigned number, not {init!r}")
        self._count = count
        self._init, self._amount_bits = init, amount_bits
        super().__init__(
            {
                "events": In(count),
                **({"amount": In(amount_bits)} if amount_bits else {}),
                "index": In(range(max(count, 2))),
                "read": In(1),
                "clear": In(1),
                "low": Out(32),
                "high": Out(32),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        latch = Signal(32)
        shown = []
        high_init, low_init = divmod(self._init, 1 << 32)
        for n in range(self._count):
            low, late, high = (
                Signal(32, name=f"{name}_{n}", init=half)
                for name, half in (("low", low_init), ("late", low_init), ("high", high_init))
            )
            carry, total = Signal(name=f"carry_{n}"), Signal(33, name=f"total_{n}")
            by: Value = self.events[n]
            if self._amount_bits and n == self._count - 1:
                by = Mux(by, self.amount, 0)
            m.d.comb += total.eq(low + by)
            m.d.sync += [
                low.eq(total[:32]),
                carry.eq(total[32]),
                late.eq(low),
                high.eq(high + carry),
            ]
            with m.If(self.clear):
                m.d.sync += [low.eq(0), carry.eq(0), late.eq(0), high.eq(0)]
            shown.append((late, high))
        with m.Switch(self.index):
            for n, (late, high) in enumerate(shown):
                with m.Case(n):
                    m.d.comb += self.low.eq(late)
                    with m.If(self.read):
                        m.d.sync += latch.eq(high)
        m.d.comb += self.high.eq(latch)
        return m
