"""The law engine answers in time, whatever its core does.

`ProgramStage` is the gateware as it is, with two queue pairs; in the core's place is one that takes
an event when it likes, answers when it likes, or never, and says what it likes. It takes writes of
rows while it has no event, as `Retirer` does. The budget is small, so that time fits the solver.
"""

from typing import Any
from unittest.mock import patch

from amaranth.hdl import Assert, Assume, Module, Mux, Signal, Value
from amaranth.lib import wiring

from precog_spec.config import NicConfig
from precog_spec.engine.isa import ROW_WORDS, THREADS

from .engine import Mode, Proof
from .mutate import Mutant, reimported
from .peek import Opened, free

__all__ = ["MUTANTS", "PROOFS"]

_STAGE = "precog_hw.rate.engine.stage"
_CONFIG = NicConfig(qps=2, sets=2, lanes=16, columns=1, steps=1, law_cores=1)
_BUDGET = 1
_LIMIT = THREADS * _BUDGET + 64  # cycles that the core has
# States of the stage, in the order in which they are named.
_IDLE, _READ, _FETCH, _COMMAND, _WRITE, _SEND, _CLEAR, _WAIT, _LATE, _JUDGE = range(10)
_PASS, _OFFER = 10, 11


class TimeHarness(wiring.Component):
    """`ProgramStage` with free inputs and a free core."""

    def __init__(self) -> None:
        super().__init__({})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        made: list[Any] = []
        from precog_hw.rate.engine.core import Core

        class AnyCore(Core):
            """Whatever a core could say."""

            def __init__(self, qps: int) -> None:
                super().__init__(qps)
                made.append(self)

            def elaborate(self, platform: object) -> Module:
                m = Module()
                m.d.comb += [
                    self.i.ready.eq(free(1)),
                    self.i_row.ready.eq(1),
                    self.o.eq(free(len(Value.cast(self.o)))),
                    self.o_stb.eq(free(1)),
                ]
                return m

        with reimported(_STAGE) as module, patch.object(module, "Core", AnyCore):
            dut = module.ProgramStage(_CONFIG)
            inner = Opened(dut)
        m.submodules.dut = inner.fragment
        for _, member, port in dut.signature.flatten(dut):
            if member.flow is wiring.In:
                value = Value.cast(port)
                m.d.comb += value.eq(free(len(value)))
        m.d.comb += [Assume(dut.budget == _BUDGET), Assume(dut.o.ready)]
        state, timer, place = inner["programs_state"], inner["timer"], inner["place"]
        age = Signal(range(256))
        m.d.sync += age.eq(Mux((state == _IDLE) | (age == 255), 0, age + 1))
        before = {
            _READ: 0,
            _COMMAND: 1,
            _FETCH: 1,
            _CLEAR: 2 + place,
            _SEND: 2 + ROW_WORDS + timer,
            _WAIT: 2 + ROW_WORDS + timer,
            _LATE: 3 + ROW_WORDS + _LIMIT,
            _JUDGE: 4 + ROW_WORDS + _LIMIT,
            _WRITE: 5 + ROW_WORDS + _LIMIT,
            _PASS: 6 + ROW_WORDS + _LIMIT,
            _OFFER: 7 + ROW_WORDS + _LIMIT,
        }
        most = Signal(range(256))
        with m.Switch(state):
            for number, value in before.items():
                with m.Case(number):
                    m.d.comb += most.eq(value)
        m.d.comb += [
            Assert((state == _IDLE) | (state == _COMMAND) | (age <= most), "in time"),
            Assert(timer <= _LIMIT + 1),
            Assert(((state != _SEND) & (state != _WAIT)) | (timer <= _LIMIT)),
            Assert((state != _CLEAR) | (timer == 0)),
            Assert(state <= _OFFER),
        ]
        return m


PROOFS = (
    Proof(
        "law.time",
        TimeHarness,
        Mode.INDUCTION,
        2,
        "an event is answered within 6 x budget + 64 + 23 cycles, whatever the core does",
        quick=False,
    ),
)
MUTANTS = (
    Mutant(
        "law.time",
        _STAGE,
        "                with m.Elif(late):\n",
        "                with m.Elif(late & 0):\n",
        "the stage waits for ever for its core",
        step=True,
    ),
)
