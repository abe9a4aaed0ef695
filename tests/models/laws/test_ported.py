"""Laws as programs against what they stand for: equal, bit for bit, event by event.

TIMELY and DCQCN were logic once, with golden models of their own. `fixed_laws.json` holds the rates
that those models decided on, made by them from the events of this file before they were removed
(commit 10b3f889), and checksums of the events and of all states.
"""

import json
import zlib
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.models.laws.law_bench import ThreeWays, compiled

from precog_models.presets import law_preset
from precog_models.rate.unit import QP_CONFIG, RATE_PARAMETERS, RATE_STATE, rate_step
from precog_spec.contract import Algorithm
from precog_spec.engine.events import Kind

_RECORD: dict[str, dict[str, list[int]]] = json.loads(
    (Path(__file__).with_name("fixed_laws.json")).read_text()
)
#: Of an event that is told: its word.
_KINDS = {
    Kind.SAMPLE: "rtt",
    Kind.CNP: None,
    Kind.ACK: "bytes",
    Kind.TIMER: None,
    Kind.LOSS: None,
}
_SEEDS = (1, 2)
_EVENTS = 300
_RATE = 1 << 32


class _Traffic:
    """Random events; bounds of the rate that hold for all of them."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.low, self.high = sorted(self.rng.integers(1 << 16, _RATE, 2).tolist())
        self.first = int(self.rng.integers(self.low, self.high + 1))
        self.now = int(self.rng.integers(1 << 40))

    def pick(self, *values: int) -> int:
        """One of the values."""
        return int(self.rng.choice(np.array(values, dtype=np.int64)))

    def tick(self) -> int:
        """The next event's time."""
        step = self.pick(0, 1, *(2 ** self.rng.uniform(0, 20, 6)).astype(int))
        if self.rng.random() < 0.01:
            step = int(self.rng.integers(1 << 39))
        if self.rng.random() < 0.02:
            step = -self.pick(1, 100)  # stamped before the event that was told before
        self.now = (self.now + step) % (1 << 40)
        return self.now

    def bounds(self, rate: int) -> dict[str, int]:
        """Words of an event that say what the engine's frame knows."""
        return {
            "rate": min(max(rate, self.low), self.high),
            "min_rate": self.low,
            "max_rate": self.high,
            "init_rate": self.first,
        }


def _parameters(name: str, preset: str, traffic: _Traffic) -> dict[str, int | list[int]]:
    law = compiled(name).law
    if preset != "random":
        return law.integers(preset, 1000)
    values: dict[str, int | list[int]] = {}
    for one in law.parameters:
        if one.made is None:
            top = one.format.max
            size = int(2 ** traffic.rng.uniform(0, top.bit_length()))
            values[one.name] = traffic.pick(0, 1, min(size, top), min(size, top), top)
    for one in law.parameters:
        if one.made is not None:
            values[one.name] = [*one.made(values)]  # type: ignore[arg-type]
    return values


def _events(traffic: _Traffic) -> NDArray[np.int64]:
    """Kind, time and value of each event."""
    events = np.zeros((_EVENTS, 3), dtype=np.int64)
    for n in range(_EVENTS):
        kind = list(_KINDS)[traffic.pick(0, 0, 1, 2, 3, 4)]
        value = traffic.pick(1, 4180, *(2 ** traffic.rng.uniform(0, 24, 4)).astype(int))
        events[n] = kind, traffic.tick(), value
    return events


