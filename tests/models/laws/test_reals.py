"""Integers against the same steps over real numbers: within a bound that each step proves."""

import numpy as np
import pytest
from tests.models.laws.law_bench import compiled

from precog_models.laws.compiler.compile import compile_law
from precog_models.laws.compiler.load import law_names, load
from precog_models.laws.compiler.reals import Reals
from precog_models.rate.engine.core import Core, event_words
from precog_spec.engine.events import EVENT_FIELDS, EVENTS, Kind

_EVENTS = 150
#: A small power divides the window: what its last place may be wrong by, the window multiplies.
#: lockstep rounds the lift that noise gives T to a tick, 1/4180 of a base RTT here.
_BOUNDS = {"theta_powertcp": 2.0, "lockstep": 2**-4, "lockstep_hints": 2**-4}
_WORST = {"lockstep": 2**-11, "lockstep_hints": 2**-11}
_RATE_LSB = 1 << 24


def _words(rng: np.random.Generator, now: int) -> dict[str, int]:
    base = int(rng.choice([4180, 20_000]))
    rate = int(2 ** rng.uniform(20, 29))
    rtt = int(base * rng.choice([1, rng.uniform(1, 1.3), rng.uniform(1, 4)]))
    words = {"now": now, "rtt": rtt, "base": base, "bytes": int(rng.integers(1, 9000)), "mtu": 1000}
    words |= {"rate": rate, "min_rate": 1 << 18, "max_rate": 1 << 30, "init_rate": 1 << 26}
    words |= {"predicted": 1, "prediction": int(rtt * 256 * rng.uniform(0.8, 1.2))}
    return words | {"seq": now >> 10 & 0xFFFFFF, "next": (now >> 10) + 40 & 0xFFFFFF}


@pytest.mark.parametrize("name", law_names())
def test_every_law_is_within_its_bounds(name: str, seed: int) -> None:
    """The integers are the interpreter's; of a rate the bound is far below what a law can move."""
    rng = np.random.default_rng(seed)
    made = compiled(name)
    worst = greatest = 0.0
    for preset in ["default", *made.law.presets]:
        values = made.law.integers(preset, 1000)
        core, reals = Core(made.program, values), Reals(made.law, values)
        fields, now = [one.name for one in made.law.state], 1000
        for _ in range(_EVENTS):
            now += int(rng.integers(1, 30_000))
            event = str(rng.choice(sorted(made.program.entries)))
            words = _words(rng, now)
            kind = Kind(EVENTS.index(event))
            state = dict(zip(fields, core.rows[0, 2:].tolist(), strict=False))
            found = reals.event(event, state, {**words, "kind": kind})
            core.event(0, event_words(kind, **words))
            row = dict(zip(["out.rate", "out.window"], core.rows[0, :2].tolist(), strict=True))
            row |= {f"s.{one}": int(core.rows[0, 2 + n]) for n, one in enumerate(fields)}
            assert {key: one.integer for key, one in found.items()}.items() <= row.items()
            out = found["out.rate"]
            assert abs(out.integer - out.real) <= out.bound
            worst = max(worst, abs(out.integer - out.real) / max(out.real, _RATE_LSB))
            greatest = max(greatest, out.bound / max(out.real, _RATE_LSB))
    print(f"{name}: rate within {worst:.1e}, bound {greatest:.1e}")
    assert worst < _WORST.get(name, 2**-12)
    assert greatest < _BOUNDS.get(name, 2**-6)


def test_a_bound_that_is_wrong_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    values = load("timely").integers("default", 1000)
    reals = Reals(load("timely"), values)
    words = {name: 1 for name, _, _ in EVENT_FIELDS} | {"rtt": 5000, "rate": 12345677}
    words |= {"max_rate": 1 << 30}
    assert reals.event("on_sample", {"last_rtt": 4999}, words)
    monkeypatch.setattr("precog_models.laws.compiler.reals.evaluate", _off_by_two)
    with pytest.raises(ArithmeticError, match=r"timely.py:\d+: `.*`: 5001 must lie within"):
        reals.event("on_sample", {"last_rtt": 4999}, words)


def _off_by_two(op: int, a: int, b: int, c: int) -> int:
    from precog_models.laws.compiler.simplify import evaluate

    return evaluate(op, a, b, c) + 2  # type: ignore[arg-type]


def test_a_law_of_nothing_but_roundings(tmp_path) -> None:  # type: ignore[no-untyped-def]
    """The bound of a chain of shifts is the sum of what each may drop."""
    path = tmp_path / "mine.py"
    path.write_text(
        "from precog_models.laws.language import *\n"
        "PARAMETERS = STATE = ()\nWINDOWED = False\n"
        "def on_ack(p, s, e):\n    return ((e.rtt >> 1) >> 1) >> 1\n"
    )
    law = load(path)
    compile_law(law)
    out = Reals(law, {}).event("on_ack", {}, {"rtt": 15})["out.rate"]
    assert (out.integer, out.real) == (1, 15 / 8)
    assert out.bound == pytest.approx(1 / 4 + 1 / 2 + 1)
