"""Skid buffer, held register and queue: the stream's rules.

No payload is lost, doubled, changed or swapped.

All are compared with a list: a payload that enters is appended, one that leaves must be the first.
A two-bit payload stands for every payload: no block looks at it. Each bit is a column.
"""

from collections.abc import Callable
from unittest.mock import patch

from amaranth.hdl import Array, Assert, Assume, Cover, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from amaranth.utils import exact_log2

from precog_hw.stream import columns

from .contracts import queue_rules
from .engine import Mode, Proof
from .mutate import Mutant
from .past import Past
from .peek import Opened

__all__ = ["MUTANTS", "PROOFS"]

WIDTH = 2
QUEUE_DEPTH = 2


class StreamHarness(wiring.Component):
    """A stream stage between a producer that keeps the rules and an arbitrary consumer.

    Parameters
    ----------
    make : callable
        Makes the stage for a shape.
    capacity : int
        Payloads that fit.
    stall_cycles : int
        The consumer never stalls longer; 0: as long as it likes.
    """

    payload: In(WIDTH)
    valid: In(1)
    ready: In(1)

    def __init__(
        self, make: Callable[[int], wiring.Component], capacity: int, stall_cycles: int = 0
    ) -> None:
        super().__init__()
        self._make = make
        self._capacity = capacity
        self._stall_cycles = stall_cycles

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._dut = dut = self._make(WIDTH)
        with patch.object(columns, "COLUMN_BITS", 1):
            inner = Opened(dut)
        m.submodules.dut = inner.fragment
        past = Past(m)
        m.d.comb += [
            dut.i.payload.eq(self.payload),
            dut.i.valid.eq(self.valid),
            dut.o.ready.eq(self.ready),
        ]
        refused = past.known & past(self.valid & ~dut.i.ready, "refused")
        m.d.comb += [
            Assume(~refused | self.valid),
            Assume(~refused | (self.payload == past(self.payload, "payload"))),
        ]
        if self._stall_cycles:
            stalled = Signal(range(self._stall_cycles + 1))
            with m.If(self.ready):
                m.d.sync += stalled.eq(0)
            with m.Else():
                m.d.sync += stalled.eq(stalled + 1)
            m.d.comb += [
                Assume(self.ready | (stalled < self._stall_cycles)),
                Assert(stalled <= self._stall_cycles),
            ]

        # Once valid, a payload and its valid hold until the transfer.
        held = past.known & past(dut.o.valid & ~dut.o.ready, "held")
        m.d.comb += [
            Assert(~held | dut.o.valid, "valid holds until the transfer"),
            Assert(
                ~held | (dut.o.payload == past(dut.o.payload, "o_payload")),
                "the payload holds until the transfer",
            ),
        ]

        # The list.
        listed = Array(Signal(WIDTH, name=f"listed_{n}") for n in range(self._capacity + 1))
        count = Signal(range(self._capacity + 2))
        put = dut.i.valid & dut.i.ready
        take = dut.o.valid & dut.o.ready
        after_take = Signal.like(count)
        m.d.comb += after_take.eq(count - take)
        m.d.sync += count.eq(after_take + put)
        with m.If(take):
            m.d.sync += [a.eq(b) for a, b in zip(listed, list(listed)[1:], strict=False)]
        with m.If(put):
            m.d.sync += listed[after_take].eq(self.payload)
        m.d.comb += [
            Assert(count <= self._capacity, "no more payloads inside than fit"),
            Assert(~dut.o.valid | (count != 0), "nothing comes out of nothing"),
            Assert(~dut.o.valid | (dut.o.payload == listed[0]), "the first in is the first out"),
            Assert((count == 0) | dut.o.valid, "what is inside is offered"),
            Assert(dut.i.ready | (count >= self._capacity - 1), "it refuses only when it is full"),
            Cover((count == self._capacity) & take & (listed[0] == 1) & (listed[1] == 2)),
        ]
        self._invariants(m, inner, count, listed)
        return m

    def _invariants(self, m: Module, inner: Opened, count: Signal, listed: Array) -> None:
        """What the induction must know about the stage's registers."""


class SkidHarness(StreamHarness):
    """The skid buffer: its spare register is the second payload."""

    def _invariants(self, m: Module, inner: Opened, count: Signal, listed: Array) -> None:
        m.d.comb += [
            Assert(inner["ready"] == (count != 2)),
            Assert(inner["ready"] | (inner["spare"] == listed[1])),
            Assert(inner["ready_1"] == inner["ready"]),
            Assert(inner["valid_1"] == self._dut.o.valid),
        ]


