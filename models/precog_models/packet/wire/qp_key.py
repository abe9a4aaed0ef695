"""The key of a QP lookup: direction, peer address, DestQP; and the hashes that give its rows."""

__all__ = [
    "ADDRESS_BITS",
    "DIRECTION_BITS",
    "IPV4_MAPPED",
    "KEY_BYTES",
    "QPN_BITS",
    "WAY_POLYNOMIALS",
]

# The packed key, most significant byte first: direction, address, QPN.
DIRECTION_BITS = 1  # in a byte of its own
IPV4_MAPPED = 0xFFFF << 32  # ::ffff:0:0, the upper bits of an IPv4 address in 128
ADDRESS_BITS = 128  # IPv4 as ::ffff:a.b.c.d
QPN_BITS = 24
KEY_BYTES = 1 + (ADDRESS_BITS + QPN_BITS) // 8

#: CRC-32 of Ethernet, Castagnoli's, Koopman's: one way each.
WAY_POLYNOMIALS = (0x04C11DB7, 0x1EDC6F41, 0x741B8CD7)
