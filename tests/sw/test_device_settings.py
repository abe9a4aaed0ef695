"""Parameters, configurations, laws and the watchdog on every transport."""

import dataclasses

import numpy as np
import pytest

from precog_host.device import Device
from precog_host.driver.watchdog import Watchdog
from precog_host.transport import DeviceError
from precog_models.presets import LAW_PRESETS
from precog_spec.contract import Flag

from .support import prepare, random_image, random_samples


def test_presets_and_parameters(device: Device) -> None:
    for name, preset in LAW_PRESETS.items():
        device.apply_preset(name)
        seen = device.parameters()
        assert seen["kd"] == pytest.approx(preset.kd, abs=2**-14)
        assert seen["dmin"] == pytest.approx(preset.dmin, abs=2**-17)
        assert seen["base_window_us"] == preset.base_window_us
        assert bool(seen["advice_clamp"]) == (preset.advice_limit is not None)
    device.set_parameters(kp=-0.5, queue_budget_us=2.5, mtu=4096)
    seen = device.parameters()
    assert (seen["kp"], seen["queue_budget_us"], seen["mtu"]) == (-0.5, 2.5, 4096)


def test_parameters_that_do_not_fit_change_nothing(device: Device) -> None:
    before = device.parameters()
    for bad, message in (
        ({"kp": 4.0}, r"kp must be in -4\.\.3\.99988, not 4\.0"),
        ({"mtu": 65536}, r"mtu must be in 0\.\.65535"),
        ({"ki": float("nan")}, r"ki must be in .*, not nan"),
        ({"queue_budget_us": -1.0}, r"queue_budget_us must be in 0\.\."),
        ({"kx": 1.0}, r"parameter 'kx' must be one of sigma, "),
    ):
        with pytest.raises(ValueError, match=message):
            device.set_parameters(kd=1.0, **bad)
    with pytest.raises(ValueError, match=r"law preset must be one of thesis, precog, not 'x'"):
        device.apply_preset("x")
    assert device.parameters() == before


def test_configuration_round_trip_and_refusals(device: Device) -> None:
    qp = device.qp(3)
    qp.configure(
        preset="thesis",
        enable=True,
        algorithm="pid",
        win=True,
        rttch=True,
        max_gbps=50,
        clear=False,
    )
    status = qp.status()
    assert status.enable
    assert status.algorithm == "pid"
    assert status.target_mode == "fixed"
    assert (status.win, status.rttch, status.model_slot) == (True, True, None)
    assert status.max_rate_gbps == 50
    qp.configure(model_slot=1, follow_base=True, win=False)
    later = qp.status()
    assert (later.model_slot, later.target_mode, later.win) == (1, "base", False)
    for keywords, message in (
        (
            {"algorithm": "cubic"},
            "algorithm must be one of fixed, pid, predpid, not 'cubic'",
        ),
        ({"preset": "x"}, "law preset must be one of"),
        ({"max_gbps": 5000.0}, r"max_rate_gbps must be in 0\.\.2048, not 5000\.0"),
        ({"min_gbps": 60.0}, "min_gbps must not be above max_gbps, not 60 and 50"),
        (
            {"init_gbps": 60.0},
            r"initial rate \(init_gbps\) must be in min_gbps\.\.max_gbps, 1\.\.50 Gb/s, not 60: "
            "give another rate, or other limits",
        ),
        (
            {"init_gbps": 0.5},
            r"initial rate \(init_gbps\) must be in min_gbps\.\.max_gbps, 1\.\.50 Gb/s, not 0\.5: ",
        ),
        ({"target_us": float("inf")}, "target_us must be in"),
        ({"model_slot": 99}, "model slot must be in"),
    ):
        with pytest.raises(ValueError, match=message):
            qp.configure(**keywords)  # type: ignore[arg-type]
    assert qp.status() == later
    with pytest.raises(ValueError, match=r"QP must be in 0\.\.\d+, not -1"):
        device.qp(-1)
    assert dataclasses.asdict(device.qp(2).status())["enable"] is False


def test_a_queue_pair_without_a_maximum_rate_is_not_enabled(device: Device) -> None:
    qp = device.qp(1)
    with pytest.raises(ValueError, match=r"QP 1 must have a maximum rate .*: give a preset"):
        qp.configure(enable=True, algorithm="pid")
    assert not qp.status().enable
    qp.configure(enable=True, algorithm="pid", max_gbps=10.0)
    assert qp.status().enable


def test_clear_starts_from_the_initial_rate(device: Device, seed: int) -> None:
    device.apply_preset("precog")
    device.qp(0).configure(preset="precog", enable=True, algorithm="pid", init_gbps=20)
    samples = random_samples(seed, 10, [0])
    first = device.decide(samples)
    device.qp(0).clear()
    assert np.array_equal(device.decide(samples), first)


def test_a_command_for_a_qp_that_does_not_exist(device: Device) -> None:
    number = device.sizes.qps
    with pytest.raises(DeviceError, match=f"QP {number} command was refused: range"):
        device.qp_window.command(number, "fetch")
    device.qp(0).status()  # the error has been cleared


