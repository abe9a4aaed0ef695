"""Rows of queue pairs are written for the queue pair whose event is at work, and for no other.

Features, base RTT, target adjuster, PID law and skill monitor are the gateware as it is, one by
one; of memories only the ports are there, and what is read is free, as are all inputs in every
cycle: what is claimed rests on no stream rule and on no row's contents. Addresses alone are
followed, so that arithmetic does not matter. A part's owner is noted where it takes a sample. By
induction, hence for ever.

What tells the parts of the rate unit to forget a queue pair, and what configures one, is its
command alone, in the cycle in which it is taken.
"""

import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from amaranth.hdl import (
    Assert,
    Assume,
    Const,
    Cover,
    Module,
    Signal,
    Value,
)
from amaranth.lib import data, wiring

from precog_hw.rate.layouts import job_layout
from precog_hw.rate.skill import judged_layout
from precog_spec.config import NicConfig

from .engine import Mode, Proof
from .mutate import Mutant, reimported
from .past import Past
from .peek import Opened
from .ports import Memories, any_inputs

__all__ = ["MUTANTS", "PROOFS"]

QPS = 4
CONFIG = NicConfig(qps=QPS, sets=2, lanes=16, columns=1, steps=1)

_MEASURE = ("precog_hw.measure.base_rtt", "precog_hw.measure.feature")
_TARGET = ("precog_hw.rate.target_adjuster",)
_PID = ("precog_hw.rate.pid",)
_SKILL = ("precog_hw.rate.skill",)
_UNIT = "precog_hw.rate.unit"


@dataclass(frozen=True)
class Part:
    """A block with rows.

    Attributes
    ----------
    name : str
    modules : tuple of str
        Those with its memories, its own last.
    block : str
        Its class there.
    depth : int
        Cycles from reset to its last write.
    at_work : callable
        From the block and its inner signals: registers with the queue pair that it works for.
    unsettled : str
        When those mean nothing: ``""`` never, ``"idle"`` while it is idle, ``"rests"`` from its
        second idle cycle on.
    """

    name: str
    modules: tuple[str, ...]
    block: str
    depth: int
    at_work: Callable[[Any, Opened], Sequence[Value]]
    unsettled: str = ""

    def make(self) -> "PartOwners":
        """Its harness."""
        return PartOwners(self)


class PartOwners(wiring.Component):
    """A `Part` with free inputs."""

    def __init__(self, part: Part) -> None:
        super().__init__({})
        self._part = part

    def elaborate(self, platform: object) -> Module:
        m = Module()
        part, made = self._part, Memories()
        with ExitStack() as stack:
            module = stack.enter_context(reimported(*part.modules))
            for name in part.modules:
                known = sys.modules[name]
                for call, instead in (("Memory", made.memory), ("plain_memory", made.rows)):
                    if hasattr(known, call):
                        stack.enter_context(patch.object(known, call, instead))
            dut = getattr(module, part.block)(CONFIG)
            inner = Opened(dut)
        m.submodules.dut = inner.fragment
        any_inputs(m, dut)
        clears, cleared = _forgets(dut)
        rests = Signal()
        m.d.sync += rests.eq(dut.idle)
        unsettled = {"": Const(0), "idle": dut.idle, "rests": dut.idle & rests}[part.unsettled]
        owner = Signal(range(QPS))
        takes = dut.i.valid & dut.i.ready
        with m.If(takes):
            m.d.sync += owner.eq(_qp(dut.i.payload))
        m.d.comb += Assert(~takes | dut.idle, "taken while another one is at work")
        for qp in part.at_work(dut, inner):
            m.d.comb += Assert(unsettled | (qp == owner))
        for memory in made.memories:
            write = memory.write
            m.d.comb += [
                Assert(~write.en | clears | (write.addr == owner), "another's row is written"),
                Assert(~clears | ~write.en | (write.addr == cleared), "another is forgotten"),
                Cover(write.en & ~clears & (owner == QPS - 1)),
            ]
            if not isinstance(clears, Const):
                m.d.comb += Cover(write.en & clears & (owner != cleared))
        return m


def _qp(payload: Any) -> Value:
    """A sample's or an event's queue pair."""
    value: Value = payload.sample.qp if "sample" in payload.shape().members else payload.qp
    return value


def _forgets(dut: Any) -> tuple[Value, Value]:
    """Whether a block is told to forget a queue pair, and which."""
    if not hasattr(dut, "clear"):
        return Const(0), Const(0)
    if hasattr(dut, "clear_qp"):
        return dut.clear, dut.clear_qp
    return dut.clear.valid & dut.clear.ready, dut.clear.payload


