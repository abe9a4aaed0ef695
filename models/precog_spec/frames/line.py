"""Gigabit Ethernet on the line, IEEE 802.3 clause 3: what is around a frame."""

__all__ = ["FCS_BYTES", "GAP_BYTES", "MOST_BYTES", "PREAMBLE"]

PREAMBLE = bytes([0x55] * 7 + [0xD5])  # the start frame delimiter is its last byte
FCS_BYTES = 4
GAP_BYTES = 12  # between two frames
MOST_BYTES = 9600  # of a frame that is taken, without FCS: MTU 4096 and jumbo frames
