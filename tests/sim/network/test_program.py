"""Law programs: what is refused, and that native code decides as Python does."""

import dataclasses
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from precog_models.laws.compiler.golden import Golden
from precog_models.laws.compiler.load import load
from precog_net.laws import RIVALS
from precog_sim.network import (
    Ecn,
    Fixed,
    Hpcc,
    Mixed,
    Priorities,
    Programmed,
    SimulationError,
    incast,
    run,
    star,
)
from precog_sim.network.congestion import LinkFacts
from precog_sim.network.program import EVENT, TELEMETRY, program
from precog_sim.network.program_body import check_bodies
from precog_spec.contract import Fmt
from precog_spec.engine.events import EVENT_FIELDS, Kind

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
PRESETS = {"eager": ("ten times the default", {"step": 0.1})}
STATE = (("falls", "int", "decreases"),)
WINDOWED = True

def bounded(value, e):
    return min(max(value, e.min_rate), e.max_rate)

def on_sample(p, s, e):
    if e.rtt > 1000 * p.target_us:
        rate = bounded(e.rate / 2, e)
        s.falls += 1
    else:
        rate = bounded(e.rate + p.step, e)
    return rate, rate * e.base
""",
    "aimd",
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("X = 1", "law mine must have a function besides on_start, such as on_ack"),
        ("def on_start(p, s, e): pass", "must have a function besides on_start, such as on_ack"),
        ("def on_akc(p, s, e): pass", "on_akc must be one of on_start, on_ack"),
        ("def on_ack(p, s): pass", r"on_ack must take the arguments \(p, s, e\)"),
        (
            "TELEMETRY = 'int'\ndef on_ack(p, s, e): pass",
            r"on_ack must take the arguments \(p, s, e, t\)",
        ),
        (
            "STATE = (('x', 'Q8', ''),)\ndef on_ack(p, s, e): pass",
            "STATE must have rows .*float or",
        ),
        (
            "STATE = (('x', 'int', ''), ('x', 'float', ''))\ndef on_ack(p, s, e): return e.rate",
            "STATE must have x once",
        ),
        ("PARAMETERS = (('x', 'int'),)\ndef on_ack(p, s, e): pass", "must have rows .*default"),
        ("def on_ack(p, s, e): return s.x", "on_ack cannot be compiled"),
        ("def on_ack(p, s, e): return e.rt", "on_ack cannot be compiled"),
        ("PARAMETERS = 5\ndef on_ack(p, s, e): return 1.0", "PARAMETERS must be a tuple of rows"),
        ("STATE = ((5, 'int', ''),)\ndef on_ack(p, s, e): return 1.0", "STATE must have rows"),
        ("STATE = (('x', [], ''),)\ndef on_ack(p, s, e): return 1.0", "STATE must have rows"),
        (
            "STATE = (('x', 'int', '', -3),)\ndef on_ack(p, s, e): return 1.0",
            "STATE must have shapes of arrays",
        ),
        ("WINDOWED = 'no'\ndef on_ack(p, s, e): return 1.0", "WINDOWED must be True or False"),
        (
            "HEADER = -48\ndef on_ack(p, s, e): return 1.0",
            r"HEADER must be a whole number in 1\.\.",
        ),
        ("CNP_US = float('nan')\ndef on_ack(p, s, e): return 1.0", "CNP_US must be a number in 0"),
        ("MARKING_BDP = (5, 1, 2)\ndef on_ack(p, s, e): return 1.0", "MARKING_BDP must be None or"),
        ("PRESETS = 5\ndef on_ack(p, s, e): return 1.0", "PRESETS must be a dict, not 5"),
        ("PRESETS = {'x': 5}\ndef on_ack(p, s, e): return 1.0", "preset x must be .citation, "),
        (
            "PRESETS = {'x': ('here', {'q': 1})}\ndef on_ack(p, s, e): return 1.0",
            "preset x must be .* with names of PARAMETERS, not",
        ),
        (
            "def on_ack(p, s, e): s = 1",
            "on_ack must return the rate alone on every path.* not none",
        ),
        ("def on_ack(p, s, e): return 1.0, 2.0", "on_ack must return the rate alone"),
        ("WINDOWED = True\ndef on_ack(p, s, e): return 1.0", "on_ack must return rate, window"),
        (
            "def on_ack(p, s, e): return sum([1.0])",
            r"cannot be compiled: No implementation of function .*float64.* \(line 1\)$",
        ),
        ("def on_ack(p, s, e):\n global X\n X = 1\n return 1.0", "cannot be compiled: Use of"),
        (
            "import random\ndef on_ack(p, s, e): return random.random()",
            "on_ack must draw no random numbers, as random does",
        ),
        (
            "from random import random\ndef on_ack(p, s, e): return random()",
            "on_ack must draw no random numbers, as random does",
        ),
        (
            "import numpy as np\ndef on_ack(p, s, e): return np.random.random()",
            "on_ack must draw no random numbers, as np does",
        ),
        ("TELEMETRY = 'all'\ndef on_ack(p, s, e, t): pass", "TELEMETRY must be int, pint or"),
    ],
)
def test_what_is_no_law_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        program(_law(text))


_TABLES = """
PARAMETERS = (("x", "float", "", 1.0, ""), ("g", "float", "", 1.0, "", (4,)))
STATE = (("n", "int", ""), ("a", "float", "", (3, 2)))
def on_ack(p, s, e):
"""


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("p.x = 2.0", r"on_ack must not write p\.x \(mine\.py, line 5\): all flows share param"),
        ("p.g[e.hops] = 2.0", r"on_ack must not write p\.g\[…\] .*keep what changes in s"),
        ("g = p.g\n g += 1", r"must not write p\.g \(mine\.py, line 6\)"),
        ("p.g.fill(0.0)", r"must not write p\.g \(mine"),
        ("set(s, v=p.g)\ndef set(s, v):\n v[0] = 1", r"set must not write p\.g\[…\] .*line 8"),
        ("def inner(): p.x = 1.0\n inner()", "must not write x in its inner function inner"),
        ("e.max_rate /= 2", r"must not write e\.max_rate .*the network sets it"),
        ("e.rate = 1.0", r"must not write e\.rate .*: return it"),
        (
            "if e.marked: y = 1.0\n s.n += y",
            r"must set y on every path .*\(mine\.py, line 6\): set",
        ),
        ("for k in range(s.n): y = k\n s.n = y", "must set y on every path"),
        ("s.n = y\n y = 1", "must set y on every path"),
        ("e.due[3] = 1.0", r"must index e\.due in 0\.\.2, not 3 \(mine\.py, line 5\): change"),
        ("s.a[1, 2] = 1.0", r"must index s\.a in 0\.\.1, not 2"),
        ("s.n = p.g[-5]", r"must index p\.g in 0\.\.3, not -5"),
        (
            "s.n = f(s.n)\ndef f(n):\n if n > 9: return n\n return f(n + 1)",
            r"f must not call itself, here by f \(mine\.py, line 9\): write a loop with a bound",
        ),
        (
            "s.n = f(9)\ndef f(n):\n return n if n < 0 else g(n)\ndef g(n):\n return f(n)",
            r"f must not call itself, here by g \(mine\.py, line 8\)",
        ),
    ],
)
def test_what_would_go_wrong_silently_is_refused(body: str, message: str) -> None:
    first, *functions = body.split("\ndef ")
    rest = "".join(f"def {one}\n" for one in functions)
    with pytest.raises(ValueError, match=message):
        program(_law(f"{_TABLES} {first}\n return 1.0\n{rest}"))


def test_what_a_law_may_write_is_taken() -> None:
    body = """
    y, a = p.x, s.a
    y *= 2
    a[e.hops, 1] = y
    s.a[:] = p.g[0]
    e.due[-1] = e.now + 1e3
    e.prediction = a[2][1]
    while True:
        z = 1.0
        if e.rtt > 0:
            break
    return z
