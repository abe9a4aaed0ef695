"""Statistics by destination: latency, loss and queue.

Rules and fields are those of `precog_models.measure.destinations`.
"""

from amaranth.hdl import Module, Mux, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.rows import RowUpdate
from precog_hw.stream.delay import DelayLine
from precog_models.contract import DESTINATION_FIELDS, Fmt

__all__ = ["DESTINATION", "Destinations", "destination_event_layout"]

#: A destination's numbers as they are read.
DESTINATION = data.StructLayout({name: unsigned(bits) for name, bits in DESTINATION_FIELDS})


def destination_event_layout(count: int) -> data.StructLayout:
    """What happened at once to a destination."""
    return data.StructLayout(
        {
            "destination": unsigned((count - 1).bit_length()),
            "rtt": unsigned(Fmt.RTT.width),  # ticks
            "rtt_valid": 1,
            "loss": 1,  # a retransmission, a NAK or a time-out
            "mark": 1,  # a packet with CE came
            "score": 7,  # received
            "score_valid": 1,
        }
    )


class Destinations(wiring.Component):
    """Rows that every event changes, read and cleared by the host through the same pipeline.

    ::

        i ────┬─► row: read ─► change ─► write
        read ─┘    0            3  └─► values

    A read takes the place of an event, so `i.ready` is low in its cycle; it sees all events that
    were taken before. The least RTT is kept as its complement: then a row of zeros is a new one.

    Latency: 4 cycles from `read_stb` to `values`. Throughput: one event or read per cycle, of any
    destinations. Cost at 256 destinations (ECP5): 7 DP16KD, 1140 LUT4, 96 CCU2C, 1200
    flip-flops.

    Parameters
    ----------
    count : int
        Destinations, a power of two, 2 or more.

    Members
    -------
    i : In(stream.Signature(destination_event_layout(count)))
        Events.
    read_stb : In(1)
        Host: latch the numbers of `read_destination`.
    read_destination : In(range(count))
    read_clear : In(1)
        With `read_stb`: start again from nothing, without losing an event.
    read_done : Out(1)
        `read_stb`, 4 cycles later.
    values : Out(DESTINATION)
        Numbers of one instant, from `read_done` to the next one.

    Raises
    ------
    ValueError
        `count` is not a power of two, or smaller than 2.
    """

    READ_LATENCY = RowUpdate.CYCLES + 1

    i: stream.Interface

    def __init__(self, count: int = 256) -> None:
        if count < 2 or count & (count - 1):
            raise ValueError(f"count must be a power of two, 2 or more, not {count!r}")
        self._count = count
        super().__init__(
            {
                "i": In(stream.Signature(destination_event_layout(count))),
                "read_stb": In(1),
                "read_destination": In(range(count)),
                "read_clear": In(1),
                "read_done": Out(1),
                "values": Out(DESTINATION),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        change = data.StructLayout(
            {"event": destination_event_layout(self._count), "read": 1, "clear": 1}
        )
        m.submodules.rows = rows = RowUpdate(DESTINATION, self._count)
        m.submodules.change = delay = DelayLine(change, RowUpdate.CYCLES)
        m.d.comb += [
            self.i.ready.eq(~self.read_stb),
            rows.i_stb.eq(self.i.valid | self.read_stb),
            rows.i_row.eq(Mux(self.read_stb, self.read_destination, self.i.payload.destination)),
            delay.i.event.eq(self.i.payload),
            delay.i.read.eq(self.read_stb),
            delay.i.clear.eq(self.read_clear),
        ]

        event, old, new = delay.o.event, rows.old, rows.new
        rtt_min = ~old.rtt_min
        with m.If(~delay.o.read):
            m.d.comb += [
                new.eq(old),
                new.losses.eq(old.losses + event.loss),
                new.marks.eq(old.marks + event.mark),
            ]
            with m.If(event.rtt_valid):
                m.d.comb += [
                    new.samples.eq(old.samples + 1),
                    new.rtt_sum.eq(old.rtt_sum + event.rtt),
                    new.rtt_max.eq(Mux(event.rtt > old.rtt_max, event.rtt, old.rtt_max)),
                    new.rtt_min.eq(~Mux(event.rtt < rtt_min, event.rtt, rtt_min)),
                    new.rtt_last.eq(event.rtt),
                ]
            with m.If(event.score_valid):
                m.d.comb += [new.score.eq(event.score), new.score_valid.eq(1)]
        with m.Elif(~delay.o.clear):
            m.d.comb += new.eq(old)

        m.d.sync += self.read_done.eq(delay.o.read)
        with m.If(delay.o.read):
            m.d.sync += [self.values.eq(old), self.values.rtt_min.eq(rtt_min)]
        return m
