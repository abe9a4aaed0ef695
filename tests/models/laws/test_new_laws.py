"""The laws that exist as files only: integers against formulas, event by event."""

import numpy as np
import pytest
from tests.models.laws.float_laws import FLOATS
from tests.models.laws.law_bench import ThreeWays, compiled

from precog_spec.engine.events import EVENT_FIELDS, Kind

_EVENTS = 1500
_FORMATS = {name: form for name, form, _ in EVENT_FIELDS}
_DECIDED = 1e-3  # a decision that is nearer may fall to the other side
#: Relative error of window and rate in one event, beside LSB: tables have 16 bits.
_ERROR = 2**-13
#: theta-PowerTCP divides by its power: two units of its 16 fraction bits, and a step's factor.
_POWER_LSB = 2**-15
_STEP_ERROR = 2**-18


def _traffic(rng: np.random.Generator) -> list[dict[str, int]]:
    """Acknowledgements of a flow through a queue that others fill and drain.

    The first third of them has a base that is told, the second one time stamps with noise and the
    least RTT for a base, the last one jitter of up to five base RTTs.
    """
    base = int(rng.choice([4177, 1000, 60_000]))
    link = int(12.5 * (1 << 24))
    bounds = {"base": base, "max_rate": link, "min_rate": link // 1000, "mtu": 1000}
    bounds["init_rate"] = link // int(rng.choice([1, 10]))
    seq, now, queue, flight = int(rng.integers(1 << 24)), int(rng.integers(1 << 40)), 0.0, 40
    events = []
    for n in range(_EVENTS):
        if rng.random() < 0.01:
            queue = float(rng.choice([0, base * 0.1, base, base * 10]))
        queue = max(queue * rng.uniform(0.9, 1.08) + rng.normal() * base * 0.003, 0.0)
        packets = int(rng.choice([1, 1, 1, 4, 16]))
        seq, now = (seq + packets) % (1 << 24), (now + int(rng.uniform(1, 900))) % (1 << 40)
        flight = max(flight + int(rng.integers(-2, 3)), 1)
        part = 3 * n // _EVENTS
        late = [0.0, rng.uniform(0, base * 0.1), rng.uniform(0, base * 5)][part]
        rtt = int(base + queue + late) - (part == 1) * base // 20
        if part == 1:
            bounds["base"] = min(bounds["base"], rtt)
        words = {"rtt": rtt, "bytes": 1000 * packets, "now": now, "seq": seq}
        words["marked"] = int(rng.random() < 0.3)
        events.append(words | {"next": (seq + flight) % (1 << 24)} | bounds)
    return events


def _real(value: int, frac_bits: int) -> float:
    return value / (1 << frac_bits)


@pytest.mark.parametrize(
    ("name", "preset"),
    [("lockstep", "default"), ("swift", "precog"), ("theta_powertcp", "precog")],
)
def test_one_event_like_the_formulas(name: str, preset: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    made = compiled(name)
    ticks = made.law.integers(preset, 1000)
    if name == "lockstep":
        ticks |= {"watch": 4, "reach": 12_000, "young": 1500}  # a trace is short
        ticks |= {"marks": int(rng.choice([0, 200, 1600]))}
    ways = ThreeWays(made, ticks)
    formats = {one.name: one.format.frac_bits for one in made.law.parameters}
    fields = {one.name: one.format.frac_bits for one in made.law.state}
    p = {key: _real(value, formats[key]) for key, value in ticks.items() if isinstance(value, int)}
    rate = window = close = 0
    worst = 0.0
    for event in _traffic(rng):
        before = dict(zip(fields, ways.core.rows[0, 2:].tolist(), strict=False))
        rate = min(max(rate or event["init_rate"], event["min_rate"]), event["max_rate"])
        got = ways.event(Kind.ACK, **event, rate=rate, window=window)
        rate, window = got[:2]
        state = {key: _real(value, fields[key]) for key, value in before.items()}
        words = {key: _real(value, _FORMATS[key].frac_bits) for key, value in event.items()}
        after, want_rate, want_window, near = FLOATS[name](p, state, words)
        if near < _DECIDED:
            close += 1
            continue
        row = dict(zip(fields, got[2:], strict=True))
        w = _real(row["w"], 8)
        error = _ERROR
        if "power" in after:
            error += (_POWER_LSB + _STEP_ERROR * state["power"]) / after["power"]
        slack = error * max(w, state["w"], 100)
        assert abs(w - after["w"]) <= 2**-6 + slack, (event, before)
        assert abs(window - want_window) <= 1 + slack
        assert int(row.get("rounds", 0)) >> 32 == int(after.get("rounds", 0)) >> 32
        lift, after_lift = (int(one.get("rounds", 0)) >> 8 & 255 for one in (row, after))
        assert abs(lift - after_lift) <= 1
        assert abs(_real(rate, 24) - want_rate) <= 2**-20 + error * max(want_rate, 1e-2)
        worst = max(worst, abs(_real(rate, 24) / want_rate - 1))
    print(f"{name} {preset}: rate within {worst:.1e}, {close} events too close to call")
    assert close < _EVENTS // 20


@pytest.mark.parametrize("name", FLOATS)
def test_events_without_bytes_and_losses(name: str) -> None:
    """An acknowledgement of nothing changes nothing; swift alone hears losses, once per RTT."""
    ways = ThreeWays(compiled(name), compiled(name).law.integers("default", 1000))
    words = {"base": 4177, "max_rate": 1 << 27, "min_rate": 1 << 14, "mtu": 1000, "rtt": 4200}
    started = ways.event(Kind.ACK, bytes=1000, init_rate=1 << 26, now=10_000, **words)
    assert started[0] > 1 << 25
    same = ways.event(Kind.ACK, rate=started[0], window=started[1], now=20_000, **words)
    assert same == started
    lost = ways.event(Kind.LOSS, rate=same[0], window=same[1], now=30_000, **words)
    if name != "swift":
        assert lost == same
        return
    assert abs(lost[2] - same[2] / 2) <= 1
    again = ways.event(Kind.LOSS, rate=lost[0], window=lost[1], now=31_000, **words)
    assert again == lost
    assert ways.event(Kind.LOSS, now=34_200, **words)[2] < again[2]