"""
    assert program(_law(_TABLES + body)).address


def test_precog_s_own_programs_pass_the_checks() -> None:
    names = [f"precog_sim.network.programs.{name}" for name in ("dcqcn", "hpcc", "predpid")]
    names += [f"precog_net.rivals.{name.replace('-', '_')}" for name in RIVALS]
    for name in names:
        made = program(import_module(name))
        records = {"p": made.parameters, "s": made.state, "e": EVENT, "t": TELEMETRY}
        check_bodies(made.name, made.python, made.address, records)


@pytest.mark.parametrize("sample", ["", "def on_sample(p, s, e): return 1.0\n"])
def test_an_index_outside_its_array_ends_the_run(sample: str) -> None:
    """Even if on_sample answers after on_ack."""
    text = f"{_TABLES} return e.rate + s.a[e.bytes, 0]\n{sample}"
    message = (
        r"law mine: on_ack must keep every .*; line 5 of mine\.py.* index 1000 is out of bounds"
    )
    with pytest.raises(SimulationError, match=message + r".*, flow \d+ \(at"):
        run(_SMALL, Programmed(module=_law(text)))


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("x = 1.0\n while x > 0.0:\n  x += 1.0\n return x", 6),
        ("g(s)\n return 1.0\ndef g(s):\n while True: s.n += 1", 8),
        ("for k in range(1000):\n  for n in range(1000): s.n += n\n return 1.0", 6),
        ("return g(s)\ndef g(s):\n while s.n >= 0: s.n += 1\n return 1.0", 7),
        ("def g():\n  x = 1.0\n  while x > 0.0: x += 1.0\n  return x\n return g()", 7),
    ],
)
def test_an_endless_loop_ends_the_run(body: str, line: int) -> None:
    message = (
        rf"law mine: on_ack must end its loops within 100,000 turns; line {line} of mine\.py.* "
        r"does not: give it a bound, such as `for turn in range\(50\)`, flow \d+ \(at"
    )
    with pytest.raises(SimulationError, match=message):
        run(_SMALL, Programmed(module=_law(f"{_TABLES} {body}")))


@pytest.mark.parametrize("call", ["held(x)", "shared.held(x)", "(lambda: held(x))()"])
def test_a_function_that_others_compiled_is_refused(call: str) -> None:
    """The run counts no turns of its loops: this one would hold it up for ever."""
    text = """
