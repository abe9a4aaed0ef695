"""The key of a QP lookup: direction, peer address, DestQP; and the hashes that give its rows."""

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address

__all__ = [
    "ADDRESS_BITS",
    "DIRECTION_BITS",
    "IPV4_MAPPED",
    "KEY_BYTES",
    "MAX_SLOTS",
    "QPN_BITS",
    "TURNS",
    "WAYS",
    "address_of",
    "mixed",
    "packed_address",
    "parse_address",
    "table_rows",
    "way_polynomials",
]

# The packed key, most significant byte first: direction, address, QPN.
DIRECTION_BITS = 1  # in a byte of its own
IPV4_MAPPED = 0xFFFF << 32  # ::ffff:0:0, the upper bits of an IPv4 address in 128
ADDRESS_BITS = 128  # IPv4 as ::ffff:a.b.c.d
QPN_BITS = 24
KEY_BYTES = 1 + (ADDRESS_BITS + QPN_BITS) // 8

#: The remainders of the key, as a polynomial over GF(2), by these are what `mixed` makes rows of.
#: They are irreducible and of as many bits as a row, so that each spreads keys that differ in so
#: many consecutive bits alone, as QPNs that are given in order, over all values.
_POLYNOMIALS = {
    4: (0x13, 0x19, 0x1F),
    5: (0x25, 0x37, 0x3D),
    6: (0x49, 0x61, 0x73),
    7: (0x8F, 0xC1, 0xF1),
    8: (0x139, 0x18B, 0x1DD),
    9: (0x259, 0x301, 0x3C7),
    10: (0x499, 0x615, 0x763),
    11: (0x925, 0xC0B, 0xEDD),
    12: (0x1267, 0x1807, 0x1DC1),
    13: (0x249B, 0x3007, 0x3B6F),
    14: (0x492D, 0x600B, 0x76EB),
}
WAYS = 3
#: Places by which `mixed` turns the two remainders of its product to the left.
TURNS = (1, 2)
MAX_SLOTS = 1 << max(_POLYNOMIALS)
_SMALL = 256  # slots from which on two thirds of the cells are few enough


def parse_address(
    text: str | IPv4Address | IPv6Address, what: str = "remote"
) -> IPv4Address | IPv6Address:
    """An IP address, without a scope.

    Raises
    ------
    ValueError
        It is none, or has a scope.
    """
    try:
        address = ip_address(text)
    except ValueError:
        raise ValueError(f"{what} must be an IPv4 or IPv6 address, not {text!r}") from None
    if isinstance(address, IPv6Address) and address.scope_id is not None:
        plain, _, scope = str(address).partition("%")
        raise ValueError(
            f"{what} must have no scope, not %{scope}, which packets do not carry: give {plain}"
        )
    return address


def packed_address(address: IPv4Address | IPv6Address) -> int:
    """An address as keys have it."""
    return int(address) | (IPV4_MAPPED if isinstance(address, IPv4Address) else 0)


def address_of(packed: int) -> IPv4Address | IPv6Address:
    """The address of a key."""
    return IPv6Address(packed).ipv4_mapped or IPv6Address(packed)


def table_rows(slots: int) -> int:
    """Rows of each way, for that many slots: in small tables fewer cells are taken, 1 in 3.

    Raises
    ------
    ValueError
        `slots` is not a power of two, or too large.
    """
    if not 1 <= slots <= MAX_SLOTS or slots & (slots - 1):
        raise ValueError(f"slots must be a power of two up to {MAX_SLOTS}, not {slots!r}")
    return slots if slots >= _SMALL else max(1 << min(_POLYNOMIALS), 2 * slots)


def mixed(remainders: Sequence[int], bits: int) -> tuple[int, ...]:
    """The ways' rows, of `bits` bits, from the three remainders."""

    def turned(value: int, by: int) -> int:
        """Rotate `value` left, in `bits` bits."""
        return (value << by | value >> (bits - by)) & ((1 << bits) - 1)

    ways = range(WAYS)
    others = ([remainders[(way + n) % WAYS] for n in ways] for way in ways)
    return tuple(a ^ (turned(b, TURNS[0]) & turned(c, TURNS[1])) for a, b, c in others)


def way_polynomials(slots: int) -> tuple[int, ...]:
    """The ways' polynomials in a table of `slots` slots, `table_rows`'s errors."""
    return _POLYNOMIALS[table_rows(slots).bit_length() - 1]
