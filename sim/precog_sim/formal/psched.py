"""The predictive scheduler: bounds come last, what scores take is bounded, none rises above them.

`Psched` is the gateware as it is, with two queue pairs, its memories made of registers. In place of
the multiplier stands one that gives any product: what is claimed does not rest on arithmetic.
Decisions, scores, commands, parameters and the consumer are free within the rules of their streams.
What is proved of one queue pair holds whatever the other one does in between.
"""

from functools import partial
from typing import Any
from unittest.mock import patch

from amaranth.hdl import (
    Assert,
    Assume,
    Cat,
    Cover,
    Elaboratable,
    Module,
    Mux,
    ShapeLike,
    Signal,
    Value,
    signed,
)
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from precog_spec.config import NicConfig
from precog_spec.contract import Flag
from precog_spec.law_fields import DOUBT_MAX, NO_SCORE, PSCHED_PARAMETERS, SCORE_MAX, ScoreCommand

from .engine import Mode, Proof
from .mutate import Mutant, reimported
from .past import Past
from .peek import Opened
from .psched_steps import COMMAND, COMMANDED, IDLE, LOAD, OFFER, Told, steps

__all__ = ["MUTANTS", "PROOFS"]

_PSCHED = "precog_hw.rate.psched"
QPS = 2
CONFIG = NicConfig(qps=QPS, sets=2, lanes=16, columns=1, steps=1)
DEPTH = 26  # a command and a decision from reset
BOUND = 20  # cycles from a decision's offer to its answer, commands left out
#: Fields of a queue pair that its reset clears, and so does turning its scheduler off.
_FORGOTTEN = ("scored", "score", "score_t", "heard", "least", "most", "doubt", "cut")


class _Port:
    def __init__(self, shape: ShapeLike) -> None:
        self.en, self.addr, self.data = Signal(), Signal(range(QPS)), Signal(shape)


class Rows(Elaboratable):
    """`plain_memory` with its rows in sight; one write and one read port."""

    def __init__(self, shape: ShapeLike, depth: int) -> None:
        self.rows = [Signal(shape, name=f"row{n}") for n in range(depth)]
        self._write, self._read = _Port(shape), _Port(shape)

    def write_port(self) -> _Port:
        return self._write

    def read_port(self) -> _Port:
        return self._read

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for n, row in enumerate(self.rows):
            with m.If(self._write.en & (self._write.addr == n)):
                m.d.sync += row.eq(self._write.data)
            with m.If(self._read.addr == n):
                m.d.sync += self._read.data.eq(row)
        return m