def test_an_error_that_stood_before_a_command_is_not_its_own(device: Device) -> None:
    """As a host leaves it that is interrupted between a command and its look at ERROR."""
    device.registers.write_fields("QP", "SELECT", index=device.sizes.qps)
    device.registers.write_fields("QP", "COMMAND", fetch=1)
    assert device.registers.fields("QP", "ERROR")["range"]
    device.qp(0).configure(preset="precog", enable=True, algorithm="pid")
    assert device.qp(0).status().enable


def test_programs_have_no_window() -> None:
    with Device.open("emu:law_cores=1,qps=4") as device:
        for law in ("timely", "dcqcn"):
            device.qp(1).configure(preset="precog", enable=True, algorithm=law)
            assert device.qp(1).status().algorithm == law
            with pytest.raises(ValueError, match=f"win must be off with {law}"):
                device.qp(1).configure(win=True)
        rows = device.decide(random_samples(3, 20, [1]))
        assert len(rows) == 20
        assert not rows[:, 2].any()


def test_a_program_needs_a_law_engine(device: Device) -> None:
    with pytest.raises(
        ValueError, match=r"not 'timely': timely needs a law engine \(law_cores=1\)"
    ):
        device.qp(0).configure(preset="precog", algorithm="timely")
    for name in ("law:0", "lockstep"):
        with pytest.raises(ValueError, match=f"not '{name}'; programs need a law engine"):
            device.qp(0).configure(preset="precog", algorithm=name)


def test_a_code_that_is_no_law_runs_as_fixed_and_is_shown(device: Device) -> None:
    device.qp(1).configure(preset="precog", enable=True, algorithm="fixed", init_gbps=7.0)
    device.registers.write_fields("QP", "SELECT", index=1)
    device.registers.write_fields("QP", "CONTROL", enable=1, algorithm=6)
    device.registers.write_fields("QP", "COMMAND", apply=1)
    assert device.qp(1).status().algorithm == "code 6"
    rows = device.decide(random_samples(5, 10, [1]))
    assert {*rows[:, 1].tolist()} == {round(7.0 / 8 * (1 << 24))}


def test_a_device_without_laws_says_so() -> None:
    with Device.open("emu:laws=0") as plain:
        assert plain.sizes.laws == 0
        assert not any(name.startswith("psched") for name in plain.parameters())
        with pytest.raises(ValueError, match="must have psched for a preset of it"):
            plain.set_parameters(psched="precog")
        with pytest.raises(ValueError, match=r"psched must be off on this device \(laws=0\)"):
            plain.qp(0).configure(psched=True)


def test_a_promise_is_kept_and_shown(device: Device) -> None:
    device.qp(1).configure(preset="precog", enable=True, algorithm="pid")
    device.qp(1).configure(psched=True, sla_priority=3, sla_latency_us=12.0, clear=False)
    status = device.qp(1).status()
    assert (status.psched, status.sla_priority, status.sla_latency_us) == (True, 3, 12.0)
    assert device.qp(2).status().sla_latency_us is None
    with pytest.raises(ValueError, match=r"sla_priority must be in 0\.\.7, not 8"):
        device.qp(1).configure(sla_priority=8)
    assert device.qp(1).status() == status


def test_the_watchdog_holds_advice(device: Device) -> None:
    assert device.watchdog.state() == Watchdog(None, False)
    with pytest.raises(ValueError, match=r"period_us must be 0 or at least 0\.001"):
        device.watchdog.set(1e-9)
    with pytest.raises(ValueError, match="period_us must be in"):
        device.watchdog.set(-1.0)
    device.watchdog.set(1e6)
    assert device.watchdog.state() == Watchdog(1e6, False)
    device.watchdog.set(0)
    assert device.watchdog.state() == Watchdog(None, False)


@pytest.mark.cosim
@pytest.mark.xdist_group("tiny")
def test_without_kicks_the_base_law_decides_alone(seed: int) -> None:
    """On the RTL, where registers take time: predictions are followed again after a kick."""
    with Device.open("sim:tiny") as device:
        prepare(device, random_image(seed))
        device.watchdog.set(0.03)  # 30 cycles: fewer than these reads take
        for _ in range(30):
            device.counters()
        assert device.watchdog.state().expired
        rows = device.decide(random_samples(seed, 10, [0]))
        assert not (rows[:, 7] & 1).any()
        assert (rows[:, 7] >> Flag.HELD & 1).all()
        device.watchdog.set(1e6)
        rows = device.decide(random_samples(seed, 10, [0]))
        assert (rows[:, 7] & 1).all()


def test_held_advice_is_counted(device: Device, seed: int) -> None:
    prepare(device, random_image(seed))
    device.set_parameters(advice_hold=1)
    rows = device.decide(random_samples(seed, 20, [0, 1]))
    assert not (rows[:, 7] & 1).any()
    counters = device.counters()
    assert (counters["held"], counters["predictions"]) == (20, 0)
    assert "held" in device.qp(0).status().flags
