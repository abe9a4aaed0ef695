"""Eight bytes out of a passing packet."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from precog_spec.frames.cps import SHIM

from ..stream.packet import beat_layout, packet_signature
from .patch import patched_layout
from .places import lanes_behind, site

__all__ = ["Shrink"]


class Shrink(wiring.Component):
    """Takes the eight bytes behind UDP out where `remove` is set.

    ::

        i ─┬────────────────────┐
           └─► [held beat] ─► [lanes] ─► [output] ─► o

    A beat is held until the next one has come, because it takes its last bytes from there. A packet
    that ends within the eight bytes keeps what stands before them.

    Latency: 2 cycles. Throughput: one beat per cycle, and `i` never waits for anything but
    `o.ready`, on which `i.ready` depends. Cost: 109 LUT4 and 254 flip-flops at 64 bits.

    Parameters
    ----------
    width : int
        Bits in a beat.

    Members
    -------
    i : In(stream.Signature(patched_layout(width)))
    o : Out(packet_signature(width))
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, width: int) -> None:
        self._lanes = width // 8
        super().__init__(
            {"i": In(stream.Signature(patched_layout(width))), "o": Out(packet_signature(width))}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i, o = self.i.payload.beat, self.o.payload
        held = Signal(beat_layout(8 * self._lanes))
        full = Signal()
        waits = Signal()  # what becomes of the held beat depends on the next
        leaves = Signal()
        free = self.o.ready | ~self.o.valid
        taken = self.i.valid & self.i.ready
        shifted = self._bytewise if self._lanes == 1 else self._beatwise
        data, keep, nothing = shifted(m, held, taken)
        used = waits & nothing  # the beat that comes adds no byte, but perhaps the packet's end
        m.d.comb += [
            self.i.ready.eq(free | ~full),
            leaves.eq(full & (~waits | (self.i.valid & (i.last | ~nothing)))),
        ]
        with m.If(free):
            m.d.sync += [
                self.o.valid.eq(leaves),
                o.data.eq(data),
                o.keep.eq(keep),
                o.last.eq(held.last | used),
                o.user.eq(held.user),
                o.user.error.eq(Mux(used, i.user.error, held.user.error)),
            ]
            with m.If(leaves):
                m.d.sync += [full.eq(0), waits.eq(0)]
        with m.If(taken & ~used):
            m.d.sync += [held.eq(i), full.eq(1), waits.eq(self.i.payload.remove & ~i.last)]
        return m

    def _bytewise(self, m: Module, held: Any, taken: Value) -> tuple[Value, Value, Value]:
        """Data and keep of the output, and whether the byte that comes is one of the eight."""
        i = self.i.payload
        end = site(m, i.place, 1, taken=taken, last=i.beat.last, offset=SHIM.size)
        return held.data, held.keep, (i.at | i.past) & ~(end.at | end.past)

    def _beatwise(self, m: Module, held: Any, taken: Value) -> tuple[Value, Value, Value]:
        """Data and keep of the output, and whether the held beat takes all bytes that come.

        The place is never a beat's first lane, so that the beat that holds it always keeps a byte.
        """
        i = self.i.payload
        lanes, size = self._lanes, SHIM.size
        from_there = lanes_behind(i.place, lanes)
        tail = Signal(lanes)  # lanes of the held beat that take the byte eight lanes behind
        with m.If(taken):
            for lane in range(lanes):
                behind = i.past | (i.at & from_there[lane])
                m.d.sync += tail[lane].eq(i.remove & behind)
        data = Cat(held.data, i.beat.data[: 8 * size])
        keep = Cat(held.keep, Mux(held.last, 0, i.beat.keep[:size]))
        new = [
            Mux(tail[lane], data[8 * (lane + size) :][:8], data[8 * lane :][:8])
            for lane in range(lanes)
        ]
        new_keep = [Mux(tail[lane], keep[lane + size], keep[lane]) for lane in range(lanes)]
        more = i.beat.keep[size:].any()  # nothing there at 64 bits: 0
        return Cat(new), Cat(new_keep), tail[-1] & i.beat.last & ~more
