"""A fault for tests: cores whose LSTM engine stops on request and works again after a reset."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from amaranth.hdl import Module, Signal, Value

from precog_hw.predict import unit
from precog_hw.predict.engine import LstmEngine

__all__ = ["BEFORE", "sticking"]

BEFORE = 2
"""Requests that the engine answers before it sticks."""


@contextmanager
def sticking(stuck: Value) -> Iterator[None]:
    """Predictors constructed inside have an engine that sticks once while `stuck` is high.

    It answers `BEFORE` requests, accepts two more, and then does nothing until it is reset. While
    `stuck` is low, nothing of the engine's behaviour changes.
    """

    class Sticks(LstmEngine):
        def elaborate(self, platform: object) -> Module:
            m = super().elaborate(platform)
            answered, dead = Signal(range(BEFORE + 1)), Signal()
            once = Signal(init=1, reset_less=True)
            sequencer = m.submodules.sequencer
            m.d.comb += dead.eq(stuck & once & (answered == BEFORE))
            with m.If(stuck & self.o_rsp.valid & self.o_rsp.ready & ~dead):
                m.d.sync += answered.eq(answered + 1)
            with m.If(dead):
                m.d.comb += [self.o_rsp.valid.eq(0), sequencer.o_rsp.ready.eq(0)]
            was_dead = Signal(reset_less=True)
            m.d.sync += was_dead.eq(dead)
            with m.If(was_dead & ~dead):
                m.d.sync += once.eq(0)
            return m

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unit, "LstmEngine", Sticks)
        yield
