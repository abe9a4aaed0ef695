"""The shim into a passing packet."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from precog_models.packet.wire.cps import SHIM

from .patch import patched_layout
from .places import PLACES, first_lane, lanes_behind

__all__ = ["Grow"]


class Grow(wiring.Component):
    """Puts the shim behind UDP where `insert` is set.

    Bytes behind the shim come eight lanes later, through a register of eight bytes where they cross
    into the next beat. A packet without a byte behind UDP passes as it is. The beat that is more
    than came in has the packet's `user`, and its error.

    Latency: 1 cycle. Throughput: one beat per cycle; `i` waits while the packet has a beat more
    than it came with, at 8 bits for the eight beats of the shim. `i.ready` depends on `o.ready`.
    Cost: 750 LUT4 and 270 flip-flops at 64 bits, 1070 and 772 at 512.

    Parameters
    ----------
    width : int
        Bits in a beat.

    Members
    -------
    i : In(stream.Signature(patched_layout(width)))
    o : Out(stream.Signature(patched_layout(width)))
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, width: int) -> None:
        self._lanes = width // 8
        layout = patched_layout(width)
        super().__init__({"i": In(stream.Signature(layout)), "o": Out(stream.Signature(layout))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self._lanes == 1:
            self._bytewise(m)
        else:
            self._beatwise(m)
        return m

    def _bytewise(self, m: Module) -> None:
        i, o = self.i.payload, self.o.payload
        free = self.o.ready | ~self.o.valid
        done = Signal(range(SHIM.size + 1))  # bytes of the shim that are out
        due = i.insert & i.at & (done != SHIM.size)
        shim = _in_order(i.shim).word_select(done[: (SHIM.size - 1).bit_length()], 8)
        m.d.comb += self.i.ready.eq(free & ~due)
        with m.If(free):
            m.d.sync += [self.o.valid.eq(self.i.valid), o.eq(i)]
            with m.If(self.i.valid & due):
                m.d.sync += [
                    o.beat.data.eq(shim),
                    o.beat.last.eq(0),
                    o.beat.user.error.eq(0),
                    done.eq(done + 1),
                ]
            with m.Else():
                m.d.sync += done.eq(0)

    def _beatwise(self, m: Module) -> None:
        i, o = self.i.payload, self.o.payload
        lanes = self._lanes
        free = self.o.ready | ~self.o.valid
        spilling = Signal()  # what follows is the rest of a packet whose last beat was taken
        rest = Signal(8 * SHIM.size)  # bytes for the first lanes of the next beat
        rest_keep = Signal(SHIM.size)
        rest_error = Signal()
        at, past = i.at & i.insert, i.past & i.insert
        behind = lanes_behind(i.place, lanes)

        # This beat and the eight lanes behind it.
        shim = self._turned(m)
        lifted = []
        for lane in range(lanes + SHIM.size):
            here = _byte(i.beat.data, lane)
            before = (
                _byte(i.beat.data, lane - SHIM.size) if lane >= SHIM.size else _byte(rest, lane)
            )
            is_shim = at & (behind[lane] if lane < lanes else 1)
            is_before = past
            if lane >= SHIM.size:
                ended = behind[lane - SHIM.size]
                is_shim, is_before = is_shim & ~ended, past | (at & ended)
            else:
                is_before |= spilling
            other = Mux(is_shim, _byte(shim, lane % SHIM.size), here)
            lifted.append(Mux(is_before, before, other))
        grown = past | (at & (i.beat.keep & first_lane(i.place, lanes)).any())
        keep = Mux(grown, Cat(Const(-1, SHIM.size), i.beat.keep), i.beat.keep)
        spills = i.beat.last & grown & i.beat.keep[lanes - SHIM.size]

        taken = self.i.valid & self.i.ready
        m.d.comb += self.i.ready.eq(free & ~spilling)
        with m.If(taken):
            m.d.sync += [
                rest.eq(Cat(lifted[lanes:])),
                rest_keep.eq(keep[lanes:]),
                rest_error.eq(i.beat.user.error),
            ]
        with m.If(free):
            m.d.sync += [
                self.o.valid.eq(self.i.valid | spilling),
                spilling.eq(taken & spills),
            ]
            with m.If(spilling):
                # The rest of the output, `user` with it, still is the packet's.
                m.d.sync += [
                    o.beat.keep.eq(rest_keep),
                    o.beat.last.eq(1),
                    o.beat.user.error.eq(rest_error),
                ]
            with m.Else():
                m.d.sync += [
                    o.eq(i),
                    o.beat.keep.eq(keep),
                    o.beat.last.eq(i.beat.last & ~spills),
                    o.beat.user.error.eq(i.beat.user.error & ~spills),
                ]
            m.d.sync += o.beat.data.eq(Cat(lifted[:lanes]))

    def _turned(self, m: Module) -> Value:
        """The shim with each byte in its lane, modulo eight."""
        shim, turned = _in_order(self.i.payload.shim), Signal(8 * SHIM.size)
        chosen: Value = Const(0, len(shim))
        for bit, place in zip(self.i.payload.place, PLACES, strict=True):
            chosen |= Mux(bit, shim.rotate_left(8 * (place.payload % SHIM.size)), 0)
        m.d.comb += turned.eq(chosen)
        return turned


def _in_order(shim: Value) -> Value:
    """The shim with its first byte in the least significant place, as on a packet stream."""
    return Cat(shim[8 * n :][:8] for n in reversed(range(SHIM.size)))


def _byte(word: Value, lane: int) -> Value:
    return word[8 * lane :][:8]
