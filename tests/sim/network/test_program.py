"""Law programs: what is refused, and that native code decides as Python does."""

from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from precog_sim.network import Fixed, Hpcc, Mixed, Programmed, SimulationError, incast, run
from precog_sim.network.program import program

_SMALL = incast("hundredth", senders=4, jitter_ns=0.0)


def _law(text: str, name: str = "mine") -> ModuleType:
    made = ModuleType(name)
    exec(compile(text, f"{name}.py", "exec"), vars(made))
    return made


AIMD = _law(
    """
PARAMETERS = (
    ("target_us", "float", "us", 6.0, "RTT above which the rate falls"),
    ("step", "float", "bytes per ns", 0.01, "increase a round trip"),
)
PRESETS = {"eager": {"step": 0.1}}
STATE = (("falls", "int"),)
WINDOWED = True

def bounded(value, e):
    return min(max(value, e.min_rate), e.max_rate)

def on_sample(s, p, e):
    if e.rtt > 1000 * p.target_us:
        s.rate = bounded(s.rate / 2, e)
        s.falls += 1
    else:
        s.rate = bounded(s.rate + p.step, e)
    s.window = s.rate * e.base
""",
    "aimd",
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("X = 1", "law mine must have a function such as on_ack"),
        ("def on_start(s, p, e): pass", "must have a function such as on_ack"),
        ("def on_akc(s, p, e): pass", "on_akc must be one of on_start, on_ack"),
        ("def on_ack(s, p): pass", r"on_ack must take the arguments \(s, p, e\)"),
        (
            "TELEMETRY = 'int'\ndef on_ack(s, p, e): pass",
            r"on_ack must take the arguments \(s, p, e, t\)",
        ),
        ("STATE = (('x', 'Q8'),)\ndef on_ack(s, p, e): pass", "STATE must have rows .*float or"),
        ("STATE = (('rate', 'int'),)\ndef on_ack(s, p, e): pass", "STATE must have rate once"),
        ("PARAMETERS = (('x', 'int'),)\ndef on_ack(s, p, e): pass", "must have rows .*default"),
        ("def on_ack(s, p, e): s.x = 1", "on_ack cannot be compiled"),
        ("def on_ack(s, p, e): s.rate = e.rt", "on_ack cannot be compiled"),
        ("TELEMETRY = 'all'\ndef on_ack(s, p, e, t): pass", "TELEMETRY must be int, pint or"),
    ],
)
def test_what_is_no_law_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        program(_law(text))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"preset": "gentle"}, "aimd preset must be one of eager, not 'gentle'"),
        ({"values": {"stop": 1.0}}, "aimd parameter must be one of target_us, step, not stop"),
        ({"values": {"step": float("nan")}}, "parameter step must be a finite number"),
        ({"window": "bdp"}, "window must be the program's own"),
    ],
)
def test_settings_are_checked(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Programmed(module=AIMD, **arguments)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("s.rate = 0.0", "law must set a finite s.rate above 0 for flow"),
        ("s.rate = 0.0 / 0.0 * e.rtt", "s.rate"),
        ("s.rate = 1e30", "s.rate"),
        ("s.window = -1.0", "law must set a finite s.window, 0 or more"),
    ],
)
def test_a_wild_decision_ends_the_run(line: str, message: str) -> None:
    wild = _law(f"WINDOWED = True\ndef on_ack(s, p, e): {line}", "wild")
    with pytest.raises(SimulationError, match=message):
        run(_SMALL, Programmed(module=wild))


def test_a_run_is_what_its_program_says_in_python() -> None:
    """Every sample of a run through the functions as they stand: the same rates, to the bit."""
    result = run(_SMALL, Programmed(module=AIMD, preset="eager"), seed=2)
    p = SimpleNamespace(target_us=6.0, step=0.1)
    state = [SimpleNamespace(rate=12.5, window=0.0, falls=0) for _ in result.size]
    base = _SMALL.topology.base_rtt_ps(1, 0, _SMALL.payload) * 1e-3
    for f, rtt, gbps in zip(
        result.sample_flow, result.sample_rtt_ps, result.sample_rate_gbps, strict=True
    ):
        e = SimpleNamespace(rtt=rtt * 1e-3, base=base, max_rate=12.5, min_rate=0.0125)
        e.min_rate = _SMALL.min_gbps / 8
        AIMD.on_sample(state[f], p, e)
        assert gbps == state[f].rate * 8e9 * 1e-9
    assert sum(s.falls for s in state) > 10
    assert result.finished


def test_timers_come_when_they_are_due_and_may_be_put_off() -> None:
    """Every 2 us the rate falls by a tenth; each acknowledgement puts the second timer off."""
    timed = _law(
        """
STATE = (("count", "int"), ("idle", "int"))
def on_start(s, p, e):
    s.due[0] = e.now + 2000
    s.due[1] = e.now + 9000
def on_ack(s, p, e):
    s.due[1] = e.now + 9000
    e.prediction = s.count + 1000 * s.idle
def on_timer(s, p, e):
    if e.timer == 0:
        s.count += 1
        s.rate *= 0.9
        s.due[0] = e.now + 2000 if s.count < 5 else 0.0
    else:
        s.idle += 1
""",
        "timed",
    )
    result = run(incast("hundredth", senders=1, jitter_ns=0.0), Programmed(module=timed))
    counts = result.sample_predicted_us.astype(int)
    told = np.minimum(np.ceil(result.sample_t_us / 2) - 1, 5).astype(int)
    assert (counts == told).all()
    assert counts[-1] == 5
    assert result.sample_rate_gbps[-1] == pytest.approx(100 * 0.9**5)


def test_each_flow_has_its_own_law() -> None:
    """HPCC beside fixed rates: headers and rates are each law's own, alone or together."""
    scenario = incast("hundredth", senders=4, jitter_ns=0.0)
    mixed = run(scenario, Mixed(laws=(Hpcc(), Fixed(start_gbps=10.0)), of=(0, 1, 1, 0)))
    assert mixed.laws == ("hpcc", "fixed")
    assert mixed.header.tolist() == [90, 48, 48, 90]
    assert mixed.finished
    told = np.isin(mixed.sample_flow, (1, 2))
    assert (mixed.sample_rate_gbps[told] == 10.0).all()
    assert (mixed.sample_rate_gbps[~told] != 10.0).all()
    alone = run(scenario, Hpcc())
    same = run(scenario, Mixed(laws=(Hpcc(), Hpcc()), of=(0, 1, 0, 1)))
    assert (alone.fct_us == same.fct_us).all()
    assert alone.events == same.events


def test_mixed_laws_are_checked() -> None:
    with pytest.raises(ValueError, match=r"law of a flow must be in 0\.\.0, not 1"):
        Mixed(laws=(Hpcc(),), of=(1,))
    with pytest.raises(ValueError, match="laws must be one for each of 4 flows, not 1"):
        run(_SMALL, Mixed(laws=(Hpcc(),), of=(0,)))
    with pytest.raises(ValueError, match="laws must be at least one"):
        Mixed()
