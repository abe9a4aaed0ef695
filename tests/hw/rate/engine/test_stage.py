# amaranth: UnusedElaboratable=no
"""Eight events in flight: each decision as the golden one, in the order in which events end."""

import random
import zlib
from collections import Counter, deque
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from amaranth.sim import SimulatorContext
from tests.hw.rate.engine.scheduled import PSCHED_VALUES, GoldenPsched, Scheduled
from tests.hw.verilated import Verilated

from precog_hw.rate.engine.engine import LawEngine
from precog_hw.rate.engine.stage import ENGINE_COUNTS
from precog_models.laws.compiler.compile import compile_law
from precog_models.laws.compiler.load import load
from precog_models.predict.ecc import guard_program
from precog_models.rate.engine.core import event_words
from precog_models.rate.engine.image import image_of
from precog_models.rate.engine.unit import TOLD, EngineUnit
from precog_sim.rtl.event_block import event_library
from precog_spec.config import NicConfig
from precog_spec.contract import Flag
from precog_spec.engine.events import Kind
from precog_spec.law_fields import (
    SCORE_BITS,
    SENDERS_AT,
    SENDERS_BITS,
    EventKind,
    ScoreCommand,
)
from precog_spec.secded import PROGRAM_ENTRIES, PROGRAM_SLOT, program_bits

pytestmark = [pytest.mark.cosim, pytest.mark.xdist_group("law_stage")]

_MTU, _THRESHOLD = 1000, 40_000
_BOUNDS = {"min_rate": 1 << 18, "max_rate": 1 << 28, "init_rate": 1 << 26}
_KINDS = {
    EventKind.CNP: Kind.CNP,
    EventKind.LOSS: Kind.LOSS,
    EventKind.SWEEP: Kind.TIMER,
    EventKind.SCORE: Kind.SCORE,
}
_MHZ = 250
_SCHEDULED = 4  # cores of the engine that has PSCHED behind it
_LONGEST = 3600  # cycles of an event