@pytest.mark.parametrize("seed", _SEEDS)
@pytest.mark.parametrize("name", _RECORD)
def test_laws_that_were_logic(name: str, seed: int) -> None:
    """The same rate and the same state after every event as the logic's golden model."""
    law, preset = name.split()
    record = _RECORD[name][str(seed)]
    traffic = _Traffic(seed)
    values = _parameters(law, preset, traffic)
    ways = ThreeWays(compiled(law), values)
    events = _events(traffic)
    assert record["events"] == zlib.crc32(events.tobytes()), "not those that it is of"
    rate, rates, states = traffic.first, [], []
    for kind, t, value in events.tolist():
        word = _KINDS[Kind(kind)]
        words = {word: value} if word else {}
        got = ways.event(kind, now=t, **words, **traffic.bounds(rate))
        if Kind(kind).name.lower() in {key[3:] for key in ways.law.events}:
            rate = got[0]
        rates.append(rate)
        states.append(got[2:])
    assert rates == record["rates"]
    assert zlib.crc32(np.array(states, dtype=np.int64).tobytes()) == record["states"]
    print(f"{name}: at most {ways.turns} turns")
    assert ways.turns <= max(ways.core.program.turns.values())


def test_fixed_keeps_the_first_rate(seed: int) -> None:
    traffic = _Traffic(seed)
    ways = ThreeWays(compiled("fixed"), _parameters("fixed", "default", traffic))
    for _, t, value in _events(traffic).tolist():
        got = ways.event(Kind.SAMPLE, now=t, rtt=value, **traffic.bounds(traffic.first))
        assert got == [traffic.first, 0]


@pytest.mark.parametrize("name", ["pid", "predpid"])
@pytest.mark.parametrize("preset", ["thesis", "precog", "adjusted", "random"])
def test_laws_of_samples(name: str, preset: str, seed: int) -> None:
    """`rate.unit`: rate, window, and the states of PID, target adjuster and skill monitor."""
    traffic = _Traffic(seed)
    values = _parameters(name, preset if preset != "adjusted" else "precog", traffic)
    if preset == "adjusted":
        values |= {"rttch": 1, "rttch_threshold": 3}
    if preset == "random":
        law = compiled(name).law
        for gain in ("kp", "ki", "kd", "dmin", "dmax"):
            form = next(one.format for one in law.parameters if one.name == gain)
            values[gain] = int(traffic.rng.integers(form.min, form.max + 1))
    ways = ThreeWays(compiled(name), values)
    mtu = traffic.pick(256, 1000, 4096)
    shared = law_preset("precog").parameters(1000) | {"mtu": mtu}
    shared |= {one: value for one, value in values.items() if one in RATE_PARAMETERS}
    parameters = np.array([int(shared.get(one, 0)) for one in RATE_PARAMETERS], dtype=np.int64)
    config = dict.fromkeys(QP_CONFIG, 0) | {
        "algorithm": Algorithm[name.upper()],
        "target_mode": values["from_base"],
        "rttch": values["rttch"],
        "win": values["win"],
        "target": values["target"],
        "min_rate": traffic.low,
        "max_rate": traffic.high,
        "init_rate": traffic.first,
    }
    row = np.array([config[one] for one in QP_CONFIG], dtype=np.int64)
    state = np.zeros(len(RATE_STATE), dtype=np.int64)
    rate, base = traffic.first, traffic.pick(1, 4180, 20_000, (1 << 24) - 1)
    for _ in range(_EVENTS):
        rtt = min(max(int(base * traffic.rng.uniform(0.5, 2.5)), 1), (1 << 24) - 1)
        rtt = traffic.pick(rtt, rtt, rtt, rtt, 1, (1 << 24) - 1)
        predicted, held = traffic.rng.random() < 0.8, traffic.rng.random() < 0.1
        told = int(rtt * traffic.rng.choice([256, 230, traffic.rng.uniform(100, 500)]))
        told = min(told, (1 << 32) - 1)
        want = rate_step(state, row, parameters, rtt, base, predicted, told, False, held)
        advice = {"predicted": int(predicted), "prediction": told, "held": int(held)}
        words = {"rtt": rtt, "base": base, "mtu": mtu, **advice}
        got = ways.event(Kind.SAMPLE, **words, **traffic.bounds(rate))
        rate = got[0]
        assert got == [*want[:2], *state[1 : 1 + len(ways.law.state)].tolist()]
    print(f"{name} {preset}: at most {ways.turns} turns")