from types import ModuleType
from numba import njit
@njit
def held(x):
    while x > 0.0:
        x += 1.0
    return x
shared = ModuleType("shared")
shared.held = held
def on_ack(p, s, e):
    x = 1.0
    return CALL
"""
    message = (
        r"law mine on_ack must call plain functions of its file, not held \(mine\.py, line 4\), "
        r"which numba compiled: .*; leave out its @njit, and move it into the law's file"
    )
    with pytest.raises(ValueError, match=message):
        program(_law(text.replace("CALL", call)))


def test_checks_of_indices_and_loops_change_no_result() -> None:
    """PowerTCP as Precog's and as a user's, with and without them."""
    own = import_module("precog_net.rivals.powertcp")
    copy = _law(Path(str(own.__file__)).read_text(), "copied")
    a, b = (run(_SMALL, Programmed(module=one)) for one in (own, copy))
    assert (a.sample_rate_gbps == b.sample_rate_gbps).all()
    assert (a.fct_us == b.fct_us).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"preset": "gentle"}, "aimd preset must be one of eager, not 'gentle'"),
        ({"values": {"stop": 1.0}}, "aimd parameter must be one of target_us, step, not stop"),
        ({"values": {"step": float("nan")}}, "parameter step must be a finite number"),
        ({"values": {"step": "far"}}, "parameter step must be a number, not 'far'"),
        ({"window": "bdp"}, "window must be the program's own"),
    ],
)
def test_settings_are_checked(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Programmed(module=AIMD, **arguments)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("0.0, 1e4", r"law wild must give a rate above 0 .* Gb/s, not 0, flow \d+ \(at"),
        ("0.0 * e.rtt / 0.0, 1e4", "law wild must give a rate .*, not nan, flow"),
        ("1e30, 1e4", r"law wild must give a rate .*, not 1e\+30, flow"),
        ("e.rate, -1.0", r"law wild must give a window in 0\.\..* bytes, not -1, flow"),
    ],
)
def test_a_wild_decision_ends_the_run(answer: str, message: str) -> None:
    wild = _law(f"WINDOWED = True\ndef on_ack(p, s, e): return {answer}", "wild")
    with pytest.raises(SimulationError, match=message):
        run(_SMALL, Programmed(module=wild))


def _timed(due: str, again: str) -> ModuleType:
    head = "from math import inf, nan\nSTATE = (('heard', 'int', ''),)\n"
    start = f"def on_start(p, s, e):\n    e.due[0] = {due}\n    return e.rate\n"
    timer = f"def on_timer(p, s, e):\n    e.due[0] = {again}\n    return e.rate / 2\n"
    return _law(head + start + timer, "timed")


def test_a_timer_that_does_not_let_time_pass_ends_the_run() -> None:
    with pytest.raises(
        SimulationError, match=r"law timed must set a timer .* later than e\.now, flow"
    ):
        run(_SMALL, Programmed(module=_timed("e.now + 1000", "e.now")))


@pytest.mark.parametrize("never", ["0.0", "inf", "nan", "1e300"])
def test_a_timer_that_is_never_due_is_not_heard(never: str) -> None:
    result = run(_SMALL, Programmed(module=_timed(never, "0.0")))
    assert set(result.sample_rate_gbps) == {100.0}


def test_a_run_is_what_its_program_says_in_python() -> None:
    """Every sample of a run through the functions as they stand: the same rates, to the bit."""
    result = run(_SMALL, Programmed(module=AIMD, preset="eager"), seed=2)
    p = SimpleNamespace(target_us=6.0, step=0.1)
    state = [SimpleNamespace(falls=0) for _ in result.size]
    rates = [12.5] * result.size.size
    base = _SMALL.topology.base_rtt_ps(1, 0, _SMALL.payload) * 1e-3
    for f, rtt, gbps in zip(
        result.sample_flow, result.sample_rtt_ps, result.sample_rate_gbps, strict=True
    ):
        e = SimpleNamespace(rtt=rtt * 1e-3, base=base, max_rate=12.5, rate=rates[f])
        e.min_rate = _SMALL.min_gbps / 8
        rates[f], _ = AIMD.on_sample(p, state[f], e)
        assert gbps == rates[f] * 8e9 * 1e-9
    assert sum(s.falls for s in state) > 10
    assert result.finished


def test_timers_come_when_they_are_due_and_may_be_put_off() -> None:
    """Every 2 us the rate falls by a tenth; each acknowledgement puts the second timer off."""
    timed = _law(
        """
