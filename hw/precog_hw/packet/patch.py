"""Header fields over a passing packet."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from amaranth.hdl import Cat, Module, Mux, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from precog_models.packet.wire.cps import SHIM
from precog_models.packet.wire.headers import BTH, IPV4, IPV6, UDP

from ..stream.packet import beat_layout, packet_signature
from .layouts import EDIT, Edit
from .places import PLACE, PLACES, Place, beat_index, place_of, site

__all__ = ["COMMAND", "Patch", "command", "patched_layout"]

_BY_PLACE = ("ipv6", "tags")
#: `EDIT` with its place found.
COMMAND = data.StructLayout(
    {
        "place": PLACE,
        **{name: found.shape for name, found in EDIT if name not in _BY_PLACE},
    }
)


def command(edit: data.View) -> dict[str, Any]:
    """`COMMAND` of an `EDIT`: fields and their values."""
    names = [name for name in dict(COMMAND) if name != "place"]
    return {"place": place_of(edit.ipv6, edit.tags), **{name: edit[name] for name in names}}


def patched_layout(width: int) -> data.StructLayout:
    """A beat and what is still to be done with its packet."""
    return data.StructLayout(
        {
            "beat": beat_layout(width),
            "insert": unsigned(1),
            "remove": unsigned(1),
            "place": PLACE,
            "at": unsigned(1),  # the byte behind UDP is in this beat
            "past": unsigned(1),  # or in one before
            "shim": unsigned(8 * SHIM.size),
        }
    )


class _Patch(NamedTuple):
    """A field that a command can write."""

    flag: str  # of EDIT: write it
    word: str  # of EDIT: the value
    at: int  # byte in the frame


def _patches(place: Place) -> Iterator[_Patch]:
    """The fields of a packet with its headers in `place`."""
    if place.ipv6:
        yield _Patch("lengths", "ip_length", place.l3 + IPV6["payload_length"].byte)
    else:
        yield _Patch("lengths", "ip_length", place.l3 + IPV4["total_length"].byte)
        yield _Patch("lengths", "ip_checksum", place.l3 + IPV4["checksum"].byte)
    yield _Patch("lengths", "udp_port", place.l4 + UDP["destination_port"].byte)
    yield _Patch("lengths", "udp_length", place.l4 + UDP["length"].byte)
    yield _Patch("checksum", "udp_checksum", place.l4 + UDP["checksum"].byte)
    yield _Patch("reserved", "resv", place.payload + BTH["fecn"].byte)


#: (EDIT's flag, EDIT's word, which of its bytes in order of transmission, place, byte in the frame)
_BYTES = [
    (patch.flag, patch.word, number, place, patch.at + number)
    for place in PLACES
    for patch in _patches(place)
    for number in range(EDIT[patch.word].width // 8)
]


class Patch(wiring.Component):
    """Joins a packet with its command, writes the header fields, takes dropped packets out.

    ::

        i ──────► [bytes over bytes] ─► o
        i_edit ─►

    Latency: 1 cycle. Throughput: one beat per cycle. `i.ready` and `i_edit.ready` depend on
    `o.ready`. Cost (yosys for ECP5, all multiplexer parts counted as LUT4): 760 LUT4 and 196
    flip-flops at 64 bits, 568 and 698 at 512.

    Parameters
    ----------
    width : int
        Bits in a beat.

    Members
    -------
    i : In(packet_signature(width))
    i_edit : In(stream.Signature(COMMAND))
        One for each packet, taken with the packet's last beat.
    o : Out(stream.Signature(patched_layout(width)))
    """

    i: stream.Interface
    i_edit: stream.Interface
    o: stream.Interface

    def __init__(self, width: int) -> None:
        self._lanes = width // 8
        super().__init__(
            {
                "i": In(packet_signature(width)),
                "i_edit": In(stream.Signature(COMMAND)),
                "o": Out(stream.Signature(patched_layout(width))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        beat, edit = self.i.payload, self.i_edit.payload
        free = self.o.ready | ~self.o.valid
        taken = self.i.valid & self.i_edit.valid & free
        top = max(at for *_, at in _BYTES) // self._lanes + 1
        index = beat_index(m, taken, beat.last, top)
        behind_udp = site(m, edit.place, self._lanes, taken=taken, last=beat.last)
        m.d.comb += [
            self.i.ready.eq(self.i_edit.valid & free),
            self.i_edit.ready.eq(self.i.valid & beat.last & free),
        ]
        with m.If(free):
            m.d.sync += [
                self.o.valid.eq(self.i.valid & self.i_edit.valid & (edit.edit != Edit.DROP)),
                self.o.payload.beat.eq(beat),
                self.o.payload.beat.data.eq(self._written(beat.data, edit, index)),
                self.o.payload.insert.eq(edit.edit == Edit.INSERT),
                self.o.payload.remove.eq(edit.edit == Edit.REMOVE),
                self.o.payload.place.eq(edit.place),
                self.o.payload.at.eq(behind_udp.at),
                self.o.payload.past.eq(behind_udp.past),
                self.o.payload.shim.eq(edit.shim),
            ]
        return m

    def _written(self, word: Value, edit: Any, index: Value) -> Value:
        """The beat's data with the command's bytes in it."""
        places = dict(zip(PLACES, edit.place, strict=True))
        lanes = []
        for lane in range(self._lanes):
            # Which bytes of the command ever come here, and in which places and beats.
            hits: dict[tuple[str, str, int], Value] = {}
            for flag, name, number, place, at in _BYTES:
                if at % self._lanes == lane:
                    here = places[place] & (index == at // self._lanes)
                    hits[flag, name, number] = hits.get((flag, name, number), 0) | here
            old = word[8 * lane :][:8]
            new, written = 0, 0
            for (flag, name, number), here in hits.items():
                hit = here & edit[flag]
                new |= Mux(hit, _byte(edit[name], number), 0)
                written |= hit
            lanes.append(Mux(written, new, old)[:8])
        return Cat(lanes)


def _byte(word: Value, number: int) -> Value:
    """Byte of a word, counted from the most significant."""
    return word[len(word) - 8 * (number + 1) :][:8]
