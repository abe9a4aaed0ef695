"""The receiver's turnaround T2 - T1 where packets are apart: arrivals are searched one by one.

Rules are those of `precog_models.packet.turnaround`, as in `turnaround`.
"""

from amaranth.hdl import Assert, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from precog_hw.rows import plain_memory
from precog_spec.frames.cps import NS_BITS, TIME_BITS, TURNAROUND_DEPTH
from precog_spec.frames.headers import PSN_BITS

from .turnaround import ARRIVAL, MARKS

__all__ = ["TurnaroundSearch"]


class TurnaroundSearch(wiring.Component):
    """`Turnaround` with one comparison per cycle, from the newest arrival on.

    ::

        asked_slot ─► slot ─► marks ─► place ─► {PSN, T1} ─► equal? ─► T2 - T1 ─► saturate
             0          1              1 .. 4     2 .. 5                              6

    A request sees exactly the arrivals and resets that were taken up to its own cycle. Those that
    come during the search wait for its end.

    Latency: `LATENCY` = 6 cycles. Throughput: one request in 6 cycles, and one arrival. Cost: two
    DP16KD for 64 slots, LUT RAM where they are few; an adder of 40 bits, some 40 flip-flops.

    Parameters
    ----------
    slots : int
        Queue pairs.

    Members
    -------
    arrival_stb : In(1)
        A packet with `psn` that asks for an answer came for `slot` at `t1`, which stay for
        `ARRIVAL_STAYS` more cycles.
    reset_stb : In(1)
        Forget the arrivals of `slot`; not with `arrival_stb` and not with `busy`.
    slot, psn, t1 : In
        As in `Turnaround`.
    busy : Out(1)
        A search, or an arrival that waits for its end.
    asked_stb : In(1)
        Search. Not again in `LATENCY` - 1 cycles.
    asked_slot : In(range(slots))
        With `asked_stb`.
    asked_psn, t2 : In(24), In(40)
        From the cycle after `asked_stb` for `LATENCY` - 1 cycles.
    valid, value : Out(1), Out(24)
        `LATENCY` cycles after `asked_stb`, and until the next one: as in `Turnaround`.
    """

    LATENCY = 2 + TURNAROUND_DEPTH
    ARRIVAL_STAYS = TURNAROUND_DEPTH

    def __init__(self, slots: int) -> None:
        self._slots = slots
        super().__init__(
            {
                "arrival_stb": In(1),
                "reset_stb": In(1),
                "slot": In(range(slots)),
                "psn": In(PSN_BITS),
                "t1": In(NS_BITS),
                "busy": Out(1),
                "asked_stb": In(1),
                "asked_slot": In(range(slots)),
                "asked_psn": In(PSN_BITS),
                "t2": In(NS_BITS),
                "valid": Out(1),
                "value": Out(TIME_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        searches, age = Signal(), Signal(range(TURNAROUND_DEPTH))
        waits, asked = Signal(), Signal.like(self.asked_slot)
        arrives = (self.arrival_stb | waits) & ~searches
        m.d.sync += [
            searches.eq(self.asked_stb | (searches & (age != TURNAROUND_DEPTH - 1))),
            age.eq(Mux(searches, age + 1, 0)),
            waits.eq((self.arrival_stb | waits) & searches),
            Assert(~self.asked_stb | ~searches, "one request at a time"),
            Assert(~self.arrival_stb | ~waits, "one arrival at a time"),
            Assert(~self.reset_stb | ~(self.arrival_stb | self.busy), "a reset waits"),
        ]
        with m.If(self.asked_stb):
            m.d.sync += asked.eq(self.asked_slot)

        lut = {"ram_style": "distributed"}
        m.submodules.marks = marks = Memory(shape=MARKS, depth=self._slots, init=[], attrs=lut)
        # Read during a search, written at other times.
        m.submodules.arrivals = arrivals = plain_memory(ARRIVAL, self._slots * TURNAROUND_DEPTH)
        # Of an arrival's slot, which is known late, and of the one that is searched, which is a
        # register: one port for both would seem to lead from the former to the comparison.
        mark = marks.write_port()
        marked, sought = marks.read_port(domain="comb"), marks.read_port(domain="comb")
        write, read = arrivals.write_port(), arrivals.read_port()
        kept, held = marked.data, sought.data
        place = Signal.like(kept.next)
        m.d.comb += [
            self.busy.eq(searches | waits),
            marked.addr.eq(self.slot),
            sought.addr.eq(asked),
            mark.addr.eq(self.slot),
            mark.en.eq(arrives | self.reset_stb),
            write.addr.eq(Cat(kept.next, self.slot)),
            write.en.eq(arrives),
            write.data.psn.eq(self.psn),
            write.data.ns.eq(self.t1),
            place.eq(held.next - 1 - age),
            read.addr.eq(Cat(place, asked)),
            read.en.eq(searches),
        ]
        with m.If(arrives):
            m.d.comb += [
                mark.data.next.eq(kept.next + 1),
                mark.data.valid.eq(kept.valid | (1 << kept.next)),
            ]

        # The newest arrival with the PSN counts.
        compares = Signal()
        m.d.sync += compares.eq(searches & held.valid.bit_select(place, 1))
        difference = Signal(NS_BITS)
        beyond = difference[TIME_BITS:].any()
        m.d.comb += difference.eq(self.t2 - read.data.ns)
        with m.If(self.asked_stb):
            m.d.sync += self.valid.eq(0)
        with m.Elif(compares & ~self.valid & (read.data.psn == self.asked_psn)):
            m.d.sync += [
                self.valid.eq(1),
                self.value.eq(difference[:TIME_BITS] | beyond.replicate(TIME_BITS)),
            ]
        return m
