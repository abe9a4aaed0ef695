"""Interrupts through the driver and the command line: the same on the golden NIC and on the RTL."""

import json
from itertools import combinations

import numpy as np
import pytest
from tests.command_line import Ran, ran
from tests.sw.support import keep_emulator, random_image, random_samples

from precog_host.device import Device
from precog_host.transport import DeviceError
from precog_spec.config import NicConfig
from precog_spec.registers.interrupt import INTERRUPT_CAUSES, causes_of


def test_a_cause_is_up_until_it_is_cleared(device: Device) -> None:
    interrupts = device.interrupt
    assert interrupts.causes == ("load", "dropped", "watchdog", "ecc")
    assert interrupts.state().causes == dict.fromkeys(interrupts.causes, False)
    for enabled in combinations(interrupts.causes, 2):
        interrupts.enable(enabled)
        for name in interrupts.causes:
            interrupts.bring_up([name])
            state = interrupts.state()
            assert state.causes == {other: other == name for other in interrupts.causes}
            assert state.enabled == {other: other in enabled for other in interrupts.causes}
            assert state.pending == (name in enabled)
            interrupts.clear(set(interrupts.causes) - {name})
            assert interrupts.state() == state
            interrupts.clear([name])
            assert interrupts.state().pending is False
            assert not any(interrupts.state().causes.values())


def test_what_happens_is_a_cause(device: Device, seed: int) -> None:
    """A refused load, a refused map, a dropped sample, a double error: each its cause alone."""
    interrupts = device.interrupt
    interrupts.enable(interrupts.causes)

    def came() -> list[str]:
        state = interrupts.state()
        up = [name for name, is_up in state.causes.items() if is_up]
        assert state.pending == bool(up)
        interrupts.clear(up)
        return up

    device.model.load(random_image(seed), slot=0, set=0)
    device.qp(1).configure(preset="thesis", enable=True, algorithm="predpid", model_slot=0)
    assert len(device.decide(random_samples(seed, 5, [1]))) == 5
    assert came() == []
    payload = random_image(seed + 1).payload
    with pytest.raises(DeviceError, match="bad crc"):
        device.model.write_set(1, payload, crc=1)
    assert came() == ["load"]
    with pytest.raises(DeviceError, match="set 1 is not valid"):
        device.model.map_slot(1, 1)
    assert came() == ["load"]
    assert device.decide(np.array([[2, 5000, 10**9]], dtype=np.int64)).shape == (0, 8)
    assert came() == ["dropped"]
    assert device.ecc is not None
    device.ecc.inject(0, 3, 5, (4,))
    assert came() == []
    device.ecc.inject(0, 3, 5, (4, 9))
    assert came() == ["ecc"]


def test_causes_have_their_places_on_every_device() -> None:
    small, large = NicConfig(ecc=False), NicConfig(width=64, grants=True, wire=128, trace=True)
    assert causes_of(small) == ("load", "dropped", "watchdog")
    every = tuple(name for name, _, _ in INTERRUPT_CAUSES)
    assert causes_of(large) == every[:-1]
    assert causes_of(NicConfig(law_cores=1))[-1] == every[-1] == "trap"
    with Device.open("emu:width=64,grants=1,wire=128,trace=1") as device:
        fields = {f.name: f.lsb for f in device.registers.register("INTERRUPT", "CAUSE").fields}
    assert fields == {name: bit for bit, name in enumerate(every[:-1])}


def test_the_commands(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    keep_emulator(monkeypatch, "")

    def run(*arguments: str) -> Ran:
        return ran(capsys, "interrupt", *arguments)

    assert run("set", "load")[0] == 0
    state = json.loads(run("raise", "load", "ecc", "-j")[1])
    assert state["pending"] is True
    assert [name for name, up in state["causes"].items() if up] == ["ecc", "load"]
    assert json.loads(run("show", "-j")[1]) == state
    assert "the line is down" in run("clear", "all")[1]
    assert not any(json.loads(run("set", "none", "-j")[1])["enabled"].values())
    error = "cause must be one of load, dropped, watchdog, ecc on this device, not 'trace'"
    for arguments, message in (
        (("set", "trace"), error),
        (("set", "none", "load"), "none must stand alone"),
        (("clear", "trace"), error),
    ):
        status, _, err = run(*arguments)
        assert status == 2
        assert message in err
