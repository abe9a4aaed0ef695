"""Header fields over a passing packet."""

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from precog_spec.frames.cps import SHIM
from precog_spec.frames.headers import BTH, IPV4, IPV6, UDP

from ..stream.packet import beat_layout, packet_signature
from .layouts import EDIT, Edit
from .places import PLACE, PLACES, Place, beat_index, place_of, site

__all__ = ["COMMAND", "Patch", "command", "matched_layout", "patched", "patched_layout"]

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


#: Words of a command that may be written.
_WORDS = data.StructLayout(
    {
        name: COMMAND[name].shape
        for name in (
            *("ip_head", "ip_length", "ip_checksum"),
            *("udp_port", "udp_length", "udp_checksum", "resv"),
        )
    }
)


def matched_layout(width: int) -> data.StructLayout:
    """`patched_layout` before its fields are written: the words, and in which lanes they go."""
    hits = unsigned(len(_sources(width // 8)[0]))
    return data.StructLayout({**patched_layout(width).members, "words": _WORDS, "hits": hits})


class _Patch(NamedTuple):
    """A field that a command can write."""

    flag: str  # of EDIT: write it
    word: str  # of EDIT: the value
    at: int  # byte in the frame


def _patches(place: Place) -> Iterator[_Patch]:
    """The fields of a packet with its headers in `place`; two flags may ask for one of them."""
    yield _Patch("dscp", "ip_head", place.l3)
    if place.ipv6:
        yield _Patch("lengths", "ip_length", place.l3 + IPV6["payload_length"].byte)
    else:
        yield _Patch("lengths", "ip_length", place.l3 + IPV4["total_length"].byte)
        for flag in ("lengths", "dscp"):
            yield _Patch(flag, "ip_checksum", place.l3 + IPV4["checksum"].byte)
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


class _Hit(NamedTuple):
    """Where bytes of a command come: the flag that asks for them, and in which places and beats."""

    flag: str
    at: frozenset[tuple[Place, int]]


@cache
def _sources(lanes: int) -> tuple[list[_Hit], list[list[tuple[int, str, int]]]]:
    """All hits; of each lane what may come there: which hit, EDIT's word, which of its bytes."""
    hits: list[_Hit] = []
    found: list[list[tuple[int, str, int]]] = []
    for lane in range(lanes):
        here: dict[tuple[str, str, int], set[tuple[Place, int]]] = {}
        for flag, word, number, place, at in _BYTES:
            if at % lanes == lane:
                here.setdefault((flag, word, number), set()).add((place, at // lanes))
        found.append([])
        for (flag, word, number), places in here.items():
            hit = _Hit(flag, frozenset(places))
            if hit not in hits:  # the two bytes of a word share one
                hits.append(hit)
            found[-1].append((hits.index(hit), word, number))
    return hits, found


class Patch(wiring.Component):
    """Joins a packet with its command, finds where header fields go, takes dropped packets out.

    ::

        i ──────► [which bytes over which] ─► o
        i_edit ─►

    `patched` then writes them: that the bytes stand before the next register and not before this
    one keeps the way from a beat's number to its data short.

    Latency: 1 cycle. Throughput: one beat per cycle. `i.ready` and `i_edit.ready` depend on
    `o.ready`. Cost: see `Editor`.

    Parameters
    ----------
    width : int
        Bits in a beat.

    Members
    -------
    i : In(packet_signature(width))
    i_edit : In(stream.Signature(COMMAND))
        One for each packet, taken with the packet's last beat.
    o : Out(stream.Signature(matched_layout(width)))
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
                "o": Out(stream.Signature(matched_layout(width))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        beat, edit = self.i.payload, self.i_edit.payload
        o = Signal(self.o.payload.shape(), reset_less=True)
        m.d.comb += self.o.payload.eq(o)
        free = self.o.ready | ~self.o.valid
        taken = self.i.valid & self.i_edit.valid & free
        top = max(at for *_, at in _BYTES) // self._lanes + 1
        index = beat_index(m, taken, beat.last, top)
        behind_udp = site(m, edit.place, self._lanes, taken=taken, last=beat.last)
        places = dict(zip(PLACES, edit.place, strict=True))
        m.d.comb += [
            self.i.ready.eq(self.i_edit.valid & free),
            self.i_edit.ready.eq(self.i.valid & beat.last & free),
        ]
        with m.If(free):
            m.d.sync += [
                self.o.valid.eq(self.i.valid & self.i_edit.valid & (edit.edit != Edit.DROP)),
                o.beat.eq(beat),
                o.insert.eq(edit.edit == Edit.INSERT),
                o.remove.eq(edit.edit == Edit.REMOVE),
                o.place.eq(edit.place),
                o.at.eq(behind_udp.at),
                o.past.eq(behind_udp.past),
                o.shim.eq(edit.shim),
                *(o.words[name].eq(edit[name]) for name in dict(_WORDS)),
                *(
                    bit.eq(
                        edit[hit.flag]
                        & Cat(places[place] & (index == at) for place, at in hit.at).any()
                    )
                    for bit, hit in zip(o.hits, _sources(self._lanes)[0], strict=True)
                ),
            ]
        return m


def patched(matched: data.View) -> dict[str, Value]:
    """`patched_layout` of a `matched_layout`, with the bytes written: fields and their values."""
    beat = matched.beat
    lanes = []
    for lane, sources in enumerate(_sources(len(beat.keep))[1]):
        new: Value = Const(0, 8)
        for hit, word, number in sources:
            new |= Mux(matched.hits[hit], _byte(matched.words[word], number), 0)
        written = Cat(matched.hits[hit] for hit, *_ in sources).any()
        lanes.append(Mux(written, new, beat.data[8 * lane :][:8])[:8])
    names = [name for name in dict(patched_layout(8)) if name != "beat"]
    return {
        "beat": Cat(Cat(lanes), beat.keep, beat.last, beat.user),
        **{name: matched[name] for name in names},
    }


def _byte(word: Value, number: int) -> Value:
    """Byte of a word, counted from the most significant."""
    return word[len(word) - 8 * (number + 1) :][:8]
