"""What is inside the editor, for the induction: how its beats follow one another."""

from typing import Any

from amaranth.hdl import Assert, Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data

from precog_models.packet.wire.cps import SHIM
from precog_models.packet.wire.headers import BTH

from .packets import well_formed
from .peek import Opened

__all__ = ["Inside"]

_COMMAND = data.StructLayout({"insert": 1, "remove": 1, "ipv6": 1, "tags": unsigned(2)})


class _Link:
    """The last beat that passed between two stages: its packet's command, and whether more comes.

    Parameters
    ----------
    m : Module
    moves : Value
        A beat passes.
    last : Value
        It is its packet's last.
    command : Value
        Its packet's command.
    name : str
    """

    def __init__(self, m: Module, moves: Value, last: Value, command: Value, name: str) -> None:
        self.open = Signal(name=f"{name}_open")
        self.command = Signal(_COMMAND, name=f"{name}_command")
        with m.If(moves):
            m.d.sync += [self.open.eq(~last), self.command.eq(command)]

    def same(self, command: Value) -> Value:
        """If the packet goes on, it is with this command."""
        return ~self.open | self.was(command)

    def was(self, command: Value) -> Value:
        """The beat was of a packet with this command."""
        return self.command.as_value() == command

    def follows(self, before: "_Link") -> Value:
        """Both links saw the same beat last."""
        return (self.open == before.open) & self.same(before.command.as_value())


def _command(patched: Any) -> Value:
    """A beat's command, as in `_COMMAND`."""
    return Cat(patched.insert, patched.remove, patched.ipv6, patched.tags)