@dataclass
class Bench:
    """A law engine under traffic, and the golden one after it.

    Parameters
    ----------
    config : NicConfig
    laws : list of str
        Of the slots, in order.
    budget : int
    rng : random.Random
    stall : float
        Probability that a decision is not taken.
    scheduled : bool
        Three of four queue pairs ask for PSCHED, which stands behind an engine of four cores.
    base : int
        Base RTT that a sample tells each queue pair at first; 0: none does.
    damage : dict
        What is not as it was written, in the copy of each core.
    """

    config: NicConfig
    laws: list[str]
    budget: int
    rng: random.Random
    stall: float = 0.0
    scheduled: bool = False
    base: int = 0
    #: Of each bank: words of its program, as `secded` numbers them, and their wrong stored bits.
    damage: dict[int, dict[int, tuple[int, ...]]] = field(default_factory=dict)
    suspects: set[tuple[int, int, int]] = field(default_factory=set)  # bank, word, core
    held: int = 0
    feeds: dict[str, deque[Any]] = field(default_factory=lambda: {"ack": deque(), "event": deque()})
    words: dict[int, Any] = field(default_factory=dict)  # by time, which no two share
    decided: int = 0
    cycles: int = 0
    latencies: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.engine, self.unit = _dut(self.config), EngineUnit(self.config.qps)
        self.psched = GoldenPsched(self.config.qps, _BOUNDS)
        self.scores: dict[int, int] = {}  # by time
        self.flags: Counter[int] = Counter()
        self.unit.set_parameters(threshold=_THRESHOLD, budget=self.budget)
        self.counts, self.ended = [0] * len(ENGINE_COUNTS), deque[Any]()
        self.slots = [n % len(self.laws) for n in range(self.config.qps)]

    def acknowledge(self, qp: int, t: int, rtt: int) -> None:
        """An acknowledgement that is to come."""
        words = {"rtt": rtt, "bytes": 1000, "marked": self.rng.randrange(2)}
        words |= {"seq": t >> 10 & 0xFFFFFF, "next": (t >> 10) + 30 & 0xFFFFFF}
        self.feeds["ack"].append({"qp": qp, "t": t, **words})
        self.words[t] = (qp, event_words(Kind.ACK, now=t, mtu=_MTU, **words))

    def happen(self, qp: int, t: int) -> None:
        """Another event that is to come."""
        kind, value = self.rng.choice(list(_KINDS)), self.rng.randrange(101)
        level, command = self.rng.randrange(1 << SENDERS_BITS), self.rng.choice([0, *ScoreCommand])
        told = value | command << SCORE_BITS | level << SENDERS_AT
        self.feeds["event"].append({"kind": kind, "qp": qp, "t": t, "value": told})
        if kind == EventKind.SCORE:
            self.scores[t] = told
        score = {"score": value, "senders": level} if kind == EventKind.SCORE else {}
        self.words[t] = (qp, event_words(_KINDS[kind], now=t, mtu=_MTU, **score))

    def run(self, library: Path) -> None:
        """Let all of it happen."""
        self.left = len(self.words)
        benches = (self._set_up, self._watch, *((self._suspect,) if self.damage else ()))
        feeds = [self._feed(name) for name in self.feeds]
        self.simulation = Verilated(self.engine, library)
        most = (1 << 16) + _LONGEST * self.left
        self.simulation.run(*benches, *feeds, cycles=most)

    def _feed(self, name: str) -> Any:
        async def feed(ctx: SimulatorContext) -> None:
            port = getattr(self.engine, f"i_{name}")
            while not self.ready:
                await ctx.tick()
            for payload in self.feeds[name]:
                ctx.set(port.payload, payload)
                ctx.set(port.valid, 1)
                await ctx.tick().until(port.ready)
                ctx.set(port.valid, 0)
                if self.stall and self.rng.random() < 0.2:
                    await ctx.tick().repeat(self.rng.randrange(60))

        return feed

    async def _set_up(self, ctx: SimulatorContext) -> None:
        engine, self.ready = self.engine, False
        for port, value in ((engine.threshold, _THRESHOLD), (engine.budget, self.budget)):
            ctx.set(port, value)
        ctx.set(engine.mtu, _MTU)
        if isinstance(engine, Scheduled):
            ctx.set(engine.parameters, PSCHED_VALUES)
        for bank, name in enumerate(self.laws):
            made = compile_law(load(name))
            image = image_of(made.program, made.law.integers("default", 1000))
            await self._load(ctx, bank, image)
            self.unit.load(bank, image)
            assert self.unit.map_slot(bank, bank, enable=True)
            for at, bits in self.damage.get(bank, {}).items():
                await self._put(ctx, bank, at, guard_program(image)[at].tolist(), bits)
                self.unit.damage(bank, at)
        for qp, slot in enumerate(self.slots):
            config = {"enable": 1, "algorithm": 8 + slot, **_BOUNDS}
            config |= {"psched": self._asks(qp), "sla_priority": qp % 8}
            ctx.set(engine.command.payload, {"qp": qp, "apply": 1, "config": config})
            ctx.set(engine.command.valid, 1)
            await ctx.tick().until(engine.command.ready)
            ctx.set(engine.command.valid, 0)
            self.unit.configure(qp, slot, _BOUNDS)
        for qp in range(self.config.qps if self.base else 0):
            await self._sample(ctx, qp)
        self.ready = True

    async def _sample(self, ctx: SimulatorContext, qp: int) -> None:
        """A sample of this base RTT, which none of the programs hears."""
        engine, t = self.engine, qp + 1
        ctx.set(engine.i.payload, {"qp": qp, "base": self.base})
        ctx.set(engine.about, {"sample": 1, "t": t, "rtt": self.base})
        ctx.set(engine.model, {"set": qp + 1, "version": t})
        ctx.set(engine.i.valid, 1)
        await ctx.tick().until(engine.i.ready)
        ctx.set(engine.i.valid, 0)
        ctx.set(engine.model, {})
        ctx.set(engine.o.ready, 1)
        (model,) = await ctx.tick().sample(engine.o_model).until(engine.o.valid)
        assert (model.set, model.version) == (qp + 1, t)
        words = {"now": t, "rtt": self.base, "base": self.base, "mtu": _MTU}
        self.unit.event(qp, event_words(Kind.SAMPLE, **words))

    async def _load(self, ctx: SimulatorContext, bank: int, image: Any) -> None:
        engine = self.engine
        ctx.set(engine.begin_bank, bank)
        ctx.set(engine.begin_stb, 1)
        await ctx.tick()
        ctx.set(engine.begin_stb, 0)
        for word in image.tolist():
            ctx.set(engine.word_stb, 1)
            ctx.set(engine.word, word)
            await ctx.tick()
            if self.config.relaxed:  # its CRC takes a byte a cycle
                ctx.set(engine.word_stb, 0)
                await ctx.tick().repeat(3)
        ctx.set(engine.word_stb, 0)
        ctx.set(engine.commit_crc, zlib.crc32(image.astype("<u4").tobytes()))
        ctx.set(engine.commit_stb, 1)
        await ctx.tick()
        ctx.set(engine.commit_stb, 0)
        await ctx.tick().repeat(10)
        ctx.set(engine.map_slot, bank)
        ctx.set(engine.map_bank, bank)
        ctx.set(engine.map_enable, 1)
        ctx.set(engine.map_stb, 1)
        await ctx.tick()
        ctx.set(engine.map_stb, 0)

    async def _put(
        self, ctx: SimulatorContext, bank: int, at: int, pair: list[int], bits: tuple[int, ...]
    ) -> None:
        """Stored bits of a word are wrong, data bits before check bits."""
        low, high = pair
        stored = low & 0xFFFF_FFFF | (high & 0xFFFF) << 32 | (low >> 32 | high >> 32 << 4) << 48
        data = program_bits(at)
        for bit in bits:
            stored ^= 1 << (bit if bit < data else bit - data + 48)
        put = self.engine.ecc.put
        for core in range(self.config.law_cores):
            place = {"at": at, "bank": bank, "core": core}
            word = {"data": stored & (1 << 48) - 1, "check": stored >> 48}
            ctx.set(put, {"en": 1, "place": place, **word})
            await ctx.tick().until(self.engine.ecc.put_ready)
        ctx.set(put, {"en": 0})

    async def _suspect(self, ctx: SimulatorContext) -> None:
        """What cores say of damaged words."""
        suspect, stb = self.engine.ecc.suspect, self.engine.damaged_stb
        while not getattr(self, "ready", False):
            await ctx.tick()
        while self.left:
            *_, found, held = await ctx.tick().sample(suspect, stb)
            self.held += held
            if found.valid:
                self.suspects.add((found.place.bank, found.place.at, found.place.core))

    async def _watch(self, ctx: SimulatorContext) -> None:
        engine = self.engine
        while not getattr(self, "ready", False):
            await ctx.tick()
        began, takes = self.simulation.cycles, True
        told = engine.o.valid, engine.close_stb, engine.counts
        shown = *told, engine.o.payload, engine.of, engine.close, engine.ran
        while self.left:
            ctx.set(engine.o.ready, takes)
            seen = await ctx.tick().sample(*shown).until(*told)
            valid, closes, counts, decision, about, closed, ran = seen
            for n in range(len(self.counts)):
                self.counts[n] += counts >> n & 1
            if closes:
                self.ended.append((closed.qp, closed.live, closed.bank))
            if valid and takes:
                self._compare(decision, about.t, ran)
            takes = not self.stall or self.rng.random() >= self.stall
        self.cycles = self.simulation.cycles - began

    def _compare(self, decision: Any, t: int, ran: Any) -> None:
        qp, words = self.words.pop(t)
        of, live, bank = self.ended.popleft()
        assert of == qp == decision.qp
        rate, window = self._golden(qp, words, bool(live), bank)
        assert ran.stb
        assert {name: getattr(ran, name) for name in TOLD} == self.unit.told()
        flags = 0
        if self._asks(qp):
            if t in self.scores:
                self.psched.score(qp, self.scores[t], t)
            above = words[0] == Kind.ACK and words[2] > _THRESHOLD
            rate, window, flags = self.psched.moved(qp, t, rate, window, above=above)
        assert (decision.rate, decision.window) == (rate, window)
        assert decision.flags == 1 << Flag.EVENT | flags
        self.flags[flags] += 1
        self.decided += 1
        self.left -= 1

    def _asks(self, qp: int) -> int:
        return int(self.scheduled and qp % 4 != 3)

    def _golden(self, qp: int, words: Any, live: bool, bank: int) -> tuple[int, int]:
        """What the golden engine decides, with the program that the event began with."""
        slot = self.unit._slot(self.slots[qp])
        before = slot.copy()
        slot[:3] = bank if live else before[0], live, before[2]
        found = self.unit.event(qp, words)
        if not live or slot[1]:
            slot[:] = before  # no trap
        return found


