"""PSCHED moves a program's rate as it moved that of the same law as logic: equal decisions."""

from dataclasses import dataclass

import numpy as np
import pytest
from tests.models.laws.law_bench import compiled

from precog_models.law_presets import DCQCN_PRESETS, PSCHED_PRESETS, TIMELY_PRESETS
from precog_models.nic import Decision, GoldenNic
from precog_models.rate.engine.image import image_of
from precog_spec.contract import PROGRAM_ALGORITHM, Algorithm, Flag
from precog_spec.law_fields import (
    LEVEL_ALONE,
    NO_SCORE,
    SCORE_BITS,
    SENDERS_AT,
    EventKind,
    ScoreCommand,
)

_QPS, _EVENTS = 3, 1500
_NO_THRESHOLD = (1 << 24) - 1
_ALIKE = (EventKind.CNP, EventKind.LOSS, EventKind.SWEEP)


@dataclass
class Both:
    """A NIC with the law as logic and one with its program, told the same.

    Parameters
    ----------
    law, preset : str
    rng : numpy.random.Generator
    """

    law: str
    preset: str
    rng: np.random.Generator

    def __post_init__(self) -> None:
        presets = {"timely": TIMELY_PRESETS, "dcqcn": DCQCN_PRESETS}[self.law]
        shared = {"sigma": 13107, "base_window": 10_000_000, "mtu": 1000}
        fixed = presets[self.preset].parameters(1000)
        scores = PSCHED_PRESETS["precog"].parameters(1000) | {"skill": 0}
        shared |= {f"psched_{name}": value for name, value in scores.items()}
        self.logic = GoldenNic(qps=_QPS, sets=2)
        self.engine = GoldenNic(qps=_QPS, sets=2, law_cores=1)
        self.logic.set_parameters(shared | {f"{self.law}_{n}": v for n, v in fixed.items()})
        self.engine.set_parameters(shared)
        made, unit = compiled(self.law), self.engine.engine
        assert unit is not None
        unit.set_parameters(threshold=_NO_THRESHOLD, budget=1023)
        unit.load(0, image_of(made.program, made.law.integers(self.preset, 1000)))
        assert unit.map_slot(0, 0, enable=True)

    def want_skill(self) -> None:
        """From now on scores move a rate only while they have shown skill."""
        for nic in (self.logic, self.engine):
            nic.set_parameters({"psched_skill": 1})

    def configure(self, qp: int) -> None:
        """Bounds and promises anew, from the start."""
        rng = self.rng
        config = {
            "enable": 1,
            "min_rate": int(rng.choice([0, 1 << 20])),
            "max_rate": 100 << 21,
            "init_rate": int(rng.integers(1 << 20, 100 << 21)),
            "psched": int(qp != 0),
            "sla_priority": int(rng.integers(8)),
            "sla_latency": int(rng.choice([0, 5000])),
        }
        for nic, algorithm in (
            (self.logic, Algorithm[self.law.upper()]),
            (self.engine, PROGRAM_ALGORITHM),
        ):
            nic.configure(qp, config | {"algorithm": int(algorithm)})
            nic.reset_qp(qp)

    def sample(self, qp: int, rtt: int, t: int) -> Decision:
        made = self.engine.decide(qp, rtt, t)
        assert made is not None
        assert made == self.logic.decide(qp, rtt, t)
        return made

    def event(self, kind: EventKind, qp: int, t: int, value: int = 0) -> Decision | None:
        """A law that hears no such event has no decision; its program repeats the last one."""
        made, wanted = self.engine.happen(kind, qp, t, value), self.logic.happen(kind, qp, t, value)
        assert made is not None
        assert wanted in (made, None)
        return wanted

    def sent(self, qp: int, t: int, size: int) -> None:
        """Bytes: those that have left, or that are acknowledged."""
        wanted = self.logic.happen(EventKind.BYTES, qp, t, size)
        assert self.engine.acknowledge([qp, t, 1, size, 0, 0, 0]) == wanted


@pytest.mark.parametrize(
    ("law", "preset"),
    [
        *(("timely", preset) for preset in TIMELY_PRESETS),
        *(("dcqcn", preset) for preset in DCQCN_PRESETS),
    ],
)
def test_decisions_are_those_of_the_law_as_logic(law: str, preset: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    both, t = Both(law, preset, rng), 1000
    for qp in range(_QPS):
        both.configure(qp)
    congested, seen = False, 0
    for n in range(_EVENTS):
        if n == _EVENTS // 2:
            assert seen >> Flag.SCORED & 1
            assert seen >> Flag.CONGESTED & 1
            both.want_skill()
        t += int(rng.integers(1, 60_000))
        qp, which = int(rng.integers(_QPS)), rng.random()
        congested ^= bool(rng.random() < 0.05)
        if which < 0.4:
            rtt = 4180 + int(rng.integers(4000, 60_000) if congested else rng.integers(300))
            seen |= both.sample(qp, rtt, t).flags
        elif which < 0.7 and qp:
            score = int(rng.choice([100 * congested, rng.integers(101), NO_SCORE]))
            value = score | int(rng.integers(len(ScoreCommand))) << SCORE_BITS
            value = LEVEL_ALONE if rng.random() < 0.1 else value
            both.event(EventKind.SCORE, qp, t, value | int(rng.integers(16)) << SENDERS_AT)
        elif which < 0.85:
            both.event(_ALIKE[int(rng.integers(len(_ALIKE)))], qp, t)
        elif which < 0.99:
            both.sent(qp, t, int(rng.integers(1, 70_000)))
        else:
            both.configure(qp)
