"""The editor as a whole: what its parts promise, put together by the gateware's own wires."""

from functools import partial
from typing import Any, NamedTuple

from amaranth.hdl import Assert, Cover, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In

from .contracts import CHAIN_CYCLES, CHAIN_REFUSALS, chain_rules
from .editor_rules import OUT_CYCLES, REFUSALS
from .engine import Mode, Proof
from .held import Slice
from .mutate import Mutant, reimported
from .packets import assert_rules, assume_rules, assume_stream
from .past import Past
from .peek import Opened
from .stubs import part_stub, patch_stub

__all__ = ["MUTANTS", "PROOFS"]

_EDITOR = "precog_hw.packet.editor"


class _Inner(NamedTuple):
    """A stream between two parts, by its signals."""

    valid: Signal
    ready: Signal
    payload: Any


class EditorHarness(wiring.Component):
    """The editor, its parts replaced by what they are proved to keep.

    Parameters
    ----------
    direction : str
        ``tx`` or ``rx``.
    width : int
    """

    def __init__(self, direction: str, width: int) -> None:
        from precog_hw.packet.layouts import EDIT
        from precog_hw.stream.packet import beat_layout

        self._tx, self._width = direction == "tx", width
        super().__init__(
            {
                "beat": In(beat_layout(width)),
                "valid": In(1),
                "edit": In(EDIT),
                "edit_valid": In(1),
                "ready": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        from precog_hw.packet.grow import growing_layout
        from precog_hw.packet.patch import COMMAND, patched_layout
        from precog_hw.stream.packet import beat_layout
        from precog_models.packet.wire.descriptor import Direction

        m = Module()
        width = self._width
        with reimported(_EDITOR) as module:
            editor: Any = module
            editor.Patch = patch_stub(editor.Patch, width)
            editor.Grow = part_stub(editor.Grow, "grow", width)
            editor.Shrink = part_stub(editor.Shrink, "shrink", width)
            dut = editor.Editor(width, Direction.TX if self._tx else Direction.RX)
            inner = Opened(dut)
        m.submodules.dut = inner.fragment
        past = Past(m)
        m.d.comb += [
            dut.i.payload.eq(self.beat),
            dut.i.valid.eq(self.valid),
            dut.i_edit.payload.eq(self.edit),
            dut.i_edit.valid.eq(self.edit_valid),
            dut.o.ready.eq(self.ready),
        ]
        assume_rules(m, past, dut.i, "i")
        assume_stream(m, past, dut.i_edit, "edit")
        assert_rules(m, past, dut.o, "o")
        beats = _Inner(
            inner["slice.o__valid"],
            inner["patch.i__ready"],
            data.View(beat_layout(width), inner["slice.o__payload"]),
        )
        commands = _Inner(
            inner["commands.o__valid"],
            inner["patch.i_edit__ready"],
            data.View(COMMAND, inner["commands.o__payload"]),
        )
        chain = chain_rules(m, Assert, beats, commands, dut.o, width)

        dropped, given = Signal(2), Signal(2)
        with m.If(chain.dropped & ~dropped.all()):
            m.d.sync += dropped.eq(dropped + 1)
        with m.If(dut.o.valid & self.ready & dut.o.payload.last & ~given.all()):
            m.d.sync += given.eq(given + 1)
        m.d.comb += Cover(dropped.all() & given.all())

        # Each part's promises, from its stub; the slices are the gateware.
        layout = (growing_layout if self._tx else patched_layout)(width)
        patched = Slice(m, Assert, inner, "patched", layout)
        Slice(m, Assert, inner, "slice", beat_layout(width))
        Slice(m, Assert, inner, "commands")
        behind = "grow" if self._tx else "shrink"
        owed = {name: inner[f"{name}.owed_{name}"] for name in ("patch", behind)}
        age = inner[f"{behind}.age_a_whole_packet_leaves_{behind}"]
        refused = inner[f"{behind}.age_a_beat_is_taken_by_{behind}"]
        out = OUT_CYCLES[behind][width]
        ends = sum(owed.values(), patched.ends)

        # What is still to be waited for, at most, while the consumer takes in every cycle.
        most = REFUSALS[behind][width] + 1
        position = Mux(patched.end != 0, patched.end, patched.count + 1)
        if self._tx:
            grown = Slice(m, Assert, inner, "grown", beat_layout(width))
            ends += grown.ends
            stalled = grown.count == 2
            taken = most - refused + stalled  # until `Grow` takes the beat that it is offered
            before = out + 3 + most * (position - 1) + taken
            inside = Mux(owed["grow"] != 0, out + 2 - age + stalled, before + (patched.end == 0))
            left = Mux(grown.ends != 0, grown.end, inside)
        else:
            taken = patched.count == 2
            before = out + position + (patched.end == 0)
            left = Mux(owed["shrink"] != 0, out - age, before)
        stuck = beats.valid & ~beats.ready & commands.valid
        m.d.comb += [
            Assert(chain.ends == ends),
            Assert((refused == 0) | patched.valid),
            Assert((chain.ends == 0) | (chain.waited + left <= CHAIN_CYCLES[width])),
            Assert(~stuck | (chain.refused + taken <= CHAIN_REFUSALS[width])),
        ]
        return m


_CLAIM = "the editor, of any parts that keep their promises: one command a packet, none lost, "
PROOFS = (
    *(
        Proof(
            f"editor.chain.{direction}.{width}",
            partial(EditorHarness, direction, width),
            Mode.INDUCTION,
            1,
            f"for ever, {_CLAIM}a beat is refused for at most {CHAIN_REFUSALS[width]} cycles, an "
            f"end leaves within {CHAIN_CYCLES[width]}",
        )
        for direction in ("tx", "rx")
        for width in (8, 64)
    ),
    Proof(
        "editor.chain.near",
        partial(EditorHarness, "tx", 64),
        Mode.BOUNDED,
        8,
        "the same from reset",
        quick=False,
    ),
    Proof(
        "editor.chain.cover",
        partial(EditorHarness, "tx", 64),
        Mode.COVER,
        14,
        "packets leave while others are dropped",
        quick=False,
    ),
)
MUTANTS = (
    Mutant(
        "editor.chain.near",
        "precog_hw.stream.skid",
        "valid.eq(self.i.valid | ~ready)",
        "valid.eq(self.i.valid)",
        "a slice loses a beat",
    ),
    Mutant(
        "editor.chain.near",
        _EDITOR,
        "grow.o.ready.eq(grown.i.ready)",
        "grow.o.ready.eq(0)",
        "nobody takes what the shim was put into",
    ),
)
