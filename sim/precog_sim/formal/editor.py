"""The editor of CPS insertion and extraction: the rules of packet streams, and no wedge.

The editor is a chain, ``slice -> Patch -> queue -> Grow -> queue`` to the wire and ``slice -> Patch
-> queue -> Shrink`` from it, with one more slice for the commands. Each link is proved alone, as
gateware as it is, at 8 and at 64 bits with the places of all headers, between a free producer and a
free consumer, by induction: for packets of any length and for ever. `skid.rules` does it for the
slice. Commands are free: whatever parser, table and slots may say of a packet, also what they never
say (a place that is none, a packet that ends before it); one that is offered stays until it is
taken.

What a part assumes of its input is what the part before it is proved to give:

- `Patch`: a packet stream (valid and payload stay until taken; keep full but on the last beat,
  there contiguous from bit 0), and a stream of commands, as `patch.command` makes them of any
  `EDIT`. It gives a packet stream that is as `Patched` says: one `insert`, `remove` and `place` for
  all beats of a packet, at most one of the first two, at most one bit of `place`, and `at` and
  `past` as the beat's number in its packet and `place` have them.
- `Grow` assumes all of that, and what `growing` makes of it. It gives the same, but for `at` and
  `past` of packets with `insert`.
- `Shrink` assumes that: without `remove`, `at` and `past` are free. It gives a packet stream.

A slice or a queue hands on what it gets, in order and once, so it keeps each of these.

(a) Of each part: for each end of a packet that was taken and not dropped one comes out, and no end
before; at most two are inside. Beats are counted in `Patch` and `Grow`, in `Shrink` the ends alone.
What the bytes are is not said here; the tests compare with the golden model.

(b) Of each part: a beat that is offered is refused in at most `REFUSALS` cycles in which the
consumer takes what it is offered; an end that is inside leaves within `OUT_CYCLES` such cycles,
without another beat from the producer. The consumer may pause in between, as long as it likes.

(c) Of `Patch` and `Grow`: a beat comes out for one that was taken in the cycle before, and between
two that are taken at most `REFUSALS` more.

That the parts, the slice, the gates and the queues keep the same together, and that no queue ever
refuses what a part gives it, is proved by `editor_chain`.
"""

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

from amaranth.hdl import Module
from amaranth.lib import wiring

from .editor_parts import GrowHarness, PatchHarness, ShrinkHarness
from .editor_rules import OUT_CYCLES, REFUSALS
from .engine import Mode, Proof
from .mutate import Mutant

__all__ = ["MUTANTS", "PROOFS"]


class _Near(wiring.Component):
    """A harness with what is behind UDP near the packet's begin, in the same lanes, from reset."""

    def __init__(self, harness: wiring.Component, width: int) -> None:
        super().__init__(harness.signature)
        self._harness = harness
        self._first = 1 if width == 8 else 10

    def elaborate(self, platform: object) -> Module:
        from amaranth.hdl import Fragment

        from precog_hw.packet.places import Place

        m = Module()
        with patch.object(Place, "payload", property(lambda at: self._first + 4 * at.tags)):
            m.submodules.harness = Fragment.get(self._harness, platform)
        wiring.connect(m, wiring.flipped(self), self._harness)
        return m


_WIDTHS = (8, 64)
_HARNESSES: dict[str, Callable[[int], wiring.Component]] = {
    "patch": PatchHarness,
    "grow": GrowHarness,
    "shrink": ShrinkHarness,
}
DEPTH = 2
#: Cycles from reset in which every mutant shows, and a packet has been grown or shrunk.
_NEAR = {8: 22, 64: 10}
_SOON = 6


def _proofs(part: str, width: int) -> tuple[Proof, ...]:
    """Of one part: the proof, the same near the packet's begin, and that something happens."""
    make = _HARNESSES[part]
    claim = (
        f"any packets: packet stream rules, a beat is refused for at most {REFUSALS[part][width]} "
        f"cycles, a packet leaves within {OUT_CYCLES[part][width]}, none is lost"
    )
    reached = {"patch": "dropped", "grow": "grown", "shrink": "shrunk"}[part]

    def near() -> Any:
        return _Near(make(width), width)

    name = f"editor.{part}"
    return (
        Proof(f"{name}.{width}", lambda: make(width), Mode.INDUCTION, DEPTH, f"for ever, {claim}"),
        Proof(f"{name}.near.{width}", near, Mode.BOUNDED, _NEAR[width], claim, quick=False),
        Proof(
            f"{name}.cover.{width}",
            near,
            Mode.COVER,
            _NEAR[width],
            f"a packet is {reached}",
            quick=width != min(_WIDTHS),
        ),
    )


