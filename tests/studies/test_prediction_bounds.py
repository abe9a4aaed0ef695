"""The study of predictions: queues of an incast's receivers, and bounds of a job, by hand."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from precog_net.laws import law
from precog_sim.network import Flow, Record, Result, Scenario, run, star
from precog_studies.prediction.arms import ARMS, OFF
from precog_studies.prediction.bounds import job_bounds
from precog_studies.prediction.cases import CASES, loop_of
from precog_studies.prediction.judged import room
from precog_studies.prediction.page import rooms
from precog_studies.prediction.receivers import receiver_queues

_HEADER, _ACK = 48, 60
_US_PER_BYTE = 8e-5  # at 100 Gb/s
_DELAY_US = 2.0  # of two links
_RECORD = Record(packets=False, probe_us=1.0)


def _ran(flows: tuple[Flow, ...], hosts: int = 4) -> Result:
    scenario = Scenario("by hand", star(hosts), flows, min_gbps=0.1)
    result = run(scenario, law("card:lockstep"), record=_RECORD)
    assert set(result.header.tolist()) == {_HEADER}
    return result


def test_receivers_queues_are_those_of_their_ports_while_the_incast_runs() -> None:
    """Host 0's incast runs from 1 to 3 us and from 5 us on, host 2's from 2 to 4 us."""
    flows = (Flow(1, 0, 1000), Flow(3, 0, 1000), Flow(1, 2, 1000), Flow(0, 3, 1000))
    result = _ran(flows)
    assert result.watched.tolist() == [1, 5, 7]  # ports of the switch to hosts 0, 2 and 3
    traced = replace(
        result,
        start_us=np.array([1.0, 5.0, 2.0, 0.0]),
        fct_us=np.array([2.0, np.nan, 2.0, 9.0]),
        probe_t_us=np.arange(8.0),
        probe_queue=np.arange(8)[:, None] + np.array([[0, 100, 1000]]),
    )
    found = receiver_queues(traced, np.array([True, True, True, False]))
    assert found.tolist() == [1, 2, 5, 6, 7, 102, 103]


def test_a_link_bounds_a_job_and_the_background_s_bytes_raise_the_bound() -> None:
    """Twice 10 KB to host 2 are 20,960 bytes on the wire: 1.6768 us, and 4 us of delays.

    The background brings 5,240 bytes on the wire in each of 8 us, 0.4192 us of the link. After 9 us
    5.6768 + 8 x 0.4192 = 9.0304 us are needed, after 10 us there is time enough.
    """
    flows = (Flow(0, 2, 10_000), Flow(1, 2, 10_000), Flow(3, 2, 40_000))
    times = np.arange(20.0)
    got = np.zeros((20, 3), dtype=np.int64)
    got[:, 2] = np.minimum(5000 * np.arange(20), 40_000)
    result = replace(
        _ran(flows),
        probe_t_us=times,
        probe_got=got,
        start_us=np.zeros(3),
        fct_us=np.array([8.5, 6.0, 15.0]),
    )
    job = np.array([True, True, False])
    found = job_bounds(result, job)
    assert found.alone == pytest.approx(5.6768, abs=1e-12)
    assert found.shared == pytest.approx(9.0304, abs=1e-12)
    assert found.job == pytest.approx(1.6768, abs=1e-12)
    assert found.background == pytest.approx(3.3536, abs=1e-12)
    assert found.idle == pytest.approx(8.5 - 1.6768 - 3.3536, abs=1e-12)
    slower = replace(result, probe_got=got // 5)
    # After 6 us 5.6768 + 6 x 0.08384 = 6.17984 us are needed, after 7 us there is time enough.
    assert job_bounds(slower, job).shared == pytest.approx(6.17984, abs=1e-12)
    later = replace(result, probe_got=np.where(times[:, None] < 6, 0, got))
    assert job_bounds(later, job).shared == pytest.approx(5.6768, abs=1e-12)


def test_a_chain_bounds_a_job_and_an_idle_network_nearly_reaches_the_bound() -> None:
    """A packet takes 2 x 0.08384 us and 2 us; the last one's answer 2 us more, and its bytes.

    The answer to the first flow leaves host 1 before the second flow's packet: the run takes longer
    by its bytes. The third flow's gap hides the answer to the second one.
    """
    flows = (
        Flow(0, 1, 1000),
        Flow(1, 2, 1000, after=(0,)),
        Flow(2, 3, 1000, 500_000, after=(1,)),
    )
    result = _ran(flows)
    assert set(result.ack_bytes.tolist()) == {_ACK}
    one_way = 2 * 1048 * _US_PER_BYTE + _DELAY_US
    found = job_bounds(result, np.ones(3, dtype=bool))
    by_hand = 3 * one_way + 0.5 + _DELAY_US + 2 * _ACK * _US_PER_BYTE
    assert found.alone == found.shared == pytest.approx(by_hand, abs=1e-9)
    ended = float((result.start_us + result.fct_us).max() - result.start_us.min())
    assert ended == pytest.approx(by_hand + _ACK * _US_PER_BYTE, abs=1e-9)


def test_no_run_is_faster_than_its_bounds() -> None:
    case = CASES["alltoall"]
    result, traffic, _ = loop_of(case, {}, ARMS[OFF], 3001)
    job = np.array(traffic.kind) == case.job
    found = job_bounds(result, job)
    took = float((result.start_us + result.fct_us)[job].max() - result.start_us[job].min())
    assert 0 < found.alone < found.shared < took
    assert found.job + found.background + found.idle == pytest.approx(took)
    untraced = Record(packets=False, probe_us=0.0, depth_us=5.0)
    plain, _, _ = loop_of(case, {}, ARMS[OFF], 3001, record=untraced)
    assert np.array_equal(plain.fct_us, result.fct_us)
    assert np.array_equal(plain.depths, result.depths)


def _job_run(took: float, alone: float, shared: float) -> dict[str, Any]:
    return {"job_us": took, "bounds": {"alone": alone, "shared": shared}}


def test_room_is_the_job_over_its_bounds() -> None:
    runs = [_job_run(200.0, 100.0, 200.0), _job_run(400.0, 100.0, 400.0)]
    found = room(runs)
    assert (found["alone"].before, found["alone"].after, found["alone"].ratio) == (100, 300, 3)
    assert (found["alone"].low, found["alone"].high) == (2, 4)
    assert (found["shared"].low, found["shared"].ratio, found["shared"].high) == (1, 1, 1)
    assert room([*runs, {"job_us": 1.0, "bounds": None}]) == {}
    one = {"before": 100.0, "after": 300.0, "ratio": 3.0, "low": 2.0, "high": 4.0}
    near = one | {"before": 300.0, "ratio": 1.0, "low": 1.0, "high": 1.0}
    link = {"job": 100.0, "background": 20.0, "idle": 180.0}
    cases = {"ring": {"room": {"alone": one, "shared": near}, "link": link}, "n5": {}}
    text = "\n".join(rooms(cases))
    assert "| ring | the job alone | 100 | 3.00 (2.00–4.00) | 0.33 |" in text
    assert "`ring`: not every bound leaves room for the goal of 0.95." in text
    assert "job 100, background 20, idle 180" in text
    assert rooms({"n5": {}}) == []
