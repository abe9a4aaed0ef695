"""PSCHED moves a program's rate as it moved that of the same law as logic: equal decisions.

`fixed_scheduled.json` holds rates and flags that the golden NIC with TIMELY and DCQCN as logic
decided on, made by it from the events of this file before the logic was removed (at the commit that
let PSCHED move programs' rates). An event that the law did not hear has none.
"""

import json
import zlib
from pathlib import Path

import numpy as np
import pytest
from tests.models.laws.law_bench import compiled

from precog_models.nic import Decision, GoldenNic
from precog_models.psched_presets import PSCHED_PRESETS
from precog_models.rate.engine.image import image_of
from precog_spec.contract import PROGRAM_ALGORITHM, Flag
from precog_spec.law_fields import (
    LEVEL_ALONE,
    NO_SCORE,
    SCORE_BITS,
    SENDERS_AT,
    EventKind,
    ScoreCommand,
)

_QPS, _EVENTS = 3, 500
_NO_THRESHOLD = (1 << 24) - 1
_ALIKE = (EventKind.CNP, EventKind.LOSS, EventKind.SWEEP)
_SEED = 1
_Decided = list[int] | None
#: By law and preset: a checksum of the events, and rate and flags after each.
_RECORD: dict[str, tuple[int, list[_Decided]]] = json.loads(
    (Path(__file__).with_name("fixed_scheduled.json")).read_text()
)


def _steps(rng: np.random.Generator) -> list[list[int]]:
    """What happens, in words of `_take`: how, queue pair, time, value or configuration."""
    steps = [[4, qp, 0, *_configuration(rng, qp)] for qp in range(_QPS)]
    congested, t = False, 1000
    for n in range(_EVENTS):
        if n == _EVENTS // 2:
            steps.append([5, 0, t])  # from now on scores must have shown skill
        t += int(rng.integers(1, 60_000))
        qp, which = int(rng.integers(_QPS)), rng.random()
        congested ^= bool(rng.random() < 0.05)
        if which < 0.4:
            rtt = 4180 + int(rng.integers(4000, 60_000) if congested else rng.integers(300))
            steps.append([0, qp, t, rtt])
        elif which < 0.7 and qp:
            score = int(rng.choice([100 * congested, rng.integers(101), NO_SCORE]))
            value = score | int(rng.integers(len(ScoreCommand))) << SCORE_BITS
            value = LEVEL_ALONE if rng.random() < 0.1 else value
            level = int(rng.integers(16)) << SENDERS_AT
            steps.append([1, qp, t, int(EventKind.SCORE), value | level])
        elif which < 0.85:
            steps.append([1, qp, t, int(_ALIKE[int(rng.integers(len(_ALIKE)))]), 0])
        elif which < 0.99:
            steps.append([2, qp, t, int(rng.integers(1, 70_000))])
        else:
            steps.append([4, qp, t, *_configuration(rng, qp)])
    return steps


def _configuration(rng: np.random.Generator, qp: int) -> list[int]:
    """Least and initial rate, PSCHED, its priority and latency."""
    least = int(rng.choice([0, 1 << 20]))
    first = int(rng.integers(1 << 20, 100 << 21))
    return [least, first, int(qp != 0), int(rng.integers(8)), int(rng.choice([0, 5000]))]


def _take(nic: GoldenNic, algorithm: int, step: list[int]) -> Decision | None:
    """Let one step happen; bytes are those of an acknowledgement."""
    how, qp, t, *words = step
    if how == 0:
        return nic.decide(qp, words[0], t)
    if how == 1:
        return nic.happen(words[0], qp, t, words[1])
    if how == 2:
        return nic.acknowledge([qp, t, 1, words[0], 0, 0, 0])
    if how == 5:
        nic.set_parameters({"psched_skill": 1})
        return None
    names = ("min_rate", "init_rate", "psched", "sla_priority", "sla_latency")
    config = dict(zip(names, words, strict=True))
    nic.configure(qp, config | {"enable": 1, "max_rate": 100 << 21, "algorithm": algorithm})
    nic.reset_qp(qp)
    return None


def _nic(**sizes: int) -> GoldenNic:
    nic = GoldenNic(qps=_QPS, sets=2, **sizes)
    scores = PSCHED_PRESETS["precog"].parameters(1000) | {"skill": 0}
    shared = {"sigma": 13107, "base_window": 10_000_000, "mtu": 1000}
    nic.set_parameters(shared | {f"psched_{name}": value for name, value in scores.items()})
    return nic


@pytest.mark.parametrize("name", _RECORD)
def test_decisions_are_those_of_the_law_as_logic(name: str) -> None:
    law, preset = name.split()
    steps, (check, wanted) = _steps(np.random.default_rng(_SEED)), _RECORD[name]
    assert check == zlib.crc32(repr(steps).encode()), "not the events that it is of"
    nic, made = _nic(law_cores=1), compiled(law)
    assert nic.engine is not None
    nic.engine.set_parameters(threshold=_NO_THRESHOLD, budget=1023)
    nic.engine.load(0, image_of(made.program, made.law.integers(preset, 1000)))
    assert nic.engine.map_slot(0, 0, enable=True)
    seen = decided = 0
    for step, want in zip(steps, wanted, strict=True):
        decision = _take(nic, PROGRAM_ALGORITHM, step)
        if want is not None:
            assert decision is not None
            assert [decision.rate, decision.flags] == want
            seen |= decision.flags
            decided += 1
    assert decided > _EVENTS // 2
    assert seen >> Flag.SCORED & 1
    assert seen >> Flag.CONGESTED & 1