def _traffic(bench: Bench, count: int, collide: bool) -> None:
    """Acknowledgements and, one in eight, other events; of few queue pairs, or in turns."""
    t, rng, qps = 1000, bench.rng, bench.config.qps
    for n in range(count):
        t += rng.randrange(1, 300)
        qp = rng.choice((0, 0, 1, rng.randrange(qps))) if collide else n % qps
        if collide and rng.random() < 0.125:
            bench.happen(qp, t)
        else:
            spread = rng.choice([60, 600, 3000, 60_000]) if collide else 600
            bench.acknowledge(qp, t, 4180 + rng.randrange(spread))


def _config(cores: int, qps: int = 16) -> NicConfig:
    """One core is what relaxed NICs have."""
    relaxed = cores == 1
    return NicConfig(
        qps=qps, sets=2, lanes=16, columns=1, steps=1, law_cores=cores, trace=True, relaxed=relaxed
    )


def _dut(config: NicConfig) -> LawEngine | Scheduled:
    """The engine; that of four cores always with PSCHED, since a library of each takes long."""
    return Scheduled(config) if config.law_cores == _SCHEDULED else LawEngine(config)


@cache  # a library's name is made from the Verilog, which takes seconds
def _library(config: NicConfig) -> Path:
    return event_library(_dut(config), label=f"law engine, {config.law_cores} cores")


