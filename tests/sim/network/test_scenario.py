"""Scenarios as data: the incast presets, start jitter, refusals."""

import math

import numpy as np
import pytest

from precog_sim.network import Buffers, Ecn, Flow, Scenario, incast, star


def test_thesis_preset() -> None:
    scenario = incast("thesis")
    sizes = [flow.size for flow in scenario.flows]
    assert sizes == [200_000_000, 200_000_000, 150_000_000] + [5_000_000] * 17
    assert {flow.dst for flow in scenario.flows} == {0}
    assert scenario.base_rtt_us == pytest.approx(4.16)


def test_arguments_change_the_preset() -> None:
    scenario = incast(senders=32, scale=0.1, base_rtt_us=8.0, gbps=40.0)
    assert [flow.size for flow in scenario.flows][-1] == 500_000
    assert len(scenario.flows) == 32
    assert scenario.base_rtt_us == pytest.approx(8.0)
    assert {link.gbps for link in scenario.topology.links} == {40.0}


def test_jitter_comes_from_the_seed() -> None:
    scenario = incast("hundredth", jitter_ns=100.0)
    first = scenario.starts_ps(3, whole_ns=False)
    np.testing.assert_array_equal(first, scenario.starts_ps(3, whole_ns=False))
    assert (first != scenario.starts_ps(4, whole_ns=False)).any()
    assert 0 <= first.min() < first.max() < 100_000
    assert (scenario.starts_ps(3, whole_ns=True) % 1000 == 0).all()
    assert (incast(jitter_ns=0).starts_ps(3, whole_ns=False) == 0).all()


def test_thresholds_follow_a_port_s_rate() -> None:
    # ns-3: one less for each doubling begun, so 2 at 200 and 1 at 400 Gb/s for 3 at 100
    ratios = (0.5, 1.0, 1.5, 2.0, 4.0, 8.0, 16.0)
    assert [Buffers().shift_at(ratio) for ratio in ratios] == [3, 3, 2, 2, 1, 0, 0]
    assert Ecn(400_000, 1_600_000, 0.2).at(4.0) == Ecn(1_600_000, 6_400_000, 0.2)


def test_unknown_preset() -> None:
    with pytest.raises(ValueError, match=r"incast preset must be one of base8us,.*, not 'huge'"):
        incast("huge")


@pytest.mark.parametrize("size", [0, -5])
def test_a_flow_of_no_bytes(size: int) -> None:
    with pytest.raises(ValueError, match=f"flow size must be at least 1 byte, not {size}: leave"):
        incast(sizes=[1000, size])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: incast(senders=0), "senders must be at least 1, not 0"),
        (lambda: incast(scale=math.nan), "scale must be positive and finite, not nan"),
        (lambda: incast(scale=-1), "scale must be positive and finite, not -1"),
        (lambda: incast(base_rtt_us=math.nan), "base_rtt_us must be finite, not nan"),
        (lambda: incast(base_rtt_us=0.1), "base_rtt_us must be at least 0.16, not 0.1"),
        (lambda: Flow(1, 1, 5), "flow destination must differ from its source, not 1"),
        (lambda: Flow(0, 1, 10**20), r"flow size must be at most \d+ bytes \(1 TiB\), not 1"),
        (
            lambda: incast(jitter_ns=math.nan),
            r"jitter_ns must be in 0\.\..*\(the horizon\), not nan",
        ),
        (lambda: incast(jitter_ns=math.inf), "jitter_ns must be in .*, not inf"),
        (lambda: incast("hundredth", jitter_ns=1e9), "jitter_ns must be in 0..1e.09"),
        (lambda: incast(jitter_ns=-1), "jitter_ns must be in .*, not -1"),
        (lambda: Flow(0, 1, 5, -1), "flow start must be >= 0 ps, not -1"),
        (lambda: Flow(0, 1, 5, dst_port=65536), r"flow dst_port must be in 0\.\.65535, not 65536"),
        (lambda: Ecn(5, 4), "ECN thresholds must satisfy 0 <= min <= max, not 5, 4"),
        (lambda: Ecn(4, 5, 1.5), r"ECN probability must be in \[0, 1\], not 1.5"),
        (lambda: Buffers(pfc="some"), "pfc must be one of dynamic, static, off, not 'some'"),
        (lambda: Buffers(total=-1), "buffer total must be >= 0, not -1"),
        (lambda: Scenario("x", star(2), ()), "scenario must have at least one flow, not none"),
        (
            lambda: Scenario("x", star(2), (Flow(0, 2, 5),)),
            r"flow host must be in 0\.\.1, not 2",
        ),
    ],
)
def test_refusals(make: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()  # type: ignore[operator]