STATE = (("count", "int", ""), ("idle", "int", ""))
def on_start(p, s, e):
    e.due[0] = e.now + 2000
    e.due[1] = e.now + 9000
    return e.rate
def on_ack(p, s, e):
    e.due[1] = e.now + 9000
    e.prediction = s.count + 1000 * s.idle
    return e.rate
def on_timer(p, s, e):
    if e.timer != 0:
        s.idle += 1
        return e.rate
    s.count += 1
    e.due[0] = e.now + 2000 if s.count < 5 else 0.0
    return e.rate * 0.9
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


def test_a_law_of_cards_decides_as_its_golden_model() -> None:
    """Every sample of a run through the golden model of the same file: the same integers."""
    law = load("timely")
    result = run(_SMALL, Programmed(module="timely", preset="scaled"), seed=3)
    golden = Golden(law, law.integers("scaled", 1000), rows=len(result.size))
    one = 1 << Fmt.RATE.frac_bits
    rates = [100 * one // 8] * len(result.size)
    base = round(_SMALL.topology.base_rtt_ps(1, 0, _SMALL.payload) * 1e-3)
    changed = 0
    for f, t_us, rtt, gbps in zip(
        result.sample_flow,
        result.sample_t_us,
        result.sample_rtt_ps,
        result.sample_rate_gbps,
        strict=True,
    ):
        words = dict.fromkeys((name for name, _, _ in EVENT_FIELDS), 0)
        words |= {"kind": int(Kind.SAMPLE), "now": int(t_us * 1e3 + 1e-6), "base": base}
        words |= {"rtt": int(rtt * 1e-3 + 0.5), "rate": rates[f], "max_rate": 100 * one // 8}
        words["min_rate"] = round(_SMALL.min_gbps / 8 * one)
        golden.event(f, list(words.values()))
        changed += int(golden.outputs[f, 0]) != rates[f]
        rates[f] = int(golden.outputs[f, 0])
        assert gbps == pytest.approx(rates[f] / one * 8, rel=1e-12)
    assert changed > 8


def test_a_card_s_pid_has_no_table_of_gains() -> None:
    result = run(_SMALL, Programmed(module="pid", start_gbps=10.0))
    assert result.finished
    assert np.isnan(result.gains).all()
    assert np.isnan(result.target_us).all()


def test_a_law_of_cards_is_told_facts_of_the_network_unless_the_user_tells_others() -> None:
    network = LinkFacts(1e8, 1e11, 12_240.0, 1000, whole_bps=False, mark_us=1.6)
    for values, facts in (({}, (12_240, 1600)), ({"reach": 5.0, "marks": 0.0}, (5000, 0))):
        told = Programmed(module="lockstep", values=values).setup(network)
        assert (told.parameters["reach"], told.parameters["marks"]) == facts
    unknown = load("lockstep").integers("default", 1000)
    assert (unknown["reach"], unknown["marks"]) == (0, 0)


def test_a_scenario_s_marking_is_a_delay_in_the_slowest_host_s_queue() -> None:
    assert _SMALL.mark_us == 0
    assert dataclasses.replace(_SMALL, ecn=Ecn(5000, 20_000, 0.2)).mark_us == pytest.approx(1.6)
    classes = Priorities(2, ecn=(Ecn(1000, 2000), Ecn(3000, 5000)))
    assert dataclasses.replace(_SMALL, priorities=classes).mark_us == pytest.approx(0.4)


def test_marks_are_not_told_where_an_unmarked_packet_may_have_waited() -> None:
    """With strict priorities: behind packets of another one."""
    flows = (dataclasses.replace(_SMALL.flows[0], priority=1), *_SMALL.flows[1:])
    for schedule, delay in (("strict", 0), ("drr", 1.6)):
        classes = Priorities(2, schedule=schedule)
        one = dataclasses.replace(_SMALL, priorities=classes, ecn=Ecn(20_000, 20_000))
        assert one.mark_us == pytest.approx(1.6)
        assert dataclasses.replace(one, flows=flows).mark_us == pytest.approx(delay)


def test_a_marking_beyond_all_rtts_is_not_told() -> None:
    """A word of RTTs ends at 16.8 ms; lockstep took no scenario with more."""
    slow = dataclasses.replace(_SMALL, topology=star(5, gbps=1.0))
    for size, told in ((2_000_000, 16_000), (3_000_000, 0)):
        delay = dataclasses.replace(slow, ecn=Ecn(size, size)).mark_us
        link = LinkFacts(1e6, 1e9, 12_240.0, 1000, whole_bps=False, mark_us=delay)
        made = Programmed(module="lockstep").setup(link)
        assert made.parameters["marks"] == told * 1000
