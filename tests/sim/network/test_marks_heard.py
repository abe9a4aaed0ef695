"""Lockstep where switches mark: a long RTT without a mark is of the way back."""

from dataclasses import replace

import pytest

from precog_sim.network import Ecn, Flow, Programmed, Result, Scenario, run, star

_MARKS = Ecn(20_000, 20_000)
_SENDERS, _SIZE = 16, 500_000
_BDP = 60_000  # of a star, with headers


def _run(*flows: Flow, heard: bool, marked: bool = True, **values: float) -> Result:
    """An incast at host 0, and more flows."""
    senders = (Flow(2 + k, 0, _SIZE) for k in range(_SENDERS))
    network = star(_SENDERS + 2)
    scenario = Scenario("incast", network, (*senders, *flows), horizon_us=5000.0)
    if marked:
        scenario = replace(scenario, ecn=_MARKS)
    values["marks"] = 1.6 if heard else 0.0
    return run(scenario, Programmed(module="lockstep", start_gbps=100.0, values=values))


def test_a_receiver_of_an_incast_sends_at_its_link_s_rate() -> None:
    """Its acknowledgements wait behind the incast: 50 us and more, where its own way is idle."""
    deaf, hearing = (_run(Flow(0, 1, _SIZE), heard=heard) for heard in (False, True))
    assert deaf.finished
    assert hearing.finished
    alone_us = _SIZE * 8e-5
    assert hearing.fct_us[-1] < 0.75 * deaf.fct_us[-1]
    assert hearing.fct_us[-1] > alone_us
    print(f"{deaf.fct_us[-1]:.0f} us, with marks {hearing.fct_us[-1]:.0f} us, alone {alone_us:.0f}")


def test_an_incast_with_marks_is_one_without() -> None:
    """Queues of the way out mark: what they delay is heard."""
    deaf, hearing = (_run(heard=heard) for heard in (False, True))
    assert hearing.max_queue == deaf.max_queue
    assert hearing.fct_us.max() == pytest.approx(deaf.fct_us.max(), rel=0.03)


def test_without_marks_a_flow_has_at_most_its_line_s_window() -> None:
    """What a receiver that hides marks can do, and switches that mark nothing.

    With `clear` as it is, windows shrink below that. At 0 they would grow without their limit.
    """
    hidden = _run(heard=True, marked=False, clear=0.0)
    assert hidden.finished
    assert hidden.max_queue <= _SENDERS * _BDP
