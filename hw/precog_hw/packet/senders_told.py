"""Which levels that shims bring, or the host believes, are news to a queue pair's law.

The gateware of `precog_models.packet.senders.Senders.told` and `believe`.
"""

from amaranth.hdl import Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.rows import RowUpdate
from precog_hw.stream.delay import DelayLine
from precog_spec.contract import Fmt
from precog_spec.frames.cps import HOLD_STEP

from .senders import LEVEL

__all__ = ["SHOWN", "SendersTold", "belief_layout", "told_layout"]

_TIME_BITS = Fmt.TIME.width - HOLD_STEP
_ROW = data.StructLayout(
    {
        "level": LEVEL,
        "time": unsigned(_TIME_BITS),
        "believed": 1,  # by the host; the next shim's level replaces it
        "most": LEVEL,  # of the shims since the reset
    }
)
#: What the host reads of a row.
SHOWN = data.StructLayout({"level": LEVEL, "believed": 1, "most": LEVEL})


def told_layout(slots: int) -> data.StructLayout:
    """A level of a queue pair, at a time."""
    return data.StructLayout(
        {
            "slot": unsigned((slots - 1).bit_length()),
            "level": LEVEL,
            "t": unsigned(Fmt.TIME.width),  # ticks
        }
    )


def belief_layout(slots: int) -> data.StructLayout:
    """A level of a queue pair that the host believes."""
    return data.StructLayout({"slot": unsigned((slots - 1).bit_length()), "level": LEVEL})


