"""The trace FIFO: a record is there as a whole or not at all, and stays while it waits.

Two sources, and a FIFO of two rows of four words, so that it overflows within a few cycles. A
record's words all bear its source and a number; the serial is the FIFO's.
"""

from importlib import import_module
from unittest.mock import patch

from amaranth.hdl import Assert, Cat, Const, Cover, Module, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In

from .engine import Mode, Proof
from .mutate import Mutant
from .past import Past
from .peek import Opened

__all__ = ["MUTANTS", "PROOFS"]

_SOURCES = 2
_ROWS = 2
_NUMBER = 2  # bits
_WORDS = 4  # of a record: the head's three, and one
_MODULE = "precog_hw.csr.trace"


class TraceHarness(wiring.Component):
    """A trace FIFO with sources that strobe, and a host that reads, when they like."""

    stb: In(_SOURCES)
    numbers: In(_SOURCES * _NUMBER)
    kinds: In(_SOURCES)
    index: In(range(_ROWS))
    pop: In(2)
    clear: In(1)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        trace = import_module(_MODULE)
        body = 32 * _WORDS - trace.RECORD["head"].shape.size
        record = data.StructLayout({"head": trace.RECORD["head"].shape, "body": unsigned(body)})
        small = {"TRACE_BATCH": _ROWS, "TRACE_WORDS": _WORDS, "RECORD": record}
        with patch.multiple(trace, **small):
            dut = trace.TraceFifo(_SOURCES, _ROWS)
            m.submodules.dut = Opened(dut).fragment
        past = Past(m)
        for n in range(_SOURCES):
            number = self.numbers.word_select(n, _NUMBER)
            word = Cat(Const(n, 4), Const(0, 12), number)  # word 0: kind, serial, queue pair
            words = Cat(Cat(word, Const(0, 32))[:32] for _ in range(len(dut.words)))
            m.d.comb += dut.records[n].as_value().eq(words)
        m.d.comb += [
            dut.stb.eq(self.stb),
            dut.kinds.eq(self.kinds),
            dut.every.eq(1),
            dut.index.eq(self.index),
            dut.pop.eq(self.pop),
            dut.clear.eq(self.clear),
        ]

        # A record is whole. Word 1 tells what the others must be.
        words = [dut.words[n] for n in range(len(dut.words))]
        m.d.comb += [
            Assert(Cat(words[0][:4], words[0][16:]) == Cat(words[1][:4], words[1][16:])),
            *(Assert(word == words[1], "words are of one record") for word in words[2:]),
        ]
        # While the host forgets none, what it reads word by word stays.
        there = Signal()
        m.d.sync += there.eq(self.index < dut.level)
        still = past.known & (self.index == past(self.index, "index"))
        left = ~past(self.clear | (self.pop != 0), "forgets")
        same, kept = Signal(), Signal()
        m.d.comb += same.eq(still & left & there)
        m.d.sync += kept.eq(same)
        was = past(Cat(words), "words")
        m.d.comb += [
            Assert(~kept | there, "a record that waits goes on to wait"),
            Assert(~kept | (Cat(words) == was), "its words stay"),
            Assert(dut.level <= _ROWS),
        ]
        m.d.comb += Cover((dut.level == _ROWS) & there & (words[1] != 0) & dut.events[2])
        return m


PROOFS = (
    Proof(
        "trace.whole",
        TraceHarness,
        Mode.BOUNDED,
        10,
        "records of two sources and a FIFO that overflows are whole, and stay while they wait",
        fresh=True,
    ),
    Proof("trace.cover", TraceHarness, Mode.COVER, 12, "a full FIFO loses a record"),
)

MUTANTS = (
    Mutant(
        "trace.whole",
        _MODULE,
        "m.d.sync += chosen.eq(kept[n])",
        "m.d.sync += chosen.head.eq(kept[n].head)",
        "the body is another source's",
        quick=True,
    ),
    Mutant(
        "trace.whole",
        _MODULE,
        "write.en.eq(kept)",
        "write.en.eq(first)",
        "a record without room overwrites one that waits",
    ),
)
