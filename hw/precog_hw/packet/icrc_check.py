"""ICRC check of whole packets as they pass: counted, never repaired.

InfiniBand Architecture Specification 1, annex A17; rules are those of `precog_models.packet.icrc`.

A CRC is linear over GF(2), so that what stands before and around the covered bytes can be moved
into the bytes themselves, and nothing has to be aligned:

* bytes before the IP header become 0, which leaves a state of 0 as it is;
* the eight bytes of ones before it, and the CRC's initial ones, are a constant that is XORed into
  the IP header's first four bytes;
* the fields that the network may change become ones: positions known for each of the six headers
  (IPv4 or IPv6, 0-2 tags);
* bytes behind the ICRC become 0. The CRC runs over the ICRC, too, and then has one fixed value: the
  residue, moved on by as many zero bytes as follow in the beat. XORed into that beat's sum, it
  makes the state 0, if the ICRC is right.
"""

from collections.abc import Callable
from functools import cache, reduce
from operator import xor

from amaranth.hdl import Array, Assert, Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from precog_hw.packet.icrc_masks import (
    ICRC_RESIDUE,
    crc_state,
    header_beats,
    mask_patterns,
    tag_gap,
    tag_phases,
)
from precog_hw.packet.layouts import LENGTH_BITS
from precog_hw.packet.linear import xor_network
from precog_hw.stream.packet import beat_layout
from precog_spec.frames.headers import ICRC_BYTES, MAX_TAGS

__all__ = ["ICRC_PACKET", "IcrcCheck"]

#: What the check must know of a packet, from its first beat on.
ICRC_PACKET = data.StructLayout(
    {
        "check": unsigned(1),  # it has an ICRC: RoCEv2, no reason to pass, no shim
        "ipv6": unsigned(1),
        "tags": unsigned(2),  # 0..2
        "end": unsigned(LENGTH_BITS),  # byte behind the ICRC, from the frame's first
    }
)

_STATE_BITS = 8 * ICRC_BYTES
_SLICE_BITS = 64  # of a beat, summed in one cycle


