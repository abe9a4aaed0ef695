"""Every law of the golden NIC in the loop: against itself, and against its float reference.

The loop is chaotic: after the first rate that differs by more than rounding, two runs go their own
ways. So the first decisions are compared one by one, and after that only means. What was measured
stands beside the limits: the worst of six seeds.
"""

import dataclasses
from typing import NamedTuple

import numpy as np
import pytest

from precog_host.device import Device
from precog_host.driver.law import STANDARD
from precog_models.rate.reference import pid
from precog_sim.loop import LoopSetup, compare, run_in_loop
from precog_sim.network import (
    CongestionControl,
    Dcqcn,
    Ecn,
    Fixed,
    Pid,
    Result,
    Scenario,
    Timely,
    incast,
    run,
)
from precog_spec.contract import DECISION_FIELDS, SAMPLE_FIELDS, Flag

_NAMES = [name for name, _ in (*SAMPLE_FIELDS, *DECISION_FIELDS)]
_FLAGS = _NAMES.index("flags")
_ENGINE = "emu:law_cores=1"


class Case(NamedTuple):
    """A law, its reference, and how near they must stay."""

    setup: LoopSetup
    float: CongestionControl
    scenario: str
    tolerance: float  # of the first decisions' rates, relative
    first: int  # decisions; measured: the least of six seeds
    fct: float  # of the mean completion time; measured: the largest of six seeds
    rate: float  # of the mean rate; likewise


def _timely(name: str, *limits: float) -> Case:
    setup = LoopSetup(algorithm="timely", timely=name, init_gbps=10.0)
    reference = Timely(preset=name, start_gbps=10.0, retime=True)
    first, fct, rate = limits
    return Case(setup, reference, "hundredth", 1e-5, int(first), fct, rate)


def _dcqcn(name: str, *limits: float) -> Case:
    setup = LoopSetup(algorithm="dcqcn", dcqcn=name, init_gbps=10.0)
    reference = Dcqcn(preset=name, start_gbps=10.0, retime=True)
    first, fct, rate = limits
    return Case(setup, reference, "tenth", 1e-5, int(first), fct, rate)


# The golden pid uses a flow's first sample, and its gains have 12 binary places.
_PID = Pid(preset=dataclasses.replace(pid.PRESETS["thesis"], first="use"))

CASES = {
    "fixed": Case(
        LoopSetup(algorithm="fixed", init_gbps=5.0),
        Fixed(start_gbps=5.0),
        *("hundredth", 0.0, 2000, 0.0, 0.0),
    ),
    "pid": Case(LoopSetup(algorithm="pid"), _PID, "hundredth", 2e-4, 30, 0.01, 0.02),
    # measured: 77, 0.0005, 0.0023; 283, 0.00005, 0.00005; 46, 0.0002, 0.00005
    "timely paper": _timely("paper", 50, 0.002, 0.01),
    "timely ns3": _timely("ns3", 200, 0.001, 0.001),
    "timely scaled": _timely("scaled", 30, 0.002, 0.002),
    # 511, 0.00005, 0.00005
    "timely patched": _timely("patched", 300, 0.001, 0.001),
    # 161, 0.0190, 0.0104: an increase is up to 14 us late; 377, 0.0081, 0.0216; 665, 0.0006, 0.0010
    "dcqcn paper": _dcqcn("paper", 120, 0.04, 0.03),
    "dcqcn vendor": _dcqcn("vendor", 200, 0.03, 0.05),
    "dcqcn ns3": _dcqcn("ns3", 400, 0.01, 0.01),
}


def _scenario(name: str) -> Scenario:
    """An incast that starts at 100 us: a first sample's time is then beyond every law's RTT.

    The float TIMELY's clock starts at 0 with the run and scales its first step by the time since;
    the NIC's has no beginning.
    """
    made = incast(name)
    late = tuple(dataclasses.replace(flow, start_ps=100_000_000) for flow in made.flows)
    return dataclasses.replace(made, flows=late)


def _device(setup: LoopSetup, uri: str = "emu:qps=32") -> str:
    """`uri` with a law engine where the law is a program."""
    return uri + ",law_cores=1" * (setup.algorithm in STANDARD)


def _golden(setup: LoopSetup, scenario: Scenario, timing: str = "exact") -> Result:
    with Device.open(_device(setup)) as device:
        return run_in_loop(device, setup, scenario, timing=timing)


@pytest.mark.parametrize("name", CASES)
def test_golden_in_the_loop_is_near_the_float_law(name: str) -> None:
    case = CASES[name]
    scenario = _scenario(case.scenario)
    golden, real = _golden(case.setup, scenario), run(scenario, case.float)
    assert golden.finished
    assert real.finished
    assert (golden.header == real.header).all()
    assert golden.data_got == real.data_got
    assert golden.retransmitted == real.retransmitted == 0
    first = slice(case.first)
    np.testing.assert_array_equal(golden.sample_flow[first], real.sample_flow[first])
    np.testing.assert_allclose(
        golden.sample_rate_gbps[first], real.sample_rate_gbps[first], rtol=case.tolerance
    )
    assert golden.fct_us.mean() == pytest.approx(real.fct_us.mean(), rel=case.fct, abs=0)
    rates = [result.sample_rate_gbps.mean() for result in (golden, real)]
    assert rates[0] == pytest.approx(rates[1], rel=case.rate, abs=0)


