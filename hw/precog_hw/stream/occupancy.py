"""How many rows of a memory between two ends of a stream are in use."""

from amaranth.hdl import Module, Signal

__all__ = ["occupancy"]


def occupancy(
    m: Module, depth: int, put: Signal, take: Signal, suffix: str = ""
) -> tuple[Signal, Signal, Signal]:
    """Count rows: one more in use after `put`, one less after `take`.

    Whether there is one, and whether all are in use, are registers, not comparisons.

    Returns
    -------
    waiting, some, full : Signal
        Rows in use; it is not 0; it is `depth`.
    """
    waiting = Signal(range(depth + 1), name=f"waiting{suffix}")
    some, full = Signal(name=f"some{suffix}"), Signal(name=f"full{suffix}")
    with m.If(put & ~take):
        m.d.sync += [
            waiting.eq(waiting + 1),
            some.eq(1),
            full.eq(waiting == depth - 1),
        ]
    with m.Elif(take & ~put):
        m.d.sync += [waiting.eq(waiting - 1), some.eq(waiting != 1), full.eq(0)]
    return waiting, some, full