@cache
def _sum(bits: int, zeros: int) -> Callable[[int], int]:
    """The state that `bits` bits and then `zeros` bytes of zeros leave behind."""
    return lambda value: crc_state(0, value.to_bytes(bits // 8, "little") + bytes(zeros))


@cache
def _advance(zeros: int) -> Callable[[int], int]:
    """What `zeros` bytes of zeros make of a state."""
    return lambda state: crc_state(state, bytes(zeros))


class IcrcCheck(wiring.Component):
    """One verdict for each packet that passes `beat`.

    ::

        cycle  1         2              3            4              5       6         7
        beat ─► place ─► lanes, masks ─► masked ─► [64-bit sums] ─► sum ─► state ─► = 0?
                          └► zeros behind ─► residue ──────────────► ^

    Latency: `LATENCY` = 7 cycles from the last beat's transfer to `done`. Throughput: one beat per
    cycle, packets of one beat back to back. Cost: at 64 bits 769 LUT4 and 317 FF,
    at 512 bits 3567 LUT4 and 1563 FF; 278 and 254 MHz on an ECP5 of speed 8.

    Parameters
    ----------
    width : int
        Bits of a beat.

    Members
    -------
    beat : In(beat_layout(width))
        Beat of a stream that somebody else drives and takes.
    taken : In(1)
        It is transferred in this cycle.
    i_packet : In(stream.Signature(ICRC_PACKET))
        The packet whose beats pass; taken with its first beat, **when it must be there**.
    done : Out(1)
        Strobe: a packet has ended. The other two count with it.
    checked : Out(1)
        It has an ICRC: `check` was set, and it did not end before `end`.
    ok : Out(1)
        And that is right.

    Raises
    ------
    ValueError
        `width` is not one of `WIDTHS`.
    """

    LATENCY = 7

    beat: data.View
    taken: Signal
    i_packet: stream.Interface
    done: Signal
    checked: Signal
    ok: Signal

    def __init__(self, width: int) -> None:
        self._width = width
        super().__init__(
            {
                "beat": In(beat_layout(width)),
                "taken": In(1),
                "i_packet": In(stream.Signature(ICRC_PACKET)),
                "done": Out(1),
                "checked": Out(1),
                "ok": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        size = self._width // 8
        low = exact_log2(size)

        # Cycle 1: the beat, and where in the packet it stands.
        opening = Signal(init=1)  # the next beat is a packet's first
        begins = Signal()
        m.d.comb += [begins.eq(self.taken & opening), self.i_packet.ready.eq(begins)]
        m.d.sync += Assert(~begins | self.i_packet.valid, "a packet must be known at its first")
        packet = Signal(ICRC_PACKET)
        phase = Signal(range(len(tag_phases(size))))
        index = Signal(range(header_beats(size) + 1))  # with `phase`: where in the headers
        rest = Signal(LENGTH_BITS)  # bytes from the beat's first to the ICRC's last
        over, ends = Signal(), Signal()  # the ICRC's last byte has passed, is in this beat
        word, keep = Signal(self._width), Signal(size)
        m.d.comb += ends.eq((rest[low:] == 0) & ~over)
        with m.If(self.taken):
            m.d.sync += [
                opening.eq(self.beat.last),
                word.eq(self.beat.data),
                keep.eq(self.beat.keep),
                rest[low:].eq(rest[low:] - 1),
                over.eq(over | ends),
            ]
            with m.If(index != header_beats(size)):
                m.d.sync += index.eq(index + 1)
        with m.If(begins):
            starts = [divmod(tag_gap(tags), size) for tags in range(MAX_TAGS + 1)]
            tags = self.i_packet.payload.tags
            m.d.sync += [
                packet.eq(self.i_packet.payload),
                index.eq(Array(start for start, _ in starts)[tags]),
                phase.eq(Array(tag_phases(size).index(skew) for _, skew in starts)[tags]),
                rest.eq(self.i_packet.payload.end - 1),
                over.eq(0),
            ]
        valid = self._delayed(m, self.taken, 6)
        first = self._delayed(m, begins, 5)
        last = self._delayed(m, self.beat.last, 6)

        # Cycle 2: what becomes of each byte.
        through, flip = self._masks(m, Cat(packet.ipv6, phase, index))
        lanes, missing = Signal(size), Signal(size)
        inside = Const(1, 1)  # ones up to byte `rest` of the beat
        for bit in rest[:low]:
            half = len(inside)
            inside = Mux(bit, Cat(Const(-1, half), inside), Cat(inside, Const(0, half)))
        m.d.comb += lanes.eq((inside | (~ends).replicate(size)) & (~over).replicate(size))
        word2, lanes2, zeros2 = Signal.like(word), Signal(size), Signal(low)
        m.d.sync += [
            word2.eq(word),
            lanes2.eq(lanes),
            zeros2.eq(~rest[:low]),
            missing.eq(lanes & ~keep),
        ]
        check, passed = self._delayed(m, packet.check, 1)[0], self._delayed(m, over, 1)[0]
        end = self._registered(m, ends)

        # Cycle 3.
        masked, residue, whole = Signal.like(word), Signal(_STATE_BITS), Signal()
        kept = Cat(lane.replicate(8) for lane in lanes2)
        residues = Array(crc_state(ICRC_RESIDUE, bytes(n)) for n in range(size))
        m.d.sync += [
            masked.eq((word2 & kept & through) ^ flip),
            residue.eq(Mux(end, residues[zeros2], 0)),
            whole.eq(check & (passed | (end & ~missing.any()))),
        ]
        whole6 = self._delayed(m, whole, 3)[-1]

        # Cycles 4 and 5: the sum of the beat.
        sums = [self._registered(m, residue)]
        step = min(_SLICE_BITS, self._width)
        for at in range(0, self._width, step):
            behind = (self._width - at - step) // 8
            part = xor_network(_sum(step, behind), masked[at : at + step], _STATE_BITS)
            sums.append(self._registered(m, part))
        total = self._registered(m, reduce(xor, sums))

        # Cycle 6.
        state = Signal(_STATE_BITS)
        before = Signal.like(state)
        m.d.comb += before.eq(Mux(first[4], 0, state))
        with m.If(valid[4]):
            m.d.sync += state.eq(xor_network(_advance(size), before, _STATE_BITS) ^ total)

        # Cycle 7. Whatever follows the ICRC counts as 0, and leaves a state of 0 as it is.
        m.d.sync += [
            self.done.eq(valid[5] & last[5]),
            self.checked.eq(whole6),
            self.ok.eq(whole6 & (state == 0)),
        ]
        return m

    def _masks(self, m: Module, key: Value) -> tuple[Signal, Signal]:
        """For each bit of a beat, whether it counts, and whether it is inverted then; 1 cycle."""
        through, flip = Signal(self._width), Signal(self._width)
        m.d.sync += [through.eq(~0), flip.eq(0)]
        with m.Switch(key):
            for bits, patterns in mask_patterns(self._width // 8).items():
                with m.Case(*patterns):
                    m.d.sync += [through.eq(bits[0]), flip.eq(bits[1])]
        return through, flip

    @staticmethod
    def _registered(m: Module, value: Value) -> Signal:
        register = Signal(len(value), name="part")
        m.d.sync += register.eq(value)
        return register

    @classmethod
    def _delayed(cls, m: Module, value: Value, cycles: int) -> list[Signal]:
        """`value` 1 to `cycles` cycles later."""
        line = [cls._registered(m, value)]
        while len(line) < cycles:
            line.append(cls._registered(m, line[-1]))
        return line