@pytest.mark.parametrize("timing", ["exact", "ns3"])
@pytest.mark.parametrize("name", CASES)
def test_golden_in_the_loop_repeats_itself(name: str, timing: str) -> None:
    setup = CASES[name].setup
    runs = [_golden(setup, incast("hundredth"), timing) for _ in range(2)]
    found = compare(*runs)
    assert (found.mismatches, found.first, found.predictions) == (0, "", 0)
    of_events = runs[0].log[:, _FLAGS] >> Flag.EVENT & 1
    assert found.decisions == len(runs[0].log) == len(runs[0].sample_flow) + found.events
    assert found.events == of_events.sum()
    assert (found.events > 0) == (setup.algorithm == "dcqcn")


def test_event_rows_are_named_as_events() -> None:
    one = _golden(CASES["dcqcn paper"].setup, incast("hundredth"))
    of_event = one.log[:, _FLAGS] >> Flag.EVENT & 1
    for kind, name in ((1, "value"), (0, "rtt")):
        row = int(np.flatnonzero(of_event == kind)[0])
        log = one.log.copy()
        log[row, 1] += 1
        found = compare(one, dataclasses.replace(one, log=log))
        value = one.log[row, 1]
        assert found.first == f"decision {row}, field {name}: {value} against {value + 1}"


def test_notifications_come_as_packets_or_in_acknowledgements() -> None:
    # paper: CNPs at most every 50 us; ns-3: each marked acknowledgement counts.
    paper = _golden(CASES["dcqcn paper"].setup, incast("tenth"))
    ns3 = _golden(CASES["dcqcn ns3"].setup, incast("tenth"))
    assert (paper.cnps > 0, ns3.cnps) == (True, 0)
    assert min(paper.marks, ns3.marks) > 0


def test_the_device_counts_what_it_was_told() -> None:
    setup = CASES["dcqcn paper"].setup
    with Device.open(_device(setup)) as device:
        result = run_in_loop(device, setup, incast("hundredth"))
        counters = device.counters()
    events = int((result.log[:, _FLAGS] >> Flag.EVENT & 1).sum())
    assert (counters["events"], counters["ignored"]) == (events, 0)
    assert (counters["samples"], counters["dropped"]) == (len(result.sample_flow), 0)


@pytest.mark.cosim
@pytest.mark.xdist_group("law_engine")
@pytest.mark.parametrize(
    "name", ["fixed", "timely paper", "timely ns3", "timely patched", "dcqcn vendor", "dcqcn ns3"]
)
def test_the_rtl_in_the_loop_decides_as_the_golden_nic(name: str) -> None:
    # every packet of a short incast, marked early: notifications, cuts and increases
    scenario = dataclasses.replace(
        incast("hundredth", sizes=[300_000, 250_000, 200_000]), ecn=Ecn(2000, 20_000, 0.5)
    )
    setup = dataclasses.replace(CASES[name].setup, init_gbps=40.0)
    golden = _golden(setup, scenario)
    with Device.open(_device(setup, "sim:tiny")) as device:
        rtl = run_in_loop(device, setup, scenario)
    found = compare(golden, rtl)
    assert (found.mismatches, found.first) == (0, "")
    assert found.decisions == len(golden.log) > 10
    assert (found.events > 0) == name.startswith("dcqcn")


@pytest.mark.parametrize(
    ("uri", "setup", "message"),
    [
        ("emu:", {"algorithm": "hpcc"}, "algorithm must be one of fixed, pid, predpid, not"),
        (_ENGINE, {"algorithm": "timely", "timely": "x"}, "preset of timely must be one of def"),
        (_ENGINE, {"algorithm": "dcqcn", "dcqcn": "x"}, "preset of dcqcn must be one of default"),
        (_ENGINE, {"algorithm": "pid", "law_values": (("g", 0.5),)}, "law_values must be left out"),
        ("emu:", {"algorithm": "dcqcn"}, "device must have a law engine for dcqcn: open it with l"),
    ],
)
def test_refused(uri: str, setup: dict[str, str], message: str) -> None:
    with Device.open(uri) as device, pytest.raises(ValueError, match=message):
        run_in_loop(device, LoopSetup(**setup), incast("hundredth"))  # type: ignore[arg-type]


def test_the_setup_s_least_rate_is_the_device_s() -> None:
    # Twenty flows in the incast fall to whatever floor there is; the preset's is 1 Gb/s.
    scenario = incast("hundredth")
    for least in (None, 3.0):
        setup = LoopSetup(algorithm="pid", init_gbps=10.0, min_gbps=least)
        rates = _golden(setup, scenario).sample_rate_gbps
        assert rates.min() == (least or 1.0)
