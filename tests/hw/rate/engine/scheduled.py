"""A law engine with PSCHED behind it, as in the core, and the golden PSCHED of its queue pairs."""

from typing import Any

import numpy as np
from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In

from precog_hw.csr.layouts import PARAMETERS
from precog_hw.passing import pass_ports
from precog_hw.rate.engine.engine import LawEngine
from precog_hw.rate.psched import Psched
from precog_models.psched_presets import PSCHED_PRESETS
from precog_models.rate.psched import PSCHED_STATE, psched_output, psched_reset, psched_score
from precog_spec.config import NicConfig
from precog_spec.law_fields import PSCHED_PARAMETERS

__all__ = ["PSCHED_VALUES", "GoldenPsched", "Scheduled"]

_PRESET = PSCHED_PRESETS["precog"].parameters(1000) | {"skill": 0}
#: Parameters of PSCHED, by name.
PSCHED_VALUES = {name: _PRESET[name.removeprefix("psched_")] for name, _ in PSCHED_PARAMETERS}


class Scheduled(wiring.Component):
    """`LawEngine` with `Psched` at its output; a command goes to one after the other."""

    i: stream.Interface
    o: stream.Interface
    command: stream.Interface

    def __init__(self, config: NicConfig) -> None:
        self._engine, self._psched = LawEngine(config), Psched(config)
        super().__init__(dict(self._engine.signature.members) | {"parameters": In(PARAMETERS)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.engine = engine = self._engine
        m.submodules.psched = psched = self._psched
        given, command = Signal(), self.command
        apart = ("o", "command", "halt")
        names = [name for name in engine.signature.members if name not in apart]
        streams = [name for name in names if engine.signature.members[name].is_signature]
        pass_ports(m, self, engine, [name for name in names if name not in streams])
        for name in streams:
            port, inner = wiring.flipped(getattr(self, name)), getattr(engine, name)
            ends = (port, inner) if name.startswith("i") else (inner, port)
            wiring.connect(m, *ends)
        wiring.connect(m, engine.o, psched.i)
        wiring.connect(m, psched.o, wiring.flipped(self.o))
        m.d.comb += [
            engine.halt.eq(given | self.halt),
            engine.command.payload.eq(command.payload),
            engine.command.valid.eq(command.valid & ~given),
            psched.command.payload.eq(command.payload),
            psched.command.valid.eq(command.valid & given),
            command.ready.eq(psched.command.ready & given),
            psched.about.eq(engine.of),
            psched.hold.eq(self.hold),
            psched.parameters.eq(self.parameters),
        ]
        with m.If(engine.command.valid & engine.command.ready):
            m.d.sync += given.eq(1)
        with m.Elif(command.ready):
            m.d.sync += given.eq(0)
        return m


class GoldenPsched:
    """PSCHED of queue pairs whose laws are programs.

    Parameters
    ----------
    qps : int
    bounds : dict of str to int
        Their rates, by name.
    """

    def __init__(self, qps: int, bounds: dict[str, int]) -> None:
        self._states = np.zeros((qps, len(PSCHED_STATE)), dtype=np.int64)
        self._values = np.array(list(PSCHED_VALUES.values()), dtype=np.int64)
        self._bounds = [bounds[name] for name in ("min_rate", "max_rate")]
        for state in self._states:
            psched_reset(state, bounds["init_rate"])

    def score(self, qp: int, value: int, t: int) -> None:
        """A score comes."""
        psched_score(self._states[qp], value, t)

    def moved(self, qp: int, t: int, rate: int, window: int, *, above: bool) -> tuple[Any, ...]:
        """Rate, window and flags of an event's decision."""
        config = np.array([qp % 8, 0, *self._bounds], dtype=np.int64)
        state, values = self._states[qp], self._values
        return psched_output(state, config, values, t, rate, -1, 0, window, False, above)
