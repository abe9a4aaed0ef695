"""The law engine answers in time, whatever its core does; events in flight keep apart.

`ProgramStage` is the gateware as it is, with two queue pairs; in the core's place is one that takes
an event when it likes, answers when it likes, or never, and says what it likes. It takes writes of
rows while it has no event, as `Retirer` does. The budget is small, so that time fits the solver.
"""

from typing import Any
from unittest.mock import patch

from amaranth.hdl import Array, Assert, Assume, Cover, Module, Mux, Signal, Value
from amaranth.lib import wiring

from precog_spec.config import NicConfig
from precog_spec.engine.isa import ROW_WORDS, THREADS

from .engine import Mode, Proof
from .mutate import Mutant, reimported
from .peek import Opened, free

__all__ = ["MUTANTS", "PROOFS"]

_STAGE = "precog_hw.rate.engine.stage"
_FLIGHT = "precog_hw.rate.engine.flight"
_CONFIG = NicConfig(qps=2, sets=2, lanes=16, columns=1, steps=1, law_cores=1)
_BUDGET = 1
_PLACES = THREADS + 1
_LIMIT = 2 * THREADS * _BUDGET + 512  # cycles that the core has
_COMMIT = 8  # cycles of a commit
# States of the stage, in the order in which they are named; those of commit; those of a place.
_IDLE, _READ, _COMMAND, _FETCH, _APPLY, _BOUND, _CLAMP, _BEGIN, _CLEAR, _SEND = range(10)
_SEEK, _JUDGE, _BOUNDS, _CLAMPS, _FINAL, _WRITE, _OFFER, _PASS = range(8)
_FREE, _RUNS, _ENDED = range(3)


class TimeHarness(wiring.Component):
    """`ProgramStage` with free inputs and a free core."""

    def __init__(self) -> None:
        super().__init__({})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        from precog_hw.rate.engine.core import Core

        class AnyCore(Core):
            """Whatever a core could say."""

            def elaborate(self, platform: object) -> Module:
                m = Module()
                m.d.comb += [
                    self.i.ready.eq(free(1)),
                    self.i_row.ready.eq(1),
                    self.o.eq(free(len(Value.cast(self.o)))),
                    self.o_stb.eq(free(1)),
                ]
                return m

        with reimported(_FLIGHT, _STAGE) as module, patch.object(module, "Core", AnyCore):
            dut = module.ProgramStage(_CONFIG)
            self._inner = inner = Opened(dut)
        m.submodules.dut = inner.fragment
        for _, member, port in dut.signature.flatten(dut):
            if member.flow is wiring.In:
                value = Value.cast(port)
                m.d.comb += value.eq(free(len(value)))
        m.d.comb += [Assume(dut.budget == _BUDGET), Assume(dut.o.ready)]
        self._places(m, dut)
        self._stage(m, dut)
        return m

    def _places(self, m: Module, dut: Any) -> None:
        """A place is free again in time, and no queue pair has two."""
        inner = self._inner
        names = range(_PLACES)
        states = [inner[f"flight.state{n}"] for n in names]
        ages = [inner[f"flight.age{n}"] for n in names]
        owners = [inner[f"flight.qp{n}"] for n in names]
        turn, commit = inner["flight.turn"], inner["commit.commit_state"]
        m.d.comb += [Assert(turn < _PLACES), Assert(commit <= _OFFER)]  # nothing waits: no PASS
        # Cycles that a commit has had: it seeks for one before its event shows, and for one after.
        done = Signal(4)
        m.d.comb += done.eq(Mux(commit == _SEEK, dut._flight.ended, commit + 1))
        known = Signal()  # the limit follows the budget a cycle later
        m.d.sync += known.eq(1)
        m.d.comb += [
            Assert(~known | (inner["flight.limit"] == _LIMIT - 1)),
            Assert(known | inner["flight.none"]),
        ]
        for n, state in enumerate(states):
            waited, ahead = Signal(range(256), name=f"waited{n}"), Signal(4, name=f"ahead{n}")
            m.d.sync += waited.eq(Mux(state == _ENDED, waited + 1, 0))
            m.d.comb += [
                ahead.eq(Mux(turn <= n, n - turn, n + _PLACES - turn)),
                Assert(state <= _ENDED),
                Assert((state != _RUNS) | (ages[n] <= _LIMIT), "the core's time has an end"),
                Assert(
                    (state != _ENDED)
                    | (waited + _COMMIT * (ahead + 1) <= _COMMIT * _PLACES + done + 1),
                    "a decision is offered in time",
                ),
            ]
            for other in range(n):
                both = (state != _FREE) & (states[other] != _FREE)
                m.d.comb += Assert(~both | (owners[n] != owners[other]), "one event a queue pair")
        m.d.comb += [
            Assert(((commit == _SEEK) & ~dut._flight.ended) | (Array(states)[turn] == _ENDED)),
            Cover((states[0] == _RUNS) & (states[1] == _ENDED)),
        ]

    def _stage(self, m: Module, dut: Any) -> None:
        """The stage itself waits for nothing but places and the core."""
        inner = self._inner
        state, place, number = inner["programs_state"], inner["place"], inner["number"]
        clash, age = inner["flight.clashes_now"], Signal(range(256))
        holds = (state == _BOUND) | (state == _CLAMP) | (state == _CLEAR) | (state == _BEGIN)
        moves = (state == _FETCH) | holds
        m.d.sync += age.eq(Mux(moves, age + 1, 0))
        most = {_FETCH: 0, _BOUND: 1, _CLAMP: 2, _CLEAR: 3 + place, _BEGIN: 3 + ROW_WORDS}
        m.d.comb += Assert(state <= _SEND)
        for name, value in most.items():
            m.d.comb += Assert((state != name) | (age <= value), "an event begins in time")
        runs = Array(inner[f"flight.state{n}"] for n in range(_PLACES))[number]
        was = Signal()
        m.d.sync += was.eq((state == _SEND) & (runs != _RUNS))
        m.d.comb += [
            Assert(~moves | (~clash & inner["flight.is_free"]), "its place stays free"),
            Assert((state == _CLEAR) | (place == 0)),
            Assert(~was | (state != _SEND), "a core that is reset is not waited for"),
            Assert((state != _SEND) | (number < _PLACES)),
            Assert(dut._flight.begins == (state == _BEGIN), "an event begins once"),
        ]
        for n in range(_PLACES):
            starts = dut._flight.begins & (dut._flight.id == n)
            m.d.comb += Assert(inner[f"flight.starts{n}"] == starts, "in its place alone")
        begun = dut._begun
        m.d.comb += Assert(
            ~(holds & begun.live) | dut.running.bit_select(begun.bank, 1),
            "a program that is about to run is in use",
        )


PROOFS = (
    Proof(
        "law.time",
        TimeHarness,
        Mode.INDUCTION,
        2,
        "an event that has begun is answered within 16 x budget + 512 + 74 cycles, whatever the "
        "core does; no queue pair has two",
        quick=False,
    ),
)
MUTANTS = (
    Mutant(
        "law.time",
        _FLIGHT,
        "late[n].eq(runs & (age >= limit))",
        "late[n].eq(0)",
        "the stage waits for ever for its core",
        step=True,
    ),
    Mutant(
        "law.time",
        _STAGE,
        "flight.has_free & ~flight.clash",
        "flight.has_free",
        "two events of a queue pair are in flight",
        step=True,
    ),
    Mutant(
        "law.time",
        _STAGE,
        "flight.banks | (at.holds << at.begun.bank)",
        "flight.banks",
        "a program may be replaced between its choice and its event's beginning",
        step=True,
    ),
)
