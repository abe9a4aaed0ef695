"""A packet waits here while its headers are read and someone decides what becomes of it."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from precog_hw.stream.packet import packet_signature
from precog_hw.stream.packet_fifo import PacketFifo
from precog_hw.stream.queue import Queue
from precog_spec.contract import Fmt
from precog_spec.frames.cps import NS_BITS
from precog_spec.frames.descriptor import Direction
from precog_spec.frames.headers import MIN_FRAME

from .editor import Editor
from .headers import WINDOW_BYTES
from .layouts import EDIT, PARSED, TAIL
from .parser import Parser

__all__ = ["Stage"]

_TO_EDITOR = 4  # cycles of a command until the editor takes it
_LEAST = 4


class Stage(wiring.Component):
    """Parser, the FIFO in which packets wait, and the editor that does what was decided.

    ::

        i ─┬─► [packet FIFO] ─────────► [editor] ─► o
           └─► [parser] ─► parsed, tail     ▲
                           edit ─► [queue] ─┘

    The FIFO holds the headers and the beats that follow until the decision is made. Packets of any
    size pass without a stall, except for the bytes that the editor puts in. `relaxed`,
    it holds one packet: the next one waits until it has left, so that nothing needs a copy. At 64
    bits frames of 60 bytes then begin every 36 cycles in TX and 33 in RX: 42 are a Gigabit line's
    at 62.5 MHz.

    Latency: of the first beat, the parser's, the decision's, and the editor's; from the first beat
    on one beat per cycle. Cost: those of its parts and, unless `relaxed`, of `packets` + 1
    edits in LUT RAM.

    Parameters
    ----------
    width : int
        Bits in a beat.
    direction : Direction
        Says which address is the peer's.
    decision : int
        Cycles from `parsed_stb` to `edit_stb`, a constant.
    relaxed, ipv6 : bool
        As `Parser`.
    dscp : bool
        As `Editor`.

    Members
    -------
    i : In(packet_signature(width))
    o : Out(packet_signature(width))
    hold : In(1)
        Without `relaxed`. Let no packet begin; up to `packets` may have begun before.
    finished : In(1)
        With `relaxed`. The packet has ended and been heard of: the next one may begin, once this
        one has gone through the editor.
    now, now_ns : In(40)
        Ticks and nanoseconds; latched with a packet's first beat.
    shim_port : In(16)
    port : Out(16)
        `shim_port`; a change waits until every packet that has begun is edited, and lets none begin
        before. So all that reads it for a packet reads the same.
    parsed, parsed_stb : Out
        One for each packet, in order.
    tail, tail_stb : Out
        The end of each packet, not before its `parsed`.
    edit, edit_stb : In
        One for each `parsed`, in order, `decision` cycles later. With `relaxed` `edit` stays until
        the next packet's `parsed_stb`.

    Raises
    ------
    ValueError
        `width` is not one of `WIDTHS`.
    """

    PACKETS = 32  # `packets` at most

    def __init__(
        self,
        width: int,
        direction: Direction,
        decision: int,
        *,
        relaxed: bool = False,
        ipv6: bool = True,
        dscp: bool = False,
    ) -> None:
        self._width = width
        self._direction = direction
        self._decision = decision
        self._relaxed, self._ipv6, self._dscp = relaxed, ipv6, dscp
        self.packets = self.packets_of(width, decision)
        super().__init__(
            {
                "i": In(packet_signature(width)),
                "o": Out(packet_signature(width)),
                **({"finished": In(1)} if relaxed else {"hold": In(1)}),
                "now": In(Fmt.TIME.width),
                "now_ns": In(NS_BITS),
                "shim_port": In(16),
                "port": Out(16),
                "parsed": Out(PARSED),
                "parsed_stb": Out(1),
                "tail": Out(TAIL),
                "tail_stb": Out(1),
                "edit": In(EDIT),
                "edit_stb": In(1),
            }
        )

    @classmethod
    def packets_of(cls, width: int, decision: int) -> int:
        """Packets begun and not yet edited, at most; a power of two.

        As many frames of the shortest length as begin from the first one's first beat until the
        editor has its command. Shorter ones wait.
        """
        beats = -(-MIN_FRAME * 8 // width)
        begun = -(-(cls._held(width, decision) + _TO_EDITOR) // beats) + 1
        return min(cls.PACKETS, max(_LEAST, 1 << (begun - 1).bit_length()))

    @staticmethod
    def _held(width: int, decision: int) -> int:
        """Cycles from a packet's first beat until its command is there."""
        return -(-WINDOW_BYTES * 8 // width) + Parser.LATENCY + decision

    def elaborate(self, platform: object) -> Module:
        m = Module()
        held = self._held(self._width, self._decision)
        m.submodules.parser = parser = Parser(
            self._width, self._direction, relaxed=self._relaxed, ipv6=self._ipv6
        )
        m.submodules.fifo = fifo = PacketFifo(self._width, 1 << (held - 1).bit_length())
        m.submodules.editor = editor = Editor(
            self._width, self._direction, relaxed=self._relaxed, dscp=self._dscp
        )

        first = Signal(init=1)  # the next beat begins a packet
        taken, begins = Signal(), Signal()
        room = self._one(m, editor, begins) if self._relaxed else self._many(m, editor, begins)
        m.d.comb += [
            fifo.i.payload.eq(self.i.payload),
            fifo.i.valid.eq(self.i.valid & (room | ~first)),
            self.i.ready.eq(fifo.i.ready & (room | ~first)),
            taken.eq(self.i.valid & self.i.ready),
            begins.eq(taken & first),
            parser.beat.eq(self.i.payload),
            parser.taken.eq(taken),
            parser.now.eq(self.now),
            parser.now_ns.eq(self.now_ns),
            parser.shim_port.eq(self.port),
            self.parsed.eq(parser.o),
            self.parsed_stb.eq(parser.o_valid),
            self.tail.eq(parser.tail),
            self.tail_stb.eq(parser.tail_valid),
        ]
        with m.If(taken):
            m.d.sync += first.eq(self.i.payload.last)
        wiring.connect(m, fifo.o, editor.i)
        wiring.connect(m, editor.o, wiring.flipped(self.o))
        return m

    def _many(self, m: Module, editor: Editor, begins: Signal) -> Signal:
        """Packets one behind the other: whether one more may begin."""
        m.submodules.edits = edits = Queue(EDIT, self.packets)
        waiting = Signal(range(self.packets + 1))  # packets begun and not yet edited
        following, room = Signal.like(waiting), Signal(init=1)
        m.d.comb += [
            edits.i.payload.eq(self.edit),
            edits.i.valid.eq(self.edit_stb),
            following.eq(waiting + begins - (edits.o.valid & edits.o.ready)),
        ]
        alone, same = waiting == 0, self.port == self.shim_port
        m.d.sync += [
            waiting.eq(following),
            room.eq((following != self.packets) & ~self.hold & (alone | same)),
        ]
        with m.If(alone):
            m.d.sync += self.port.eq(self.shim_port)
        wiring.connect(m, edits.o, editor.i_edit)
        return room

    def _one(self, m: Module, editor: Editor, begins: Signal) -> Signal:
        """One packet at a time, whose edit waits where it was made: whether it has gone."""
        decided, inside, unfinished = Signal(), Signal(), Signal()
        room, edited = Signal(), Signal()
        m.d.comb += [
            editor.i_edit.payload.eq(self.edit),
            editor.i_edit.valid.eq(self.edit_stb | decided),
            edited.eq(editor.i_edit.valid & editor.i_edit.ready),
            room.eq(~inside & ~unfinished),
        ]
        m.d.sync += [
            decided.eq(editor.i_edit.valid & ~edited),
            inside.eq(begins | (inside & ~edited)),
            unfinished.eq(begins | (unfinished & ~self.finished)),
        ]
        with m.If(room):
            m.d.sync += self.port.eq(self.shim_port)
        return room
