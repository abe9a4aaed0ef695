"""Classes that stand for parts of the packet path: ports as they are, outputs free but for a rule.

What a stub keeps to is what the part's own proof asserts: `contracts`, and when parser and decision
speak. No header, table or verdict is ruled out.
"""

from typing import Any

from amaranth.hdl import Assume, Module, Signal, Value
from amaranth.lib import wiring

from .contracts import beats_rules, chain_rules, queue_rules
from .editor_rules import behind_rules, patch_rules
from .packets import Claim, assume_rules, assume_stream, late
from .past import Past
from .peek import free
from .strobes import parser_strobes

__all__ = [
    "beat_queue_stub",
    "decision_stub",
    "editor_stub",
    "fifo_stub",
    "icrc_stub",
    "parser_stub",
    "part_stub",
    "patch_stub",
    "queue_stub",
]


def parser_stub(base: type[Any], beats: int, cycles: int | None = None) -> type[Any]:
    """It speaks when the parser does; `beats` is the length of the header window.

    With `cycles` it has that latency in place of the parser's.
    """

    class Stub(base):
        LATENCY = cycles or base.LATENCY

        def elaborate(self, platform: object) -> Module:
            m = Module()
            strobes = parser_strobes(m, self.taken, self.beat.last, beats, self.LATENCY)
            m.d.comb += [
                *_anything(self.o, self.tail),
                self.o_valid.eq(strobes.parsed),
                self.tail_valid.eq(strobes.tail),
            ]
            return m

    return Stub


def decision_stub(base: type[Any], cycles: int | None = None) -> type[Any]:
    """It decides when `CpsTransmit` or `CpsReceive` does, or after this many cycles."""

    class Stub(base):
        LATENCY = cycles or base.LATENCY

        def elaborate(self, platform: object) -> Module:
            m = Module()
            record = self.sent if hasattr(self, "sent") else self.received
            m.d.comb += [
                *_anything(self.edit, record),
                self.edit_stb.eq(late(m, self.parsed_stb, self.LATENCY, "stb")),
            ]
            return m

    return Stub


def queue_stub(base: type[Any]) -> type[Any]:
    """`Queue`, whatever is in it."""

    class Stub(base):
        def elaborate(self, platform: object) -> Module:
            m = Module()
            count = Signal(self.level.shape(), name="count")
            m.d.comb += _anything(self.i.ready, self.o.valid, self.o.payload, self.level)
            assume_stream(m, Past(m), self.o, "o")
            queue_rules(m, Assume, self, self._depth, count)
            m.d.sync += count.eq(
                count + (self.i.valid & self.i.ready) - (self.o.valid & self.o.ready)
            )
            return m

    return Stub


def beat_queue_stub(base: type[Any]) -> type[Any]:
    """`Queue` of beats: as many beats and packets as went in."""

    class Stub(base):
        def elaborate(self, platform: object) -> Module:
            m = Module()
            m.d.comb += _anything(self.i.ready, self.o.valid, self.o.payload, self.level)
            assume_stream(m, Past(m), self.o, "o")
            chosen = free((self._depth + 2).bit_length())
            beats = beats_rules(m, Assume, self, self._depth, chosen)
            queue_rules(m, Assume, self, self._depth, beats.count)
            return m

    return Stub


def fifo_stub(base: type[Any], known: Claim) -> type[Any]:
    """`PacketFifo`: as many beats and packets as went in; `known` as in `beats_rules`."""

    class Stub(base):
        def elaborate(self, platform: object) -> Module:
            m = Module()
            Stub.rows = self._depth
            m.d.comb += _anything(self.i.ready, self.o.valid, self.o.payload)
            assume_stream(m, Past(m), self.o, "o")
            chosen = free((self._depth + 2).bit_length())
            beats_rules(m, Assume, self, self._depth, chosen, known)
            return m

    return Stub


def editor_stub(base: type[Any]) -> type[Any]:
    """The editor: its first slices, and any bytes behind them."""

    class Stub(base):
        def elaborate(self, platform: object) -> Module:
            from precog_hw.packet.patch import COMMAND, command
            from precog_hw.stream.packet import beat_layout
            from precog_hw.stream.skid import SkidBuffer

            m = Module()
            m.submodules.slice = slice_ = SkidBuffer(beat_layout(self._width))
            m.submodules.commands = commands = SkidBuffer(COMMAND)
            wiring.connect(m, wiring.flipped(self.i), slice_.i)
            m.d.comb += [
                *(commands.i.payload[n].eq(v) for n, v in command(self.i_edit.payload).items()),
                commands.i.valid.eq(self.i_edit.valid),
                self.i_edit.ready.eq(commands.i.ready),
                *_anything(slice_.o.ready, commands.o.ready, self.o.valid, self.o.payload),
            ]
            assume_rules(m, Past(m), self.o, "o")
            chain = chain_rules(m, Assume, slice_.o, commands.o, self.o, self._width)
            m.d.comb += Signal(name="dropped").eq(chain.dropped)
            return m

    return Stub


def patch_stub(base: type[Any], width: int) -> type[Any]:
    """`Patch`, whatever it writes."""

    class Stub(base):
        def elaborate(self, platform: object) -> Module:
            m = Module()
            outputs = (self.i.ready, self.i_edit.ready, self.o.valid, self.o.payload)
            m.d.comb += _anything(*outputs)
            assume_rules(m, Past(m), self.o, "o")
            patch_rules(m, Assume, width, self)
            return m

    return Stub


def part_stub(base: type[Any], name: str, width: int) -> type[Any]:
    """`Grow` or `Shrink`, whatever it puts in or takes out."""

    class Stub(base):
        def elaborate(self, platform: object) -> Module:
            m = Module()
            m.d.comb += _anything(self.i.ready, self.o.valid, self.o.payload)
            assume_rules(m, Past(m), self.o, "o")
            behind_rules(m, Assume, name, width, self)
            return m

    return Stub


def icrc_stub(base: type[Any]) -> type[Any]:
    """The ICRC's check, which only counts."""

    class Stub(base):
        def elaborate(self, platform: object) -> Module:
            m = Module()
            m.d.comb += _anything(self.i_packet.ready, self.done, self.checked, self.ok)
            return m

    return Stub


def _anything(*outputs: Any) -> list[Any]:
    """Statements: the outputs are free in every cycle."""
    values = [Value.cast(output) for output in outputs]
    return [value.eq(free(len(value))) for value in values]