class SendersTold(wiring.Component):
    """The greatest level that each queue pair's shims have brought, and when, in block RAM.

    ::

        own ──► [no less?] ─► 0, or
        heard ─┬─► row ─► level, time ─► greater, or old? ─► new ─► another? ─► told
        reset ─┘   0       3                                  3

    A level counts as 0 if that of the card's own flows is no less: they are more than half of
    2**level then, and its own link holds them back.

    Latency: 3 cycles. Throughput: a shim in each cycle. Cost: `RowUpdate` of 39 bits.

    Parameters
    ----------
    slots : int
        Queue pairs, a power of two, 2 or more.
    relaxed : bool
        As `RowUpdate` has it.

    Members
    -------
    heed : In(1)
        Shims are heeded.
    hold : In(32)
        Ticks in which only a greater level is news; in steps of 1024.
    own : In(4)
        Level of the card's own flows; 0: none counts as 0.
    heard_stb, heard : In(1), In(told_layout(slots))
        A shim that may have an effect.
    asks : In(1)
        A score of `heard.slot` has come, with a shim or without: its level in force shall be known.
    i_reset : In(stream.Signature(range(slots)))
        Host: forget the slot. Waits for a cycle without either.
    i_look : In(stream.Signature(range(slots)))
        The level in force of a slot shall be known. Waits for a cycle without any of these.
    i_belief : In(stream.Signature(belief_layout(slots)))
        Host: it believes a level, with `heed`. Waits for a cycle without any of these.
    i_show : In(stream.Signature(range(slots)))
        Host: it reads a row, with `heed` or without. Waits for a cycle without any of these.
    heeded : Out(1)
        Strobe: a shim was looked at.
    known_stb : Out(1)
        Strobe: of a shim, a score, a look or a belief, with `heed`.
    told : Out(told_layout(slots))
        With it, the level in force; its time is a shim's.
    told_stb, risen : Out(1)
        With it: that is another than before; it is greater.
    outnumbered : Out(1)
        With `heeded`: the level counts as 0.
    shown_stb, shown : Out(1), Out(SHOWN)
        A row that the host reads.
    """

    CYCLES = RowUpdate.CYCLES

    i_reset: stream.Interface
    i_look: stream.Interface
    i_belief: stream.Interface
    i_show: stream.Interface

    def __init__(self, slots: int, *, relaxed: bool = False) -> None:
        self._slots, self._relaxed = slots, relaxed
        super().__init__(
            {
                "heed": In(1),
                "hold": In(32),
                "own": In(LEVEL),
                "heard_stb": In(1),
                "heard": In(told_layout(slots)),
                "asks": In(1),
                "i_reset": In(stream.Signature(range(slots))),
                "i_look": In(stream.Signature(range(slots))),
                "i_belief": In(stream.Signature(belief_layout(slots))),
                "i_show": In(stream.Signature(range(slots))),
                "known_stb": Out(1),
                "told_stb": Out(1),
                "risen": Out(1),
                "outnumbered": Out(1),
                "told": Out(told_layout(slots)),
                "heeded": Out(1),
                "shown_stb": Out(1),
                "shown": Out(SHOWN),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        change = data.StructLayout(
            {
                **dict.fromkeys(("resets", "asks", "believes", "shows", "outnumbered"), 1),
                "level": LEVEL,
                "t": Fmt.TIME.width,
            }
        )
        m.submodules.rows = rows = RowUpdate(_ROW, self._slots, relaxed=self._relaxed)
        m.submodules.waits = waits = DelayLine(change, RowUpdate.CYCLES)
        shims, old, new = self.heard_stb & self.heed, rows.old, rows.new
        heeds = shims | (self.asks & self.heed)
        belief, believes, looks = self.i_belief.payload, Signal(), Signal()
        shows = Signal()
        of = waits.o
        level = Signal(LEVEL)
        time = Signal(_TIME_BITS)
        since = Signal(_TIME_BITS)
        shim = Signal()
        rises = Signal()
        expires = Signal()
        outnumbered = Signal()
        m.d.comb += [
            self.i_reset.ready.eq(~heeds),
            self.i_look.ready.eq(~heeds & ~self.i_reset.valid),
            self.i_belief.ready.eq(self.i_look.ready & ~self.i_look.valid),
            self.i_show.ready.eq(self.i_belief.ready & ~self.i_belief.valid),
            shows.eq(self.i_show.valid & self.i_show.ready),
            looks.eq(self.i_look.valid & self.i_look.ready & self.heed),
            believes.eq(self.i_belief.valid & self.i_belief.ready & self.heed),
            rows.i_stb.eq(heeds | self.i_reset.valid | looks | believes | shows),
            rows.i_row.eq(self.i_reset.payload),
            waits.i.resets.eq(~heeds & self.i_reset.valid),
            waits.i.asks.eq((heeds & ~shims) | looks | shows),
            waits.i.shows.eq(shows),
            waits.i.believes.eq(believes),
            level.eq(Mux(heeds, self.heard.level, belief.level)),
            outnumbered.eq((level != 0) & (self.own >= level)),
            waits.i.outnumbered.eq(outnumbered),
            waits.i.level.eq(Mux(outnumbered, 0, level)),
            waits.i.t.eq(self.heard.t),
            time.eq(of.t >> HOLD_STEP),
            since.eq(time - old.time),
            shim.eq(rows.stb & ~of.resets & ~of.asks & ~of.believes),
            rises.eq(~of.asks & (of.level > old.level)),
            expires.eq(
                ~of.asks & (old.believed | of.believes | (since > (self.hold >> HOLD_STEP)))
            ),
            new.eq(old),
            self.heeded.eq(shim),
            self.known_stb.eq(rows.stb & ~of.resets & ~of.shows),
            self.shown_stb.eq(rows.stb & of.shows),
            *(self.shown[name].eq(old[name]) for name in SHOWN.members),
            self.told_stb.eq(rows.stb & ~of.resets & (rises | (expires & (of.level != old.level)))),
            self.risen.eq(shim & rises),
            self.outnumbered.eq(shim & of.outnumbered),
            self.told.slot.eq(rows.row),
            self.told.level.eq(new.level),
            self.told.t.eq(of.t),
        ]
        with m.If(heeds):
            m.d.comb += rows.i_row.eq(self.heard.slot)
        with m.Elif(looks):
            m.d.comb += rows.i_row.eq(self.i_look.payload)
        with m.Elif(believes):
            m.d.comb += rows.i_row.eq(belief.slot)
        with m.Elif(shows):
            m.d.comb += rows.i_row.eq(self.i_show.payload)
        with m.If(rises | expires):
            m.d.comb += [new.level.eq(of.level), new.believed.eq(of.believes)]
            with m.If(~of.believes):
                m.d.comb += new.time.eq(time)
        with m.If(shim & (of.level > old.most)):
            m.d.comb += new.most.eq(of.level)
        with m.If(of.resets):
            m.d.comb += new.eq(0)
        return m
