"""The image of a model: an LSTM or a decision tree in 32 rows of 64 bytes."""

from enum import IntEnum

__all__ = [
    "ACC_BITS",
    "HEADER_OFFSET",
    "HEAD_ROWS",
    "HIDDEN",
    "IMAGE_BYTES",
    "IMAGE_ROWS",
    "MAX_INPUTS",
    "MAX_OUTPUTS",
    "MAX_SHIFT",
    "MAX_STEPS",
    "ROW_BYTES",
    "TREE_BINS_STORED",
    "TREE_DEPTH",
    "TREE_LEAF_WORDS",
    "TREE_SMALL_BITS",
    "TREE_SOURCE_ROW",
    "TREE_THRESHOLD_ROW",
    "Cell",
    "HeadKind",
]


HIDDEN = 16
MAX_INPUTS = 8
MAX_STEPS = 8
MAX_OUTPUTS = 16
MAX_SHIFT = 7  # a weight row's real value is w * 2**-shift, shift 0..7
ACC_BITS = 28  # 16 products of int8 and H: 8 + 16 + 4 bits


class HeadKind(IntEnum):
    """What a model's outputs mean."""

    RTT = 0  # O = 1: out_t of (12)
    QUEUE = 1  # O queue-length bins, through a softmax


class Cell(IntEnum):
    """What computes a model's outputs, in its image's header."""

    LSTM = 0
    TREE = 1  # with a QUEUE head only, on devices that were built with trees


# --- the model image: 32 rows of 64 bytes in canonical, lane-independent order -------------------
# Gate row r = gate * 16 + unit, gates in the order i, f, g, o (as torch.nn.LSTM).
#   rows  0..15  recurrent weights: byte r of row j = Wh[r, j], int8
#   rows 16..23  input weights:     byte r of row 16 + i = Wx[r, i], int8
#   rows 24..25  biases: int16 little-endian in PRE format, gate rows 0..31 then 32..63
#   row  26      shifts: byte r = sh_h[r] | sh_x[r] << 4
#   rows 27..30  head weights: byte (o % 4) * 16 + j of row 27 + o // 4 = Wl[o, j], int8
#   row  31      head biases: 16 x int16 little-endian in OUT format (32 bytes), then head shifts:
#                16 x 4 bits (8 bytes, output 0 in the low nibble), then the header (24 bytes)
# Header (little-endian): inputs u8, steps u8, outputs u8, head kind u8, version u32,
#                contract hash u32, cell u8, a tree's depth u8, 10 bytes zero.
# Unused bytes are zero. The CRC-32 (Ethernet) runs over all 2048 bytes in ascending order.
ROW_BYTES = 4 * HIDDEN
IMAGE_ROWS = 32
IMAGE_BYTES = IMAGE_ROWS * ROW_BYTES
HEAD_ROWS = (27, 31)
HEADER_OFFSET = 31 * ROW_BYTES + 40

# --- a decision tree in the same 32 rows, header and CRC ------------------------------------------
# A complete tree in breadth-first order, node n's children being 2 n + 1 and 2 n + 2; leaves count
# from 0. What a smaller tree leaves over is zero.
#   rows  0..27  leaves of 7 words: bits 0..13 of word k are the probability of bin top ^ (2 k + 1),
#                bits 14..27 that of bin top ^ (2 k + 2); bits 28..31 of word 0 are `top`, those of
#                words 1..4, the lowest first, the probability of bin top ^ 15; `top`, the most
#                likely bin, has the rest of 32768
#   rows 28..29  thresholds: int16 in X format, node n at byte 2 n
#   row  30      what a node looks at: byte n = age * 8 + input; age 0 is the newest step
#   row  31      40 bytes zero, then the header
TREE_DEPTH = 6  # questions at most
TREE_LEAF_WORDS = 7
TREE_SMALL_BITS = 14  # of a probability that is not a leaf's largest, so at most a half
TREE_BINS_STORED = 2 * TREE_LEAF_WORDS  # in those fields; the fifteenth is in nibbles
TREE_THRESHOLD_ROW = 28
TREE_SOURCE_ROW = 30
