"""The FIFO in which packets wait and the queues of beats keep what proofs assume of them.

Compared with a list, as in `streams`, with few rows. That it holds for many is not said here: the
addresses wrap at the depth, and nothing else depends on it.
"""

from collections.abc import Callable
from functools import partial
from typing import Any
from unittest.mock import patch

from amaranth.hdl import Array, Assert, Assume, Cat, Cover, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from precog_hw.stream import columns

from .contracts import beats_rules
from .engine import Mode, Proof
from .mutate import Mutant, reimported
from .packets import assert_rules, well_formed
from .past import Past
from .peek import Opened

__all__ = ["MUTANTS", "PROOFS"]

ROWS = 2
_WIDTH = 8
_DEPTH = 9  # cycles
_FIFO = "precog_hw.stream.packet_fifo"
_OCCUPANCY = "precog_hw.stream.occupancy"


class BeatsHarness(wiring.Component):
    """A FIFO between a producer of well-formed beats and an arbitrary consumer.

    Parameters
    ----------
    make : callable
        Makes it.
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        from precog_hw.stream.packet import beat_layout

        self._make = make
        super().__init__({"beat": In(beat_layout(_WIDTH)), "valid": In(1), "ready": In(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        dut = self._make()
        with patch.object(columns, "COLUMN_BITS", 9):  # an end and its data in different columns
            inner = Opened(dut)
        m.submodules.dut = inner.fragment
        past = Past(m)
        m.d.comb += [
            dut.i.payload.eq(self.beat),
            dut.i.valid.eq(self.valid),
            dut.o.ready.eq(self.ready),
        ]
        # The path may take back what it has offered: only the beats' form is promised.
        m.d.comb += Assume(~self.valid | well_formed(self.beat))
        assert_rules(m, past, dut.o, "o")

        put, take = self.valid & dut.i.ready, dut.o.valid & self.ready
        # Of each beat its end and one bit stand for all.
        listed = Array(Signal(2, name=f"listed_{n}") for n in range(ROWS + 3))
        lasts = [beat[0] for beat in listed]
        came, goes = (Cat(beat.last, beat.data[0]) for beat in (self.beat, dut.o.payload))
        count, after_take = Signal(range(ROWS + 4)), Signal(range(ROWS + 4))
        m.d.comb += after_take.eq(count - take)
        m.d.sync += count.eq(after_take + put)
        with m.If(take):
            m.d.sync += [a.eq(b) for a, b in zip(listed, list(listed)[1:], strict=False)]
        with m.If(put):
            m.d.sync += listed[after_take].eq(came)
        # Where the first end will be once the first beat has left.
        position: Value = after_take + put
        for at in reversed(range(1, len(lasts))):
            position = Mux((at < count) & lasts[at], at, position)
        found = beats_rules(m, Assert, dut, ROWS, position)
        m.d.comb += [
            Assert(found.count == count),
            Assert(~dut.o.valid | (goes == listed[0]), "in order, unchanged"),
            Cover((found.ends == 2) & take & dut.o.payload.last & (found.behind == 1)),
        ]
        return m


def _fifo() -> Any:
    with reimported(_FIFO) as module:  # it has what it counts by from another module
        return module.PacketFifo(_WIDTH, ROWS)


def _queue() -> Any:
    from precog_hw.stream.packet import beat_layout
    from precog_hw.stream.queue import Queue

    return Queue(beat_layout(_WIDTH), ROWS)


_RULES = f"{ROWS} rows, any packets and consumer: beats in order, none lost, offered in time"
_FIFO_BEATS, _QUEUE_BEATS = partial(BeatsHarness, _fifo), partial(BeatsHarness, _queue)
PROOFS = (
    Proof("beats.rules", _FIFO_BEATS, Mode.BOUNDED, _DEPTH, _RULES, quick=False),
    Proof("beats.cover", _FIFO_BEATS, Mode.COVER, _DEPTH, "two packets are inside", quick=False),
    Proof("beats.queue", _QUEUE_BEATS, Mode.BOUNDED, _DEPTH, f"a queue, {_RULES}", quick=False),
)
MUTANTS = (
    Mutant(
        "beats.rules",
        _FIFO,
        "take.eq(some & (free | ~fetched))",
        "take.eq(some)",
        "a row is read over one that has not left",
    ),
    Mutant(
        "beats.rules",
        _OCCUPANCY,
        "full.eq(waiting == depth - 1)",
        "full.eq(waiting == depth)",
        "a beat is written over",
        quick=True,
    ),
)
