"""What stands between GMII and the packet streams."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data

from precog_hw.stream.packet import last_byte

__all__ = ["GMII_RX", "GMII_TX", "OCTET", "from_beat", "to_beat", "word_layout"]

#: RXD, RX_DV and RX_ER.
GMII_RX = data.StructLayout({"data": 8, "valid": 1, "error": 1})
#: TXD and TX_EN; an error is told by a wrong FCS.
GMII_TX = data.StructLayout({"data": 8, "valid": 1})
#: A byte of a frame; `error`, which counts on the last one: the frame is damaged.
OCTET = data.StructLayout({"data": 8, "last": 1, "error": 1})


def word_layout(width: int) -> data.StructLayout:
    """A beat of `width` bits in the FIFO between two clocks: 70 bits for 64, two block RAMs wide.

    `end` is the position of the last byte, and `error` counts on the last beat.
    """
    ends = range(width // 8)
    return data.StructLayout({"data": width, "end": ends, "first": 1, "last": 1, "error": 1})


def from_beat(m: Module, word: data.View, beat: data.View, first: Signal) -> None:
    """Drive `word` with the beat of a packet stream, of which it is the `first` one."""
    m.d.comb += [
        word.first.eq(first),
        word.data.eq(beat.data),
        word.end.eq(last_byte(beat.keep)),
        word.last.eq(beat.last),
        word.error.eq(beat.user.error),
    ]


def to_beat(m: Module, beat: data.View, word: data.View) -> None:
    """`beat` is a word; the rest of what travels with the bytes is 0."""
    m.d.comb += [
        beat.data.eq(word.data),
        beat.keep.eq(Cat(word.end >= n for n in range(len(beat.keep)))),
        beat.last.eq(word.last),
        beat.user.error.eq(word.error),
    ]
