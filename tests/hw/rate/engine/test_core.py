# amaranth: UnusedElaboratable=no
"""A core of the law engine against the interpreter: results, rows and turns, bit for bit."""

import random
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amaranth.sim import Simulator, SimulatorContext
from tests.hw.verilated import Verilated
from tests.models.rate.engine.random_programs import random_code

from precog_hw.rate.engine.core import Core
from precog_models.laws.compiler.compile import compile_law
from precog_models.laws.compiler.load import law_names, load
from precog_models.rate.engine.assembler import assemble
from precog_models.rate.engine.machine import Status, run
from precog_models.rate.engine.verify import verify
from precog_sim.rtl.event_block import event_library
from precog_spec.engine.events import EVENT_FIELDS, EVENTS
from precog_spec.engine.isa import Instruction, Op, Space

_QPS = 8
_BUDGET = 1500
_NAMES = [name for name, _, _ in EVENT_FIELDS]
_NOTHING = np.zeros((0, 3), dtype=np.int64)


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
    """

    def __init__(
        self, slots: list[Slot], rows: dict[tuple[int, int], int], events: list[Any]
    ) -> None:
        self.core = Core(_QPS)
        self.slots = slots
        self.start = rows
        self.events = events
        self.rows = np.zeros((_QPS, 16), dtype=np.int64)
        for (qp, place), word in rows.items():
            self.rows[qp, place] = word
        self.wanted: list[deque[Any]] = [deque() for _ in range(_QPS)]
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
        status, turns, _ = run(one.code, entry, one.memory, row, event, _BUDGET, _NOTHING)
        return slot, Status(status), turns, row.copy()

    def verilated(self, library: Path) -> int:
        """Run it Verilated, where rows cannot be seen; cycles as `simulate`."""
        self.seen = False
        Verilated(self.core, library).run(self._feed, self._watch, cycles=1 << 20)
        assert not any(self.wanted)
        return self.cycles

    def simulate(self) -> int:
        """Run it; returned are cycles from the first event to the last result."""
        self.seen = True
        simulator = Simulator(self.core)
        simulator.add_clock(1e-6)
        simulator.add_testbench(self._feed)
        simulator.add_testbench(self._watch)
        simulator.run()
        assert not any(self.wanted)
        return self.cycles

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
        ctx.set(self.core.budget, _BUDGET)
        await self._load(ctx)
        self.loaded = True
        for slot, qp, words in self.events:
            payload = {"slot": slot, "qp": qp, "words": dict(zip(_NAMES, words, strict=True))}
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
            slot, status, turns, row = self.wanted[told.qp].popleft()
            assert (told.slot, told.status, told.turns) == (slot, status, turns)
            if told.rated:
                assert told.rate == row[0] % (1 << 32)
            if told.windowed:
                assert told.window == row[1] % (1 << 32)
            if self.seen:
                held = [ctx.get(self.core.row_data[told.qp * 16 + n]) for n in range(16)]
                assert held == row.tolist()
        for _ in range(50):
            _, _, stb = await ctx.tick().sample(self.core.o_stb)
            assert not stb


def _words(rng: random.Random, kind: int) -> list[int]:
    words = [rng.getrandbits(rng.randrange(1, form.width + 1)) for _, form, _ in EVENT_FIELDS]
    return [kind, *words[1:]]


def _any_word(rng: random.Random) -> int:
    ends = [0, 1, -1, (1 << 47) - 1, -(1 << 47)]
    return rng.choice([*ends, *(rng.getrandbits(rng.randrange(1, 48)) - (1 << 24) for _ in "abc")])


def _random_slot(rng: random.Random) -> Slot:
    """A program that first writes the eight registers that it uses."""
    code: list[Instruction] = []
    entries = {}
    for kind in rng.sample(range(6), 3):
        entries[kind] = len(code)
        code += [Instruction(Op.MOV, n, 0, Space.SLOT, rng.randrange(256)) for n in range(8)]
        code += random_code(rng, 40, registers=8)
    verify(code, entries.values())
    return Slot([one.encoded() for one in code], entries, [_any_word(rng) for _ in range(512)])


def _random_bench(rng: random.Random) -> Bench:
    """Three programs for three kinds each, queue pairs that collide, kinds that are not heard."""
    slots = [_random_slot(rng) for _ in range(3)]
    rows = {(qp, place): _any_word(rng) for qp in range(4) for place in range(16)}
    kinds = [rng.randrange(6) for _ in range(40)]
    events = [(rng.randrange(3), rng.randrange(4), _words(rng, kind)) for kind in kinds]
    return Bench(slots, rows, events)


def test_random_programs(seed: int) -> None:
    """All instructions; the whole row is compared after each event."""
    rng = random.Random(seed)
    cycles = sum(_random_bench(rng).simulate() for _ in range(3))
    print(f"{cycles} cycles")


@pytest.mark.cosim
def test_many_random_programs(seed: int, request: pytest.FixtureRequest) -> None:
    """The same, Verilated; what is stored shows in later events of the queue pair."""
    volume = request.config.getoption("--volume")
    if volume == 1:
        pytest.skip("with --volume 2 and more, 9 programs and 40 events for each")
    library = event_library(Core(_QPS), label="law engine's core")
    rng = random.Random(seed)
    cycles = sum(_random_bench(rng).verilated(library) for _ in range(volume))
    print(f"{9 * volume} programs, {40 * volume} events, {cycles} cycles")


def _law_slot(name: str) -> Slot:
    made = compile_law(load(name))
    entries = made.program.entries
    kinds = {kind: entries[one] for kind, one in enumerate(EVENTS) if one in entries}
    words = made.program.slot_words(made.law.integers("default", 1000))
    return Slot(list(made.program.code), kinds, words)


@pytest.mark.parametrize("first", range(0, len(law_names()), _QPS))
def test_laws_at_once(first: int, seed: int, request: pytest.FixtureRequest) -> None:
    """Programs of the compiler, each on a queue pair of its own, under plausible events."""
    rng = random.Random(seed)
    slots = [_law_slot(name) for name in law_names()[first : first + _QPS]]
    now, events = 1000, []
    for _ in range(96 * request.config.getoption("--volume")):
        now += rng.randrange(1, 10_000)
        law, base = rng.randrange(len(slots)), 4180
        words = dict.fromkeys(_NAMES, 0) | {"now": now, "base": base, "mtu": 1000}
        words |= {"kind": rng.choice(sorted(slots[law].entries))}
        words |= {"rtt": base + rng.randrange(0, rng.choice([100, 3000]))}
        words |= {"bytes": rng.randrange(9000), "seq": now >> 10, "next": (now >> 10) + 30}
        words |= {"rate": rng.randrange(1 << 22, 1 << 28), "min_rate": 1 << 18}
        words |= {"max_rate": 1 << 28, "init_rate": 1 << 26, "predicted": 1, "prediction": 1 << 20}
        events.append((law, law, list(words.values())))
    cycles = Bench(slots, {}, events).simulate()
    print(f"{cycles / len(events):.0f} cycles per event")


def _short(text: str) -> list[int]:
    return [one.encoded() for one in assemble(text)]


def test_traps_and_latency() -> None:
    """An illegal operation, an overrun and a fall change nothing; then the queue pair goes on."""
    good = "mov r1, e.rtt\nst s[3], r1\nst s[0], r1\nend"
    bad = Slot([*_short("mov r1, #9\nst s[3], r1"), 63 << 26], {0: 0}, [])
    fell = Slot(_short("mov r1, #9\nst s[3], r1\n" + "st s[3], r1\n" * 1022), {0: 0}, [])
    words = [0] * len(_NAMES)
    words[_NAMES.index("rtt")] = 77
    slots = [Slot(_short(good), {0: 0}, []), bad, fell]
    bench = Bench(slots, {(1, 3): 5}, [(1, 1, words), (2, 1, words), (0, 1, words)])
    assert [one[1] for one in bench.wanted[1]] == [Status.ILLEGAL, Status.FELL, Status.DONE]
    bench.simulate()
    alone = Bench(slots, {}, [(0, 0, words)])
    turns = alone.wanted[0][0][2]
    assert turns == 4
    assert 6 * turns <= alone.simulate() <= 6 * turns + 21 + 2 + 10


def test_an_overrun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "_BUDGET", 5)
    slot = Slot(_short("mov r1, #9\nst s[3], r1\nfrc r1, r1, #3\nend"), {0: 0}, [])
    bench = Bench([slot], {}, [(0, 0, [0] * len(_NAMES))])
    assert bench.wanted[0][0][1] == Status.OVERRUN
    bench.simulate()


def test_a_number_of_queue_pairs_that_is_no_power_of_two() -> None:
    with pytest.raises(ValueError, match="qps must be a power of two, not 3"):
        Core(3)