class QueueHarness(StreamHarness):
    """The queue: its level, and its addresses are apart by the rows in use."""

    def _invariants(self, m: Module, inner: Opened, count: Signal, listed: Array) -> None:
        waiting = inner["waiting"]
        writes, reads = inner.every("write__addr"), inner.every("read__addr")
        queue_rules(m, Assert, self._dut, QUEUE_DEPTH, count)
        m.d.comb += [
            Assert(waiting <= QUEUE_DEPTH),
            Assert(inner["full"] == (waiting == QUEUE_DEPTH)),
            *(
                Assert((waiting - (write - read))[: exact_log2(QUEUE_DEPTH)] == 0)
                for write, read in zip(writes, reads, strict=True)
            ),
            Assert(writes[0] == writes[1]),
            *(Assert(inner[f"{name}_1"] == inner[name]) for name in ("waiting", "full")),
            Assert(inner["valid_1"] == self._dut.o.valid),
        ]


def _skid() -> StreamHarness:
    from precog_hw.stream.skid import SkidBuffer

    return SkidHarness(SkidBuffer, 2)


def _held() -> StreamHarness:
    from precog_hw.stream.held import Held

    return StreamHarness(Held, 1)


def _queue(stall_cycles: int = 0) -> StreamHarness:
    from precog_hw.stream.queue import Queue

    return QueueHarness(lambda shape: Queue(shape, QUEUE_DEPTH), QUEUE_DEPTH + 1, stall_cycles)


_RULES = "valid and payload hold until the transfer; nothing is lost, doubled, changed or swapped"
PROOFS = (
    Proof("skid.rules", _skid, Mode.INDUCTION, 8, f"for ever: {_RULES}"),
    Proof("skid.cover", _skid, Mode.COVER, 8, "a full buffer is reachable"),
    Proof("held.rules", _held, Mode.INDUCTION, 4, f"for ever: {_RULES}"),
    Proof("queue.bounded", _queue, Mode.BOUNDED, 12, f"any consumer: {_RULES}"),
    Proof(
        "queue.rules",
        lambda: _queue(stall_cycles=2),
        Mode.INDUCTION,
        12,
        f"for ever, for consumers that stall at most 2 cycles at a time: {_RULES}",
        quick=False,
    ),
    Proof("queue.cover", _queue, Mode.COVER, 8, "a full queue is reachable"),
)

_SKID, _QUEUE = "precog_hw.stream.skid", "precog_hw.stream.queue"
_HELD = "precog_hw.stream.held"
MUTANTS = (
    Mutant(
        "skid.rules",
        _SKID,
        "with m.If(self.o.ready | ~valid):",
        "with m.If(self.o.ready):",
        "an empty output register waits for ready",
        quick=True,
    ),
    Mutant(
        "skid.rules",
        _SKID,
        "valid.eq(self.i.valid | ~ready)",
        "valid.eq(self.i.valid)",
        "the spare payload is lost",
    ),
    Mutant(
        "skid.rules",
        _SKID,
        "with m.If(ready):  # it follows",
        "with m.If(self.i.valid):  # it follows",
        "a refused payload overwrites the spare one",
    ),
    Mutant(
        "held.rules",
        _HELD,
        "with m.If(~self.o.valid):",
        "with m.If(~self.o.valid | self.o.ready):",
        "a refused payload is taken",
        quick=True,
    ),
    Mutant(
        "queue.bounded",
        _QUEUE,
        "waiting.eq(waiting + 1), full.eq(waiting == self._depth - 1)",
        "waiting.eq(waiting + 1), full.eq(waiting == self._depth)",
        "the queue takes one payload too many",
        quick=True,
    ),
    Mutant(
        "queue.bounded",
        _QUEUE,
        "put.eq(self.i.valid & ~full & ~(load & (waiting == 0)))",
        "put.eq(self.i.valid & ~full & ~load)",
        "a payload that arrives while one leaves is lost",
    ),
    Mutant(
        "queue.bounded",
        _QUEUE,
        "with m.If(waiting != 0):",
        "with m.If((waiting != 0) & ~self.i.valid):",
        "a new payload overtakes those that wait",
    ),
    Mutant(
        "queue.rules",
        _QUEUE,
        "with m.Elif(take & ~put):",
        "with m.Elif(take):",
        "a row that leaves while one comes is counted twice",
        quick=True,
    ),
)
