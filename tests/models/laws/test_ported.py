"""Laws as programs against the golden models they stand for: equal, bit for bit, event by event."""

import numpy as np
import pytest
from tests.models.laws.law_bench import ThreeWays, compiled

from precog_models.law_presets import DCQCN_PRESETS, TIMELY_PRESETS
from precog_models.presets import law_preset
from precog_models.rate.law_unit import LawUnit
from precog_models.rate.unit import QP_CONFIG, RATE_PARAMETERS, RATE_STATE, rate_step
from precog_spec.contract import Algorithm
from precog_spec.engine.events import Kind
from precog_spec.law_fields import EVENT_FIELDS, EventKind, Law

_KINDS = {
    EventKind.RTT: (Kind.SAMPLE, "rtt"),
    EventKind.CNP: (Kind.CNP, None),
    EventKind.BYTES: (Kind.ACK, "bytes"),
    EventKind.SWEEP: (Kind.TIMER, None),
    EventKind.LOSS: (Kind.LOSS, None),
}
_EVENTS = 600
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


@pytest.mark.parametrize(
    ("name", "preset"),
    [
        ("fixed", "default"),
        *(("timely", preset) for preset in [*TIMELY_PRESETS, "random"]),
        *(("dcqcn", preset) for preset in [*DCQCN_PRESETS, "random"]),
    ],
)
def test_laws_of_events(name: str, preset: str, seed: int) -> None:
    """`rate.law_unit`: the same rate and the same state after every event."""
    traffic = _Traffic(seed)
    values = _parameters(name, preset, traffic)
    ways = ThreeWays(compiled(name), values)
    unit = LawUnit(1)
    old = {law: compiled(law).law.integers("default", 1000) for law in ("timely", "dcqcn")}
    numbers = [old[law] if law != name else values for law in old]
    rows = [[x for x in one.values() if isinstance(x, int)] for one in numbers]
    timely, dcqcn = (np.array(one, dtype=np.int64) for one in rows)
    unit.set_parameters(timely, dcqcn)
    configure = np.zeros((1, len(EVENT_FIELDS)), dtype=np.int64)
    configure[0, 0] = EventKind.CONFIGURE
    configure[0, 4:] = Law[name.upper()], traffic.low, traffic.high, traffic.first
    unit.run(configure)
    rate, first = traffic.first, 2 if name == "timely" else 6
    for _ in range(_EVENTS):
        kind = list(_KINDS)[traffic.pick(0, 0, 1, 2, 3, 4)]
        value = traffic.pick(1, 4180, *(2 ** traffic.rng.uniform(0, 24, 4)).astype(int))
        t = traffic.tick()
        event = np.array([[kind, 0, t, value, 0, 0, 0, 0]], dtype=np.int64)
        results, after = unit.run(event)
        ours, word = _KINDS[kind]
        words = {word: value} if word else {}
        got = ways.event(ours, now=t, **words, **traffic.bounds(rate))
        if ours.name.lower() in {key[3:] for key in ways.law.events}:
            rate = got[0]
        state = after[0, first : first + len(ways.law.state)].tolist()
        assert (rate, got[2:]) == (results[0, 1], state if name != "fixed" else [])
    print(f"{name} {preset}: at most {ways.turns} turns")
    assert ways.turns <= max(ways.core.program.turns.values())


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
