"""Frames and lines for the MAC's tests."""

import random

from precog_models.mac import Symbol, line_bytes
from precog_spec.frames.headers import MIN_FRAME
from precog_spec.frames.line import PREAMBLE

__all__ = ["damaged_lines", "idle", "symbols"]


def symbols(octets: bytes) -> list[Symbol]:
    """Bytes without an error."""
    return [Symbol(octet) for octet in octets]


def idle(rng: random.Random, least: int, most: int) -> list[Symbol]:
    """A gap; what stands on the data lines in it means nothing."""
    return [
        Symbol(rng.randrange(256), valid=False, error=rng.random() < 0.1)
        for _ in range(rng.randint(least, most))
    ]


def damaged_lines(rng: random.Random, count: int, most_bytes: int) -> list[Symbol]:
    """Frames as a line may bring them, whole ones and all sorts of others."""
    line: list[Symbol] = []
    for _ in range(count):
        size = rng.choice((MIN_FRAME, 61, rng.randint(1, most_bytes), most_bytes))
        sent = symbols(line_bytes(rng.randbytes(size), error=rng.random() < 0.05))
        kind = rng.randrange(10)
        at = rng.randrange(len(sent))
        if kind == 0:
            sent[at] = Symbol(sent[at].data ^ 1 << rng.randrange(8))
        elif kind == 1:
            sent[at] = sent[at]._replace(error=True)
        elif kind == 2:
            sent = sent[:at]
        elif kind == 3:
            sent = sent[rng.randrange(2 * len(PREAMBLE)) :]
        elif kind == 4:
            sent += symbols(rng.randbytes(rng.choice((1, most_bytes))))
        elif kind == 5:
            sent = symbols(rng.choice((b"\x55", b"\xd5", b"\x54")) * rng.randint(1, 4)) + sent
        line += [*sent, *idle(rng, 1, 20)]
    return line
