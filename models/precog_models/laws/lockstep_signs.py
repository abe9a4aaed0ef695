"""The word `round` of `lockstep`, and the signs of noise and jitter in it.

PSN behind which the round ends   24 bits
last base RTT                     10, its low ones
times that noise pulled it down    2
jolts                              5
acknowledgements of the block      6
"""

from .language import Record, clamp, wrap

__all__ = [
    "BLOCK_AT",
    "CALM",
    "JOLTS_AT",
    "JOLTS_BITS",
    "LOW_BITS",
    "LOW_MASK",
    "NEWS",
    "PSN_BITS",
    "PSN_MASK",
    "SINKS",
    "SINKS_AT",
    "TURN_BITS",
    "TURN_MAX",
    "startled",
    "turn",
]

PSN_BITS = 24
LOW_BITS = 10
PSN_MASK = (1 << PSN_BITS) - 1
LOW_MASK = ((1 << LOW_BITS) - 1) << PSN_BITS
_HALF_LOW = 1 << (LOW_BITS - 1)
SINKS_AT = 34
SINKS = 2
_SINKS_MASK = 3 << SINKS_AT
JOLTS_AT = 36
JOLTS_BITS = 5
_JOLT = 4
_JOLTS_MASK = ((1 << JOLTS_BITS) - 1) << JOLTS_AT
BLOCK_AT = 41
_BLOCK_MASK = 63 << BLOCK_AT
_BLOCK = 8
_LONG_BLOCK = 32
_WITHIN = (_BLOCK - 1) << BLOCK_AT  # a place in a block of 8
CALM = _WITHIN + (1 << SINKS_AT)  # what may be there with neither noise nor jitter
NEWS = _BLOCK_MASK + _JOLTS_MASK + _SINKS_MASK + LOW_MASK - CALM
TURN_BITS = 10
TURN_MAX = (1 << TURN_BITS) - 1


def turn(s: Record, change: int) -> int:
    """Follow the RTT's turns; its zigzag."""
    before = s.change
    change = clamp(change, -TURN_MAX, TURN_MAX)
    s.change = change
    both = max(min(change, -before) if before < 0 else min(-change, before), 0)
    s.zigzag = ((s.zigzag * 255) >> 8) + both
    return both


def startled(p: Record, s: Record, e: Record, rtt: int, last: int, base: int, both: int) -> None:
    """An RTT after a sign of noise or jitter, with one, or at the end of a block.

    `rtt` is what the law acts on.
    """
    status = s.round & (_JOLTS_MASK + _SINKS_MASK)
    block = s.round & _BLOCK_MASK
    settled = status >> JOLTS_AT < p.jitter
    if block >= _BLOCK << BLOCK_AT and (settled or block >= _LONG_BLOCK << BLOCK_AT):
        s.previous = s.current
        s.current = rtt
        block = 0
    else:
        s.current = min(s.current, rtt)
    fell = (s.round & LOW_MASK) - base
    if fell != 0:
        fell = (fell & LOW_MASK) >> PSN_BITS
        sinks = status & _SINKS_MASK
        if fell < _HALF_LOW and last - e.rtt > 2 * fell and sinks < SINKS << SINKS_AT:
            status = status + (1 << SINKS_AT)
    if status >= 1 << JOLTS_AT:
        status = status - (1 << JOLTS_AT)
    if both == TURN_MAX:
        jolted = min((status >> JOLTS_AT) + _JOLT + 1, (1 << JOLTS_BITS) - 1)
        status = (jolted << JOLTS_AT) + (status & _SINKS_MASK)
    if p.jitter == 0 and status < 1 << JOLTS_AT:
        status = status + (1 << JOLTS_AT)  # never calm
    block = min(block, _LONG_BLOCK << BLOCK_AT) + (1 << BLOCK_AT)
    s.round = block + status + base + wrap(s.round, PSN_BITS)