@pytest.mark.parametrize(("cores", "stall"), [(1, 0.0), (1, 0.6), (4, 0.0), (4, 0.6)])
def test_events_of_queue_pairs_that_collide(
    cores: int, stall: float, seed: int, volume: int
) -> None:
    """Four laws, back-to-back events of one queue pair, back-pressure."""
    config = _config(cores)
    bench = Bench(
        config, ["lockstep", "timely", "swift", "dcqcn"], 1000, random.Random(seed), stall
    )
    _traffic(bench, 400 * volume, collide=True)
    bench.run(_library(config))
    assert bench.decided == 400 * volume
    assert dict(zip(ENGINE_COUNTS, bench.counts, strict=True)) == bench.unit.counts()
    assert bench.counts == [400 * volume, 0, 0, 0]


@pytest.mark.parametrize("stall", [0.0, 0.6])
def test_psched_behind_programs(stall: float, seed: int, volume: int) -> None:
    """Scores between back-to-back events of queue pairs that ask for it and of others."""
    config = _config(_SCHEDULED)
    laws = ["lockstep", "timely", "swift", "dcqcn", "lockstep_hints"]
    bench = Bench(config, laws, 1000, random.Random(seed), stall, scheduled=True)
    _traffic(bench, 400 * volume, collide=True)
    bench.run(_library(config))
    assert bench.decided == 400 * volume
    scored, both = 1 << Flag.SCORED, 1 << Flag.SCORED | 1 << Flag.CONGESTED
    assert min(bench.flags[flags] for flags in (0, scored, both)) > 10


@pytest.mark.parametrize("cores", [1, 4])
def test_traps_while_others_are_in_flight(cores: int, seed: int) -> None:
    """lockstep overruns a budget of 60 turns, timely does not; then the safe law decides."""
    config = _config(cores)
    bench = Bench(config, ["lockstep", "timely"], 60, random.Random(seed), 0.3)
    _traffic(bench, 400, collide=True)
    bench.run(_library(config))
    counts = dict(zip(ENGINE_COUNTS, bench.counts, strict=True))
    assert counts == bench.unit.counts()
    assert (counts["overrun"] > 0, counts["safe"] > 50, counts["events"] > 50) == (True,) * 3
    assert [bench.unit.slot(n)[1:] for n in range(2)] == [(False, True), (True, False)]


@pytest.mark.parametrize("cores", [1, 4])
def test_events_that_need_a_damaged_word_hold_their_rate(cores: int, seed: int) -> None:
    """Others go on; the slot stays, and the scrubber hears which words were damaged."""
    rng, config = random.Random(seed), _config(cores)
    laws = ["lockstep", "timely", "swift", "dcqcn"]
    bench = Bench(config, laws, 1000, rng, 0.3)
    for bank, law in enumerate(laws):
        code = len(compile_law(load(law)).program.code)
        words = {*rng.sample(range(code), 3), PROGRAM_SLOT + rng.randrange(20)}
        words |= {PROGRAM_ENTRIES + 2} if bank == 3 else set()
        bench.damage[bank] = {
            at: tuple(rng.sample(range(program_bits(at) + 8), rng.randrange(1, 3))) for at in words
        }
    _traffic(bench, 400, collide=True)
    bench.run(_library(config))
    assert dict(zip(ENGINE_COUNTS, bench.counts, strict=True)) == bench.unit.counts()
    assert bench.counts == [400, 0, 0, 0]
    assert bench.held == bench.unit.held() > 5
    assert bench.suspects
    for bank, at, core in bench.suspects:
        assert at in bench.damage[bank]
        assert core < cores
    assert len({core for *_, core in bench.suspects}) > (cores > 1)
    assert [bench.unit.slot(n)[1:] for n in range(4)] == [(True, False)] * 4


@pytest.mark.parametrize(
    ("law", "cores", "most"),
    [("lockstep", 1, 95), ("timely", 1, 31), ("lockstep", 8, 14), ("swift", 8, 10)],
)
def test_throughput(law: str, cores: int, most: int, seed: int, volume: int) -> None:
    """Cycles an event; timely hears no ACK.

    Each of eight cores has 64 queue pairs: an event waits for the one before of its queue pair.
    """
    if cores == 8 and volume == 1:
        pytest.skip("only with --volume: eight cores take half a minute to compile and to run")
    config = _config(1) if cores == 1 else _config(cores, 64 * cores)
    bench = Bench(config, [law], 1000, random.Random(seed), base=4180)
    _traffic(bench, 1000 * cores, collide=False)
    bench.run(_library(config))
    each = bench.cycles / bench.decided
    print(f"{law}, {cores} cores: {each:.1f} cycles an event, {_MHZ / each:.2f} M at {_MHZ} MHz")
    assert each <= most
