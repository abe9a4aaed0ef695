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
_CHANGE = data.StructLayout({"arrival": ARRIVAL, "kept": 1})
_REQUEST = data.StructLayout({"psn": PSN_BITS, "ns": NS_BITS})


class _Search:
    """An arrival that is being written, and what a question finds among those that were."""

    def __init__(self, update: RowUpdate, marks: RowMemory, change: DelayLine) -> None:
        self.update = update
        self.marks = marks
        self.arrival, self.kept = change.o.arrival, change.o.kept
        # An arrival that is written while its slot is read is taken from the side, as the newest.
        self.met = Signal(2)
        self.met_place = Signal(2 * len(update.old.next))
        self.arrived2 = Signal(ARRIVAL)
        self.asked2 = Signal(_REQUEST)
        self.ns5 = Signal(NS_BITS)
        self.matches = Signal(TURNAROUND_DEPTH + 1)  # the last bit: an arrival in the same cycle
        self.newest_first = Signal.like(marks.read_data.next)
        self.times = [Signal(NS_BITS, name=f"t1_{n}") for n in range(TURNAROUND_DEPTH)]
        self.times.append(Signal(NS_BITS, name="arrived3"))


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
        at = self._change(m)
        self._ask(m, at)
        self._match(m, at)
        self._answer(m, at, self._choose(m, at))
        return m

    def _change(self, m: Module) -> _Search:
        """Arrivals and resets: the marks decide where an arrival goes; a reset is a row of 0."""
        m.submodules.update = update = RowUpdate(MARKS, self._slots)
        m.submodules.marks = marks = RowMemory(MARKS, self._slots)
        m.submodules.change = delay = DelayLine(_CHANGE, RowUpdate.CYCLES)
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
        with m.If(delay.o.kept):
            m.d.comb += [
                update.new.next.eq(update.old.next + 1),
                update.new.valid.eq(update.old.valid | (1 << update.old.next)),
            ]
        return _Search(update, marks, delay)

    def _ask(self, m: Module, at: _Search) -> None:
        """The question and the arrival with it, as late as what is read for them."""
        update, arrived1 = at.update, Signal(ARRIVAL)
        m.d.sync += [
            at.met.eq(Cat(update.stb & at.kept & (update.row == self.asked_slot), at.met)),
            at.met_place.eq(Cat(update.old.next, at.met_place)),
            arrived1.eq(at.arrival),
            at.arrived2.eq(arrived1),
        ]
        asked1 = Signal(_REQUEST)
        ns3 = Signal(NS_BITS)
        ns4 = Signal(NS_BITS)
        m.d.sync += [
            asked1.psn.eq(self.asked_psn),
            asked1.ns.eq(self.t2),
            at.asked2.eq(asked1),
            ns3.eq(at.asked2.ns),
            ns4.eq(ns3),
            at.ns5.eq(ns4),
        ]

    def _match(self, m: Module, at: _Search) -> None:
        """Cycles 0 to 2: the arrivals that are kept, and which of them have the PSN."""
        update, marks = at.update, at.marks
        place = at.met_place[len(update.old.next) :]
        m.d.sync += at.newest_first.eq(marks.read_data.next)
        for n in range(TURNAROUND_DEPTH):
            rows = plain_memory(ARRIVAL, self._slots)
            m.submodules[f"arrivals{n}"] = rows
            write, read = rows.write_port(), rows.read_port()
            word = Signal(ARRIVAL, name=f"word{n}")
            m.d.comb += [
                write.en.eq(update.stb & at.kept & (update.old.next == n)),
                write.addr.eq(update.row),
                write.data.eq(at.arrival),
                read.addr.eq(self.asked_slot),
            ]
            stands = marks.read_data.valid[n] & ~(at.met[1] & (place == n))
            m.d.sync += [
                word.eq(read.data),
                at.matches[n].eq(stands & (word.psn == at.asked2.psn)),
                at.times[n].eq(word.ns),
            ]
        m.d.sync += [
            at.matches[-1].eq(at.met[1] & (at.arrived2.psn == at.asked2.psn)),
            at.times[-1].eq(at.arrived2.ns),
        ]

    def _choose(self, m: Module, at: _Search) -> Signal:
        """Cycle 3: which is the newest of those that match, one-hot, or 0."""
        chosen = Signal(TURNAROUND_DEPTH + 1)
        m.d.sync += chosen.eq(0)
        with m.If(at.matches[-1]):
            m.d.sync += chosen[-1].eq(1)
        with m.Else(), m.Switch(at.newest_first):
            for after in range(TURNAROUND_DEPTH):
                with m.Case(after):
                    found: Value = Const(0, 1)  # a newer one matches
                    for age in range(TURNAROUND_DEPTH):
                        place_then = (after - 1 - age) % TURNAROUND_DEPTH
                        m.d.sync += chosen[place_then].eq(at.matches[place_then] & ~found)
                        found |= at.matches[place_then]
        return chosen

    def _answer(self, m: Module, at: _Search, chosen: Signal) -> None:
        """Cycles 4 to 6: T2 minus the T1 that is chosen, saturated."""
        times4 = [Signal(NS_BITS, name=f"t1_{n}_late") for n in range(TURNAROUND_DEPTH + 1)]
        m.d.sync += [late.eq(time) for late, time in zip(times4, at.times, strict=True)]
        t1 = Signal(NS_BITS)
        picked: Value = Const(0, NS_BITS)
        for bit, time in zip(chosen, times4, strict=True):
            picked |= Mux(bit, time, 0)
        m.d.sync += t1.eq(picked)
        difference = Signal(NS_BITS)
        known5, known6 = Signal(), Signal()
        beyond = difference[TIME_BITS:].any()
        m.d.sync += [
            known5.eq(chosen.any()),
            known6.eq(known5),
            self.valid.eq(known6),
            difference.eq(at.ns5 - t1),
            self.value.eq(difference[:TIME_BITS] | beyond.replicate(TIME_BITS)),
        ]
