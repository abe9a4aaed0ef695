"""Receivers that say how many flows share their link, and starts that believe it."""

from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from precog_sim.network import LIES, Flow, Hints, Hpcc, Programmed, Result, Scenario, incast, run
from precog_sim.network.topology import star

_SIZE = 200_000


def _law(text: str) -> Programmed:
    made = ModuleType("hinted")
    exec(compile(text, "hinted.py", "exec"), vars(made))
    return Programmed(module=made)


#: What it hears last becomes its prediction, which runs record; the rate stays.
_HEARS = _law(
    """
STATE = (("level", "int", "that it heard last"), ("rises", "int", "how many"))
def on_score(p, s, e):
    s.level = e.senders
    s.rises += 1
    return e.rate
def on_sample(p, s, e):
    e.prediction = s.level + 100.0 * s.rises
    return e.rate
"""
)
_WINDOWED = _law("WINDOWED = True\ndef on_ack(p, s, e):\n    return e.rate, e.window")


def _run(hints: Hints, law: Programmed = _HEARS, senders: int = 5, **changes: Any) -> Result:
    scenario = replace(incast(sizes=[_SIZE] * senders, jitter_ns=0.0), hints=hints, **changes)
    return run(scenario, replace(law, start_gbps=10.0), seed=0)


def _last(result: Result) -> list[float]:
    """The last prediction of each flow."""
    return [
        float(result.sample_predicted_us[result.sample_flow == f][-1])
        for f in range(result.size.size)
    ]


