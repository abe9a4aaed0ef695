"""The trace's driver and command, and the golden FIFO behind its registers."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.command_line import Ran, ran
from tests.short_disk import short_disk

from precog_host.device import Device
from precog_host.driver.trace import TraceDriver
from precog_host.emulator.device import Emulator
from precog_host.transport import DeviceError
from precog_models.forecast.forecaster import Forecaster
from precog_models.image import pretrained
from precog_models.laws.compiler.compile import compile_law
from precog_models.laws.compiler.load import load
from precog_spec.config import NicConfig
from precog_spec.contract import Flag, TraceKind
from precog_spec.law_fields import EventKind
from precog_spec.registers.trace import TRACE_DEPTH, TRACE_KINDS

PAST = np.array([[qp, 4000 + 10 * n, n] for n in range(20) for qp in (1, 2, 9)])


def traced() -> tuple[Device, TraceDriver, Emulator]:
    emulator = Emulator(NicConfig(qps=4, sets=2, trace=True))
    device = Device(emulator)
    assert device.trace is not None
    device.set_parameters(psched_skill=0)
    for qp in (1, 2):
        device.qp(qp).configure(preset="precog", enable=True, algorithm="pid", psched=True)
    return device, device.trace, emulator


def test_decisions_are_recorded_with_what_they_were_made_of() -> None:
    device, tracing, emulator = traced()
    made = device.decide(PAST[:3])
    assert not [*tracing.drain()]  # nothing is recorded after reset
    tracing.configure(kinds=["decision"])
    made = device.decide(PAST)
    score = emulator.happen(np.array([EventKind.SCORE, 2, 77, 90]))
    records = [*tracing.drain()]
    assert len(records) == 41
    assert [record["serial"] for record in records] == list(range(41))
    for record, row, sample in zip(records, made, PAST[PAST[:, 0] < 4], strict=False):
        assert (record["qp"], record["rate"], record["flags"]) == (row[0], row[1], row[7])
        assert (record["rtt_pred"], record["srtt"]) == (row[3], row[6])
        assert [record["qp"], record["rtt"], record["t"]] == sample.tolist()
        assert record["score"] == 255
    assert (records[-1]["t"], records[-1]["score"]) == (77, 90)
    assert records[-1]["rate"] == score[0, 1]
    assert records[-1]["flags"] >> Flag.CONGESTED & 1
    shown = tracing.presented(records[-1])
    assert (shown["rtt_us"], shown["rtt_pred_us"], shown["version"]) == (None, None, None)
    assert "congested" in shown["flags"]
    assert not [*tracing.drain()]


def test_forecasts_are_recorded_with_what_they_were_made_of() -> None:
    emulator = Emulator(NicConfig(qps=4, sets=2, trace=True, forecast=True))
    device = Device(emulator)
    assert device.trace is not None
    assert device.forecast is not None
    device.trace.configure(kinds=["forecast"])
    device.qp(1).configure(preset="precog", enable=True, algorithm="pid")
    profiles = np.array([[1, 100 * n, 4000 - n, -n, n * n, -9] for n in range(1, 12)])
    emulator.forecast(profiles[:1])
    model = pretrained("queue-4rtt")
    device.model.load(model, slot=1, set=1, queue=True)
    device.forecast.configure(1, model_slot=1)
    made = emulator.forecast(profiles[1:])
    none, *records = device.trace.drain()
    assert (none["probability"], none["set"], none["version"], none["score"]) == (0, 0, 0, 255)
    threshold = Forecaster(model).settings.threshold_bin
    for record, row, profile in zip(records, made, profiles[1:], strict=True):
        assert (record["qp"], record["t"]) == (1, profile[1])
        assert [record[f"x{n}"] for n in range(4)] == (profile[2:] & 0xFFFF).tolist()
        assert record["probability"] == row[2 + threshold : 18].sum()
        assert (record["score"], record["set"]) == (row[18], 1)
        assert record["version"] == model.weights.version


def test_what_programs_do_is_recorded() -> None:
    """Behind the decision that it led to: as the card decided, and in real units."""
    emulator = Emulator(NicConfig(qps=4, sets=2, law_cores=1, trace=True), tick_ps=1000)
    device = Device(emulator)
    assert device.trace is not None
    assert device.law is not None
    made = compile_law(load("lockstep"))
    device.law.load(made.program, made.law.integers("default", 1000), slot=2)
    device.law.configure(threshold_ticks=7000)
    for qp, algorithm in ((1, "law:2"), (2, "pid"), (3, "law:5")):  # slot 5 has no program
        device.qp(qp).configure(preset="precog", enable=True, algorithm=algorithm)
    device.trace.configure(kinds=["decision", "program"])
    device.decide(np.array([[qp, 5000 + qp, 9] for qp in (1, 2, 3)]))
    ack = emulator.acknowledge(np.array([1, 70, 9000, 1000, 1, 5, 9]))
    emulator.happen(np.array([EventKind.CNP, 3, 80, 0]))
    records = [*device.trace.drain()]
    assert [(one["qp"], one["kind"]) for one in records] == [
        *((1, 0), (1, 3), (2, 0), (3, 0), (3, 3), (1, 0), (1, 3), (3, 0), (3, 3)),
    ]
    shown = [device.trace.presented(one) for one in records if one["kind"] == TraceKind.PROGRAM]
    sampled, safe, heard, cut = shown
    assert (sampled["event"], sampled["slot"], sampled["status"]) == ("sample", 2, "done")
    assert (sampled["rtt_us"], sampled["base_us"], sampled["turns"]) == (5.001, 5.001, 0)
    assert (safe["slot"], safe["bank"], safe["status"], safe["turns"]) == (5, None, "safe", None)
    assert (heard["event"], heard["t_us"], heard["rtt_us"]) == ("ack", 0.07, 9.0)
    assert (heard["marked"], heard["above"], heard["bank"]) == (True, True, 0)
    assert heard["turns"] > 10
    assert heard["flags"] == ("event",)
    last = records[-3]
    assert (last["rate"], last["window"], last["flags"]) == tuple(ack[0, [1, 2, 7]])
    assert (cut["event"], cut["rtt_us"], cut["window_bytes"]) == ("cnp", None, None)
    assert cut["rate_gbps"] == pytest.approx(safe["rate_gbps"] / 2)


def test_the_filter_thins_and_the_fifo_overflows() -> None:
    device, tracing, _ = traced()
    tracing.configure(kinds=["decision"], qp=2, every=3, threshold=5)
    assert not tracing.state().reached
    device.decide(PAST)
    state = tracing.state()
    assert (state.level, state.reached, state.qp, state.every) == (7, True, 2, 3)
    assert state.counters == {"recorded": 7, "overflowed": 0, "filtered": 33}
    assert [record["t"] for record in tracing.drain(2)] == [0, 3]
    assert tracing.state().level == 5
    tracing.configure(all_qps=True, every=1, threshold=0)
    tracing.clear()
    assert not [*tracing.drain()]
    for _ in range(20):
        device.decide(PAST)
    state = tracing.state()
    assert (state.level, state.counters["overflowed"]) == (TRACE_DEPTH, 800 - TRACE_DEPTH)
    assert not state.reached
    serials = [record["serial"] for record in tracing.drain()]
    assert serials == [7 + n for n in range(TRACE_DEPTH)]
    device.decide(PAST[:1])
    assert next(tracing.drain())["serial"] == 7 + 800  # the gap tells how many were lost


def test_bad_arguments_change_nothing() -> None:
    _, tracing, emulator = traced()
    tracing.configure(kinds=["decision"], qp=1)
    before = tracing.state()
    for changes, message in (
        ({"kinds": ["decisions"]}, r"kind must be one of decision, .*, program, not 'dec"),
        ({"qp": 4}, r"QP must be in 0\.\.3, not 4"),
        ({"qp": 3, "all_qps": True}, "qp must be left out with all_qps, not 3"),
        ({"every": 0}, r"every must be in 1\.\.65535, not 0"),
        ({"threshold": 513}, r"threshold must be in 0\.\.512, not 513"),
    ):
        with pytest.raises(ValueError, match=message):
            tracing.configure(**changes)  # type: ignore[arg-type]
    assert tracing.state() == before
    assert tracing.presented({"kind": 9, "serial": 0, "qp": 0, "t": 0, "score": 255})["kind"] == (
        "code 9"
    )
    assert emulator.trace is not None
    emulator.trace.offer({"kind": TraceKind.RECEIVER, "qp": 1, "band": 3})
    assert not [*tracing.drain()]


def test_kinds_that_a_device_never_records_are_refused() -> None:
    """Also forecasts of gateware from before they were recorded; nothing is written then."""
    plain = Device(Emulator(NicConfig(trace=True))).trace
    assert plain is not None
    for kind, option in (("receiver",) * 2, ("forecast",) * 2, ("program", "law_cores")):
        with pytest.raises(DeviceError, match=rf"no records of kind {kind}: .* \({option}=0\)"):
            plain.configure(kinds=["decision", kind])
    assert plain.state().kinds == ()

    emulator = Emulator(NicConfig(trace=True, forecast=True, receiver=True, width=64, law_cores=1))
    version = emulator.map.placed("TRACE").base + 4

    class Old:
        write32, close = emulator.write32, emulator.close

        def read32(self, address: int) -> int:
            return 1 << 16 if address == version else emulator.read32(address)

    now, old = (Device(transport).trace for transport in (emulator, Old()))
    assert now is not None
    assert old is not None
    now.configure(kinds=TRACE_KINDS)
    assert old.state().kinds == ("decision", "receiver")
    for kind, since in (("forecast", 1), ("program", 2)):
        message = rf"its TRACE block is 1\.0, .* from 1\.{since} on: build its ga"
        with pytest.raises(DeviceError, match=message):
            old.configure(kinds=[kind])
    assert now.state().kinds == TRACE_KINDS
    old.configure(kinds=["receiver"])
    assert now.state().kinds == ("receiver",)


def test_a_device_without_a_trace_says_so(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "trace.jsonl"
    status, _, err = ran(capsys, "trace", "read", "-o", str(path))
    assert status
    assert "device emu: has no trace FIFO" in err
    assert not path.exists()
    with Device.open("emu:") as device:
        assert device.trace is None
        with pytest.raises(DeviceError, match=r"device has no trace FIFO: .* \(trace=0\)"):
            TraceDriver(device.registers)
    with pytest.raises(DeviceError, match="trace needs laws, which is off"):
        Device.open("emu:laws=0,trace=1")


def test_command(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    device, _, _ = traced()
    monkeypatch.setattr(Device, "open", lambda uri: device)

    def run(*arguments: str) -> Ran:
        return ran(capsys, "trace", *arguments)

    status, out, _ = run("set", "--kind", "decision", "--qp", "1")
    assert status == 0
    assert "recording decision of QP 1, every 1; 0 wait; 0 recorded" in out
    device.decide(PAST)
    lines = tmp_path / "trace.jsonl"
    _, out, _ = run("read", "-j", "--limit", "3", "-o", str(lines))
    shown = json.loads(out)
    assert [record["qp"] for record in shown["records"]] == [1, 1, 1]
    assert shown["state"]["level"] == 17
    assert [json.loads(line) for line in lines.read_text().splitlines()] == shown["records"]
    assert "recording decision of QP 1" in run("show")[1]
    assert json.loads(run("set", "--kind", "none", "-j")[1])["level"] == 17
    _, out, _ = run("read")
    assert out.count("decision") == 17
    assert "rate_gbps=" in out
    assert "recording nothing" in out
    run("set", "--kind", "decision")
    device.decide(PAST)
    status, _, err = run("read", "-o", "/dev/full")
    assert status
    assert "/dev/full: No space left on device" in err
    assert "20 wait" in run("show")[1]
    before = lines.stat().st_size
    with short_disk(before + before // 3 * 2 - 5):
        status, _, err = run("read", "-o", str(lines))
    assert (status, f"{lines}: No space left on device" in err) == (2, True)
    assert [json.loads(line)["qp"] for line in lines.read_text().splitlines()] == [1] * 4
    for arguments, message in (
        (("read", "--limit", "-1"), "limit must be 0 or more, not -1"),
        (("set", "--kind", "some"), "one of decision, receiver, forecast, program, not 'some'"),
    ):
        status, _, err = run(*arguments)
        assert status
        assert message in err
    monkeypatch.undo()
    assert "try emu:trace=1" in run("show")[2]
