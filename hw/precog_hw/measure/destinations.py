"""Statistics by destination: latency, loss and queue.

Rules and fields are those of `precog_models.measure.destinations`.
"""

from amaranth.hdl import Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.rows import RowUpdate
from precog_hw.stream.delay import DelayLine
from precog_spec.contract import DESTINATION_FIELDS, Fmt

__all__ = ["DESTINATION", "Destinations", "destination_read_layout", "heard_layout", "timed_layout"]

#: A destination's numbers as they are read.
DESTINATION = data.StructLayout({name: unsigned(bits) for name, bits in DESTINATION_FIELDS})

_HEARD = ("marks", "score", "score_valid")  # what packets from there say; the rest is timed


def _part(heard: bool) -> data.StructLayout:
    """The fields that packets set (`heard`), or those that time stamps set."""
    return data.StructLayout(
        {name: unsigned(bits) for name, bits in DESTINATION_FIELDS if (name in _HEARD) is heard}
    )


def _number(count: int) -> int:
    return (count - 1).bit_length()


def timed_layout(count: int) -> data.StructLayout:
    """What the RTT collector says of a destination."""
    return data.StructLayout(
        {
            "destination": unsigned(_number(count)),
            "rtt": unsigned(Fmt.RTT.width),  # ticks
            "rtt_valid": 1,
            "loss": 1,  # a retransmission, a NAK or a time-out
        }
    )


def heard_layout(count: int) -> data.StructLayout:
    """What a packet from a destination says."""
    return data.StructLayout(
        {
            "destination": unsigned(_number(count)),
            "mark": 1,  # it has CE
            "score": 7,  # received
            "score_valid": 1,
        }
    )


def destination_read_layout(count: int) -> data.StructLayout:
    """What the host asks: the numbers, and to start again from nothing behind them.

    With `silent` the numbers that were asked for before go on being shown.
    """
    return data.StructLayout({"destination": unsigned(_number(count)), "clear": 1, "silent": 1})


class Destinations(wiring.Component):
    """Rows that every event changes, read and cleared by the host through the same pipelines.

    ::

        timed ─┬─► row of RTTs and losses ─┬─► change ─► write
        heard ─┼─► row of marks and score ─┤
        read ──┴─ if neither comes         └─► values

    The two sources have rows of their own: neither waits for the other, and both go on at full
    speed. A read waits for a cycle without them; it sees all events that came before. The least
    RTT is kept as its complement: then a row of zeros is a new one.

    Latency: 4 cycles from a read's transfer to `values`. Throughput: one event of each source per
    cycle, of any destinations. Cost at 256 destinations (ECP5): 8 DP16KD, 1200 LUT4, 96 CCU2C,
    1300 flip-flops.

    Parameters
    ----------
    count : int
        Destinations, a power of two, 2 or more.

    Members
    -------
    timed_stb, timed : In(1), In(timed_layout(count))
    heard_stb, heard : In(1), In(heard_layout(count))
        Events.
    i_read : In(stream.Signature(destination_read_layout(count)))
        Host: latch the numbers; with `clear`, start again from nothing without losing an event.
    read_done : Out(1)
        4 cycles after the transfer.
    values : Out(DESTINATION)
        Numbers of one instant, from `read_done` to the next one that is not silent.

    Raises
    ------
    ValueError
        `count` is not a power of two, or smaller than 2.
    """

    READ_LATENCY = RowUpdate.CYCLES + 1

    i_read: stream.Interface
    timed: data.View
    heard: data.View
    values: data.View

    def __init__(self, count: int = 256) -> None:
        if count < 2 or count & (count - 1):
            raise ValueError(f"count must be a power of two, 2 or more, not {count!r}")
        self._count = count
        super().__init__(
            {
                "timed_stb": In(1),
                "timed": In(timed_layout(count)),
                "heard_stb": In(1),
                "heard": In(heard_layout(count)),
                "i_read": In(stream.Signature(destination_read_layout(count))),
                "read_done": Out(1),
                "values": Out(DESTINATION),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.timed = timed = RowUpdate(_part(False), self._count)
        m.submodules.heard = heard = RowUpdate(_part(True), self._count)
        asked = data.StructLayout({"read": 1, "clear": 1, "silent": 1})
        m.submodules.asked = delay = DelayLine(asked, RowUpdate.CYCLES, registers=True)
        read = Signal()
        m.d.comb += [
            self.i_read.ready.eq(~self.timed_stb & ~self.heard_stb),
            read.eq(self.i_read.valid & self.i_read.ready),
            delay.i.read.eq(read),
            *(delay.i[name].eq(self.i_read.payload[name]) for name in ("clear", "silent")),
        ]
        for name, rows in (("timed", timed), ("heard", heard)):
            event, stb = getattr(self, name), getattr(self, f"{name}_stb")
            m.submodules[f"{name}_event"] = late = DelayLine(event.shape(), RowUpdate.CYCLES)
            m.d.comb += [
                late.i.eq(event),
                rows.i_stb.eq(stb | read),
                rows.i_row.eq(Mux(read, self.i_read.payload.destination, event.destination)),
            ]
            with m.If(~delay.o.read):
                m.d.comb += rows.new.eq(rows.old)
                (self._time if name == "timed" else self._hear)(m, late.o, rows.old, rows.new)
            with m.Elif(~delay.o.clear):
                m.d.comb += rows.new.eq(rows.old)

        m.d.sync += self.read_done.eq(delay.o.read)
        with m.If(delay.o.read & ~delay.o.silent):
            for rows in (timed, heard):
                m.d.sync += [
                    self.values[name].eq(rows.old[name]) for name in rows.old.shape().members
                ]
            m.d.sync += self.values.rtt_min.eq(~timed.old.rtt_min)
        return m

    @staticmethod
    def _time(m: Module, event: data.View, old: data.View, new: data.View) -> None:
        least = ~old.rtt_min
        m.d.comb += new.losses.eq(old.losses + event.loss)
        with m.If(event.rtt_valid):
            m.d.comb += [
                new.samples.eq(old.samples + 1),
                new.rtt_sum.eq(old.rtt_sum + event.rtt),
                new.rtt_max.eq(Mux(event.rtt > old.rtt_max, event.rtt, old.rtt_max)),
                new.rtt_min.eq(~Mux(event.rtt < least, event.rtt, least)),
                new.rtt_last.eq(event.rtt),
            ]

    @staticmethod
    def _hear(m: Module, event: data.View, old: data.View, new: data.View) -> None:
        m.d.comb += new.marks.eq(old.marks + event.mark)
        with m.If(event.score_valid):
            m.d.comb += [new.score.eq(event.score), new.score_valid.eq(1)]