class CommandOwners(wiring.Component):
    """`RateUnit`'s commands; samples, advice and the consumer are free."""

    def __init__(self) -> None:
        super().__init__({})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        made = Memories()
        parts: list[Any] = []

        def kept(make: Callable[[NicConfig], Any]) -> Callable[[NicConfig], Any]:
            def part(config: NicConfig) -> Any:
                parts.append(make(config))
                return parts[-1]

            return part

        with reimported(_UNIT) as module, ExitStack() as stack:
            stack.enter_context(patch.object(module, "Memory", made.memory))
            for name in ("TargetAdjuster", "Pid", "SkillMonitor"):
                stack.enter_context(patch.object(module, name, kept(getattr(module, name))))
            dut = module.RateUnit(CONFIG)
            inner = Opened(dut)
        m.submodules.dut = inner.fragment
        any_inputs(m, dut)
        past = Past(m)
        command, port = dut.command.payload, dut.command
        refused = past.known & past(port.valid & ~port.ready, "refused")
        taken = port.valid & port.ready
        (configs,) = made.memories
        m.d.comb += [
            Assume(~refused | port.valid),
            Assume(~refused | (command.as_value() == past(command.as_value(), "command"))),
            Assert(
                ~configs.write.en | (taken & command.apply & (configs.write.addr == command.qp))
            ),
            Cover(configs.write.en & (command.qp == QPS - 1)),
        ]
        for part in parts:
            m.d.comb += [
                Assert(~part.clear | (taken & command.clear & (part.clear_qp == command.qp))),
                Assert(~part.clear | part.idle, "forgotten while a sample is at work"),
                Cover(part.clear),
            ]
        # The adjuster offers nothing to the law while it is idle.
        adjuster, busy, step = parts[0], inner["adjuster.busy"], inner["adjuster.step"]
        m.d.comb += [
            Assert(~adjuster.idle | ~(busy | adjuster.o.valid)),
            Assert(~busy | ~adjuster.o.valid),
            Assert(busy == (step != 0)),
            Assert((step & (step - 1)) == 0),
        ]
        return m


def _named(layout: Callable[[NicConfig], data.Layout], name: str) -> Callable[..., Sequence[Value]]:
    """A part's register of this layout."""

    def at_work(_: Any, inner: Opened) -> Sequence[Value]:
        return [_qp(data.View(layout(CONFIG), inner[name]))]

    return at_work


_PARTS = (
    Part(
        "feature",
        _MEASURE,
        "Feature",
        8,
        # Of the tracker's copies of its inputs, the one as wide as a queue pair's number.
        lambda dut, inner: [
            dut.o.payload.qp,
            *(copy for copy in inner.every("base.$like") if len(copy) == CONFIG.qp_bits),
        ],
    ),
    Part("target", _TARGET, "TargetAdjuster", 21, lambda dut, _: [dut.o.payload.sample.qp]),
    Part("pid", _PID, "Pid", 21, _named(job_layout, "job"), "rests"),
    Part("skill", _SKILL, "SkillMonitor", 9, _named(judged_layout, "sample"), "idle"),
)
_CLAIM = "for ever: a row is written for the queue pair whose event is at work alone"
_COMMANDS = "for ever: queue pairs are configured and forgotten by commands, nothing being at work"
PROOFS = (
    *(Proof(f"owners.{p.name}", p.make, Mode.INDUCTION, p.depth, _CLAIM) for p in _PARTS),
    *(Proof(f"owners.{p.name}.cover", p.make, Mode.COVER, p.depth, "written") for p in _PARTS),
    Proof("owners.command", CommandOwners, Mode.INDUCTION, 4, _COMMANDS),
    Proof("owners.command.cover", CommandOwners, Mode.COVER, 4, "a command is taken"),
)
MUTANTS = (
    Mutant(
        "owners.feature",
        _MEASURE[0],
        "write.addr.eq(Mux(self.clear, self.qp, qp))",
        "write.addr.eq(self.qp)",
        "the base RTT of who comes next is overwritten",
        quick=True,
    ),
    Mutant(
        "owners.feature",
        _MEASURE[1],
        "i.ready.eq(self.idle & ~self.clear.valid)",
        "i.ready.eq(~self.clear.valid)",
        "a sample is taken over the one before",
    ),
    Mutant(
        "owners.target",
        _TARGET[0],
        "write.addr.eq(Mux(self.clear, self.clear_qp, sample.qp))",
        "write.addr.eq(Mux(self.clear, self.clear_qp, self.i.payload.qp))",
        "the offset goes to who comes next",
    ),
    Mutant(
        "owners.pid",
        _PID[0],
        "write.addr.eq(Mux(self.clear, self.clear_qp, at.job.sample.qp))",
        "write.addr.eq(Mux(self.clear, self.clear_qp, self.i.payload.sample.qp))",
        "the state goes to who comes next",
    ),
    Mutant(
        "owners.skill",
        _SKILL[0],
        "write.addr.eq(Mux(self.clear, self.clear_qp, sample.qp))",
        "write.addr.eq(Mux(self.clear, self.clear_qp, self.i.payload.qp))",
        "who comes next is judged by another's errors",
    ),
    Mutant(
        "owners.command",
        _UNIT,
        "apply.eq(soon & command.apply)",
        "apply.eq(soon)",
        "a command that only clears configures, too",
    ),
)
