"""The receiver's turnaround T2 - T1 of thesis (1), for every QP slot.

Rules are those of `precog_models.packet.turnaround`.
"""

from amaranth.hdl import Assert, Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.rows import RowMemory, RowUpdate, plain_memory
from precog_hw.stream.delay import DelayLine
from precog_spec.frames.cps import NS_BITS, TIME_BITS, TURNAROUND_DEPTH
from precog_spec.frames.headers import PSN_BITS

__all__ = ["ARRIVAL", "MARKS", "Turnaround"]

#: What is kept of an arrival.
ARRIVAL = data.StructLayout({"psn": unsigned(PSN_BITS), "ns": unsigned(NS_BITS)})
#: Which of a slot's arrivals are kept, and where the next one goes: before it is the newest.
MARKS = data.StructLayout(
    {
        "next": unsigned((TURNAROUND_DEPTH - 1).bit_length()),
        "valid": unsigned(TURNAROUND_DEPTH),
    }
)


class Turnaround(wiring.Component):
    """Arrivals of every slot in a ring of four, each of its places a RAM of its own.

    ::

        slot ─► marks: read, changed, written ─► 4 x {PSN, T1}, marks
          0                 1   2   3              │
        asked_slot ─► RAM ──► registers ─► PSN equal ─► newest ─► T1 ─► T2 - T1 ─► saturate
          0            1          2                        3        4       5          6       7

    A request sees exactly the arrivals and resets of 3 or more cycles before it.

    Latency: 7 cycles. Throughput: one request and one arrival or reset per cycle. Cost at 1024
    slots (ECP5): 18 DP16KD.

    Parameters
    ----------
    slots : int
        Queue pairs.

    Members
    -------
    arrival_stb : In(1)
        A packet with `psn` that asks for an answer came for `slot` at `t1`.
    reset_stb : In(1)
        Forget the arrivals of `slot`; not together with `arrival_stb`.
    slot : In(range(slots))
    psn : In(24)
    t1 : In(40)
        ns.
    asked_slot : In(range(slots))
        Whose turnaround.
    asked_psn : In(24)
        PSN of an answer that leaves at `t2`.
    t2 : In(40)
        ns.
    valid : Out(1)
        7 cycles after the question: the PSN is among the last four.
    value : Out(24)
        With `valid`: T2 - T1 in ns, saturated.
    """

    LATENCY = 7
    ARRIVAL_CYCLES = RowUpdate.CYCLES

    def __init__(self, slots: int) -> None:
        self._slots = slots
        super().__init__(
            {
                "arrival_stb": In(1),
                "reset_stb": In(1),
                "slot": In(range(slots)),
                "psn": In(PSN_BITS),
                "t1": In(NS_BITS),
                "asked_slot": In(range(slots)),
                "asked_psn": In(PSN_BITS),
                "t2": In(NS_BITS),
                "valid": Out(1),
                "value": Out(TIME_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.sync += Assert(~(self.arrival_stb & self.reset_stb), "one change of a slot at a time")
        # Arrivals and resets: the marks decide where an arrival goes, and a reset is a row of 0.
        m.submodules.update = update = RowUpdate(MARKS, self._slots)
        m.submodules.marks = marks = RowMemory(MARKS, self._slots)
        change = data.StructLayout({"arrival": ARRIVAL, "kept": 1})
        m.submodules.change = delay = DelayLine(change, RowUpdate.CYCLES)
        arrival, kept = delay.o.arrival, delay.o.kept
        m.d.comb += [
            update.i_stb.eq(self.arrival_stb | self.reset_stb),
            update.i_row.eq(self.slot),
            delay.i.kept.eq(self.arrival_stb),
            delay.i.arrival.psn.eq(self.psn),
            delay.i.arrival.ns.eq(self.t1),
            marks.write_stb.eq(update.stb),
            marks.write_row.eq(update.row),
            marks.write_data.eq(update.new),
            marks.read_row.eq(self.asked_slot),
        ]
        with m.If(kept):
            m.d.comb += [
                update.new.next.eq(update.old.next + 1),
                update.new.valid.eq(update.old.valid | (1 << update.old.next)),
            ]

        # An arrival that is written while its slot is read is taken from the side, as the newest.
        met, met_place = Signal(2), Signal(2 * len(update.old.next))
        beside1, beside2 = Signal(ARRIVAL), Signal(ARRIVAL)
        m.d.sync += [
            met.eq(Cat(update.stb & kept & (update.row == self.asked_slot), met)),
            met_place.eq(Cat(update.old.next, met_place)),
            beside1.eq(arrival),
            beside2.eq(beside1),
        ]
        place = met_place[len(update.old.next) :]

        request = data.StructLayout({"psn": PSN_BITS, "ns": NS_BITS})
        asked1, asked2 = Signal(request), Signal(request)
        ns3, ns4, ns5 = (Signal(NS_BITS, name=f"ns{n}") for n in (3, 4, 5))
        m.d.sync += [
            asked1.psn.eq(self.asked_psn),
            asked1.ns.eq(self.t2),
            asked2.eq(asked1),
            ns3.eq(asked2.ns),
            ns4.eq(ns3),
            ns5.eq(ns4),
        ]
        matches = Signal(TURNAROUND_DEPTH + 1)  # the last bit: an arrival in the same cycle
        newest_first, times = Signal.like(marks.read_data.next), []
        m.d.sync += newest_first.eq(marks.read_data.next)
        for n in range(TURNAROUND_DEPTH):
            rows = plain_memory(ARRIVAL, self._slots)
            m.submodules[f"arrivals{n}"] = rows
            write, read = rows.write_port(), rows.read_port()
            word, time = Signal(ARRIVAL, name=f"word{n}"), Signal(NS_BITS, name=f"t1_{n}")
            m.d.comb += [
                write.en.eq(update.stb & kept & (update.old.next == n)),
                write.addr.eq(update.row),
                write.data.eq(arrival),
                read.addr.eq(self.asked_slot),
            ]
            stands = marks.read_data.valid[n] & ~(met[1] & (place == n))
            m.d.sync += [
                word.eq(read.data),
                matches[n].eq(stands & (word.psn == asked2.psn)),
                time.eq(word.ns),
            ]
            times.append(time)
        beside3 = Signal(NS_BITS)
        m.d.sync += [
            matches[-1].eq(met[1] & (beside2.psn == asked2.psn)),
            beside3.eq(beside2.ns),
        ]

        # Cycle 3: which is the newest of those that match. Cycle 4: that one.
        chosen = Signal(TURNAROUND_DEPTH + 1)  # one-hot, or 0
        times4 = [Signal(NS_BITS, name=f"t1_{n}_late") for n in range(TURNAROUND_DEPTH + 1)]
        m.d.sync += [late.eq(time) for late, time in zip(times4, [*times, beside3], strict=True)]
        m.d.sync += chosen.eq(0)
        with m.If(matches[-1]):
            m.d.sync += chosen[-1].eq(1)
        with m.Else(), m.Switch(newest_first):
            for after in range(TURNAROUND_DEPTH):
                with m.Case(after):
                    found: Value = Const(0, 1)  # a newer one matches
                    for age in range(TURNAROUND_DEPTH):
                        place_then = (after - 1 - age) % TURNAROUND_DEPTH
                        m.d.sync += chosen[place_then].eq(matches[place_then] & ~found)
                        found |= matches[place_then]
        t1 = Signal(NS_BITS)
        picked: Value = Const(0, NS_BITS)
        for bit, time in zip(chosen, times4, strict=True):
            picked |= Mux(bit, time, 0)
        m.d.sync += t1.eq(picked)
        # Cycles 5 and 6.
        difference = Signal(NS_BITS)
        known5, known6 = Signal(), Signal()
        beyond = difference[TIME_BITS:].any()
        m.d.sync += [
            known5.eq(chosen.any()),
            known6.eq(known5),
            self.valid.eq(known6),
            difference.eq(ns5 - t1),
            self.value.eq(difference[:TIME_BITS] | beyond.replicate(TIME_BITS)),
        ]
        return m
