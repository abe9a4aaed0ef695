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
    """The editor, its three parts replaced by what they are proved to keep.

    Parameters
    ----------
    width : int
    """

    def __init__(self, width: int) -> None:
        from precog_hw.packet.layouts import EDIT
        from precog_hw.stream.packet import beat_layout

        self._width = width
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
        from precog_hw.packet.patch import COMMAND, patched_layout
        from precog_hw.stream.packet import beat_layout

        m = Module()
        width = self._width
        with reimported(_EDITOR) as module:
            editor: Any = module
            editor.Patch = patch_stub(editor.Patch, width)
            editor.Grow = part_stub(editor.Grow, "grow", width)
            editor.Shrink = part_stub(editor.Shrink, "shrink", width)
            dut = editor.Editor(width)
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
        patched, grown = (
            Slice(m, Assert, inner, name, patched_layout(width)) for name in ("patched", "grown")
        )
        Slice(m, Assert, inner, "slice", beat_layout(width))
        Slice(m, Assert, inner, "commands")
        owed = {name: inner[f"{name}.owed_{name}"] for name in ("patch", "grow", "shrink")}
        age = {
            name: inner[f"{name}.age_a_whole_packet_leaves_{name}"] for name in ("grow", "shrink")
        }
        refused = inner["grow.age_a_beat_is_taken_by_grow"]
        m.d.comb += Assert(chain.ends == sum(owed.values(), patched.ends + grown.ends))

        # What is still to be waited for, at most, while the consumer takes in every cycle.
        out = {name: OUT_CYCLES[name][width] for name in owed}
        most = REFUSALS["grow"][width] + 1
        stalled = grown.count == 2
        taken = most - refused + stalled  # until `Grow` takes the beat that it is offered
        position = Mux(patched.end != 0, patched.end, patched.count + 1)
        before = out["shrink"] + out["grow"] + 3 + most * (position - 1) + taken
        left = Mux(
            owed["shrink"] != 0,
            out["shrink"] - age["shrink"],
            Mux(
                grown.ends != 0,
                out["shrink"] + grown.end,
                Mux(
                    owed["grow"] != 0,
                    out["shrink"] + 2 + out["grow"] - age["grow"] + stalled,
                    before + (patched.end == 0),
                ),
            ),
        )
        stuck = beats.valid & ~beats.ready & commands.valid
        m.d.comb += [
            Assert((refused == 0) | patched.valid),
            Assert((chain.ends == 0) | (chain.waited + left <= CHAIN_CYCLES[width])),
            Assert(~stuck | (chain.refused + taken <= CHAIN_REFUSALS[width])),
        ]
        return m


_CLAIM = "the editor, of any parts that keep their promises: one command a packet, none lost, "
PROOFS = (
    *(
        Proof(
            f"editor.chain.{width}",
            partial(EditorHarness, width),
            Mode.INDUCTION,
            1,
            f"for ever, {_CLAIM}a beat is refused for at most {CHAIN_REFUSALS[width]} cycles, an "
            f"end leaves within {CHAIN_CYCLES[width]}",
        )
        for width in (8, 64)
    ),
    Proof(
        "editor.chain.near",
        partial(EditorHarness, 64),
        Mode.BOUNDED,
        8,
        "the same from reset",
        quick=False,
    ),
    Proof(
        "editor.chain.cover",
        partial(EditorHarness, 64),
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
        "self.o.valid.eq(self.i.valid | ~ready)",
        "self.o.valid.eq(self.i.valid)",
        "a slice loses a beat",
    ),
    Mutant(
        "editor.chain.near",
        _EDITOR,
        "wiring.connect(m, grow.o, grown.i)",
        "m.d.comb += grown.i.payload.eq(grow.o.payload)",
        "nobody takes what the shim was put into",
    ),
)
