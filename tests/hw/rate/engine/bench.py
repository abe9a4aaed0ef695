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
from amaranth.sim import Simulator, SimulatorContext

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
from precog_models.rate.engine.machine import Status, run
from precog_sim.rtl.event_block import pack, unpack
from precog_sim.rtl.feed_block import FeedBlock, FeedRun, feed_library
from precog_spec.engine.events import EVENT_FIELDS

__all__ = ["NAMES", "QPS", "Bench", "Slot", "core_library"]

QPS = 8
_QP_BITS = 3
_EVENT, _RESULT = event_layout(_QP_BITS), result_layout(_QP_BITS)
_BUDGET = 1500
NAMES = [name for name, _, _ in EVENT_FIELDS]
_NOTHING = np.zeros((0, 3), dtype=np.int64)


class _Streamed(wiring.Component):
    """The core with its results as a stream that is always ready."""

    def __init__(self) -> None:
        self._core = core = Core(QPS)
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
    """A program, its memory and its entries."""

    def __init__(
        self, code: list[int], entries: dict[int, int], memory: dict[int, int] | list[int]
    ) -> None:
        self.code = np.array(code, dtype=np.int64)
        self.entries = entries
        self.memory = np.zeros(512, dtype=np.int64)
        for place, word in memory.items() if isinstance(memory, dict) else enumerate(memory):
            self.memory[place] = word


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
        self.core = Core(QPS)
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
        self.cycles = 0

    def _golden(self, slot: int, qp: int, words: list[int]) -> Any:
        one = self.slots[slot]
        row, before = self.rows[qp], self.rows[qp].copy()
        entry = one.entries.get(words[0])
        if entry is None:
            return slot, Status.DONE, 0, before
        event = np.array(words, dtype=np.int64)
        status, turns, _ = run(one.code, entry, one.memory, row, event, self.budget, _NOTHING)
        return slot, Status(status), turns, row.copy()

    def verilated(self) -> int:
        """Run it Verilated, where rows cannot be seen; cycles as `simulate`."""
        rtl = FeedBlock(core_library())
        rtl.poke(budget=self.budget)
        codes, memories, entries = [], [], []
        for number, slot in enumerate(self.slots):
            for table, words in ((codes, slot.code), (memories, slot.memory)):
                table += [[number, n, int(words[n])] for n in np.flatnonzero(words).tolist()]
            entries += [[number, kind, 1, place] for kind, place in slot.entries.items()]
        tables = {"code": codes, "slot": memories, "entry": entries}
        for port, layout in (("code", CODE_WRITE), ("slot", SLOT_WRITE), ("entry", ENTRY_WRITE)):
            for row in pack(layout, np.array(tables[port], dtype=np.int64), rtl.size(port)):
                rtl.pulse(f"{port}_stb", **{port: int.from_bytes(row.tobytes(), "little")})
        rows = [[qp, place, word] for (qp, place), word in self.start.items()]
        events = [[slot, qp, 0, *words] for slot, qp, words in self.events]
        self._fed(rtl, {"i_row": (row_layout(_QP_BITS), rows)}, 0)
        run = self._fed(rtl, {"i": (_EVENT, events)}, len(events))
        rtl.close()
        fields = [name for name, _ in _RESULT]
        for values in unpack(_RESULT, run.ports["o_payload"]).tolist():
            self._compare(SimpleNamespace(**dict(zip(fields, values, strict=True))))
        assert not any(self.wanted)
        return run.cycles

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

    def simulate(self) -> int:
        """Run it; returned are cycles from the first event to the last result."""
        simulator = Simulator(self.core)
        simulator.add_clock(1e-6)
        simulator.add_testbench(self._feed)
        simulator.add_testbench(self._watch)
        simulator.run()
        assert not any(self.wanted)
        return self.cycles

    def _compare(self, told: Any) -> Any:
        """A result against the golden one; the row that the event leaves."""
        slot, status, turns, row = self.wanted[told.qp].popleft()
        assert (told.slot, told.status, told.turns) == (slot, status, turns)
        if told.rated:
            assert told.rate == row[0] % (1 << 32)
        if told.windowed:
            assert told.window == row[1] % (1 << 32)
        return row

    async def _load(self, ctx: SimulatorContext) -> None:
        core = self.core
        for number, slot in enumerate(self.slots):
            for name, words in (("code", slot.code), ("slot", slot.memory)):
                ctx.set(getattr(core, f"{name}_stb"), 1)
                for place, word in enumerate(words.tolist()):
                    if word == 0:
                        continue  # as it is
                    write = {"slot": number, "place": place, "word": word}
                    ctx.set(getattr(core, name), write)
                    await ctx.tick()
                ctx.set(getattr(core, f"{name}_stb"), 0)
            ctx.set(core.entry_stb, 1)
            for kind, place in slot.entries.items():
                entry = {"slot": number, "kind": kind, "heard": 1, "place": place}
                ctx.set(core.entry, entry)
                await ctx.tick()
            ctx.set(core.entry_stb, 0)
        ctx.set(core.i_row.valid, 1)
        for (qp, place), word in self.start.items():
            ctx.set(core.i_row.payload, {"qp": qp, "place": place, "word": word})
            await ctx.tick().until(core.i_row.ready)
        ctx.set(core.i_row.valid, 0)

    async def _feed(self, ctx: SimulatorContext) -> None:
        ctx.set(self.core.budget, self.budget)
        await self._load(ctx)
        self.loaded = True
        for slot, qp, words in self.events:
            payload = {"slot": slot, "qp": qp, "words": dict(zip(NAMES, words, strict=True))}
            ctx.set(self.core.i.payload, payload)
            ctx.set(self.core.i.valid, 1)
            await ctx.tick().until(self.core.i.ready)
            ctx.set(self.core.i.valid, 0)

    async def _watch(self, ctx: SimulatorContext) -> None:
        self.loaded = False
        while not self.loaded:
            await ctx.tick()
        left = len(self.events)
        limit = 4000 * left
        while left:
            _, _, stb, told = await ctx.tick().sample(self.core.o_stb, self.core.o)
            self.cycles += 1
            assert self.cycles < limit, "the core hangs"
            if not stb:
                continue
            left -= 1
            row = self._compare(told)
            held = [ctx.get(self.core.row_data[told.qp * 16 + n]) for n in range(16)]
            assert held == row.tolist()
        for _ in range(50):
            _, _, stb = await ctx.tick().sample(self.core.o_stb)
            assert not stb


@cache
def core_library() -> Path:
    """The core, Verilated, for `Bench.verilated`."""
    return feed_library(_Streamed(), label="law engine's core")
