"""Where the headers stand in a packet: six places, by VLAN tags and IP version.

Hence a byte of a header is in one of six beats and lanes, all of them constants: finding it takes a
comparison of the beat's number for each place, and no shifter.
"""

from typing import NamedTuple

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned

from precog_spec.frames.headers import ETHERNET, IPV4, IPV6, MAX_TAGS, UDP, VLAN

__all__ = [
    "PLACE",
    "PLACES",
    "Place",
    "Site",
    "beat_index",
    "first_lane",
    "lanes_behind",
    "place_of",
    "site",
]


class Place(NamedTuple):
    """One of the six; positions in bytes from the frame's first."""

    ipv6: bool
    tags: int

    @property
    def l3(self) -> int:
        """The IP header."""
        return ETHERNET.size + self.tags * VLAN.size

    @property
    def l4(self) -> int:
        """The UDP header."""
        return self.l3 + (IPV6 if self.ipv6 else IPV4).size

    @property
    def payload(self) -> int:
        """What is behind UDP: the shim, or the BTH."""
        return self.l4 + UDP.size


PLACES = tuple(Place(ipv6, tags) for ipv6 in (False, True) for tags in range(MAX_TAGS + 1))


#: One bit for each of `PLACES`; none is set where the headers stand elsewhere.
PLACE = unsigned(len(PLACES))


def place_of(ipv6: Value, tags: Value) -> Value:
    """`PLACE` of a packet."""
    return Cat((ipv6 == place.ipv6) & (tags == place.tags) for place in PLACES)


def beat_index(m: Module, taken: Value, last: Value, top: int) -> Signal:
    """Number of the beat at a packet stream's end; it stays at `top` for all later ones.

    Parameters
    ----------
    m : Module
    taken : Value
        The beat is transferred.
    last : Value
        It is the packet's last.
    top : int
    """
    index = Signal(range(top + 1))
    with m.If(taken):
        with m.If(last):
            m.d.sync += index.eq(0)
        with m.Elif(index != top):
            m.d.sync += index.eq(index + 1)
    return index


class Site(NamedTuple):
    """Where the payload's first byte is, seen from one beat."""

    at: Signal  # in this beat
    past: Signal  # in one before


def site(
    m: Module, place: Value, lanes: int, *, taken: Value, last: Value, offset: int = 0
) -> Site:
    """Find the byte `offset` behind UDP; nowhere, if `place` has no bit set.

    Latency: none. Cost: a counter and some three LUT4 for each place.

    Parameters
    ----------
    m : Module
    place : Value
        `PLACE` of the packet.
    lanes : int
        Bytes in a beat.
    taken, last : Value
        As in `beat_index`.
    offset : int
    """
    beats = [(here.payload + offset) // lanes for here in PLACES]
    index = beat_index(m, taken, last, max(beats) + 1)
    found = Site(Signal(), Signal())
    m.d.comb += [
        found.at.eq(
            Cat(bit & (index == beat) for bit, beat in zip(place, beats, strict=True)).any()
        ),
        found.past.eq(
            Cat(bit & (index > beat) for bit, beat in zip(place, beats, strict=True)).any()
        ),
    ]
    return found


def first_lane(place: Value, lanes: int) -> Value:
    """One-hot: the lane of the byte behind UDP in its beat."""
    found: Value = Const(0, lanes)
    for bit, here in zip(place, PLACES, strict=True):
        found |= Mux(bit, 1 << here.payload % lanes, 0)
    return found


def lanes_behind(place: Value, lanes: int) -> Value:
    """That lane and those after it."""
    found: Value = Const(0, lanes)
    for bit, here in zip(place, PLACES, strict=True):
        found |= Mux(bit, (1 << lanes) - (1 << here.payload % lanes), 0)
    return found