PROOFS = tuple(proof for part in _HARNESSES for width in _WIDTHS for proof in _proofs(part, width))
_GROW, _SHRINK, _PATCH = (f"precog_hw.packet.{name}" for name in ("grow", "shrink", "patch"))
MUTANTS = (
    Mutant(
        "editor.patch.near.64",
        _PATCH,
        "taken = self.i.valid & self.i_edit.valid & free",
        "taken = self.i.valid & free",
        "beats are counted that wait for their command",
        quick=True,
    ),
    Mutant(
        "editor.patch.near.64",
        _PATCH,
        "(edit.edit != Edit.DROP)",
        "~((edit.edit == Edit.DROP) & beat.last)",
        "of a dropped packet the last beat goes, and the others stay",
    ),
    Mutant(
        "editor.patch.near.8",
        _PATCH,
        "self.i_edit.ready.eq(self.i.valid & beat.last & free)",
        "self.i_edit.ready.eq(self.i.valid & beat.last)",
        "a command is used up by a beat that is not taken",
    ),
    Mutant(
        "editor.grow.near.64",
        _GROW,
        "o.beat.last.eq(i.beat.last & ~i.spills)",
        "o.beat.last.eq(i.beat.last)",
        "a packet whose end spills over ends twice",
        quick=True,
    ),
    Mutant(
        "editor.grow.near.64",
        _GROW,
        "self.i.ready.eq(free & ~spilling)",
        "self.i.ready.eq(free)",
        "a beat is taken while the rest of the packet before goes out",
    ),
    Mutant(
        "editor.grow.near.8",
        _GROW,
        "(done != SHIM.size)",
        "~self.i.payload.remove",
        "the shim never ends",
    ),
    Mutant(
        "editor.shrink.near.64",
        _SHRINK,
        "o.last.eq(held.last | used)",
        "o.last.eq(held.last)",
        "a packet whose end was used up never ends",
        quick=True,
    ),
    Mutant(
        "editor.shrink.near.8",
        _SHRINK,
        "(i.last | ~nothing)",
        "~nothing",
        "a packet that ends within the eight bytes is stuck",
    ),
    Mutant(
        "editor.shrink.near.64",
        _SHRINK,
        "free = self.o.ready | ~self.o.valid",
        "free = self.o.ready",
        "the output waits for ready before it is valid",
    ),
    # Of the proofs for ever, at full size: these show soon after reset.
    Mutant(
        "editor.patch.8",
        _PATCH,
        "self.i.ready.eq(self.i_edit.valid & free)",
        "self.i.ready.eq(free)",
        "a beat is taken before its command is there",
        quick=True,
        cycles=_SOON,
    ),
    Mutant(
        "editor.patch.64",
        _PATCH,
        "taken = self.i.valid & self.i_edit.valid & free",
        "taken = self.i.valid & free",
        "beats are counted that wait for their command",
        cycles=_SOON,
    ),
    Mutant(
        "editor.grow.8",
        _GROW,
        "with m.If(self.i.valid & due):",
        "with m.If(due):",
        "a byte of the shim leaves while no beat is offered",
        quick=True,
        cycles=_SOON,
    ),
    Mutant(
        "editor.grow.64",
        _GROW,
        "spilling.eq(taken & i.spills)",
        "spilling.eq(i.spills)",
        "a beat that is not taken spills over",
        cycles=_NEAR[64] + 4,
    ),
    Mutant(
        "editor.shrink.8",
        _SHRINK,
        "with m.If(taken & ~used):",
        "with m.If(self.i.valid & ~used):",
        "a beat that is refused replaces the one held",
        quick=True,
        cycles=_SOON,
    ),
    Mutant(
        "editor.shrink.64",
        _SHRINK,
        "self.i.ready.eq(free | ~full)",
        "self.i.ready.eq(1)",
        "a beat is taken while the one held has to stay",
        cycles=_SOON,
    ),
)
