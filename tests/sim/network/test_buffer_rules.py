"""The buffer rules of source 004: the formula, and that a run refuses what breaks them."""

from dataclasses import replace

import pytest

from precog_sim.network import (
    Buffers,
    Dcqcn,
    Ecn,
    Flow,
    Pid,
    Scenario,
    check_buffer_rules,
    fat_tree,
    incast,
    run,
)
from precog_sim.network.buffer_rules import T_FLIGHT, static_threshold

_INCAST = incast("hundredth")
_ECN = Ecn(300_000, 300_000)


def test_formula_of_the_static_threshold() -> None:
    # The paper's switch: 32 ports, 12 MB shared buffer, 22.4 KB of headroom: 24.47 KB
    assert static_threshold(12_000_000, 32) == 24_475
    assert T_FLIGHT == 22_400


def test_thesis_scenario_satisfies_all() -> None:
    rules = check_buffer_rules(_INCAST, _ECN, 1048)
    assert {rule.rule for rule in rules} == {"t_pfc", "ecn_before_pfc", "resume"}
    assert all(rule.ok for rule in rules)


@pytest.mark.parametrize(
    ("buffers", "ecn", "message"),
    [
        (Buffers(pfc="static", pfc_bytes=500_000), None, r"t_PFC 500000 B, at most \(B - 8 n"),
        (Buffers(pfc="static", total=1_000_000), None, "lower pfc_bytes or enlarge buffers.total"),
        (Buffers(total=500_000), None, "B are left to share after headroom and reserve: enlarge"),
        (Buffers(headroom=20_000), None, "headroom 20000 B holds less than the 27096 B in flight"),
        (
            Buffers(pfc="static"),
            Ecn(400_000, 1_600_000, 0.2),
            "ECN marks from 400000 B, PFC pauses",
        ),
    ],
)
def test_a_run_refuses_broken_rules(buffers: Buffers, ecn: Ecn | None, message: str) -> None:
    scenario = replace(_INCAST, buffers=buffers, ecn=ecn)
    with pytest.raises(ValueError, match=message):
        run(scenario, Pid())


def test_the_fabric_marks_later_and_its_hosts_are_paused_first() -> None:
    # 20 ports, 16 of them at 100 Gb/s: K_min is 1.6 MB at 400 Gb/s, an eighth of the rest is held
    scenario = Scenario("tree", fat_tree(), (Flow(0, 1, 5),))
    left = scenario.buffers.total - 16 * 37_500 - 4 * 150_000 - 20 * 4096
    rules = check_buffer_rules(scenario, Ecn(900_000, 900_000), 1048)
    rack = next(rule for rule in rules if rule.rule == "ecn_before_pfc")
    at_mark = (left - 3_600_000) >> 3
    assert at_mark < 3_600_000
    assert not rack.ok
    assert f"ECN marks from 3600000 B, PFC pauses at {at_mark} B" in rack.message


def test_resume_offset_is_a_warning() -> None:
    scenario = replace(_INCAST, buffers=Buffers(resume_bytes=1000))
    (rule,) = (r for r in check_buffer_rules(scenario, _ECN, 1048) if not r.ok)
    assert (rule.rule, rule.fatal) == ("resume", False)
    assert "two MTUs are 2096 B" in rule.message


def test_marking_of_the_congestion_control_is_what_is_checked() -> None:
    scenario = replace(_INCAST, buffers=Buffers(pfc="static"))
    with pytest.raises(ValueError, match="ECN marks from 400000 B"):
        run(scenario, Dcqcn())
    assert run(scenario, Dcqcn(preset="paper")).finished
