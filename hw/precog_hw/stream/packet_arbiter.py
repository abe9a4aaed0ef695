"""Several packet streams into one, packet by packet."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.stream.packet import beat_layout, packet_signature

__all__ = ["PacketArbiter"]


class PacketArbiter(wiring.Component):
    """One packet after the other, each whole.

    ::

        i[0] ─┐
        i[1] ─┼─► choice, held from a packet's first beat to its last ─► [register] ─► o
        ...  ─┘

    Who is next: the inputs that offer a packet take turns. With `burst`, input 0 comes first, but
    for one packet of another input after every `burst` of its own that others had to wait for.
    So an input that offers a packet waits at most for the packet under way and then

    * taking turns: for ``inputs - 1`` packets, one of each other input;
    * with `burst`, input 0: for no other packet if fewer than `burst` of its own have passed the
      others, for one otherwise;
    * with `burst`, another input: for ``burst * (inputs - 1)`` packets of input 0 and one of each
      other input.

    An input that pauses inside a packet holds up the others.

    Latency: 1 cycle. Throughput: one beat per cycle, also from one packet to the next, whatever
    their inputs. `i[n].ready` follows `o.ready` within the cycle. Cost of two
    inputs: at 64 bits 511 LUT4 and 126 FF, at 512 bits 2527 LUT4 and 630 FF.

    Parameters
    ----------
    width : int
        Bits of a beat.
    inputs : int
        2 or more.
    burst : int, optional
        Packets of input 0 in a row while others wait, 1 or more; without it all take turns.

    Members
    -------
    i : In(packet_signature(width)).array(inputs)
    o : Out(packet_signature(width))

    Raises
    ------
    ValueError
        `width` is not one of `WIDTHS`, or `inputs` or `burst` is too small.

    Usage
    -----
    ::

        m.submodules.link = link = PacketArbiter(64, inputs=2, burst=8)
        m.submodules.data = data = PacketFifo(64, depth=32)
        m.submodules.control = control = PacketFifo(64, depth=32)
        wiring.connect(m, data.o, link.i[0])  # first, but for one packet of control after eight
        wiring.connect(m, control.o, link.i[1])
    """

    i: list[stream.Interface]
    o: stream.Interface

    def __init__(self, width: int, inputs: int, *, burst: int | None = None) -> None:
        if inputs < 2:
            raise ValueError(f"inputs must be 2 or more, not {inputs!r}")
        if burst is not None and burst < 1:
            raise ValueError(f"burst must be 1 or more, not {burst!r}")
        self._layout = beat_layout(width)
        self._inputs = inputs
        self._burst = burst
        super().__init__(
            {"i": In(packet_signature(width)).array(inputs), "o": Out(packet_signature(width))}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count = self._inputs
        offers = Cat(port.valid for port in self.i)

        # The first offer behind the input that had its turn last; a preferred input has no turns.
        group = range(0 if self._burst is None else 1, count)
        turn = Signal(range(count), init=count - 1)
        choice = Signal(range(count))
        with m.Switch(turn):
            for n in group:
                order = [*range(n + 1, count), *range(group.start, n + 1)]
                with m.Case(n):
                    for port in reversed(order):
                        with m.If(offers[port]):
                            m.d.comb += choice.eq(port)

        # Who had the first beat keeps the output to the last.
        inside = Signal()
        owner = Signal(range(count))
        chosen = Signal(range(count))
        m.d.comb += chosen.eq(Mux(inside, owner, choice))
        beat = Signal(self._layout)
        load, moves = Signal(), Signal()
        m.d.comb += [
            load.eq(self.o.ready | ~self.o.valid),
            beat.eq(Array(port.payload.as_value() for port in self.i)[chosen]),
            moves.eq(load & Array(port.valid for port in self.i)[chosen]),
        ]
        for n, port in enumerate(self.i):
            m.d.comb += port.ready.eq(load & (chosen == n))
        with m.If(load):
            m.d.sync += [self.o.valid.eq(moves), self.o.payload.eq(beat)]
        with m.If(moves):
            m.d.sync += [inside.eq(~beat.last), owner.eq(chosen)]

        starts = moves & ~inside
        if self._burst is None:
            with m.If(starts):
                m.d.sync += turn.eq(chosen)
        else:
            self._prefer(m, offers, choice, starts, turn, self._burst)
        return m

    def _prefer(
        self, m: Module, offers: Value, choice: Signal, starts: Value, turn: Signal, burst: int
    ) -> None:
        """Input 0 first, for `burst` packets in a row."""
        others = offers[1:].any()
        passed = Signal(range(burst + 1))  # packets of input 0 that others had to wait for
        with m.If(offers[0] & ~(others & (passed == burst))):
            m.d.comb += choice.eq(0)
        with m.If(starts):
            with m.If(choice == 0):
                m.d.sync += passed.eq(Mux(others, passed + 1, 0))
            with m.Else():
                m.d.sync += [passed.eq(0), turn.eq(choice)]
