# amaranth: UnusedElaboratable=no
"""A core of the law engine and the interpreter, with the same programs, rows and events."""

from collections import deque
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from amaranth.hdl import Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import Out
from numpy.typing import NDArray

from precog_hw.passing import pass_ports
from precog_hw.rate.engine.core import Core
from precog_hw.rate.engine.layouts import (
    CODE_WRITE,
    ENTRY_WRITE,
    SLOT_WRITE,
    event_layout,
    result_layout,
    row_layout,
)
from precog_models.predict.ecc import guard
from precog_models.rate.engine.assembler import assemble
from precog_models.rate.engine.machine import Status, run
from precog_sim.rtl.event_block import pack, unpack
from precog_sim.rtl.feed_block import FeedBlock, FeedRun, feed_library
from precog_spec.engine.events import EVENT_FIELDS
from precog_spec.secded import PROGRAM_ENTRIES, PROGRAM_SLOT

__all__ = ["NAMES", "QPS", "Bench", "Slot", "core_library"]

QPS = 8
_QP_BITS = 3
_EVENT, _RESULT = event_layout(_QP_BITS), result_layout(_QP_BITS, ecc=True)
_BUDGET = 1500
NAMES = [name for name, _, _ in EVENT_FIELDS]
_NOTHING = np.zeros((0, 3), dtype=np.int64)


