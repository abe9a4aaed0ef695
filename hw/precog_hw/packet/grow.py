"""The shim into a passing packet."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from precog_spec.frames.cps import SHIM

from .patch import patched_layout
from .places import PLACES, first_lane

__all__ = ["Grow", "growing", "growing_layout"]


def _lanes(lanes: int) -> tuple[list[frozenset[int]], list[frozenset[int]], list[int], list[int]]:
    """For each output lane and the eight behind them, by the places with the payload in this beat:

    which places put the shim there, and which put there what came eight lanes before. Both lists
    without repetitions, and for each lane its number in them.
    """
    firsts = [place.payload % lanes for place in PLACES]

    def behind(lane: int) -> frozenset[int]:
        return frozenset(n for n, first in enumerate(firsts) if first <= lane)

    every = range(lanes + SHIM.size)
    shims = [behind(lane) - behind(lane - SHIM.size) for lane in every]
    befores = [behind(lane - SHIM.size) for lane in every]
    some, others = list(dict.fromkeys(shims)), list(dict.fromkeys(befores))
    return some, others, [some.index(s) for s in shims], [others.index(b) for b in befores]


def growing_layout(width: int) -> data.StructLayout:
    """`patched_layout` and, but for 8 bits, where its bytes go."""
    lanes = width // 8
    if lanes == 1:
        return patched_layout(width)
    shims, befores, *_ = _lanes(lanes)
    return data.StructLayout(
        {
            **patched_layout(width).members,  # `shim`: each byte in its lane, modulo eight
            "is_shim": unsigned(len(shims)),  # by the sets of `_lanes`
            "is_before": unsigned(len(befores)),
            "grown": unsigned(1),  # the packet has its shim at this beat's end
            "spills": unsigned(1),  # the packet has a beat more than came in, after this one
        }
    )


def growing(values: dict[str, Any], beat: data.View) -> dict[str, Value]:
    """`growing_layout` of a `patched_layout`: fields and their values.

    Latency: none; a register is between this and `Grow`.

    Parameters
    ----------
    values : dict of Value
        By the names of `patched_layout`.
    beat : View
        The beat's `keep` and `last`.
    """
    lanes = len(beat.keep)
    if lanes == 1:
        return values
    place = values["place"]
    at, past = values["at"] & values["insert"], values["past"] & values["insert"]
    shims, befores, *_ = _lanes(lanes)
    grown = past | (at & (beat.keep & first_lane(place, lanes)).any())
    return {
        **values,
        "shim": _turned(values["shim"], place),
        "is_shim": Cat(at & _any(place, chosen) for chosen in shims),
        "is_before": Cat(past | (at & _any(place, chosen)) for chosen in befores),
        "grown": grown,
        "spills": beat.last & grown & beat.keep[lanes - SHIM.size],
    }


class Grow(wiring.Component):
    """Puts the shim behind UDP where `insert` is set.

    Bytes behind the shim come eight lanes later, through a register of eight bytes where they cross
    into the next beat. A packet without a byte behind UDP passes as it is. The beat that is more
    than came in has the packet's `user`, and its error.

    Latency: 1 cycle. Throughput: one beat per cycle; `i` waits while the packet has a beat more
    than it came with, at 8 bits for the eight beats of the shim. `i.ready` depends on `o.ready`.
    Cost: see `Editor`.

    Parameters
    ----------
    width : int
        Bits in a beat.

    Members
    -------
    i : In(stream.Signature(growing_layout(width)))
    o : Out(stream.Signature(patched_layout(width)))
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, width: int) -> None:
        self._lanes = width // 8
        super().__init__(
            {
                "i": In(stream.Signature(growing_layout(width))),
                "o": Out(stream.Signature(patched_layout(width))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self._lanes == 1:
            self._bytewise(m)
        else:
            self._beatwise(m)
        return m

    def _bytewise(self, m: Module) -> None:
        i = self.i.payload
        o = Signal(self.o.payload.shape(), reset_less=True)
        m.d.comb += self.o.payload.eq(o)
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
        i = self.i.payload
        o = Signal(self.o.payload.shape(), reset_less=True)
        m.d.comb += self.o.payload.eq(o)
        lanes = self._lanes
        free = self.o.ready | ~self.o.valid
        spilling = Signal()  # what follows is the rest of a packet whose last beat was taken
        rest = Signal(8 * SHIM.size, reset_less=True)  # bytes for the first lanes of the next beat
        rest_keep = Signal(SHIM.size)
        rest_error = Signal()

        # This beat and the eight lanes behind it.
        *_, shim_of, before_of = _lanes(lanes)
        lifted = []
        for lane in range(lanes + SHIM.size):
            here = _byte(i.beat.data, lane) if lane < lanes else Const(0, 8)
            is_before = i.is_before[before_of[lane]]
            if lane >= SHIM.size:
                before = _byte(i.beat.data, lane - SHIM.size)
            else:
                before, is_before = _byte(rest, lane), is_before | spilling
            other = Mux(i.is_shim[shim_of[lane]], _byte(i.shim, lane % SHIM.size), here)
            lifted.append(Mux(is_before, before, other))
        keep = Mux(i.grown, Cat(Const(-1, SHIM.size), i.beat.keep), i.beat.keep)

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
                spilling.eq(taken & i.spills),
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
                    *(o[name].eq(i[name]) for name in dict(o.shape())),
                    o.beat.keep.eq(keep),
                    o.beat.last.eq(i.beat.last & ~i.spills),
                    o.beat.user.error.eq(i.beat.user.error & ~i.spills),
                ]
            m.d.sync += o.beat.data.eq(Cat(lifted[:lanes]))


def _turned(shim: Value, place: Value) -> Value:
    """The shim with each byte in its lane, modulo eight."""
    shim, chosen = _in_order(shim), Const(0, 8 * SHIM.size)
    for bit, here in zip(place, PLACES, strict=True):
        chosen |= Mux(bit, shim.rotate_left(8 * (here.payload % SHIM.size)), 0)
    return chosen


def _any(place: Value, chosen: frozenset[int]) -> Value:
    """The packet's place is one of these."""
    return Cat(place[n] for n in sorted(chosen)).any() if chosen else Const(0, 1)


def _in_order(shim: Value) -> Value:
    """The shim with its first byte in the least significant place, as on a packet stream."""
    return Cat(shim[8 * n :][:8] for n in reversed(range(SHIM.size)))


def _byte(word: Value, lane: int) -> Value:
    return word[8 * lane :][:8]