class Inside:
    """The editor's registers, with what always holds of them.

    Between two beats of a packet there is nothing of another; a beat that is inside has the command
    of the beat before it, unless that was its packet's last.

    Parameters
    ----------
    m : Module
    inner : Opened
        The editor.
    width : int
    edit, edit_valid : View, Signal
        The command that is offered.

    Attributes
    ----------
    arrived : Value
        Packets whose end waits for its command.
    owed : Value
        Packets whose end is inside, and not to be dropped, but for that in the output register.
    decided, drop : Value
        A packet's end meets its command; that command is to drop it.
    link : _Link
        Between `Grow` and `Shrink`.
    """

    def __init__(self, m: Module, inner: Opened, width: int, edit: Any, edit_valid: Signal) -> None:
        from precog_hw.packet.layouts import Edit
        from precog_hw.packet.patch import patched_layout
        from precog_hw.stream.packet import beat_layout

        self._inner = inner
        self._width = width
        beats, patched = beat_layout(width), patched_layout(width)
        sliced, spare = (data.View(beats, inner[f"slice.{n}"]) for n in ("o__payload", "spare"))
        self._patched = data.View(patched, inner["patch.o__payload"])
        self._grown = data.View(patched, inner["grow.o__payload"])
        self._held = data.View(beats, inner["shrink.held"])
        s_valid, spare_used = inner["slice.o__valid"], ~inner["slice.ready"]
        self._p_valid, self._g_valid = inner["patch.o__valid"], inner["grow.o__valid"]
        p_ready, g_ready = inner["grow.i__ready"], inner["shrink.i__ready"]
        self.drop = edit.edit == Edit.DROP
        command = Cat(edit.edit == Edit.INSERT, edit.edit == Edit.REMOVE, edit.ipv6, edit.tags)

        taken = s_valid & edit_valid & (p_ready | ~self._p_valid)
        p_last, g_last = self._patched.beat.last, self._grown.beat.last
        self._t1 = _Link(m, taken, sliced.last, command, "t1")
        self._t2 = _Link(m, self._p_valid & p_ready, p_last, _command(self._patched), "t2")
        self.link = _Link(m, self._g_valid & g_ready, g_last, _command(self._grown), "t3")
        self.decided = taken & sliced.last

        kept = (
            (s_valid, sliced),
            (spare_used, spare),
            (self._p_valid, self._patched.beat),
            (self._g_valid, self._grown.beat),
            (inner["shrink.full"], self._held),
        )
        m.d.comb += [
            *(Assert(~valid | well_formed(beat)) for valid, beat in kept),
            Assert(~spare_used | s_valid),
        ]
        self._patch(m, command, edit_valid, taken)
        spilling = self._grow(m)
        self._shrink(m)
        self.arrived = (s_valid & sliced.last) + (spare_used & spare.last)
        self.owed = (
            (self._p_valid & p_last)
            + (spilling | (self._g_valid & g_last))
            + (inner["shrink.full"] & self._held.last)
        )

    def _top(self, offset: int) -> int:
        """Where a stage's number of a beat stops, whose last byte is `offset` behind UDP."""
        from precog_hw.packet.places import PLACES

        return max(place.payload + offset for place in PLACES) // (self._width // 8) + 1

    def _patch(self, m: Module, command: Value, edit_valid: Signal, taken: Value) -> None:
        """`Patch`: a packet that goes on has its command still; of a dropped one nothing goes."""
        inner, t1, t2 = self._inner, self._t1, self._t2
        dropped, here = Signal(), _command(self._patched)
        with m.If(taken):
            m.d.sync += dropped.eq(self.drop)
        index = inner["patch.index"]
        m.d.comb += [
            Assert(index <= self._top(BTH["fecn"].byte + 1)),
            Assert((index != 0) == t1.open),
            Assert(~t1.open | (edit_valid & t1.same(command) & (dropped == self.drop))),
            Assert(~dropped | (~self._p_valid & ~t2.open)),
            Assert(~self._p_valid | (t1.was(here) & (self._patched.beat.last == ~t1.open))),
            Assert(~self._p_valid | t2.same(here)),
            Assert(self._p_valid | dropped | t2.follows(t1)),
            *(Assert(~(link.command.insert & link.command.remove)) for link in (t1, t2, self.link)),
            Assert(~(self._p_valid & self._patched.insert & self._patched.remove)),
            Assert(~(self._g_valid & self._grown.insert & self._grown.remove)),
        ]

    def _grow(self, m: Module) -> Value:
        """`Grow`; gives whether it holds a packet's end that is not in its output."""
        from precog_hw.packet.places import PLACES, is_place

        inner, t2, t3 = self._inner, self._t2, self.link
        here, before = _command(self._grown), _command(self._patched)
        last, index = self._grown.beat.last, inner["grow.index"]
        m.d.comb += [
            Assert((index != 0) == t2.open),
            Assert(index <= self._top(0)),
            Assert(~self._g_valid | t3.same(here)),
        ]
        plain = Mux(self._g_valid, t2.was(here) & (last == ~t2.open), t3.follows(t2))
        if self._width == 8:
            # Within the shim: its packet's next byte waits.
            done = inner["grow.done"]
            at = [is_place(self._patched, p) & (index == p.payload) for p in PLACES]
            within = Mux(self._g_valid, (here == before) & ~last, t3.open & t3.same(before))
            waits = self._p_valid & self._patched.insert & Cat(at).any()
            m.d.comb += [
                Assert(done <= SHIM.size),
                Assert((done == 0) | waits),
                Assert(Mux(done == 0, plain, within)),
            ]
            return Const(0, 1)
        spilling, rest = inner["grow.spilling"], inner["grow.rest_keep"]
        m.d.comb += [
            Assert(~spilling | (self._g_valid & t2.was(here) & ~last & ~t2.open)),
            Assert(~spilling | (rest[0] & ((rest & (rest + 1))[: len(rest)] == 0))),
            Assert(spilling | plain),
        ]
        return spilling

    def _shrink(self, m: Module) -> None:
        """`Shrink`: a beat is held while its packet goes on, if the shim is to go out."""
        from precog_hw.packet.places import PLACES, is_place

        inner, t3, held = self._inner, self.link, self._held
        full, waits = inner["shrink.full"], inner["shrink.waits"]
        m.d.comb += [
            Assert(waits == (t3.open & t3.command.remove)),
            Assert(~waits | full),
            Assert(~full | (held.last == ~t3.open)),
        ]
        for index, offset in zip(inner.every("shrink.index"), (0, SHIM.size), strict=False):
            m.d.comb += [Assert((index != 0) == t3.open), Assert(index <= self._top(offset))]
        if self._width == 8:
            return
        index, tail, lanes = inner["shrink.index"], inner["shrink.tail"], self._width // 8
        # Lanes of the held beat that take later bytes: from one on, up to the last.
        rest = ~tail[:lanes]
        m.d.comb += [
            Assert((rest & (rest + 1))[:lanes] == 0),
            Assert(~full | waits | ~held.last | ~tail[0]),
            Assert(~full | waits | held.last | (tail == 0)),
        ]
        for place in PLACES:
            here = waits & is_place(t3.command, place)
            past = index > place.payload // lanes
            m.d.comb += [
                Assert(~(here & past) | tail[-1]),
                Assert(~(here & ~past) | (tail == 0)),
            ]
