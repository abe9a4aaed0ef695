"""Internet checksums: computed, and updated when words change (RFC 1071, RFC 1624 equation 3).

A checksum field is the complement of a ones' complement sum, in which 0x0000 and 0xFFFF are both
zero. An update keeps the sum in 1..0xFFFF. Hence IPv4 fields stay in 0..0xFFFE and UDP fields, with
0 sent as 0xFFFF, in 1..0xFFFF; in these ranges an update and its reverse give the field back, right
or wrong as it was.
"""

from collections.abc import Iterable

from precog_spec.frames.headers import IPV4

__all__ = [
    "fold",
    "ipv4_checksum",
    "udp_field",
    "update",
    "words",
]


def words(data: bytes | bytearray) -> list[int]:
    """16-bit words of `data`; a last odd byte is the upper half of a word."""
    even = data if len(data) % 2 == 0 else bytes(data) + b"\0"
    return [even[n] << 8 | even[n + 1] for n in range(0, len(even), 2)]


def fold(total: int) -> int:
    """Ones' complement sum in 16 bits; 0 only if `total` is 0."""
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def update(checksum: int, old: Iterable[int], new: Iterable[int]) -> int:
    """Checksum field after words `old` became words `new`: HC' = ~(~HC + ~m + m')."""
    total = checksum ^ 0xFFFF
    total += sum(word ^ 0xFFFF for word in old) + sum(new)
    return fold(total) ^ 0xFFFF


def udp_field(checksum: int) -> int:
    """UDP's form of a computed checksum: 0 would mean that there is none."""
    return checksum or 0xFFFF


def ipv4_checksum(header: bytes | bytearray) -> int:
    """Checksum field of an IPv4 header, whatever stands in it now."""
    field = IPV4["checksum"]
    rest = bytes(header[: field.byte]) + bytes(2) + bytes(header[field.end : IPV4.size])
    return fold(sum(words(rest))) ^ 0xFFFF
