"""Epochs of time, and visits to all rows when one has ended."""

from amaranth.hdl import Cat, Module, Signal, Value

from precog_hw.rows import RowUpdate
from precog_spec.frames.cps import EPOCH_LEAST

__all__ = ["epochs"]

_EPOCH_BITS = 4  # of an epoch's number; time does not run faster


def epochs(
    m: Module,
    now: Value,
    epoch: Value,
    taken: Value,
    visits: Signal,
    visited: Signal,
    slots: int,
    *,
    enable: Value | None = None,
    may: Value | None = None,
) -> tuple[Signal, Signal]:
    """Lets all rows be visited once after each epoch.

    Parameters
    ----------
    m : Module
    now : Value
        Ticks.
    epoch : Value
        An epoch has 256 << this many ticks.
    taken : Value
        A visit is made.
    visits, visited : Signal
        Driven: there are visits to be made, the next one to this row.
    slots : int
        Rows.
    enable : Value, optional
        Another value means what another `epoch` does.
    may : Value, optional
        An epoch may begin.

    Returns
    -------
    begins, far : Signal
        An epoch begins; it is more than one behind the last, or has another length.
    """
    number = Signal(_EPOCH_BITS)
    seen = Signal(_EPOCH_BITS)
    passed = Signal(_EPOCH_BITS)
    kind = epoch if enable is None else Cat(epoch, enable)
    length = Signal(len(kind))
    owes = Signal()
    many = Signal()
    drains = Signal(RowUpdate.CYCLES)
    begins = Signal()
    far = Signal()
    step = Signal()
    free = owes & ~visits & ~drains.any()
    m.d.comb += [
        passed.eq(number - seen),
        step.eq(passed != 0),
        begins.eq(free if may is None else free & may),
        far.eq(many),
    ]
    m.d.sync += [
        # Not two shifts: Verilator adds their distances up in the four bits of the second.
        number.eq((now[EPOCH_LEAST:] >> epoch)[:_EPOCH_BITS]),
        seen.eq(number),
        length.eq(kind),
        owes.eq(step | (length != kind) | (owes & ~begins)),
        many.eq((passed > 1) | (length != kind) | (owes & ~begins & (step | many))),
        drains.eq(Cat(taken, drains)),
    ]
    with m.If(begins):
        m.d.sync += visits.eq(1)
    with m.Elif(taken & (visited == slots - 1)):
        m.d.sync += visits.eq(0)
    m.d.sync += visited.eq(visited + taken)
    return begins, far
