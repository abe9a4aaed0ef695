"""The queue profiler's driver, its command, and the golden profiler behind its registers."""

import json

import pytest
from tests.command_line import Run

from precog_host.device import Device
from precog_host.driver.profiler import ProfilerDriver, QueueStatus
from precog_host.emulator.device import Emulator
from precog_host.transport import DeviceError
from precog_models.measure.profiler import ProfileSample
from precog_spec.config import NicConfig
from precog_spec.contract import (
    PROFILE_CENTER,
    PROFILE_GAIN,
    PROFILE_INPUTS,
    PROFILE_RESETS,
    QUEUE_VALUE_FIELDS,
    QueueEvent,
)
from precog_spec.registers.profiler import PROFILER_INPUTS, PROFILER_PARAMETERS, PROFILER_VALUES


def test_a_queue_that_follows_the_pacer() -> None:
    """A message of four packets at one byte per tick of 2 ns; its numbers while it is sent."""
    emulator = Emulator(NicConfig(qps=4, sets=2, grants=True, profile=True), tick_ps=2000)
    device, samples = Device(emulator), list[ProfileSample]()
    queues, pacer = device.profiler, emulator.pacer
    assert queues is not None
    assert pacer is not None
    assert emulator.profiler is not None
    emulator.profiler.use = samples.append
    queues.set_parameters(every=2)
    device.qp(1).configure(preset="precog", enable=True, algorithm="fixed", init_gbps=4.0)
    pacer.request(1, 1000, 100)
    pacer.request(1, 3000, 160)
    wire = 1024 + 82
    due = [160, 100 + wire, 100 + 2 * wire]  # since the first request
    assert [grant.t for grant in pacer.grants(due[-1])] == due
    status = queues.queue(1, clear=True)
    assert status == QueueStatus(
        qp=1, occupancy=4000 - 3 * 1024, inter_arrival_us=0.12, service_us=wire * 0.002, size=3000,
        peak=4000, arrivals=2, departures=3, bytes_in=4000, bytes_out=3 * 1024,
    )  # fmt: skip
    assert [(sample.qp, sample.t) for sample in samples] == [(1, 160), (1, 100 + wire)]
    assert queues.counters() == {"events": 5, "samples": 2, "samples_merged": 0}

    status = queues.queue(1)
    assert (status.peak, status.arrivals, status.bytes_out) == (status.occupancy, 0, 0)
    device.qp(1).configure(enable=False)
    assert queues.queue(1).occupancy == 0, "what was asked for is forgotten"


def test_samples_by_time() -> None:
    emulator = Emulator(NicConfig(qps=2, sets=2, grants=True, profile=True))
    device, samples = Device(emulator), list[ProfileSample]()
    queues, pacer, profiler = device.profiler, emulator.pacer, emulator.profiler
    assert queues is not None
    assert pacer is not None
    assert profiler is not None
    profiler.use = samples.append
    queues.set_parameters(period_us=0.5, occupancy_center=0.0, occupancy_gain=1 / 16384)
    device.qp(0).configure(preset="precog", enable=True, algorithm="fixed", init_gbps=8.0)
    pacer.request(0, 1 << 20, 0)
    for t in range(100, 2100, 100):
        list(pacer.grants(t))
    assert [sample.t for sample in samples] == [500, 1000, 1500, 2000]
    assert samples[0].x[0] == round(20 * 4096 / 16384)
    assert queues.counters()["samples"] == 4


def test_events_from_outside() -> None:
    emulator = Emulator(NicConfig(qps=2, sets=2, profile=True))
    assert emulator.profiler is not None
    emulator.profiler.observe(1, QueueEvent.ARRIVAL, 77, 5)
    device = Device(emulator)
    assert device.profiler is not None
    assert device.profiler.queue(1).occupancy == 77
    assert device.profiler.queue(0).arrivals == 0


def test_parameters() -> None:
    with Device.open("emu:profile=1,tick_ps=4000") as device:
        queues = device.profiler
        assert queues is not None
        shown = queues.parameters()
        assert (shown["period_us"], shown["every"]) == (0.0, 0)
        assert (shown["size_center"], shown["service_gain"]) == (16.0, 0.25)
        queues.set_parameters(period_us=2.0, size_center=3.5, service_gain=1.5, every=None)
        shown = queues.parameters()
        assert (shown["period_us"], shown["size_center"], shown["service_gain"]) == (2.0, 3.5, 1.5)
        assert queues.registers.read("PROFILER", "PERIOD") == 500
        with pytest.raises(ValueError, match=r"every must be in 0\.\.65535, not 65536"):
            queues.set_parameters(period_us=1.0, every=65536)
        assert queues.parameters()["period_us"] == 2.0
        with pytest.raises(ValueError, match=r"parameter 'gain' must be one of period_us, "):
            queues.set_parameters(gain=1.0)


def test_registers_are_as_the_contract_has_them() -> None:
    assert PROFILER_INPUTS == PROFILE_INPUTS
    fields = {field.name: field for register in PROFILER_PARAMETERS for field in register.fields}
    for name in PROFILE_INPUTS:
        center, gain = fields[f"{name}_center"], fields[f"{name}_gain"]
        assert (center.bits, center.frac_bits) == (PROFILE_CENTER.width, PROFILE_CENTER.frac_bits)
        assert (gain.bits, gain.frac_bits) == (PROFILE_GAIN.width, PROFILE_GAIN.frac_bits)
        assert (center.reset, gain.reset) == PROFILE_RESETS
    bits = dict[str, int]()
    for register in PROFILER_VALUES:
        for field in register.fields:
            name = field.name.removesuffix("_low").removesuffix("_high")
            bits[name] = bits.get(name, 0) + field.bits
    assert bits == dict(QUEUE_VALUE_FIELDS)


def test_a_device_without_a_profiler_says_so() -> None:
    with Device.open("emu:") as device:
        assert device.profiler is None
        with pytest.raises(DeviceError, match=r"device has no queue profiler: .* \(profile=0\)"):
            ProfilerDriver(device.registers)
    with pytest.raises(DeviceError, match="qps must be 2 or more with profile, not 1"):
        Device.open("emu:qps=1,laws=0,profile=1")
    with pytest.raises(DeviceError, match="argument 'profile=2' must be profile=0 or profile=1"):
        Device.open("emu:profile=2")


def test_command(run: Run) -> None:
    device = ("-d", "emu:profile=1,qps=4")
    _, out, _ = run("qp", "profiler", "clear", "1", "2", *device, "-j")
    assert [queue["qp"] for queue in json.loads(out)] == [1, 2]
    _, out, _ = run("cc", "profiler", "set", "--period-us", "3", "--every", "7", *device, "-j")
    shown = json.loads(out)
    assert (shown["parameters"]["period_us"], shown["parameters"]["every"]) == (3.0, 7)
    assert shown["counters"] == {"events": 0, "samples": 0, "samples_merged": 0}
    assert "no queue pair had an arrival" in run("qp", "profiler", "show", *device)[1]
    assert "queued B" in run("qp", "profiler", "show", "3", *device)[1]
    for arguments, message in (
        (
            ("qp", "profiler", "show"),
            "device emu: has no queue profiler: it was built without one; try emu:profile=1",
        ),
        (("qp", "profiler", "clear", "4", *device), "QP must be in 0..3, not 4"),
        (("cc", "profiler", "set", "--every", "-1", *device), "every must be in 0..65535, not -1"),
    ):
        status, _, err = run(*arguments)
        assert status
        assert message in err
