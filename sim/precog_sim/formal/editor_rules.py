"""The editor's inner stream, and what its parts promise."""

from typing import Any, NamedTuple

from amaranth.hdl import Assert, Cat, Const, Module, Mux, Signal, Value

from precog_spec.frames.cps import SHIM

from .packets import Claim, beat_of, in_time

__all__ = ["INSIDE", "OUT_CYCLES", "REFUSALS", "Part", "Patched", "behind_rules", "patch_rules"]

#: By part and width: cycles in which a beat may be refused, and until a packet's end is out.
REFUSALS = {
    "patch": {8: 0, 64: 0},
    "grow": {8: SHIM.size, 64: 1},
    "shrink": {8: 0, 64: 0},
}
OUT_CYCLES = {"patch": {8: 1, 64: 1}, "grow": {8: 1, 64: 2}, "shrink": {8: 2, 64: 2}}
#: By part: ends inside, but for that which is offered.
INSIDE = {"patch": 0, "grow": 1, "shrink": 1}


class Patched:
    """A stream of `patched_layout`: how the beats of a packet belong together.

    In each packet `insert`, `remove` and `place` are the same in all beats; not both of `insert`
    and `remove` are set, and at most one bit of `place`. `at` is set in the beat that holds the
    byte behind UDP in that place, counted from the packet's first beat, `past` in those after it;
    without a place neither is.

    Parameters
    ----------
    m : Module
    port : stream.Interface
    lanes : int
        Bytes in a beat.

    Attributes
    ----------
    number : Signal
        The next beat's number in its packet; stays at `top`.
    top : int
    command : Signal
        The last beat's `insert`, `remove`, `place`.
    here : Value
        The same of the beat that is offered.
    open : Value
        More beats of a packet are to come.
    """

    def __init__(self, m: Module, port: Any, lanes: int) -> None:
        from precog_hw.packet.places import PLACES

        self._port = port
        self._beats = [place.payload // lanes for place in PLACES]
        self._places = len(PLACES)
        self.top = max(self._beats) + 1
        beat = port.payload
        self.here = Cat(beat.insert, beat.remove, beat.place)
        self.number = Signal(range(self.top + 1))
        self.command = Signal(len(self.here))
        self.open = self.number != 0
        with m.If(port.valid & port.ready):
            m.d.sync += [self.command.eq(self.here), self.number.eq(self.after)]
        m.d.comb += Assert(self.number <= self.top)

    @property
    def after(self) -> Value:
        """What `number` is after the beat that is offered."""
        more = Mux(self.number == self.top, self.top, self.number + 1)
        return Mux(self._port.payload.beat.last, 0, more)

    @property
    def inserts(self) -> Value:
        """The last beat's `insert`."""
        return self.command[0]

    @property
    def removes(self) -> Value:
        """The last beat's `remove`."""
        return self.command[1]

    @property
    def places(self) -> list[tuple[Value, int]]:
        """The last beat's `place`, bit by bit, and the beat of the byte behind UDP."""
        return list(zip(self.command[2:], self._beats, strict=True))

    def holds(self, counts: Value) -> Value:
        """The beat that is offered is as it must be; `at` and `past` are, if `counts`."""
        beat = self._port.payload
        places = list(zip(beat.place, self._beats, strict=True))
        at = Cat(bit & (self.number == there) for bit, there in places).any()
        past = Cat(bit & (self.number > there) for bit, there in places).any()
        return ~self._port.valid | (
            (~self.open | (self.command == self.here))
            & ((beat.place & (beat.place - 1))[: self._places] == 0)
            & ~(beat.insert & beat.remove)
            & (~counts | ((beat.at == at) & (beat.past == past)))
        )


class Part(NamedTuple):
    """What is in a part of the editor.

    Attributes
    ----------
    flows : Value
        The consumer takes what is offered, if anything is.
    ends : Signal
        Packets' last beats that were taken, not dropped, and have not left.
    age : Signal
        Cycles with `flows` that the oldest of them has waited.
    refused : Signal
        Such cycles that the beat offered has been refused.
    extra : Value
        Beats that have come out, and been put in, since the last one was taken.
    """

    flows: Value
    ends: Signal
    age: Signal
    refused: Signal
    extra: Value


def patch_rules(m: Module, claim: Claim, width: int, part: Any) -> Part:
    """`Patch`, or its stub: one command a packet, and of dropped packets nothing comes out."""
    from precog_hw.packet.layouts import Edit

    i, edit = part.i, part.i_edit
    taken, last = i.valid & i.ready, i.payload.last
    m.d.comb += [
        claim((edit.valid & edit.ready) == (taken & last), "a packet uses one command"),
        claim(~taken | edit.valid, "a beat is taken with its command"),
    ]
    return _rules(
        m, claim, "patch", width, part, ends=edit.payload.edit != Edit.DROP, there=edit.valid
    )


def behind_rules(m: Module, claim: Claim, name: str, width: int, part: Any) -> Part:
    """`Grow` or `Shrink`, or its stub."""
    return _rules(m, claim, name, width, part, ends=Const(1), there=Const(1))


def _rules(
    m: Module,
    claim: Claim,
    name: str,
    width: int,
    part: Any,
    *,
    ends: Value,
    there: Value,
) -> Part:
    """No packet's end is lost, none comes twice, and each leaves in time; beats are taken in time.

    Of `Patch` and `Grow` also: no more beats come out than were taken and may be put in.

    Parameters
    ----------
    m : Module
    claim : callable
        `Assert` of the part, `Assume` of its stub.
    name : str
    width : int
    part : wiring.Component
    ends : Value
        A packet whose last beat is taken is to come out.
    there : Value
        What else it must have to take a beat.
    """
    port, most = part.o, REFUSALS[name][width]
    taken, refused = part.i.valid & part.i.ready, part.i.valid & ~part.i.ready
    flows = port.ready | ~port.valid
    offered = port.valid & beat_of(port).last
    given = offered & port.ready
    owed = Signal(range(4), name=f"owed_{name}")
    m.d.sync += owed.eq(owed + (taken & beat_of(part.i).last & ends) - given)
    m.d.comb += [
        claim(owed >= offered, "no end without a packet"),
        claim(owed <= offered + INSIDE[name], "a packet comes out, and comes out once"),
    ]
    waits, cycles = (owed != 0) & ~given, OUT_CYCLES[name][width] - 1
    leaves = in_time(m, waits, flows, cycles, f"a whole packet leaves {name}", claim)
    takes = in_time(m, refused, flows & there, most, f"a beat is taken by {name}", claim)

    took, held = Signal(name=f"took_{name}"), Signal(name=f"held_{name}")
    before, extra = (Signal(range(most + 2), name=f"{n}_{name}") for n in ("put_in", "extra"))
    more = port.valid & ~held & ~took
    m.d.comb += extra.eq(Mux(took, 0, before + more))
    m.d.sync += [took.eq(taken), held.eq(port.valid & ~port.ready), before.eq(extra)]
    if name != "shrink":
        m.d.comb += [
            Assert(before <= most),
            claim(~more | (before < most), f"{name} puts in no more beats than it may"),
        ]
    return Part(flows, owed, leaves, takes, extra)
