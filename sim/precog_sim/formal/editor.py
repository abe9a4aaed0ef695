"""The editor of CPS insertion and extraction: the rules of packet streams, and no wedge.

The block is the gateware as it is, at 8 and at 64 bits, with the places of all headers, between a
producer that keeps the rules of packet streams and an arbitrary consumer. The commands are free:
whatever parser, table and slots may say of a packet, also what they never say (a place that is
none, a packet that ends before it), so that the proof does not depend on them. They obey the rules
of streams alone: a command that is offered stays until it is taken.

By induction, hence for packets of any length and for ever. The invariants say how the beats that
are inside follow one another: what is between two beats of a packet is of that packet.
"""

from typing import Any
from unittest.mock import patch

from amaranth.hdl import Assert, Cover, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from precog_models.packet.wire.cps import SHIM

from .editor_inside import Inside
from .engine import Mode, Proof
from .mutate import Mutant, reimported
from .packets import assert_rules, assume_rules, assume_stream, in_time
from .past import Past
from .peek import Opened

__all__ = ["MUTANTS", "PROOFS"]

#: By width: cycles in which a beat may be refused, and until a packet that is inside is out.
REFUSALS = {8: 9, 64: 2}
OUT_CYCLES = {8: 16, 64: 8}
COMMAND_CYCLES = {8: 10, 64: 3}  # until a packet that is inside has taken its command


class EditorHarness(wiring.Component):
    """The editor between free streams.

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
        m = Module()
        with reimported("precog_hw.packet.editor") as module:
            dut = module.Editor(self._width)
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

        # Packets inside whose end has come: none is lost, none ends twice.
        inside = Inside(m, inner, self._width, self.edit, self.edit_valid)
        out = dut.o.payload
        given = dut.o.valid & dut.o.ready & out.last
        ends = self.valid & dut.i.ready & self.beat.last
        arrived, owed = Signal(range(4)), Signal(range(8))
        m.d.sync += [
            arrived.eq(arrived + ends - inside.decided),
            owed.eq(owed + (inside.decided & ~inside.drop) - given),
        ]
        m.d.comb += [
            Assert(arrived == inside.arrived),
            Assert(
                owed == inside.owed + (dut.o.valid & out.last),
                "a packet that is not dropped comes out, and comes out once",
            ),
            Assert(~given | (owed != 0), "no end without a packet"),
        ]

        # No wedge, while the consumer takes what is offered, now or later, and commands come.
        flows = (self.ready | ~dut.o.valid) & self.edit_valid
        leaves = given | (inside.decided & inside.drop)
        refuses = self.valid & ~dut.i.ready & flows
        in_time(m, refuses, REFUSALS[self._width], "a beat is taken")
        stays = ((arrived != 0) | (owed != 0)) & ~leaves & flows
        in_time(m, stays, OUT_CYCLES[self._width], "a whole packet leaves")
        lingers = (arrived != 0) & ~inside.decided & flows
        in_time(m, lingers, COMMAND_CYCLES[self._width], "a command is taken")
        m.d.comb += Assert(~inside.decided | (arrived != 0), "and not before its packet's end")
        self._covers(m, inner, inside.link, owed)
        return m

    def _covers(self, m: Module, inner: Opened, link: Any, owed: Signal) -> None:
        """A packet has got its shim, another has lost it, and it is out."""
        from precog_hw.packet.places import PLACES, is_place

        lanes = self._width // 8
        grown, shrunk = Signal(), Signal()
        with m.If(inner["grow.done"] == SHIM.size if lanes == 1 else inner["grow.spilling"]):
            m.d.sync += grown.eq(1)
        index = inner.every("shrink.index")[-1]
        for place in PLACES:
            behind = index >= (place.payload + SHIM.size) // lanes
            with m.If(link.open & link.command.remove & is_place(link.command, place) & behind):
                m.d.sync += shrunk.eq(1)
        m.d.comb += [Cover(grown & (owed == 0)), Cover(shrunk & (owed == 0))]


def _near(width: int) -> Any:
    """Within the context, what is behind UDP comes near the packet's begin, in the same lanes."""
    from precog_hw.packet.places import Place

    first = 1 if width == 8 else 10
    return patch.object(Place, "payload", property(lambda place: first + 4 * place.tags))


class NearHarness(EditorHarness):
    """The same with what is behind UDP near the packet's begin, for runs from reset."""

    def elaborate(self, platform: object) -> Module:
        with _near(self._width):
            return super().elaborate(platform)


_WIDTHS = (8, 64)
#: Cycles from reset in which every mutant shows and packets have been grown and shrunk.
_NEAR = {8: 26, 64: 14}
_CLAIMS = {
    width: f"any packets and commands: packet stream rules, a beat is refused for at most "
    f"{REFUSALS[width]} cycles, a packet leaves within {OUT_CYCLES[width]}, none is lost"
    for width in _WIDTHS
}
PROOFS = (
    *(
        Proof(
            f"editor.{width}",
            lambda width=width: EditorHarness(width),  # type: ignore[misc]
            Mode.INDUCTION,
            OUT_CYCLES[width] + 3,
            f"for ever, {_CLAIMS[width]}",
            quick=False,
        )
        for width in _WIDTHS
    ),
    *(
        Proof(
            f"editor.{name}.{width}",
            lambda width=width: NearHarness(width),  # type: ignore[misc]
            mode,
            _NEAR[width],
            claim,
            quick=False,
        )
        for width in _WIDTHS
        for name, mode, claim in (
            ("near", Mode.BOUNDED, f"from reset, {_CLAIMS[width]}"),
            ("cover", Mode.COVER, "packets are grown and shrunk"),
        )
    ),
)
_GROW, _SHRINK, _PATCH = (f"precog_hw.packet.{name}" for name in ("grow", "shrink", "patch"))
MUTANTS = (
    Mutant(
        "editor.near.64",
        _GROW,
        "o.beat.last.eq(i.beat.last & ~spills)",
        "o.beat.last.eq(i.beat.last)",
        "a packet whose end spills over ends twice",
        quick=True,
    ),
    Mutant(
        "editor.near.64",
        _GROW,
        "self.i.ready.eq(free & ~spilling)",
        "self.i.ready.eq(free)",
        "a beat is taken while the rest of the packet before goes out",
    ),
    Mutant(
        "editor.near.8",
        _GROW,
        "(done != SHIM.size)",
        "~self.i.payload.remove",
        "the shim never ends",
    ),
    Mutant(
        "editor.near.64",
        _SHRINK,
        "o.last.eq(held.last | used)",
        "o.last.eq(held.last)",
        "a packet whose end was used up never ends",
    ),
    Mutant(
        "editor.near.8",
        _SHRINK,
        "(i.last | ~nothing)",
        "~nothing",
        "a packet that ends within the eight bytes is stuck",
    ),
    Mutant(
        "editor.near.64",
        _SHRINK,
        "free = self.o.ready | ~self.o.valid",
        "free = self.o.ready",
        "the output waits for ready before it is valid",
    ),
    Mutant(
        "editor.near.64",
        _PATCH,
        "taken = self.i.valid & self.i_edit.valid & free",
        "taken = self.i.valid & free",
        "beats are counted that wait for their command",
    ),
    Mutant(
        "editor.near.64",
        _PATCH,
        "(edit.edit != Edit.DROP)",
        "~((edit.edit == Edit.DROP) & beat.last)",
        "of a dropped packet the last beat goes, and the others stay",
    ),
)
