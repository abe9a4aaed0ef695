"""Where the headers stand in a packet: six places, by VLAN tags and IP version.

Hence a byte of a header is in one of six beats and lanes, all of them constants: finding it takes a
comparison of the beat's number for each place, and no shifter.
"""

from typing import Any, NamedTuple

from amaranth.hdl import Module, Signal, Value

from precog_models.packet.wire.headers import ETHERNET, IPV4, IPV6, MAX_TAGS, UDP, VLAN

__all__ = ["PLACES", "Place", "Site", "beat_index", "is_place", "site"]


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


def is_place(where: Any, place: Place) -> Value:
    """Whether `where`, which has fields `ipv6` and `tags`, says `place`."""
    return (where.ipv6 == place.ipv6) & (where.tags == place.tags)


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
    """The payload's first byte, seen from one beat."""

    at: Signal  # it stands in this beat,
    past: Signal  # or in one before
    first: Signal  # one-hot: its lane, if it is in this beat
    lanes: Signal  # that lane and those after it


def site(m: Module, where: Any, lanes: int, *, taken: Value, last: Value, offset: int = 0) -> Site:
    """Find the byte `offset` behind UDP; nowhere, if `where` is none of the six places.

    Latency: none. Cost: a counter and some three LUT4 for each place.

    Parameters
    ----------
    m : Module
    where : View
        Fields `ipv6` and `tags`.
    lanes : int
        Bytes in a beat.
    taken, last : Value
        As in `beat_index`.
    offset : int
    """
    top = max(place.payload + offset for place in PLACES) // lanes + 1
    index = beat_index(m, taken, last, top)
    found = Site(Signal(), Signal(), Signal(lanes), Signal(lanes))
    for place in PLACES:
        beat, lane = divmod(place.payload + offset, lanes)
        with m.If(is_place(where, place)):
            m.d.comb += [
                found.at.eq(index == beat),
                found.past.eq(index > beat),
                found.first.eq(1 << lane),
                found.lanes.eq((1 << lanes) - (1 << lane)),
            ]
    return found
