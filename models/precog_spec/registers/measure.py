"""The block MEASURE: how RTT samples become features."""

from precog_spec.registers.common import fraction_of, ticks_of
from precog_spec.registers.model import Access, Block, Field, Register

__all__ = ["measure_block"]

RW = Access.RW


def measure_block(tick_ps: int) -> Block:
    """The block; `tick_ps` is the length of a tick in picoseconds."""
    window = ticks_of(10_000.0, tick_ps)
    return Block(
        "MEASURE",
        "How RTT samples become features.",
        id=0x02,
        version=(1, 0),
        registers=(
            Register(
                "SIGMA",
                "Weight of a new sample in the smoothed RTT, equation (2).",
                (Field("sigma", 16, RW, "EWMA weight.", reset=fraction_of(0.2, 16), frac_bits=16),),
            ),
            Register(
                "BASE_WINDOW",
                "Length of the base-RTT tracker's windowed minimum.",
                (Field("base_window", 32, RW, "Window length.", reset=window, unit="ticks"),),
            ),
        ),
    )
