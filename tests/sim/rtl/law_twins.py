"""A NIC with a law engine twice, in RTL and in the emulator, told the same."""

import random
from dataclasses import replace
from pathlib import Path

import numpy as np

from precog_host.device import Device
from precog_host.driver.law import LawDriver
from precog_host.emulator.device import Emulator
from precog_models.laws.compiler.compile import compile_law
from precog_models.laws.compiler.load import load
from precog_sim.rtl.library import RtlNic
from precog_sim.rtl.transport import RtlTransport
from precog_spec.config import PRESETS, NicConfig
from precog_spec.law_fields import SCORE_BITS, EventKind, ScoreCommand

__all__ = ["CONFIG", "FOUR_CORES", "MICRO", "Twins"]

#: The library of ``sim:tiny,law_cores=1``, which other tests have, too.
CONFIG = replace(PRESETS["tiny"], law_cores=1)
#: With --volume: queue pairs that collide on four cores.
FOUR_CORES = replace(CONFIG, qps=16, law_cores=4)
#: Behind pid and predpid on a small processor.
MICRO = replace(CONFIG, micro=True, trace=True)
_EVENTS = (EventKind.CNP, EventKind.SWEEP, EventKind.LOSS, EventKind.SCORE)


class Twins:
    """The NIC in RTL and in the emulator, told the same."""

    def __init__(self, config: NicConfig = CONFIG) -> None:
        self.qps = config.qps
        self.nic, self.emulator = RtlNic(config), Emulator(config)
        self.devices = Device(RtlTransport(self.nic)), Device(self.emulator)
        self.decided = 0
        self.algorithms: dict[int, str] = {}
        self.pscheds: dict[int, bool] = {}

    def close(self) -> None:
        """Free the RTL."""
        self.nic.close()

    @property
    def engines(self) -> tuple[LawDriver, ...]:
        """Both law engines."""
        return tuple(device.law for device in self.devices if device.law is not None)

    def load(self, law: str | Path, slot: int) -> None:
        """A law, with its own parameters, into a slot of both."""
        made = compile_law(load(law))
        values = made.law.integers("default", 1000)
        loaded = [engine.load(made.program, values, slot=slot) for engine in self.engines]
        assert loaded[0] == loaded[1]

    def configure(
        self, qp: int, algorithm: str, *, psched: bool = False, use_model: bool = False
    ) -> None:
        """Let a queue pair run a law, moved by PSCHED or not."""
        self.algorithms[qp], self.pscheds[qp] = algorithm, psched
        for device in self.devices:
            device.qp(qp).configure(
                preset="precog",
                enable=True,
                algorithm=algorithm,
                psched=psched,
                use_model=use_model,
            )

    def same(self) -> None:
        """Engine, counters and queue pairs show the same."""
        rtl, golden = self.devices
        assert self.engines[0].state() == self.engines[1].state()
        assert rtl.counters() == golden.counters()
        for qp in range(self.qps):
            assert rtl.qp(qp).status() == golden.qp(qp).status()

    def sample(self, qp: int, rtt: int, t: int) -> None:
        want = self.emulator.decide(np.array([[qp, rtt, t]], dtype=np.int64))[0]
        got = self.nic.decide(qp=qp, rtt=rtt, t=t)
        assert list(got.values()) == want.tolist()
        self.decided += 1

    def event(self, kind: EventKind, qp: int, t: int, value: int) -> None:
        (want,) = self.emulator.happen(np.array([kind, qp, t, value], dtype=np.int64))
        got = self.nic.event(kind=kind, qp=qp, t=t, value=value)
        assert list(got.values()) == want.tolist()
        self.decided += 1

    def ack(self, *words: int) -> None:
        row = np.array(words, dtype=np.int64)
        (want,) = self.emulator.acknowledge(row)
        assert self.nic.acknowledge(row).tolist() == want.tolist()
        self.decided += 1

    def traffic(self, rng: random.Random, t: int, count: int) -> int:
        """Samples, acknowledgements and events of all queue pairs; the time after them."""
        for _ in range(count):
            t += rng.randrange(1, 3000)
            qp, kind = rng.randrange(self.qps), rng.random()
            rtt = 4180 + rng.randrange(rng.choice([60, 600, 3000, 60_000]))
            if kind < 0.2:
                self.sample(qp, rtt, t)
            elif kind < 0.85:
                psn = t >> 10 & 0xFFFFFF
                self.ack(qp, t, rtt, rng.choice([0, 1000, 9000]), rng.randrange(2), psn, psn + 30)
            else:
                command = rng.choice([0, 0, *ScoreCommand]) << SCORE_BITS
                self.event(rng.choice(_EVENTS), qp, t, rng.randrange(101) | command)
        return t
