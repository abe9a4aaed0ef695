"""The pacer's driver, its commands, and the golden pacer behind its registers."""

import json

import numpy as np
import pytest
from tests.command_line import Run

from precog_host.device import Device
from precog_host.driver.pacer import Connection, PacerDriver
from precog_host.emulator.device import Emulator
from precog_host.transport import DeviceError
from precog_spec.config import NicConfig

from ..models.packet.frames import packet

OVERHEAD = 82


def paced() -> tuple[Device, PacerDriver, Emulator]:
    emulator = Emulator(NicConfig(qps=8, sets=2, grants=True))
    device = Device(emulator)
    assert device.pacer is not None
    return device, device.pacer, emulator


def test_connections_are_read_back() -> None:
    _, pacing, _ = paced()
    assert pacing.connection(7) == Connection(qp=7, priority=0, mtu=1024, psn=0, windows=True)
    pacing.begin(2, priority=6, mtu=4096, psn=77)
    pacing.begin(2, psn=78)
    assert pacing.connection(2) == Connection(qp=2, priority=6, mtu=4096, psn=78, windows=True)
    # No path MTU.
    pacing.apply(3, {"priority": 0, "mtu_log2": 3, "psn": 0, "windows": 0})
    assert pacing.connection(3).mtu == 4096
    pacing.set_parameters(overhead=20)
    assert pacing.parameters() == {"overhead": 20, "pause": 0}


def test_windows_are_wire_modes_to_choose() -> None:
    _, pacing, _ = paced()
    with pytest.raises(ValueError, match="windows must not be given, not True"):
        pacing.begin(1, priority=3, windows=True)
    assert pacing.connection(1).priority == 0
    wire = Device(Emulator(NicConfig(qps=4, sets=2, width=64, grants=True, wire=256))).pacer
    assert wire is not None
    assert not wire.connection(1).windows
    wire.begin(1, windows=True)
    wire.begin(1, priority=2)
    assert wire.connection(1) == Connection(qp=1, priority=2, mtu=1024, psn=0, windows=True)
    wire.begin(1, windows=False)
    assert not wire.connection(1).windows


def test_grants_come_at_the_decided_rate_and_by_priority() -> None:
    device, pacing, emulator = paced()
    pacer = emulator.pacer
    assert pacer is not None
    for qp, priority in ((1, 0), (2, 5)):
        device.qp(qp).configure(preset="precog", enable=True, algorithm="fixed", init_gbps=8.0)
        pacing.begin(qp, priority=priority)
        pacer.request(qp, 100_000, 0)
    pacer.request(3, 5, 0)
    pacer.acknowledge(3, 5, 0)
    pacer.acknowledge(2, 0, 0)
    gap = 1024 + OVERHEAD  # at one byte per tick
    grants = [(grant.t, grant.qp) for grant in pacer.grants(3 * gap)]
    assert grants == [(n * gap, qp) for n in range(4) for qp in (2, 1)]
    pacing.set_parameters(pause=1 << 5)
    assert {grant.qp for grant in pacer.grants(6 * gap)} == {1}
    device.qp(1).configure(enable=False)
    assert not [*pacer.grants(9 * gap)]
    counters = pacing.counters()
    assert counters == {
        **{"requests": 2, "requests_refused": 1, "acks": 1, "acks_refused": 1},
        **{"grants": 11, "granted_bytes": 11 * 1024},
        **{"rates": 2, "rates_merged": 0, "retimed": 0},
    }


def test_at_reset_both_modes_charge_the_same_packet_the_same() -> None:
    """A grant of payload and one of the frame without FCS stand for the same bytes on the wire."""
    payload = 1024
    frame = len(packet(bytes(payload)))
    line = 8 + frame + 4 + 12  # preamble, frame, FCS, gap
    for sizes, granted in (
        (NicConfig(qps=4, sets=2, grants=True), payload),
        (NicConfig(qps=4, sets=2, grants=True, width=64, wire=256), frame),
    ):
        emulator = Emulator(sizes)
        pacer = Device(emulator).pacer
        assert pacer is not None
        assert granted + pacer.parameters()["overhead"] == line
        assert emulator.pacer is not None
        assert granted + emulator.pacer.pacer.overhead == line


def test_at_reset_goodput_is_the_rate_less_headers() -> None:
    """At 4 bytes per tick and 1,106 a packet: each grant in the tick that exact gaps name."""
    device, _, emulator = paced()
    assert emulator.pacer is not None
    device.qp(1).configure(preset="precog", enable=True, algorithm="fixed", init_gbps=32.0)
    emulator.pacer.request(1, 1024 * 400, 0)
    times = [grant.t for grant in emulator.pacer.grants(1106 * 100)]
    assert times == [-(-1106 * n // 4) for n in range(400)]


def test_of_decisions_made_together_the_last_counts() -> None:
    device, pacing, emulator = paced()
    assert emulator.pacer is not None
    device.apply_preset("precog")
    device.qp(4).configure(
        preset="precog", enable=True, algorithm="pid", min_gbps=0.1, init_gbps=0.1
    )
    emulator.pacer.request(4, 100_000, 0)
    assert len([*emulator.pacer.grants(100)]) == 1
    device.decide(np.array([[4, 3000 + 100 * n, n] for n in range(5)]))
    counters = pacing.counters()
    assert (counters["rates"], counters["rates_merged"], counters["retimed"]) == (2, 4, 1)
    due = emulator.pacer.pacer.rows[4].due
    device.qp(4).clear()  # back to the initial rate
    assert emulator.pacer.pacer.rows[4].due > due
    assert pacing.counters()["rates"] == 3


def test_a_device_without_a_pacer_says_so() -> None:
    with Device.open("emu:") as device:
        assert device.pacer is None
        with pytest.raises(DeviceError, match=r"device has no pacer: .* \(grants=0\)"):
            PacerDriver(device.registers)
    with pytest.raises(DeviceError, match="qps must be 2 or more with grants, not 1"):
        Device.open("emu:qps=1,laws=0,grants=1")
    with pytest.raises(DeviceError, match="argument 'grants=2' must be grants=0 or grants=1"):
        Device.open("emu:grants=2")


def test_commands(run: Run) -> None:
    device = ("-d", "emu:grants=1,qps=4")
    changed = ("--priority", "3", "--mtu", "256")
    _, out, _ = run("qp", "pacer", "set", "1", "2", *changed, *device, "-j")
    wanted = {"priority": 3, "mtu": 256, "psn": 0, "windows": True}
    assert json.loads(out) == [{"qp": qp, **wanted} for qp in (1, 2)]
    status, out, _ = run("qp", "pacer", "show", *device)
    assert status == 0
    assert "1024" in out
    _, out, _ = run("cc", "pacer", "set", "--pause", "5", "--overhead", "20", *device, "-j")
    shown = json.loads(out)
    assert shown["parameters"] == {"overhead": 20, "pause": 5}
    assert shown["counters"]["grants"] == 0
    assert "rates_merged" in run("cc", "pacer", "show", *device)[1]
    for arguments, message in (
        (("qp", "pacer", "set", "--psn", "1", *device), "missing argument 'SLOT...'"),
        (("qp", "pacer", "set", "1", *device), "at least one option must be given: --priority"),
        (
            ("qp", "pacer", "show"),
            "device emu: has no pacer: it was built without one; try emu:grants=1",
        ),
        (("qp", "pacer", "show", "4", *device), "QP must be in 0..3, not 4"),
    ):
        status, _, err = run(*arguments)
        assert status
        assert message in err
