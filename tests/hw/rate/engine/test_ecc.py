# amaranth: UnusedElaboratable=no
"""Law engine and scrubber under traffic: words that flip meanwhile are found and corrected."""

from collections import Counter, deque
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.sim import SimulatorContext
from tests.hw.rate.engine.test_stage import Bench, _config, _traffic
from tests.hw.verilated import Verilated

from precog_hw.passing import pass_ports
from precog_hw.predict.ecc import Scrubber
from precog_hw.rate.engine.engine import LawEngine
from precog_models.laws.compiler.compile import compile_law
from precog_models.laws.compiler.load import load
from precog_sim.rtl.event_block import event_library
from precog_spec.config import NicConfig
from precog_spec.engine.events import Kind
from precog_spec.secded import PROGRAM_ENTRIES

pytestmark = [pytest.mark.cosim, pytest.mark.xdist_group("law_stage")]

_LAWS = ["lockstep", "timely", "swift", "dcqcn"]
_PORTS = (
    *("enable", "period", "inject_stb", "inject_flips", "inject_program", "inject_program_place"),
    *("inject_program_half", "events"),
)


class Guarded(wiring.Component):
    """`LawEngine` with the scrubber of its programs, whose ports begin with ``ecc_``."""

    command: stream.Interface

    def __init__(self, config: NicConfig) -> None:
        self._engine, self._scrubber = LawEngine(config), Scrubber(config)
        members = {n: one for n, one in self._engine.signature.members.items() if n != "ecc"}
        its = self._scrubber.signature.members
        members |= {f"ecc_{name}": its[name] for name in (*_PORTS, "busy")}
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.engine = engine = self._engine
        m.submodules.scrubber = scrubber = self._scrubber
        members = engine.signature.members
        streams = [name for name, one in members.items() if one.is_signature and name != "ecc"]
        apart = (*streams, "ecc")
        pass_ports(m, self, engine, [name for name in members if name not in apart])
        pass_ports(m, self, scrubber, (*_PORTS, "busy"), prefix="ecc_")
        for name in streams:
            wiring.connect(m, wiring.flipped(getattr(self, name)), getattr(engine, name))
        wiring.connect(m, scrubber.programs, engine.ecc)
        return m


class GuardedBench(Bench):
    """Injections while events run; an event that the engine holds, the golden one holds, too."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.engine = Guarded(self.config)
        self.helds, self.found = deque[bool](), Counter[str]()
        self.singles, self.doubles = 0, 0

    def run(self, library: Path) -> None:
        self.left = len(self.words)
        benches = (self._set_up, self._judged, self._watch, self._found, self._inject)
        feeds = [self._feed(name) for name in self.feeds]
        self.simulation = Verilated(self.engine, library)
        self.simulation.run(*benches, *feeds, cycles=(1 << 16) + 3600 * self.left)

    async def _judged(self, ctx: SimulatorContext) -> None:
        """Whether each event that ends is held: it is judged before it is closed."""
        engine, judged = self.engine, False
        while not getattr(self, "ready", False):
            await ctx.tick()
        while self.left:
            *_, held, closes = await ctx.tick().sample(engine.damaged_stb, engine.close_stb)
            judged |= bool(held)
            if closes:
                self.helds.append(judged)
                judged = False

    async def _found(self, ctx: SimulatorContext) -> None:
        while self.left or not self.doubles:
            *_, events = await ctx.tick().sample(self.engine.ecc_events)
            self.found.update(n for n in events.shape().members if getattr(events, n))

    async def _inject(self, ctx: SimulatorContext) -> None:
        """Single errors all the time, in the end a double one in the second bank."""
        engine, rng, whole = self.engine, self.rng, self.left
        codes = [len(compile_law(load(law)).program.code) for law in _LAWS]
        while not getattr(self, "ready", False):
            await ctx.tick()
        while not self.doubles:
            await ctx.tick().repeat(rng.randrange(20, 200))
            self.doubles = int(self.left < whole // 3)
            bank = 1 if self.doubles else rng.randrange(len(_LAWS))
            core = rng.randrange(self.config.law_cores)
            # The entry of acknowledgements is needed most, an instruction by some events.
            entry = rng.random() < 0.5
            at = PROGRAM_ENTRIES + Kind.ACK if entry else rng.randrange(codes[bank])
            place = {"at": at, "bank": bank, "core": core}
            stored = [*range(11 if entry else 32), *range(32, 36)]
            first, second = rng.sample(stored, 2)
            self.singles += not self.doubles
            ctx.set(engine.ecc_inject_program_place, place)
            flips = {"first": first, "second": second, "double": self.doubles}
            ctx.set(engine.ecc_inject_flips, flips)
            ctx.set(engine.ecc_inject_program, 1)
            ctx.set(engine.ecc_inject_stb, 1)
            await ctx.tick()
            ctx.set(engine.ecc_inject_stb, 0)
            for _ in range(400):
                *_, busy = await ctx.tick().sample(engine.ecc_busy)
                if not busy:
                    break
            else:
                raise TimeoutError("the scrubber stays busy")

    def _golden(self, qp: int, words: Any, live: bool, bank: int) -> tuple[int, int]:
        if not self.helds.popleft():
            return super()._golden(qp, words, live, bank)
        self.held += 1
        assert live
        program = self.unit._bank(bank)
        whole = program.copy()
        self.unit.damage(bank, PROGRAM_ENTRIES + int(words[0]))
        found = super()._golden(qp, words, live, bank)
        program[:] = whole
        return found


@cache
def _library(cores: int) -> Path:
    return event_library(Guarded(_config(cores)), label=f"law engine and scrubber, {cores} cores")


@pytest.mark.parametrize("cores", [1, 4])
def test_words_that_flip_under_traffic(cores: int, seed: int, volume: int) -> None:
    """Each decision is the golden one or holds; a double error lets the safe law decide."""
    if cores > 1 and volume == 1:
        pytest.skip("only with --volume: another library")
    bench = GuardedBench(_config(cores), _LAWS, 1000, Random(seed), 0.1)
    _traffic(bench, 300 * volume, collide=True)
    bench.run(_library(cores))
    assert bench.decided == 300 * volume
    assert bench.held == bench.unit.held() > 0
    assert bench.singles > 20
    assert bench.found["injected"] == bench.singles + 1
    assert bench.found["corrected"] == bench.singles
    assert bench.found["uncorrectable"] == 1
    assert bench.found["refused"] == 0
    assert bench.unit.counts()["safe"] > 20
    print(f"{bench.singles} single errors, {bench.held} events held")
