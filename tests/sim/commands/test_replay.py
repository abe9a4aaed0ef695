"""``precog replay`` on a capture that scapy made."""

import json
from pathlib import Path

import pytest
import typer
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


def run(*arguments: object) -> str:
    app = typer.Typer()
    app.command()(replay)
    result = CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_json_and_files(capture: Path, tmp_path: Path) -> None:
    out, wire = tmp_path / "out.pcapng", tmp_path / "wire.pcapng"
    found = json.loads(run(capture, "--out", out, "--wire", wire, "--local", A4, "-j"))
    assert found["inserted"] == 2
    assert found["bypassed"] == {"port": 1}
    assert found["identical_after_extract"] == 3
    assert found["rtt_us"]["n"] == 1
    assert list(read(out)) == list(read(capture))
    assert [len(f.data) for f in read(wire)] == [*[len(f.data) + 8 for f in read(out)][:2], 60]
    assert json.loads(run(capture, "--local", B4, "-j"))["rtt_us"] == {"n": 0}


def test_table(capture: Path) -> None:
    text = run(capture)
    assert "identical_after_extract" in text
    assert "RC Acknowledge" in text


def test_names_are_checked_first(capture: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"must be a \.pcap or \.pcapng file, not .*wire\.txt"):
        run(capture, "--out", tmp_path / "out.pcap", "--wire", tmp_path / "wire.txt")
    assert not (tmp_path / "out.pcap").exists()


def test_address_error(capture: Path) -> None:
    with pytest.raises(ValueError, match="local address must be IPv4 or IPv6, not 'eth0'"):
        run(capture, "--local", "eth0")
