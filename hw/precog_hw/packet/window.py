"""The first bytes of each packet, side by side."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.packet.layouts import LENGTH_BITS
from precog_hw.stream.packet import beat_layout, last_byte
from precog_spec.contract import Fmt
from precog_spec.frames.cps import NS_BITS

__all__ = ["HeaderWindow"]


class HeaderWindow(wiring.Component):
    """Watches a packet stream and keeps a packet's first bytes until the next packet begins.

    ::

        beat ─► [keep] ─┬─► [bytes 0 .. w-1] ─┐
           └──► [place] ┼─► [bytes w .. 2w-1] ┼─► window
                        └─► ...              ─┘

    Latency: `LATENCY` = 2 cycles. Throughput: one beat, and so one packet, per cycle. Cost: a
    flip-flop for each bit of the window and of a beat; each beat's place has its own enable, a
    register, so narrow streams need no multiplexers.

    Parameters
    ----------
    width : int
        Bits of a beat.
    size : int
        Bytes of the window; more than one beat.

    Members
    -------
    beat : In(beat_layout(width))
    taken : In(1)
        The beat is transferred in this cycle.
    now : In(40)
        Ticks.
    now_ns : In(40)
    o : Out(8 * size)
        The packet's first bytes, byte 0 in bits 7:0; bytes behind the packet's end read as 0.
    o_stb : Out(1)
        One cycle for each packet: the window is complete. Only in this cycle, because the next
        packet's first beat replaces it.
    last_stb : Out(1)
        The beat taken two cycles before was its packet's last.
    last_byte : Out(17)
        Position in its packet of the last byte taken; stays at the greatest for longer packets.
        At `o_stb` its lower bits say how much of the window the packet fills.
    error : Out(1)
        The stream's error flag of the beat taken.
    time, ns : Out(40)
        `now` and `now_ns` when the packet's first beat was taken.
    """

    LATENCY = 2

    beat: data.View
    taken: Signal
    now: Signal
    now_ns: Signal
    o: Signal
    o_stb: Signal
    last_stb: Signal
    last_byte: Signal
    error: Signal
    time: Signal
    ns: Signal

    def __init__(self, width: int, size: int) -> None:
        self._step = width // 8
        self._size = size
        super().__init__(
            {
                "beat": In(beat_layout(width)),
                "taken": In(1),
                "now": In(Fmt.TIME.width),
                "now_ns": In(NS_BITS),
                "o": Out(8 * size),
                "o_stb": Out(1),
                "last_stb": Out(1),
                "last_byte": Out(LENGTH_BITS),
                "error": Out(1),
                "time": Out(Fmt.TIME.width),
                "ns": Out(NS_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        beat, last = self.beat, self.beat.last
        beats = -(-self._size // self._step)
        position = last_byte(beat.keep)
        before = Signal(LENGTH_BITS - len(position))  # beats of the packet taken until now
        inside = Signal(init=1)  # the beat belongs to the window
        index = before[: (beats - 1).bit_length()]  # then its place
        bytes_kept = [
            beat.data.word_select(n, 8) & beat.keep[n].replicate(8) for n in range(self._step)
        ]
        # First registers: the beat, and where it goes.
        kept = Signal.like(beat.data, reset_less=True)
        first, put = Signal(), Signal(beats)
        now = Signal.like(self.now, reset_less=True)
        now_ns = Signal.like(self.now_ns, reset_less=True)
        complete, ends, was_taken = Signal(), Signal(), Signal()
        reached, error = Signal.like(self.last_byte), Signal()
        wanted = self.taken & inside
        m.d.sync += [
            kept.eq(Cat(bytes_kept)),
            first.eq(wanted & (index == 0)),
            # The first beat clears the rest of the window too.
            *(put[n].eq(wanted & ((index == 0) | (index == n))) for n in range(beats)),
            now.eq(self.now),
            now_ns.eq(self.now_ns),
            complete.eq(wanted & (last | (index == beats - 1))),
            ends.eq(self.taken & last),
            was_taken.eq(self.taken),
            reached.eq(Cat(position, before)),
            error.eq(beat.user.error),
        ]
        with m.If(self.taken):
            with m.If(last):
                m.d.sync += [before.eq(0), inside.eq(1)]
            with m.Else():
                m.d.sync += before.eq(before + ~before.all())
                with m.If(index == beats - 1):
                    m.d.sync += inside.eq(0)

        # Second registers, the outputs. Data without a strobe need no reset. The window has one:
        # else synthesis would make its clearing a reset on one long wire.
        time, ns = Signal.like(self.time, reset_less=True), Signal.like(self.ns, reset_less=True)
        m.d.comb += [self.time.eq(time), self.ns.eq(ns)]
        m.d.sync += [self.o_stb.eq(complete), self.last_stb.eq(ends)]
        with m.If(was_taken):
            m.d.sync += [self.last_byte.eq(reached), self.error.eq(error)]
        with m.If(first):
            m.d.sync += [time.eq(now), ns.eq(now_ns)]
        for place in range(beats):
            part = self.o[8 * self._step * place : 8 * self._step * (place + 1)]
            with m.If(put[place]):
                m.d.sync += part.eq(kept if place == 0 else Mux(first, 0, kept))
        return m
