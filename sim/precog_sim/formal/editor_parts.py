"""The editor's parts, each alone between free streams."""

from typing import Any

from amaranth.hdl import Assert, Assume, Cat, Const, Cover, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In

from precog_spec.frames.cps import SHIM

from .editor_rules import Patched, behind_rules, patch_rules
from .packets import assert_rules, assume_rules, assume_stream, well_formed
from .past import Past
from .peek import Opened

__all__ = ["GrowHarness", "PatchHarness", "ShrinkHarness"]


class PatchHarness(wiring.Component):
    """`Patch`, with any command for each packet, as `command` makes it of an `EDIT`.

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
        from precog_hw.packet.layouts import Edit
        from precog_hw.packet.patch import _BYTES, Patch, command

        m = Module()
        dut = Patch(self._width)
        inner = Opened(dut)
        m.submodules.dut = inner.fragment
        past = Past(m)
        edit = dut.i_edit.payload
        m.d.comb += [
            dut.i.payload.eq(self.beat),
            dut.i.valid.eq(self.valid),
            *(edit[name].eq(value) for name, value in command(self.edit).items()),
            dut.i_edit.valid.eq(self.edit_valid),
            dut.o.ready.eq(self.ready),
        ]
        assume_rules(m, past, dut.i, "i")
        assume_stream(m, past, dut.i_edit, "edit")
        assert_rules(m, past, dut.o, "o")
        after = Patched(m, dut.o, self._width // 8)
        m.d.comb += Assert(after.holds(Const(1)), "`at`, `past` and `place` of each beat")

        # What goes in comes out, but for dropped packets, of which nothing does.
        valid, out, drop = dut.o.valid, dut.o.payload, edit.edit == Edit.DROP
        taken, last = self.valid & dut.i.ready, self.beat.last
        beats = Signal(2)
        m.d.sync += beats.eq(beats + (taken & ~drop) - (valid & dut.o.ready))
        m.d.comb += [
            Assert(beats == valid, "a beat comes out once, and of a dropped packet none"),
        ]
        part = patch_rules(m, Assert, self._width, dut)

        # For the induction: the packet that is open, its command, and how far it has come.
        open_, dropped, kept = Signal(), Signal(), Signal(len(after.here))
        here = Cat(edit.edit == Edit.INSERT, edit.edit == Edit.REMOVE, edit.place)
        with m.If(taken):
            m.d.sync += [open_.eq(~last), dropped.eq(drop), kept.eq(here)]
        written, site = inner.every("index")
        top = max(at for *_, at in _BYTES) // (self._width // 8) + 1
        m.d.comb += [
            Assert(written <= top),
            Assert((written != 0) == open_),
            Assert((site != 0) == open_),
            Assert(site <= after.top),
            Assert(~open_ | (self.edit_valid & (here == kept) & (drop == dropped))),
            Assert(~dropped | (~valid & ~after.open)),
            Assert(dropped | (site == Mux(valid, after.after, after.number))),
            Assert(~valid | ((kept == after.here) & (out.beat.last == ~open_))),
            Assert(valid | dropped | ~open_ | (kept == after.command)),
            Assert(part.age == 0),
            Cover(dropped & ~open_ & (self.valid & self.edit_valid)),
        ]
        return m


class _Behind(wiring.Component):
    """A part behind `Patch`, for any stream as `Patched` describes it.

    Parameters
    ----------
    width : int
    """

    def __init__(self, width: int) -> None:
        from precog_hw.packet.patch import patched_layout

        self._width = width
        super().__init__({"patched": In(patched_layout(width)), "valid": In(1), "ready": In(1)})

    def _connected(self, m: Module, dut: Any, inner: Opened, counts: Value) -> Patched:
        """Rules at both ends."""
        from precog_hw.packet.grow import growing

        m.submodules.dut = inner.fragment
        past = Past(m)
        values = {name: self.patched[name] for name in dict(self.patched.shape())}
        if "spills" in dict(dut.i.payload.shape()):
            values = growing(values, self.patched.beat)
        m.d.comb += [
            *(dut.i.payload[name].eq(value) for name, value in values.items()),
            dut.i.valid.eq(self.valid),
            dut.o.ready.eq(self.ready),
        ]
        assume_rules(m, past, dut.i, "i")
        assert_rules(m, past, dut.o, "o")
        before = Patched(m, dut.i, self._width // 8)
        m.d.comb += Assume(before.holds(counts))
        return before


class GrowHarness(_Behind):
    """`Grow`: packets without `insert` keep their `at` and `past`."""

    def elaborate(self, platform: object) -> Module:
        from precog_hw.packet.grow import Grow

        m = Module()
        dut = Grow(self._width)
        inner = Opened(dut)
        before = self._connected(m, dut, inner, Const(1))
        after = Patched(m, dut.o, self._width // 8)
        valid, last = dut.o.valid, dut.o.payload.beat.last
        m.d.comb += Assert(after.holds(~dut.o.payload.insert), "`place` of each beat")

        narrow = self._width == 8
        spilling = Const(0) if narrow else inner["spilling"]
        taken = self.valid & dut.i.ready
        ends = taken & self.patched.beat.last
        part = behind_rules(m, Assert, "grow", self._width, dut)
        flows, age, wait = part.flows, part.age, part.refused
        m.d.comb += Assert(part.ends == spilling + (valid & last))
        # Beats that are more than came in go out while none is taken.
        more, beats = flows & ~dut.i.ready & (self.valid | spilling), Signal(2)
        m.d.sync += beats.eq(beats + (taken | more) - (valid & dut.o.ready))
        m.d.comb += Assert(beats == valid, "a beat comes out once, and with it those put in")

        # For the induction: nothing of another packet is between two beats of one.
        same = ~before.open | (before.command == after.command)
        plain = Mux(
            valid,
            (before.command == after.here) & (last == ~before.open),
            (before.open == after.open) & same,
        )
        numbered = before.number == Mux(valid, after.after, after.number)
        m.d.comb += Assert(before.inserts | numbered)
        grown = Signal()  # a packet with its shim is complete
        m.d.comb += Cover(grown & ~valid)
        if narrow:
            # Within the shim: its packet's next byte waits.
            done, i = inner["done"], self.patched
            within = Mux(
                valid,
                (after.here == before.command) & ~last,
                after.open & (after.command == before.command),
            )
            m.d.comb += [
                Assert(done <= SHIM.size),
                Assert((done == 0) | (self.valid & i.insert & i.at)),
                Assert(Mux(done == 0, plain, before.open & within)),
                Assert(age == 0),
                Assert(wait == done),
                Assert(part.extra == done),
            ]
            with m.If((done == SHIM.size) & ends & i.beat.last):
                m.d.sync += grown.eq(1)
            return m
        rest = inner["rest_keep"]
        spills = valid & ~last & ~before.open & (before.command == after.here) & before.inserts
        m.d.comb += [
            Assert(Mux(spilling, spills, plain)),
            Assert(~spilling | (rest[0] & ((rest & (rest + 1))[: len(rest)] == 0))),
            Assert(~spilling | ((age == 0) & (wait == 0) & (part.extra == 0))),
        ]
        with m.If(spilling):
            m.d.sync += grown.eq(1)
        return m


class ShrinkHarness(_Behind):
    """`Shrink`: `at` and `past` are as they must be where `remove` is set, and free elsewhere."""

    def elaborate(self, platform: object) -> Module:
        from precog_hw.packet.shrink import Shrink
        from precog_hw.stream.packet import beat_layout

        m = Module()
        dut = Shrink(self._width)
        inner = Opened(dut)
        before = self._connected(m, dut, inner, self.patched.remove)
        held = data.View(beat_layout(self._width), inner["held"])
        full, waits = inner["full"], inner["waits"]
        taken = self.valid & dut.i.ready
        part = behind_rules(m, Assert, "shrink", self._width, dut)

        # For the induction: a beat is held while its packet goes on, if the shim is to go out.
        m.d.comb += [
            Assert(waits == (before.open & before.removes)),
            Assert(~waits | full),
            Assert(~full | (well_formed(held) & (held.last == ~before.open))),
            Assert(part.ends == (full & held.last) + (dut.o.valid & dut.o.payload.last)),
            Assert((part.age == 0) | (dut.o.valid & dut.o.payload.last)),
        ]
        shrunk = Signal()  # a packet that has lost its shim is complete
        m.d.comb += Cover(shrunk & ~dut.o.valid & ~full)
        if self._width == 8:
            index = inner["index"]
            number = Mux(index < before.top, index, before.top)
            m.d.comb += [
                Assert(index <= before.top + SHIM.size),
                Assert(before.number == number),
            ]
            gone = index > before.top
        else:
            tail = inner["tail"]
            # Lanes of the held beat that take later bytes: from one on, up to the last.
            rest = ~tail
            m.d.comb += [
                Assert((rest & (rest + 1))[: len(rest)] == 0),
                Assert(~full | waits | ~held.last | ~tail[0]),
                Assert(~full | waits | held.last | (tail == 0)),
                Assert(~waits | before.command[2:].any() | (tail == 0)),
            ]
            for bit, there in before.places:
                here = waits & bit
                m.d.comb += Assert(~here | Mux(before.number > there, tail[-1], tail == 0))
            gone = tail[-1]
        with m.If(taken & waits & gone & self.patched.beat.last):
            m.d.sync += shrunk.eq(1)
        return m