class AnyProduct(wiring.Component):
    """`Multiplier` that says what it likes."""

    def __init__(self, a_bits: int, b_bits: int) -> None:
        super().__init__(
            {
                "a": In(signed(a_bits)),
                "b": In(signed(b_bits)),
                "p": Out(signed(a_bits + b_bits)),
                "any": In(signed(a_bits + b_bits)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.p.eq(self.any)
        return m


class PschedHarness(wiring.Component):
    """`Psched` with free inputs; queue pair `who` is watched.

    Parameters
    ----------
    near : bool
        One command for it, then decisions, and a consumer that takes: what mistakes show in.
    """

    def __init__(self, *, near: bool = False) -> None:
        from precog_hw.csr.layouts import DECISION
        from precog_hw.csr.qp import config_layout
        from precog_hw.rate.law_layouts import ABOUT

        super().__init__(
            {
                "who": In(1),
                "decision": In(DECISION),
                "about": In(ABOUT),
                "decides": In(1),
                "command": In(config_layout(CONFIG)),
                "commands": In(1),
                "hold": In(1),
                "ready": In(1),
                "product": In(signed(36)),
                "taken": In(32),
                "floor": In(32),
            }
            | {name: In(bits) for name, bits in PSCHED_PARAMETERS}
        )
        self._near = near

    def elaborate(self, platform: object) -> Module:
        m = Module()
        memories: list[Rows] = []
        products: list[AnyProduct] = []

        def rows(shape: ShapeLike, depth: int) -> Rows:
            memories.append(Rows(shape, depth))
            return memories[-1]

        def any_product(a_bits: int, b_bits: int, *, dsp: str) -> AnyProduct:
            products.append(AnyProduct(a_bits, b_bits))
            return products[-1]

        with (
            reimported(_PSCHED) as module,
            patch.object(module, "plain_memory", rows),
            patch.object(module, "Multiplier", any_product),
        ):
            dut = module.Psched(CONFIG)
            self._row = module.ROW
            inner = Opened(dut)
        m.submodules.dut = inner.fragment
        configs, states = memories
        past = Past(m)
        m.d.comb += [
            products[0].any.eq(self.product),
            dut.o.ready.eq(self.ready),
            dut.hold.eq(self.hold),
            *(dut.parameters[name].eq(getattr(self, name)) for name, _ in PSCHED_PARAMETERS),
            Assume(~past.known | (self.who == past(self.who, "who"))),
        ]
        for name, _ in PSCHED_PARAMETERS:
            value = getattr(self, name)
            m.d.comb += Assume(~past.known | (value == past(value, name)))
        ghost = self._inputs(m, dut, past)
        self._rows(m, ghost, configs, states)
        if self._near:
            over = Signal(name="command_is_over")
            with m.If(dut.command.ready):
                m.d.sync += over.eq(1)
            m.d.comb += [
                Assume(self.commands == ~over),
                Assume(self.decides == over),
                Assume(self.ready),
                Assume(self.command.apply & self.command.config.psched),
                *(Assume(q.qp == self.who) for q in (self.command, self.decision)),
            ]
        told = self._outputs(m, dut, ghost)
        self._in_flight(m, dut, inner, told, configs, states)
        self._commanded(m, inner, ghost, configs, states)
        return m

    def _inputs(self, m: Module, dut: Any, past: Past) -> dict[str, Any]:
        """Free, and what is offered stays; what the watched queue pair has been told."""
        streams = {
            "decision": (dut.i, Cat(self.decision, self.about), self.decides),
            "command": (dut.command, Value.cast(self.command), self.commands),
        }
        for name, (port, payload, valid) in streams.items():
            refused = past.known & past(valid & ~port.ready, f"{name}_refused")
            m.d.comb += [
                port.valid.eq(valid),
                Assume(~refused | valid),
                Assume(~refused | (payload == past(payload, name))),
            ]
        command, config, about = self.command, self.command.config, self.about
        asks = Signal(QPS)
        mine = command.qp == self.who
        done = self.commands & dut.command.ready
        m.d.comb += [
            dut.i.payload.eq(self.decision),
            dut.about.eq(about),
            dut.command.payload.eq(command),
            Assume(~(about.sample & about.score_stb)),
            Assume(~about.sample | about.rated),
            Assume(self.decision.qp < QPS),
            Assume(~self.decision.flags[Flag.SCORED] & ~self.decision.flags[Flag.CONGESTED]),
            Assume(about.sample | ~self.decision.flags[Flag.HELD]),
            Assume(config.min_rate <= config.max_rate),
            Assume(~self.decides | (about.psched == asks.bit_select(self.decision.qp[0], 1))),
        ]
        with m.If(done & command.apply):
            m.d.sync += asks.bit_select(command.qp, 1).eq(config.psched)
        ghost = {
            "config": Signal.like(config, name="told_config"),
            "base": Signal(32, name="last_base"),
            "based": Signal(name="has_base"),
            "last": Signal(32, name="last_output"),
            "has_last": Signal(name="has_last"),
            "score": Signal(7, name="last_score"),
            "scored": Signal(name="has_score"),
            "score_t": Signal(40, name="last_score_t"),
            "heard": Signal(name="heard_since_a_sample"),
            "least": Signal(7, name="least_heard"),
            "most": Signal(7, name="most_heard"),
            "doubt": Signal(range(DOUBT_MAX + 1), name="refuted_in_a_row"),
            "cut": Signal(name="has_cut"),
        }
        with m.If(done & mine):
            with m.If(command.apply):
                m.d.sync += ghost["config"].eq(config)
            m.d.sync += ghost["has_last"].eq(0)
            with m.If(command.clear | ~config.psched):
                m.d.sync += [ghost[name].eq(0) for name in _FORGOTTEN]
            with m.If(command.clear):
                m.d.sync += ghost["based"].eq(0)
            with m.If(command.clear | ~ghost["based"]):
                init = Mux(command.apply, config.init_rate, ghost["config"].init_rate)
                m.d.sync += ghost["base"].eq(init)
        return ghost

    def _rows(self, m: Module, ghost: dict[str, Any], configs: Rows, states: Rows) -> None:
        """What is kept of the watched queue pair is what it has been told, nothing else's."""
        config, kept = self._watched(configs), self._watched(states)
        told = ghost["config"]
        for name in config.shape().members:
            m.d.comb += Assert(config[name] == told[name], f"configured {name}")
        pairs = {
            "base": "base",
            "based": "based",
            "has_output": "has_last",
            **{name: name for name in _FORGOTTEN if name != "scored"},
        }
        for name, of in pairs.items():
            m.d.comb += Assert(kept[name] == ghost[of], f"kept {name}")
        m.d.comb += [
            Assert(~ghost["has_last"] | (kept["output"] == ghost["last"])),
            Assert(~kept["scored"] | ghost["scored"], "a score that was told"),
            Assert(~ghost["heard"] | (ghost["least"] <= ghost["most"])),
            Assert(told.min_rate <= told.max_rate),
            Assert(
                ~ghost["has_last"]
                | ((ghost["last"] >= told.min_rate) & (ghost["last"] <= told.max_rate))
            ),
        ]

    def _outputs(self, m: Module, dut: Any, ghost: dict[str, Any]) -> Told:
        about, decision, out = self.about, self.decision, dut.o.payload
        moved = ("rate", "window", "flags")
        others = Cat(out[n] == decision[n] for n in out.shape().members if n not in moved)
        m.d.comb += [
            Assert(~dut.o.valid | self.decides, "no decision out of nothing"),
            Assert((dut.i.valid & dut.i.ready) == (dut.o.valid & dut.o.ready), "one for each"),
            Assert(~dut.o.valid | others.all(), "with its own fields"),
            Assert(~(dut.o.valid & self.commands & dut.command.ready), "none in a command's cycle"),
            Assert(
                ~dut.o.valid | about.psched | (Value.cast(out) == Value.cast(decision)),
                "who does not ask is left alone",
            ),
        ]
        mine = dut.o.valid & about.psched & (decision.qp == self.who)
        flags, rate, config = out.flags, out.rate, ghost["config"]
        low, high = config.min_rate, config.max_rate
        base = Mux(about.rated, decision.rate, ghost["base"])
        bounded = Mux(base > high, high, Mux(base < low, low, base))
        told = about.score_stb
        score = Mux(told, Mux(about.score > SCORE_MAX, SCORE_MAX, about.score), ghost["score"])
        scored = Mux(told, about.score != NO_SCORE, ghost["scored"])
        age, heard, first = Signal(40), told & (about.score != NO_SCORE), ~ghost["heard"]
        m.d.comb += age.eq(Mux(told & first, 0, about.t - ghost["score_t"]))
        sample, congestion = about.sample, Signal()
        delay = (about.rtt - decision.base)[: len(about.rtt)]
        m.d.comb += congestion.eq(delay >= self.psched_delay)
        doubt = Signal.like(ghost["doubt"], name="doubt")
        m.d.comb += doubt.eq(ghost["doubt"])
        with m.If(sample & congestion):
            m.d.comb += doubt.eq(0)
        with m.Elif(sample & ghost["cut"] & (ghost["doubt"] != DOUBT_MAX)):
            m.d.comb += doubt.eq(ghost["doubt"] + 1)
        # What scores must leave of the law's rate, before the bounds of the SLA. An input that is
        # told what it is, so that the solver shifts once, not in each state.
        floor = self.floor
        m.d.comb += [
            Assume(self.taken == base >> (self.psched_cut + doubt)),
            Assume(floor == base - self.taken),
        ]
        left = Mux(floor > high, high, Mux(floor < low, low, floor))
        since = {
            "heard": ~sample & (ghost["heard"] | heard),
            "least": Mux(heard & (first | (score < ghost["least"])), score, ghost["least"]),
            "most": Mux(heard & (first | (score > ghost["most"])), score, ghost["most"]),
            "doubt": doubt,
            "cut": flags[Flag.CONGESTED] | (~sample & ghost["cut"]),
        }
        fresh = (self.psched_score_ticks == 0) | age[-1] | (age <= self.psched_score_ticks)
        held = flags[Flag.HELD]
        # Once it has been seen to be too old, a score stays so: an earlier time does not undo it.
        reduces = told & (about.command == ScoreCommand.REDUCE)
        above = (reduces | (score > self.psched_threshold)) & fresh & ~held
        rises = ghost["has_last"] & (rate > ghost["last"])
        m.d.comb += [
            Assert(~mine | ((rate >= low) & (rate <= high)), "within [min, max]"),
            Assert(
                ~mine | ~told | ~scored | ~above | self.psched_skill | flags[Flag.CONGESTED],
                "a high score acts, where skill is not asked for",
            ),
            Assert(
                ~mine | ~flags[Flag.CONGESTED] | ~rises | (rate == left),
                "above the threshold nothing rises, but to what scores must leave",
            ),
            Assert(
                ~mine | ~flags[Flag.CONGESTED] | (rate >= left),
                "scores take no more than their share, less when samples refute them",
            ),
            Assert(~mine | flags[Flag.SCORED] | (rate == bounded), "without a score the base law"),
            Assert(~mine | ~flags[Flag.SCORED] | (scored & fresh & ~held), "a score that holds"),
            Assert(~mine | ~about.sample | (held == decision.flags[Flag.HELD])),
            Cover(mine & flags[Flag.CONGESTED] & ghost["has_last"] & self.ready),
            Cover(mine & flags[Flag.SCORED] & (rate > base)),
        ]
        with m.If(mine & self.ready):
            m.d.sync += [ghost["last"].eq(rate), ghost["has_last"].eq(1)]
            m.d.sync += [ghost["score"].eq(score), ghost["scored"].eq(scored)]
            m.d.sync += [ghost[name].eq(value) for name, value in since.items()]
            with m.If(sample):
                m.d.sync += [ghost[name].eq(0) for name in ("least", "most")]
            with m.If(told & first):
                m.d.sync += ghost["score_t"].eq(about.t)
            with m.If(about.rated):
                m.d.sync += [ghost["base"].eq(decision.rate), ghost["based"].eq(1)]
        with m.If(dut.o.valid & self.ready & ~about.psched & (decision.qp == self.who)):
            m.d.sync += [ghost["base"].eq(decision.rate), ghost["based"].eq(1)]
            m.d.sync += [ghost[name].eq(0) for name in ("has_last", *_FORGOTTEN)]
        return Told(
            base=base,
            based=ghost["based"] | about.rated,
            score=score,
            scored=scored,
            score_t=Mux(told & first, about.t, ghost["score_t"]),
            age=age,
            fresh=fresh,
            new_score=told,
            reduces=reduces,
            held=decision.flags[Flag.HELD],
            sample=about.sample,
            heard=heard,
            congestion=congestion,
            delay=self.psched_delay,
            since=since,
            cut=self.psched_cut,
            taken=self.taken,
            floor=floor,
            threshold=self.psched_threshold,
            skill=self.psched_skill,
        )

    def _watched(self, rows: Rows) -> data.View:
        """The watched queue pair's row."""
        chosen = Mux(self.who, *(Value.cast(row) for row in rows.rows[::-1]))
        return data.View(rows.rows[0].shape(), chosen)

    def _in_flight(
        self, m: Module, dut: Any, inner: Opened, told: Told, configs: Rows, states: Rows
    ) -> None:
        """What holds of a decision in each state, and how long the way to an answer is."""
        state, commanded = inner["psched_state"], inner["commanded"]
        busy = state != IDLE
        read = (Value.cast(states.read_port().data), Value.cast(configs.read_port().data))
        flies = busy & ~commanded & (self.decision.qp == self.who)
        steps(m, inner, flies, told, self._watched(states), self._watched(configs), read)
        of_command = (state == COMMAND) | (state == COMMANDED)
        waits = Signal(range(BOUND + 2))
        with m.If(dut.i.valid & ~dut.o.valid & ~self.commands):
            m.d.sync += waits.eq(waits + 1)
        with m.Else():
            m.d.sync += waits.eq(0)
        passed = Mux(state > COMMANDED, state - 2, Mux(of_command, 0, state))
        m.d.comb += [
            Assert(state <= OFFER),
            Assert(inner["offers"] == (state == OFFER)),
            Assert(~busy | commanded | (self.decides & self.about.psched)),
            Assert(~busy | ~commanded | self.commands),
            Assert(~of_command | commanded),
            Assert(~(busy & commanded) | of_command | (state == LOAD)),
            Assert(waits <= BOUND, "an answer in time"),
            Assert(waits <= passed),
        ]

    def _commanded(
        self, m: Module, inner: Opened, ghost: dict[str, Any], configs: Rows, states: Rows
    ) -> None:
        """What holds of a command for the watched queue pair in each state."""
        state, command = inner["psched_state"], self.command
        asked = inner["commanded"] & (command.qp == self.who)
        row = self._watched(states)
        old, new = (data.View(row.shape(), inner[name]) for name in ("old", "new"))
        read = Value.cast(states.read_port().data), Value.cast(configs.read_port().data)
        held = Value.cast(old), inner["config"]
        rows = Value.cast(row), Value.cast(self._watched(configs))
        keeps = ~command.clear & command.config.psched
        based = ~command.clear & ghost["based"]
        init = Mux(command.apply, command.config.init_rate, ghost["config"].init_rate)
        made = (
            ~new.has_output
            & Cat(new[name] == Mux(keeps, ghost[name], 0) for name in _FORGOTTEN[1:]).all()
            & (~new.scored | (keeps & ghost["scored"]))
            & (new.based == based)
            & (new.base == Mux(based, ghost["base"], init))
        )
        for at, pair in ((LOAD, read), (COMMAND, held)):
            for got, expected in zip(pair, rows, strict=True):
                m.d.comb += Assert(~(asked & (state == at)) | (got == expected))
        m.d.comb += Assert(~(asked & (state == COMMANDED)) | made)


PROOFS = (
    Proof(
        "psched.rate",
        PschedHarness,
        Mode.INDUCTION,
        1,
        "for ever, any law, products, scores: [min, max]; above the threshold no rise but to the "
        "share of the law's rate that scores must leave, and never less; every score is among "
        "those to be judged; without one the base law alone, within 20 cycles; no queue pair moves "
        "another's",
        quick=False,
    ),
    Proof(
        "psched.near",
        partial(PschedHarness, near=True),
        Mode.BOUNDED,
        DEPTH,
        "the same of one command and the decision after it, from reset",
        quick=False,
    ),
    Proof(
        "psched.cover",
        partial(PschedHarness, near=True),
        Mode.COVER,
        2 * DEPTH,
        "a score raises a rate, and one cuts it that has been told before",
        quick=False,
    ),
)
MUTANTS = (
    Mutant(
        "psched.near",
        _PSCHED,
        "new.output.eq(clamped(wanted, config))",
        "new.output.eq(wanted)",
        "the bounds do not come last",
    ),
    Mutant(
        "psched.near",
        _PSCHED,
        "moves.eq(scored & ~held)",
        "moves.eq(scored)",
        "a score moves the rate while advice is held",
    ),
    Mutant(
        "psched.near",
        _PSCHED,
        "(new.judged >= JUDGED_MIN)",
        "(new.judged <= JUDGED_MIN)",
        "a score is followed that nobody has judged",
    ),
    Mutant(
        "psched.near",
        _PSCHED,
        "with m.Elif(above > 0):",
        "with m.Elif(above > 5):",
        "a score just above the threshold does not act",
    ),
    Mutant(
        "psched.rate",
        _PSCHED,
        "Mux(falls_back, sunk, wanted < floor)",
        "wanted < floor",
        "the last output binds below what scores must leave: a ratchet",
        step=True,
    ),
    Mutant(
        "psched.near",
        _PSCHED,
        "halvings.eq(par.psched_cut + new.doubt)",
        "halvings.eq(new.doubt)",
        "scores take more than their share",
    ),
    Mutant(
        "psched.rate",
        _PSCHED,
        "new.doubt.eq(old.doubt + 1)",
        "new.doubt.eq(old.doubt)",
        "what samples refute goes on as it was",
        step=True,
    ),
    Mutant(
        "psched.rate",
        _PSCHED,
        "with m.If(~old.heard | (new.score > old.most)):",
        "with m.If(~old.heard):",
        "only the first score between two samples is judged",
        step=True,
    ),
    Mutant(
        "psched.rate",
        _PSCHED,
        "Mux(old.heard, old.most, holds)",
        "holds",
        "a forged score is not judged if a right one holds when the sample comes",
        step=True,
    ),
    Mutant(
        "psched.rate",
        _PSCHED,
        "Mux(about.score_stb & ~old.heard, 0, about.t - old.score_t)",
        "Mux(about.score_stb, 0, about.t - old.score_t)",
        "without samples each new score renews the others' life",
        step=True,
    ),
    Mutant(
        "psched.near",
        _PSCHED,
        "new.command == ScoreCommand.REDUCE",
        "new.command == ScoreCommand.HOLD",
        "a command to reduce is not followed",
    ),
    *(
        Mutant("psched.rate", _PSCHED, *mistake, step=True)
        for mistake in (
            (
                "moves.eq(scored & ~held)",
                "moves.eq(scored)",
                "a score moves the rate while advice is held",
            ),
            (
                "with m.Elif(falls_back):",
                "with m.Elif(0):",
                "a rate rises while its score is above the threshold",
            ),
        )
    ),
)
