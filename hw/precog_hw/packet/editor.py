"""The editor: one command for each packet, done to its bytes as they pass."""

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..stream.packet import beat_layout, packet_signature
from ..stream.skid import SkidBuffer
from .grow import Grow
from .layouts import EDIT
from .patch import COMMAND, Patch, command, patched_layout
from .shrink import Shrink

__all__ = ["Editor"]


class Editor(wiring.Component):
    """Header fields written, the shim put in or taken out, packets dropped.

    ::

        i ──────► [slice] ─► [patch] ─► [slice] ─► [grow] ─► [slice] ─► [shrink] ─► o
        i_edit ─► [slice] ─►

    Register slices stand between the parts because `ready` enables every flip-flop of a part: a
    chain of such wires would decide the clock.

    `user` goes with its packet's bytes, `error` on the last beat. A packet may end anywhere: fields
    that it does not hold are not written, and without a byte behind UDP nothing goes in or out.

    Latency: 7 cycles; for the bytes behind the shim its eight bytes more or less. Throughput: one
    beat per cycle in and out. An insertion holds `i` up for the beats by which the packet grows: 8
    at 8 bits, one or none at the other widths. Removal and dropping never do. `i.ready`,
    `i_edit.ready`, `o.valid` and `o.payload` are registers.

    Cost (yosys for ECP5): 1273 LUT4 and 901 flip-flops at 64 bits, 2910 and 3923 at 512.

    Parameters
    ----------
    width : int
        Bits in a beat.

    Members
    -------
    i : In(packet_signature(width))
    i_edit : In(stream.Signature(EDIT))
        One for each packet, in order, wanted with its first beat.
    o : Out(packet_signature(width))

    Raises
    ------
    ValueError
        `width` is not one of `WIDTHS`.
    """

    i: stream.Interface
    i_edit: stream.Interface
    o: stream.Interface

    def __init__(self, width: int) -> None:
        self._width = width
        super().__init__(
            {
                "i": In(packet_signature(width)),
                "i_edit": In(stream.Signature(EDIT)),
                "o": Out(packet_signature(width)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.slice = slice_ = SkidBuffer(beat_layout(self._width))
        m.submodules.commands = commands = SkidBuffer(COMMAND)
        m.submodules.patch = patch = Patch(self._width)
        m.submodules.patched = patched = SkidBuffer(patched_layout(self._width))
        m.submodules.grow = grow = Grow(self._width)
        m.submodules.grown = grown = SkidBuffer(patched_layout(self._width))
        m.submodules.shrink = shrink = Shrink(self._width)
        wiring.connect(m, wiring.flipped(self.i), slice_.i)
        wiring.connect(m, slice_.o, patch.i)
        m.d.comb += [
            *(commands.i.payload[name].eq(v) for name, v in command(self.i_edit.payload).items()),
            commands.i.valid.eq(self.i_edit.valid),
            self.i_edit.ready.eq(commands.i.ready),
        ]
        wiring.connect(m, commands.o, patch.i_edit)
        wiring.connect(m, patch.o, patched.i)
        wiring.connect(m, patched.o, grow.i)
        wiring.connect(m, grow.o, grown.i)
        wiring.connect(m, grown.o, shrink.i)
        wiring.connect(m, shrink.o, wiring.flipped(self.o))
        return m
