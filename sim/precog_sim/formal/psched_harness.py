"""`Psched` with free inputs, and what it keeps of a queue pair.

`Psched` is the gateware as it is, with two queue pairs, its memories made of registers. In place of
the multiplier stands one that gives any product: what is claimed does not rest on arithmetic.
Decisions, scores, commands, parameters and the consumer are free within the rules of their streams.
What is proved of one queue pair holds whatever the other one does in between.
"""

from typing import Any
from unittest.mock import patch

from amaranth.hdl import (
    Assert,
    Assume,
    Cat,
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
from precog_spec.law_fields import DOUBT_MAX, PSCHED_PARAMETERS

from .mutate import reimported
from .past import Past
from .peek import Opened
from .psched_outputs import outputs
from .psched_steps import COMMAND, COMMANDED, FORGOTTEN, IDLE, LOAD, OFFER, Told, commanded, steps

__all__ = ["PSCHED", "PschedHarness"]

PSCHED = "precog_hw.rate.psched"
QPS = 2
CONFIG = NicConfig(qps=QPS, sets=2, lanes=16, columns=1, steps=1, law_cores=1)
BOUND = 20  # cycles from a decision's offer to its answer, commands left out


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
            reimported(PSCHED) as module,
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
        told = outputs(m, self, dut, ghost)
        self._in_flight(m, dut, inner, told, configs, states)
        watched = self._watched(states), self._watched(configs)
        asked = inner["commanded"] & (self.command.qp == self.who)
        commanded(m, inner, asked, self.command, ghost, watched, _read(configs, states))
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
            Assume(about.rated | ~self.decision.flags[Flag.HELD]),
            Assume(about.rated | ~about.above),
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
                m.d.sync += [ghost[name].eq(0) for name in FORGOTTEN]
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
            **{name: name for name in FORGOTTEN if name != "scored"},
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
        read = _read(configs, states)
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


def _read(configs: Rows, states: Rows) -> tuple[Value, Value]:
    """What the memories' ports read."""
    return Value.cast(states.read_port().data), Value.cast(configs.read_port().data)
