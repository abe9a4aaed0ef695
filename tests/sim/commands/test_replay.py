"""``precog replay`` on a capture that scapy made."""

import json
from pathlib import Path

import pytest
import typer
from click.testing import Result
from typer.testing import CliRunner

from precog_sim.capture import Frame, read, write
from precog_sim.commands.replay import replay

from ...models.packet.frames import A4, B4, packet

ACK = packet(opcode=0x11, back=True, aeth={"syndrome": 0x1F, "msn": 1})


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    data = [packet(bytes(64), bth={"ackreq": 1}), ACK, packet(udp={"dport": 53})]
    path = tmp_path / "in.pcap"
    write(path, [Frame(1000 * n, frame, len(frame)) for n, frame in enumerate(data)])
    return path


def invoke(*arguments: object) -> Result:
    app = typer.Typer()
    app.command()(replay)
    return CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)


def run(*arguments: object) -> str:
    result = invoke(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_json_and_files(capture: Path, tmp_path: Path) -> None:
    out, wire = tmp_path / "out.pcapng", tmp_path / "wire.pcapng"
    found = json.loads(run(capture, "--out", out, "--wire", wire, "--local", A4, "-j"))
    assert found["inserted"] == 2
    assert found["bypassed"] == {"port": 1}
    assert found["identical_after_extract"] == 3
    assert found["rtt_us"]["n"] == 1
    assert list(read(out)) == list(read(capture))
    assert [len(f.data) for f in read(wire)] == [*[len(f.data) + 8 for f in read(out)][:2], 60]
    assert json.loads(run(capture, "--local", B4, "--golden", "-j"))["rtt_us"] == {
        "n": 0,
        "min": None,
        "median": None,
        "p99": None,
        "max": None,
    }


def test_table(capture: Path) -> None:
    text = run(capture)
    assert "identical_after_extract" in text
    assert "RC Acknowledge" in text


def test_names_are_checked_first(capture: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"must be a \.pcap or \.pcapng file, not .*wire\.txt"):
        run(capture, "--out", tmp_path / "out.pcap", "--wire", tmp_path / "wire.txt")
    assert not (tmp_path / "out.pcap").exists()


def test_files_are_checked_first(capture: Path, tmp_path: Path) -> None:
    before = capture.read_bytes()
    (tmp_path / "same.pcap").hardlink_to(capture)
    (tmp_path / "other.pcap").symlink_to(tmp_path / "w.pcap")
    for arguments, message in (
        (["--out", capture], "--out must be another file than the capture"),
        (["--wire", tmp_path / "same.pcap"], "--wire must be another file than the capture"),
        (["--out", tmp_path / "no" / "x.pcap"], "--out must be in a folder that exists, not .*no"),
        (["--wire", "/proc/x.pcap"], "--wire must be writable, not /proc/x.pcap"),
        (
            ["--out", tmp_path / "w.pcap", "--wire", tmp_path / "other.pcap"],
            "--out and --wire must be two files, not both .*w.pcap",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            run(capture, "--golden", *arguments)
    assert capture.read_bytes() == before
    assert not (tmp_path / "w.pcap").exists()


@pytest.mark.parametrize("timeout", ["5000", "inf", "nan", "-1", "1e30"])
def test_timeouts(capture: Path, timeout: str) -> None:
    with pytest.raises(ValueError, match=r"timeout-ms must be 0\.\.4294\.967295 ms, not "):
        run(capture, "--golden", f"--timeout-ms={timeout}")


def test_shims_in_the_capture_are_told(capture: Path, tmp_path: Path) -> None:
    wire = tmp_path / "wire.pcap"
    run(capture, "--golden", "--wire", wire)
    result = invoke(wire, "--golden", "-j")
    assert result.exit_code == 1
    assert result.stderr == (
        "2 of 3 packets did not come out as they went in; 2 came with a shim already, "
        "which was removed\n"
    )
    assert json.loads(result.stdout)["identical_after_extract"] == 1


def test_a_capture_that_was_cut_off(capture: Path) -> None:
    capture.write_bytes(capture.read_bytes()[:-1])
    result = invoke(capture, "--golden", "-j")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["packets"] == 2
    assert "not end inside packet 3 like" in result.stderr
    assert "the 2 packets before it are used" in result.stderr
    capture.write_bytes(capture.read_bytes()[:30])
    with pytest.raises(ValueError, match="not end inside packet 1"):
        invoke(capture, "--golden")


def test_frames_cut_by_the_capture_are_told(capture: Path) -> None:
    write(capture, [frame._replace(data=frame.data[:58]) for frame in read(capture)])
    found = json.loads(run(capture, "--golden", "-j"))
    assert (found["cut"], found["rtt_us"]["n"]) == (3, 1)
    assert "3 packets were cut by the capture: their ICRC is not checked" in run(
        capture, "--golden"
    )
    assert json.loads(run(capture, "--golden", "--mtu", 4096, "-j")) == found


def test_address_error(capture: Path) -> None:
    with pytest.raises(ValueError, match=r"local address must be an IPv4 or IPv6 .*, not 'eth0'"):
        run(capture, "--local", "eth0")
