"""The editor: one command for each packet, done to its bytes as they pass."""

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from precog_models.packet.wire.descriptor import Direction

from ..stream.packet import beat_layout, packet_signature
from ..stream.skid import SkidBuffer
from .grow import Grow, growing, growing_layout
from .layouts import EDIT
from .patch import COMMAND, Patch, command, patched, patched_layout
from .shrink import Shrink

__all__ = ["Editor"]


class Editor(wiring.Component):
    """Header fields written, packets dropped, the shim put in (TX) or taken out (RX).

    ::

        i ──────► [slice] ─► [patch] ─► [slice] ─► [grow] ─► [slice] ─► o     TX
        i_edit ─► [slice] ─►                 └───► [shrink] ──────────► o     RX

    Register slices stand between the parts because `ready` enables every flip-flop of a part: a
    chain of such wires would decide the clock. The bytes that `Patch` has found are written, and
    those that `Grow` will move are found, on the way into the slice between them.

    `user` goes with its packet's bytes, `error` on the last beat. A packet may end anywhere: fields
    that it does not hold are not written, and without a byte behind UDP nothing goes in or out.

    Latency: `LATENCY` = 5 cycles; for the bytes behind the shim its eight bytes more or less.
    Throughput: one beat per cycle in and out. An insertion holds `i` up for the beats by which the
    packet grows: 8 at 8 bits, one or none at the other widths. Removal and dropping never do.
    `i.ready`, `i_edit.ready`, `o.valid` and `o.payload` are registers.

    Cost (yosys for ECP5): TX 1232 LUT4, 171 PFUMX and 1749 flip-flops at 64 bits, 4105, 995 and
    5844 at 512; RX 854, 115 and 1232 at 64 bits, 2625, 429 and 4795 at 512.

    Parameters
    ----------
    width : int
        Bits in a beat.
    direction : Direction
        Says whether a shim goes in or out.

    Members
    -------
    i : In(packet_signature(width))
    i_edit : In(stream.Signature(EDIT))
        One for each packet, in order, wanted with its first beat. REMOVE is not for TX, INSERT not
        for RX: such a packet is one with KEEP.
    o : Out(packet_signature(width))

    Raises
    ------
    ValueError
        `width` is not one of `WIDTHS`.
    """

    LATENCY = 5

    i: stream.Interface
    i_edit: stream.Interface
    o: stream.Interface

    def __init__(self, width: int, direction: Direction) -> None:
        self._width = width
        self._direction = direction
        super().__init__(
            {
                "i": In(packet_signature(width)),
                "i_edit": In(stream.Signature(EDIT)),
                "o": Out(packet_signature(width)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        tx = self._direction == Direction.TX
        m.submodules.slice = slice_ = SkidBuffer(beat_layout(self._width))
        m.submodules.commands = commands = SkidBuffer(COMMAND)
        m.submodules.patch = patch = Patch(self._width)
        layout = (growing_layout if tx else patched_layout)(self._width)
        m.submodules.patched = slice_2 = SkidBuffer(layout)
        wiring.connect(m, wiring.flipped(self.i), slice_.i)
        wiring.connect(m, slice_.o, patch.i)
        m.d.comb += [
            *(commands.i.payload[name].eq(v) for name, v in command(self.i_edit.payload).items()),
            commands.i.valid.eq(self.i_edit.valid),
            self.i_edit.ready.eq(commands.i.ready),
        ]
        wiring.connect(m, commands.o, patch.i_edit)
        values = patched(patch.o.payload)
        if tx:
            values = growing(values, patch.o.payload.beat)
        m.d.comb += [
            *(slice_2.i.payload[name].eq(value) for name, value in values.items()),
            slice_2.i.valid.eq(patch.o.valid),
            patch.o.ready.eq(slice_2.i.ready),
        ]
        if not tx:
            m.submodules.shrink = shrink = Shrink(self._width)
            wiring.connect(m, slice_2.o, shrink.i)
            wiring.connect(m, shrink.o, wiring.flipped(self.o))
            return m
        m.submodules.grow = grow = Grow(self._width)
        m.submodules.grown = grown = SkidBuffer(beat_layout(self._width))
        wiring.connect(m, slice_2.o, grow.i)
        m.d.comb += [
            grown.i.payload.eq(grow.o.payload.beat),
            grown.i.valid.eq(grow.o.valid),
            grow.o.ready.eq(grown.i.ready),
        ]
        wiring.connect(m, grown.o, wiring.flipped(self.o))
        return m
