"""The Wireshark dissector reads what golden cards send, field by field."""

import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.command_line import Ran, ran

from precog_models.packet.card import Card, CardConfig
from precog_models.packet.shim import decode
from precog_sim.capture import Frame, write
from precog_sim.wireshark import PROTOCOL, dissector
from precog_spec.frames.cps import SHIM, SHIM_PORT
from precog_spec.frames.headers import ETHERNET, IPV4, UDP

from ..models.packet.frames import A_ADDRESS, A_QP, B_ADDRESS, B_QP, packet

_SHIM_AT = ETHERNET.size + IPV4.size + UDP.size
_COLUMNS = (
    *(f"{PROTOCOL}.{name}" for name in SHIM.fields),
    *(f"{PROTOCOL}.crc_ok", f"{PROTOCOL}.malformed", "infiniband.bth.psn"),
)

tshark = pytest.mark.skipif(
    shutil.which("tshark") is None, reason="tshark is not installed: apt-get install tshark"
)


def test_every_field_of_the_table_is_in_it() -> None:
    text = dissector()
    for name, field in SHIM.fields.items():
        declared = re.search(rf'f\.{name} = ProtoField\.(\w+)\("{PROTOCOL}\.{name}"(.*)\)', text)
        assert declared is not None
        mask = re.search(r"(0x[0-9a-f]+)$", declared[2])
        bits = int(mask[1], 16).bit_count() if mask else int(declared[1].removeprefix("uint"))
        assert bits == field.bits


@pytest.mark.parametrize("port", [0, 4791, 65536, -1])
def test_ports_that_no_shim_can_have(port: int) -> None:
    with pytest.raises(ValueError, match=f"shim port must be 1..65535 and not 4791, not {port}"):
        dissector(port)


def test_the_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    def run(*words: str) -> Ran:
        return ran(capsys, "export", "--wireshark", *words)

    script = tmp_path / "precog.lua"
    assert run("-o", str(script), "--shim-port", "5000", "-j")[0] == 0
    assert script.read_text() == dissector(5000)
    assert run() == (0, dissector(), "")
    code, _, error = run("--width", "64")
    assert code == 2
    assert "option --width has no effect with --wireshark" in error
    code, _, error = run("-o", str(tmp_path))
    assert (code, error) == (2, f"error: output must be a file, {tmp_path} is a folder\n")


def dissected(folder: Path, frames: list[bytes]) -> list[dict[str, str]]:
    """What tshark reads in each frame."""
    script, capture = folder / "precog.lua", folder / "wire.pcapng"
    script.write_text(dissector())
    write(capture, [Frame(n * 1000, frame, len(frame)) for n, frame in enumerate(frames)])
    command = ["tshark", "-n", "-X", f"lua_script:{script}", "-r", str(capture), "-T", "fields"]
    for column in _COLUMNS:
        command += ["-e", column]
    environment = {"HOME": str(folder), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "Error" not in done.stderr
    rows = (line.split("\t") for line in done.stdout.splitlines())
    return [dict(zip(_COLUMNS, row, strict=True)) for row in rows]


@tshark
def test_tshark_reads_what_golden_cards_send(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    one, other = (Card(4, CardConfig()) for _ in range(2))
    one.add(0, B_ADDRESS, B_QP, A_QP)
    other.add(0, A_ADDRESS, A_QP, B_QP)
    frames = []
    for n in range(120):
        back = rng.random() < 0.5
        card, peer = (other, one) if back else (one, other)
        card.cps.slots[0].score = rng.choice([None, *range(101)])
        plain = packet(rng.randbytes(40), psn=n, back=back, bth={"ackreq": 1})
        frames.append(card.transmit(plain, n * 1000, n * 1000).frame)
        peer.receive(frames[-1], n * 1000 + 500, n * 1000 + 500)
    plain = packet(bytes(8), psn=500)
    damaged = bytearray(frames[0])
    damaged[_SHIM_AT + 2] ^= 1
    rows = dissected(tmp_path, [*frames, plain, bytes(damaged)])
    for n, (row, frame) in enumerate(zip(rows[:120], frames, strict=True)):
        wanted = SHIM.unpack(frame, _SHIM_AT)
        got = {name: int(row[f"{PROTOCOL}.{name}"] or 0, 0) for name in SHIM.fields}
        assert got == wanted
        assert row[f"{PROTOCOL}.crc_ok"] in ("1", "True")
        assert row[f"{PROTOCOL}.malformed"] == ""
        assert int(row["infiniband.bth.psn"]) == n
        assert decode(frame[_SHIM_AT : _SHIM_AT + SHIM.size])[1] is not None
    assert rows[120][f"{PROTOCOL}.score"] == ""
    assert int(rows[120]["infiniband.bth.psn"]) == 500
    assert rows[121][f"{PROTOCOL}.crc_ok"] in ("0", "False")
    assert rows[121]["infiniband.bth.psn"] == ""
    assert UDP.get(frames[0], ETHERNET.size + IPV4.size, "destination_port") == SHIM_PORT
