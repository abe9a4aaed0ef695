"""Cyclic redundancy checks of the packet path by table.

The ICRC is the CRC of Ethernet, for which zlib is faster; `icrc` uses that.
"""

from functools import cache

from precog_spec.frames.cps import CRC8_INIT, CRC8_POLY, CRC8_XOR

__all__ = ["crc8", "remainder"]


@cache
def _table8(poly: int) -> tuple[int, ...]:
    rows = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte << 1) ^ (poly if byte & 0x80 else 0)
        rows.append(byte & 0xFF)
    return tuple(rows)


@cache
def _tables(poly: int, size: int) -> tuple[tuple[int, ...], ...]:
    """For each byte of a message of `size` bytes what each of its values adds to the remainder."""
    degree = poly.bit_length() - 1
    powers = [1]
    while len(powers) < 8 * size:
        power = powers[-1] << 1
        powers.append(power ^ poly if power >> degree else power)
    rows = []
    for at in reversed(range(0, 8 * size, 8)):
        row = [0]
        for power in powers[at : at + 8]:
            row += [value ^ power for value in row]
        rows.append(tuple(row))
    return tuple(rows)


def crc8(data: bytes | bytearray) -> int:
    """The shim's CRC-8 (AUTOSAR CRC-8H2F; ``crc8(b"123456789") == 0xDF``)."""
    table = _table8(CRC8_POLY)
    value = CRC8_INIT
    for byte in data:
        value = table[value ^ byte]
    return value ^ CRC8_XOR


def remainder(data: bytes, poly: int) -> int:
    """Remainder of `data`, its first bit the highest power, by a polynomial over GF(2).

    Parameters
    ----------
    data : bytes
    poly : int
        Of degree 1 or more; bit n is x**n.
    """
    value = 0
    for byte, row in zip(data, _tables(poly, len(data)), strict=True):
        value ^= row[byte]
    return value