@pytest.mark.parametrize(("senders", "level"), [(1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (9, 4)])
def test_flows_hear_the_binary_logarithm_rounded_up(senders: int, level: int) -> None:
    heard = [told % 100 for told in _last(_run(Hints(echo=True, least=0), senders=senders))]
    assert max(heard) == level


def test_a_law_hears_of_changes_alone() -> None:
    """All flows end at once: the level rises to 3, and falls with the last packets."""
    changes = [told // 100 for told in _last(_run(Hints(echo=True, least=50_000)))]
    assert max(changes) <= 6
    assert min(changes) >= 1


def test_a_flow_counts_until_all_of_it_has_come() -> None:
    """One that has little left has as much of a share as before."""
    flows = (Flow(1, 0, 4 * _SIZE), *(Flow(k, 0, _SIZE) for k in (2, 3, 4)))
    made = Scenario("ends", star(5), flows, hints=Hints(echo=True, least=_SIZE - 1))
    result = run(made, replace(_HEARS, start_gbps=10.0), seed=0)
    told = result.sample_predicted_us[result.sample_flow == 0] % 100
    others = result.fct_us[1:].min()
    assert (told[:1] <= 2).all()
    assert told[-1] == 0
    at = result.sample_t_us[result.sample_flow == 0]
    assert (told[(at > 0.5 * others) & (at < others)] == 2).all()


def test_a_word_that_goes_up_and_down_is_heard_seldom() -> None:
    """Random levels: the greatest come soon; then one is heard for each `hold_us`."""
    lies = [
        _last(_run(Hints(echo=True, least=0, lie="random", hold_us=hold))) for hold in (0.0, 500.0)
    ]
    assert max(told // 100 for told in lies[1]) <= 9
    assert min(told // 100 for told in lies[0]) > 40


def test_small_flows_do_not_count() -> None:
    assert _last(_run(Hints(echo=True, least=_SIZE))) == [0.0] * 5


def test_without_an_echo_no_law_hears() -> None:
    assert _last(_run(Hints())) == [0.0] * 5


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_the_liar_s_alone(lie: str) -> None:
    """Host 0 tells the truth to three, host 1 lies to three."""
    flows = tuple(Flow(k + 2, k % 2, _SIZE) for k in range(6))
    made = Scenario("two", star(8), flows)
    told, lied = (
        run(replace(made, hints=hints), replace(_HEARS, start_gbps=10.0), seed=0)
        for hints in (Hints(echo=True, least=0), Hints(echo=True, least=0, lie=lie, liars=(1,)))
    )
    assert _last(told)[::2] == _last(lied)[::2]
    said = max(level % 100 for level in _last(lied)[1::2])
    assert said == {"most": 15, "nothing": 0, "stale": 0}.get(lie, said)
    assert lie != "inverted" or said >= 4  # the truth is 2 at the most


def test_the_first_window_holds_until_the_first_answer() -> None:
    """A flow has two packets on the way, and then all that its rate allows."""
    free, held = (
        _run(hints, _WINDOWED, senders=1, min_gbps=0.1) for hints in (Hints(), Hints(first=2000))
    )
    assert 0 < held.fct_us[0] - free.fct_us[0] < 2 * held.scenario.base_rtt_us
    np.testing.assert_array_equal(_run(Hints(first=1 << 30), _WINDOWED, 1).fct_us, free.fct_us)


@pytest.mark.parametrize("guess", range(4))
def test_a_law_hears_what_its_flow_believes(guess: int) -> None:
    """Once, before its first packet, if it is a level of 2 or more and the flow counts."""
    heard = [100.0 + guess if guess >= 2 else 0.0]
    assert _last(_run(Hints(guesses=(guess,), least=0), senders=1)) == heard
    assert _last(_run(Hints(guesses=(guess,), least=_SIZE), senders=1)) == [0.0]


def test_the_first_word_replaces_a_belief_at_once() -> None:
    """It is lower, which other words must be for `hold_us` before they are heard."""
    hints = Hints(echo=True, least=0, guesses=(5,), hold_us=1e6)
    assert _last(_run(hints, senders=1)) == [200.0]


@pytest.mark.parametrize(("own", "heard"), [(1, 3), (2, 3), (4, 3), (5, 0)])
def test_a_crowded_sender_does_not_heed_a_level(own: int, heard: int) -> None:
    """Host 1 has flows to other hosts, too; its receiver says 3, for five to eight flows."""
    to_one = [Flow(k + 1, 0, _SIZE) for k in range(8)]
    others = [Flow(1, 9 + k, _SIZE) for k in range(own - 1)]
    made = Scenario("own", star(14), (*to_one, *others), hints=Hints(echo=True, least=0))
    result = run(made, replace(_HEARS, start_gbps=10.0), seed=0)
    of_flow = result.sample_predicted_us[result.sample_flow == 0] % 100
    assert max(of_flow) == heard
    assert result.heard[0] == 3


def test_a_sender_s_table_knows_the_last_crowd_for_a_while() -> None:
    """The first flow of host 1 meets three others; its next one comes soon, or too late."""
    crowd = tuple(Flow(k + 1, 0, _SIZE) for k in range(4))
    believed = []
    for gap_us, table_us in ((100, 200.0), (400, 200.0), (100, 0.0)):
        later = Flow(1, 0, _SIZE, after=(0,), start_ps=gap_us * 1_000_000)
        hints = Hints(echo=True, least=50_000, table_us=table_us)
        made = Scenario("again", star(5), (*crowd, later), hints=hints, min_gbps=0.1)
        result = run(made, replace(_HEARS, start_gbps=10.0), seed=0)
        believed.append(float(result.sample_predicted_us[result.sample_flow == 4][0]))
    assert believed == [102.0, 0.0, 0.0]


def test_what_a_flow_heard_first_is_kept() -> None:
    """Of flows that start at once, by the time that each has had an answer."""
    result = _run(Hints(echo=True, least=0))
    assert result.heard.tolist() == [3] * 5
    assert (result.heard_us > 0).all()
    assert _run(Hints()).heard.tolist() == [0] * 5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"first": -1}, "hints first must be >= 0 bytes, not -1"),
        ({"least": -1}, "hints least must be >= 0 bytes, not -1"),
        ({"echo": True, "table_us": 2e6}, "hints table_us must be in 0..1e6"),
        ({"echo": True, "lie": "half"}, "hints lie must be one of most, nothing, random"),
        ({"guesses": (16,)}, "hints guesses must be in 0..15, not 16"),
        ({"table_us": 1.0}, "hints must be echoed where there is a table or a lie"),
        ({"echo": True, "liars": (1,)}, "hints of liars must have a lie"),
    ],
)
def test_hints_that_cannot_be(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Hints(**changes)


def test_what_a_run_refuses() -> None:
    with pytest.raises(ValueError, match="guesses must be one for each of 5 flows, not 1"):
        _run(Hints(guesses=(1,)))
    with pytest.raises(ValueError, match=r"liars must be hosts in 0..5, not 9"):
        _run(Hints(echo=True, lie="most", liars=(9,)))
    scenario = replace(incast("hundredth", senders=2), hints=Hints(echo=True))
    with pytest.raises(ValueError, match="hints must not share acknowledgements with telemetry"):
        run(scenario, Hpcc())
