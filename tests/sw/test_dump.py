"""``precog dump save`` and ``show``: a bug report has all; a part that fails does not end it."""

import errno
import json
import os
from pathlib import Path

import pytest
from tests.command_line import Ran, ran

from precog_host.bug_report import collect, load
from precog_host.device import Device
from precog_host.transport import DeviceError

_ALL = "emu:qps=8,sets=4,width=64,grants=1,profile=1,forecast=1,receiver=1,senders=1,port=1,trace=1"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> Ran:
    return ran(capsys, "dump", *arguments)


def _report(registers: str) -> str:
    return f'{{"format": "precog-dump", "version": 1, "registers": {registers}}}'


def test_a_report_has_every_part(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "bug.json"
    status, out, _ = run(capsys, "save", str(path), "-d", _ALL)
    assert status == 0
    assert out.startswith(f"{path}: {path.stat().st_size} bytes")
    report = load(path)
    with Device.open(_ALL) as device:
        assert len(report["registers"]) == len(device.registers.dump())
        assert report["counters"] == device.counters()
        assert report["identity"]["contract_hash"] == device.identity.contract_hash
    assert report["device"] == _ALL
    assert [len(report[name]) for name in ("models", "qps", "pacing", "queues")] == [4, 8, 8, 8]
    assert [len(report[name]) for name in ("forecasts", "receiving")] == [8, 8]
    assert set(report["packet_counters"]) >= {"tx", "rx"}
    assert not [n for n, part in report.items() if isinstance(part, dict) and "error" in part]
    status, out, _ = run(capsys, "show", str(path))
    assert status == 0
    for text in ("ID.MAGIC", "0x50524347", "rate_gbps", "packet_counters", f"device: {_ALL}"):
        assert text in out
    status, out, _ = run(capsys, "show", str(path), "-j")
    assert json.loads(out) == report


def test_a_part_that_fails_is_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with Device.open("emu:qps=8") as device:

        def fails() -> None:
            raise DeviceError("QP window stays busy")

        monkeypatch.setattr(device.model, "sets", fails)
        report = collect(device, "emu:qps=8")
        assert report["models"] == {"error": "QP window stays busy"}
        assert report["counters"]["samples"] == 0
        assert "packet_counters" not in report
        json.dumps(report, allow_nan=False)


def test_a_full_disk_keeps_the_last_report(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bug.json"
    assert run(capsys, "save", str(path), "-d", "emu:qps=8").status == 0
    before = path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    status, _, errors = run(capsys, "save", str(path), "-d", "emu:qps=8")
    assert (status, errors) == (2, f"error: file {path}: No space left on device\n")
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["bug.json"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "dump must be a file of precog dump save, not"),
        ("[]", "dump must be a file of precog dump save, not"),
        ('{"format": "other"}', "dump must be a file of precog dump save, not"),
        ('{"format": "precog-dump", "version": 9}', "dump must have version 1, not 9"),
        (_report("[1]"), "must have an address, a name, a word and fields"),
        (_report("[{}]"), "must have an address, a name, a word and fields"),
        (
            _report('[{"address": 0, "name": "A.B", "word": null, "fields": {}}]'),
            "must have an address, a name, a word and fields",
        ),
        (_report("[" * 40 + "]" * 40), "must be nested at most 32 deep"),
    ],
)
def test_what_is_no_report(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    status, _, errors = run(capsys, "show", str(path))
    assert status == 2
    assert message in errors
    status, _, errors = run(capsys, "show", str(tmp_path / "none"))
    assert "No such file" in errors
