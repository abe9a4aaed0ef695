"""The editor's inner stream, and what the harnesses of its parts share."""

from typing import Any

from amaranth.hdl import Assert, Cat, Module, Mux, Signal, Value

from .packets import in_time

__all__ = ["Patched", "flow"]


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


def flow(m: Module, port: Any, *, ends: Value, inside: Value, cycles: int) -> tuple[Value, Signal]:
    """No packet's end is lost, none comes twice, and each leaves in time.

    Parameters
    ----------
    m : Module
    port : stream.Interface
        The part's output.
    ends : Value
        The part takes the last beat of a packet that is to come out.
    inside : Value
        Ends that are in the part, but for that which is offered.
    cycles : int
        Cycles in which the consumer takes what is offered, from an end's arrival to its leaving.

    Returns
    -------
    flows : Value
        The consumer takes what is offered, if anything is.
    age : Signal
        Such cycles in which the oldest end has waited.
    """
    beat = port.payload.beat if "beat" in dict(port.payload.shape()) else port.payload
    flows = port.ready | ~port.valid
    given = port.valid & port.ready & beat.last
    owed = Signal(range(4))
    m.d.sync += owed.eq(owed + ends - given)
    m.d.comb += [
        Assert(owed == inside + (port.valid & beat.last), "a packet comes out, and comes out once"),
        Assert(~given | (owed != 0), "no end without a packet"),
    ]
    return flows, in_time(m, (owed != 0) & ~given, flows, cycles - 1, "a whole packet leaves")
