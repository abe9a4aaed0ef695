"""Cyclic redundancy checks of the packet path by table, any width up to 32 bits.

The ICRC is the CRC of Ethernet, for which zlib is faster; `icrc` uses that.
"""

from functools import cache

from .wire.cps import CRC8_INIT, CRC8_POLY, CRC8_XOR

__all__ = ["crc8", "crc32_reflected"]


@cache
def _table8(poly: int) -> tuple[int, ...]:
    rows = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte << 1) ^ (poly if byte & 0x80 else 0)
        rows.append(byte & 0xFF)
    return tuple(rows)


@cache
def _table32(poly: int) -> tuple[int, ...]:
    mirrored = int(f"{poly:032b}"[::-1], 2)
    rows = []
    for word in range(256):
        for _ in range(8):
            word = (word >> 1) ^ (mirrored if word & 1 else 0)
        rows.append(word)
    return tuple(rows)


def crc8(data: bytes | bytearray) -> int:
    """The shim's CRC-8 (AUTOSAR CRC-8H2F; ``crc8(b"123456789") == 0xDF``)."""
    table = _table8(CRC8_POLY)
    value = CRC8_INIT
    for byte in data:
        value = table[value ^ byte]
    return value ^ CRC8_XOR


def crc32_reflected(data: bytes | bytearray, poly: int) -> int:
    """CRC-32 with polynomial `poly` (bit 31 is x**31), reflected, start and end inverted."""
    table = _table32(poly)
    value = 0xFFFFFFFF
    for byte in data:
        value = (value >> 8) ^ table[(value ^ byte) & 0xFF]
    return value ^ 0xFFFFFFFF
