"""The editor: one command for each packet, done to its bytes as they pass."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from precog_spec.frames.descriptor import Direction

from ..stream.packet import beat_layout, packet_signature
from ..stream.queue import Queue
from ..stream.skid import SkidBuffer
from .grow import Grow, growing, growing_layout
from .layouts import EDIT
from .patch import COMMAND, Patch, command, patched, patched_layout
from .shrink import Shrink

__all__ = ["Editor"]

_LOW = 4  # payloads in a queue while more may come: it does not run dry before they are there


def _rows(width: int) -> int:
    """Of a queue: for what may still come, shims put in a byte at a time too."""
    return 32 if width == 8 else 16  # one cell of LUT RAM has 16


class Editor(wiring.Component):
    """Header fields written, packets dropped, the shim put in (TX) or taken out (RX).

    ::

        i ──────► [slice] ─► gate ─► [patch] ─► [queue] ─► gate ─► [grow] ─► [queue] ─► o     TX
        i_edit ─► [slice] ────────────►               └──────────► [shrink] ──────────► o     RX

    The queue behind a part takes whatever comes: the gate before the part, a register, shuts while
    there is still room for what is under way. So the part's flip-flops need no enable, which would
    be one wire to all of them, and `ready` does not pass through it. The bytes that `Patch` has
    found are written, and those that `Grow` will move are found, on the way into the queue between
    them.

    `user` goes with its packet's bytes, `error` on the last beat. A packet may end anywhere: fields
    that it does not hold are not written, and without a byte behind UDP nothing goes in or out.

    Latency: `LATENCY` = 5 cycles; for the bytes behind the shim its eight bytes more or less.
    Throughput: one beat per cycle in and out. An insertion holds `i` up for the beats by which the
    packet grows: 8 at 8 bits, one or none at the other widths. Removal and dropping never do.
    `i.ready`, `i_edit.ready`, `o.valid` and `o.payload` are registers.

    Cost (yosys for ECP5): TX 1424 LUT4, 82 DPR16X4 and 1502 flip-flops at 64 bits, 4467, 340 and
    4761 at 512; RX 977, 35 and 1149 at 64 bits, 2824, 164 and 4299 at 512.

    Parameters
    ----------
    width : int
        Bits in a beat.
    direction : Direction
        Says whether a shim goes in or out.
    relaxed : bool
        Queues as `Queue` with `block`, a cycle longer each, and no slices before `Patch`: `i.ready`
        and `i_edit.ready` are no registers.
    dscp : bool
        Knows the flag `dscp`; otherwise no register keeps what it would write.

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

    def __init__(
        self, width: int, direction: Direction, *, relaxed: bool = False, dscp: bool = False
    ) -> None:
        self._width, self._relaxed, self._dscp = width, relaxed, dscp
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
        m.submodules.patch = patch = Patch(self._width)
        layout = (growing_layout if tx else patched_layout)(self._width)
        m.submodules.patched = queue = Queue(layout, _rows(self._width), block=self._relaxed)
        beats, edits = self.i, patch.i_edit
        if not self._relaxed:
            m.submodules.slice = slice_ = SkidBuffer(beat_layout(self._width))
            m.submodules.commands = commands = SkidBuffer(COMMAND)
            wiring.connect(m, wiring.flipped(self.i), slice_.i)
            wiring.connect(m, commands.o, patch.i_edit)
            beats, edits = slice_.o, commands.i
        _gated(m, "patch", beats, patch.i, queue)
        m.d.comb += [
            *(edits.payload[name].eq(v) for name, v in command(self.i_edit.payload).items()),
            edits.valid.eq(self.i_edit.valid),
            self.i_edit.ready.eq(edits.ready),
        ]
        if not self._dscp:  # behind the slices: synthesis removes what is not read
            asked = patch.i_edit.payload
            m.d.comb += [asked.dscp.eq(0), asked.ip_head.eq(0)]
        values = patched(patch.o.payload)
        if tx:
            values = growing(values, patch.o.payload.beat)
        m.d.comb += [
            *(queue.i.payload[name].eq(value) for name, value in values.items()),
            queue.i.valid.eq(patch.o.valid),
            patch.o.ready.eq(1),
        ]
        if not tx:
            m.submodules.shrink = shrink = Shrink(self._width)
            wiring.connect(m, queue.o, shrink.i)
            wiring.connect(m, shrink.o, wiring.flipped(self.o))
            return m
        m.submodules.grow = grow = Grow(self._width)
        m.submodules.grown = grown = Queue(
            beat_layout(self._width), _rows(self._width), block=self._relaxed
        )
        _gated(m, "grow", queue.o, grow.i, grown)
        m.d.comb += [
            grown.i.payload.eq(grow.o.payload.beat),
            grown.i.valid.eq(grow.o.valid),
            grow.o.ready.eq(1),
        ]
        wiring.connect(m, grown.o, wiring.flipped(self.o))
        return m


def _gated(
    m: Module, name: str, before: stream.Interface, part: stream.Interface, queue: Queue
) -> None:
    """Connect `before` to `part`, from which the queue takes everything: while it has room.

    What was offered to the part stays offered.
    """
    room, offered = Signal(init=1, name=f"{name}_room"), Signal(name=f"{name}_offered")
    go = room | offered
    m.d.sync += [room.eq(queue.level <= _LOW), offered.eq(part.valid & ~part.ready)]
    m.d.comb += [
        part.payload.eq(before.payload),
        part.valid.eq(before.valid & go),
        before.ready.eq(part.ready & go),
    ]
