"""Figures of merit from runs small enough to work out by hand, and means over seeds."""

import math

import numpy as np
import pytest

from precog_sim.network import (
    Fixed,
    Flow,
    Pid,
    Scenario,
    estimate,
    fat_tree,
    incast,
    measure,
    run,
    star,
)
from precog_sim.network.metrics import summarise


def test_a_lone_flow() -> None:
    result = run(Scenario("one", star(2), (Flow(1, 0, 1_000_000),)), Fixed())
    metrics = measure(result)
    fct_us = 999 * 0.08384 + 4.17728
    assert metrics.mean_rate_gbps == pytest.approx(8000 / fct_us)
    assert metrics.utilisation == pytest.approx(1000 * 0.08384 / fct_us)
    assert metrics.jain == 1.0
    assert metrics.slowdown_mean == pytest.approx(1.0, abs=1e-12)
    assert metrics.packet_mean_us == pytest.approx(4.17728)


@pytest.mark.parametrize("size", [300, 1000, 1001, 54_321])
def test_a_flow_alone_in_a_fat_tree_has_slowdown_one(size: int) -> None:
    topology = fat_tree(pods=2, tors=2, aggs=2, cores=2, hosts_per_tor=2)
    result = run(Scenario("alone", topology, (Flow(0, 7, size),)), Fixed())
    assert measure(result).slowdown_mean == pytest.approx(1.0, abs=1e-12)
    slower = fat_tree(pods=2, tors=2, aggs=2, cores=2, hosts_per_tor=2, fabric_gbps=40.0)
    result = run(Scenario("alone", slower, (Flow(0, 7, size),)), Fixed())
    assert measure(result).slowdown_mean == pytest.approx(1.0, abs=1e-12)


def test_jain_is_over_flows_of_the_commonest_size() -> None:
    flows = (Flow(1, 0, 3000), Flow(2, 0, 1000), Flow(3, 0, 1000, start_ps=50_000_000))
    metrics = measure(run(Scenario("jain", star(4), flows), Fixed(start_gbps=1)))
    assert metrics.jain == pytest.approx(1.0, abs=1e-3)


def test_unfinished_flows_are_nan() -> None:
    scenario = Scenario("cut", star(2), (Flow(1, 0, 1_000_000),), horizon_us=10.0)
    result = run(scenario, Fixed())
    assert not result.finished
    assert math.isnan(measure(result).mean_rate_gbps)


def test_estimate() -> None:
    e = estimate([1.0, 2.0, 3.0, 6.0])
    assert (e.mean, e.low, e.high, e.seeds) == (3.0, 1.0, 6.0, 4)
    assert e.half_width == pytest.approx(3.182 * np.std([1, 2, 3, 6], ddof=1) / 2)
    assert math.isnan(estimate([1.0]).half_width)
    with pytest.raises(ValueError, match="values must hold at least one seed's figure"):
        estimate([])


def test_summary_covers_every_figure() -> None:
    runs = [measure(run(incast("hundredth"), Pid(), seed=seed)) for seed in range(3)]
    summary = summarise(runs)
    rates = [run.mean_rate_gbps for run in runs]
    assert summary["mean_rate_gbps"].mean == pytest.approx(np.mean(rates))
    assert summary["samples"].seeds == 3