class _Streamed(wiring.Component):
    """The core, with check bits, and its results as a stream that is always ready."""

    def __init__(self) -> None:
        self._core = core = Core(QPS, ecc=True)
        members = {n: one for n, one in core.signature.members.items() if n not in ("o", "o_stb")}
        super().__init__(members | {"o": Out(stream.Signature(_RESULT))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.core = core = self._core
        for name in ("i", "i_row"):
            wiring.connect(m, wiring.flipped(getattr(self, name)), getattr(core, name))
        names = [n for n in core.signature.members if n not in ("o", "o_stb", "i", "i_row")]
        pass_ports(m, self, core, names)
        m.d.comb += [self.o.valid.eq(core.o_stb), self.o.payload.eq(core.o)]
        return m


class Slot:
    """A program, its memory and its entries; of words some stored bits are flipped.

    `flips` has a mask for the number of a word, as `precog_spec.secded` numbers them: bits of its
    data, then 8 check bits.
    """

    def __init__(
        self,
        code: list[int],
        entries: dict[int, int],
        memory: dict[int, int] | list[int],
        flips: dict[int, int] | None = None,
    ) -> None:
        self.flips = flips or {}
        self.code = np.array(code, dtype=np.int64)
        self.entries = entries
        self.memory = np.zeros(512, dtype=np.int64)
        for place, word in memory.items() if isinstance(memory, dict) else enumerate(memory):
            self.memory[place] = word


def _dumps() -> list[Slot]:
    """Sixteen programs in two slots: words 0 and 1 in two events, which they outlast, then others.

    A result tells what goes to these two words, 32 bits of each.
    """
    texts = ["mov! r0, s[0]\nmov! r1, s[1]", "mov! r0, s[0], >>32\nmov! r1, s[1], >>32"]
    texts += [f"mov! r0, s[{n}]\nmov! r1, s[{n}], >>32" for n in range(2, 16)]
    slots = []
    for part in (texts[:8], texts[8:]):
        code = [one.encoded() for text in part for one in assemble(f"{text}\nend")]
        slots.append(Slot(code, {kind: 3 * kind for kind in range(8)}, []))
    return slots


_DUMPS = _dumps()


def _stored(slot: Slot, at: int, word: int) -> tuple[int, int]:
    """A word and its check bits, as they are stored."""
    bits = 32 if at < PROGRAM_SLOT else 48 if at < PROGRAM_ENTRIES else 11
    word &= (1 << bits) - 1
    low, high = guard([word & 0xFFFF_FFFF, word >> 32]).tolist()
    mask = slot.flips.get(at, 0)
    check = low >> 32 | high >> 32 << 4
    return word ^ mask & (1 << bits) - 1, check ^ mask >> bits


class Bench:
    """Events into a core; what comes out must be the interpreter's.

    Parameters
    ----------
    slots : list of Slot
    rows : dict of (qp, place) to word
    events : list of (slot, qp, words)
    budget : int
        Most turns of an event.
    """

    def __init__(
        self,
        slots: list[Slot],
        rows: dict[tuple[int, int], int],
        events: list[Any],
        budget: int = _BUDGET,
    ) -> None:
        self.budget = budget
        self.slots = slots
        self.start = rows
        self.events = events
        self.rows = np.zeros((QPS, 16), dtype=np.int64)
        for (qp, place), word in rows.items():
            self.rows[qp, place] = word
        self.wanted: list[deque[Any]] = [deque() for _ in range(QPS)]
        for slot, qp, words in events:
            self.wanted[qp].append(self._golden(slot, qp, words))

    def _golden(self, slot: int, qp: int, words: list[int]) -> Any:
        one = self.slots[slot]
        row, before = self.rows[qp], self.rows[qp].copy()
        entry = one.entries.get(words[0])
        if PROGRAM_ENTRIES + words[0] in one.flips:
            return slot, Status.DAMAGED, 0, before
        if entry is None:
            return slot, Status.DONE, 0, before
        event = np.array(words, dtype=np.int64)
        code, memory = one.code.copy(), one.memory.copy()
        for at, mask in one.flips.items():
            if at < PROGRAM_SLOT:
                code[at] = code[at] ^ (mask & 0xFFFF_FFFF) | 1 << 32
            elif at < PROGRAM_ENTRIES:
                memory[at - PROGRAM_SLOT] ^= 1 << 60
        status, turns, _ = run(code, entry, memory, row, event, self.budget, _NOTHING)
        return slot, Status(status), turns, row.copy()

    def run(self) -> int:
        """Run it, Verilated; cycles from the first event to the last result."""
        rtl = FeedBlock(core_library())
        rtl.poke(budget=self.budget)
        self._load(rtl, self.slots)
        rows = [[qp, place, word] for (qp, place), word in self.start.items()]
        if rows:
            self._fed(rtl, {"i_row": (row_layout(_QP_BITS), rows)}, 0)
        cycles = 0
        if self.events:
            cycles, results = self._results(rtl, self.events)
            for told in results:
                self._compare(told)
        assert not any(self.wanted)
        assert self._rows_of(rtl).tolist() == self.rows.tolist()
        rtl.close()
        return cycles

    def _load(self, rtl: FeedBlock, slots: list[Slot]) -> None:
        codes, memories, entries = [], [], []
        for number, slot in enumerate(slots):
            for n, word in enumerate(slot.code.tolist()):
                word, check = _stored(slot, n, word)
                codes.append([check, number, n, word])
            touched = [at - PROGRAM_SLOT for at in slot.flips if at >= PROGRAM_SLOT]
            named = [n for n in touched if n < len(slot.memory)]
            for n in sorted({*np.flatnonzero(slot.memory).tolist(), *named}):
                word, check = _stored(slot, PROGRAM_SLOT + n, int(slot.memory[n]))
                memories.append([check, number, n, word - (word >> 47 << 48)])
            for kind in range(8):
                place = slot.entries.get(kind)
                word = 0 if place is None else place | 1 << 10
                word, check = _stored(slot, PROGRAM_ENTRIES + kind, word)
                entries.append([check, number, kind, word >> 10, word & 1023])
        tables = {"code": codes, "slot": memories, "entry": entries}
        for port, layout in (("code", CODE_WRITE), ("slot", SLOT_WRITE), ("entry", ENTRY_WRITE)):
            table = np.array(tables[port], dtype=np.int64).reshape(-1, 1 + len(dict(layout)))
            rows = pack(layout, table[:, 1:], rtl.size(port))
            for row, check in zip(rows, table[:, 0].tolist(), strict=True):
                word = int.from_bytes(row.tobytes(), "little")
                rtl.pulse(f"{port}_stb", **{port: word, "check": check})

    def _results(self, rtl: FeedBlock, events: list[Any]) -> tuple[int, list[Any]]:
        """Cycles and results of events."""
        words = [[slot, qp, 0, *words] for slot, qp, words in events]
        run = self._fed(rtl, {"i": (_EVENT, words)}, len(words))
        fields = [name for name, _ in _RESULT]
        told = unpack(_RESULT, run.ports["o_payload"]).tolist()
        return run.cycles, [SimpleNamespace(**dict(zip(fields, one, strict=True))) for one in told]

    def _rows_of(self, rtl: FeedBlock) -> NDArray[np.int64]:
        """All rows, told by programs that return their words in two parts."""
        self._load(rtl, _DUMPS)
        nothing = [0] * (len(NAMES) - 1)
        events = [(n >> 3, qp, [n & 7, *nothing]) for qp in range(QPS) for n in range(16)]
        parts: list[list[Any]] = [[] for _ in range(QPS)]
        for told in self._results(rtl, events)[1]:
            parts[told.qp].append((told.rate, told.window))
        rows = np.zeros((QPS, 16), dtype=np.int64)
        for qp, ((low0, low1), (high0, high1), *others) in enumerate(parts):
            for place, (low, high) in enumerate([(low0, high0), (low1, high1), *others]):
                word = low | (high & 0xFFFF) << 32
                rows[qp, place] = word - (1 << 48) if word >> 47 else word
        return rows

    def _fed(
        self,
        rtl: FeedBlock,
        words: dict[str, tuple[data.StructLayout, list[list[int]]]],
        count: int,
    ) -> FeedRun:
        feeds = {
            name: pack(layout, np.array(table, dtype=np.int64), rtl.size(name))
            for name, (layout, table) in words.items()
        }
        return rtl.run(feeds, count, paired={}, watch=[], strobes="o_valid")

    def _compare(self, told: Any) -> Any:
        """A result against the golden one; the row that the event leaves."""
        slot, status, turns, row = self.wanted[told.qp].popleft()
        seen = Status.DAMAGED if told.damaged else told.status
        assert (told.slot, seen, told.turns) == (slot, status, turns)
        if told.rated:
            assert told.rate == row[0] % (1 << 32)
        if told.windowed:
            assert told.window == row[1] % (1 << 32)
        return row


@cache
def core_library() -> Path:
    """The core, Verilated, for `Bench.run`."""
    return feed_library(_Streamed(), label="law engine's core")
