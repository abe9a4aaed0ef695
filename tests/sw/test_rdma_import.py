"""``precog qp import``: lists of several versions of rdma, what is left out, what the card gets."""

import io
import json
from collections import Counter
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from tests.command_line import Ran, ran

from precog_host.device import Device
from precog_host.rdma_import import apply, plan
from precog_host.rdma_list import RdmaQp, peers_of, read_list
from precog_host.transport import DeviceError
from precog_spec.frames.cps import Mode

LISTS = Path(__file__).parent / "rdma"
_PACKETS = "emu:qps=8,width=64"
PEER = ip_address("10.0.0.7")


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> Ran:
    return ran(capsys, "qp", "import", *arguments)


def text(version: str) -> str:
    return (LISTS / f"{version}.json").read_text()


def test_a_new_list() -> None:
    qps, skipped = read_list(text("iproute2-6"))
    assert qps == [
        RdmaQp("mlx5_0", 1, 289, 1021, "RC", "RTS", "ib_write_bw"),
        RdmaQp("mlx5_0", 1, 290, 1022, "RC", "RTS", "ib_write_bw"),
        RdmaQp("mlx5_1", 1, 289, 55, "RC", "RTS", "[nvme_rdma]"),
    ]
    assert skipped == {"type GSI": 1, "type UD": 1, "state INIT": 1, "state ERR": 1}
    one, skipped = read_list(text("iproute2-6"), ifname="mlx5_1", port=1)
    assert [qp.rqpn for qp in one] == [55]
    assert skipped["of another device"] == 2
    none, skipped = read_list(text("iproute2-6"), port=2)
    assert none == []
    assert skipped["of another port"] == 3


def test_an_old_list() -> None:
    qps, skipped = read_list(text("iproute2-4"))
    assert qps == [RdmaQp("mlx4_0", 2, 17, 33, "RC", "RTS", "rping")]
    assert skipped == {"type SMI": 1}


def test_fields_that_are_missing_or_strange() -> None:
    qps, skipped = read_list(text("sparse"))
    assert qps == [RdmaQp("rxe0", None, 17, 18, "RC", "RTR", "")]
    assert skipped == {
        "listed twice": 1,
        "without rqpn": 1,
        "without lqpn": 2,
        "lqpn out of range": 1,
        "without a state": 1,
        "without a type": 1,
        "type UC": 1,
        "not an object": 3,
    }
    assert read_list("[ ]\n") == ([], Counter())


@pytest.mark.parametrize(
    "listed", ["", "link mlx5_0/1 lqpn 7 type GSI state RTS", "[{]", "[" * 100_000]
)
def test_what_is_no_json(listed: str) -> None:
    with pytest.raises(ValueError, match="list must be what rdma -j resource show qp prints"):
        read_list(listed)
    with pytest.raises(ValueError, match="list must be a list in JSON, not dict"):
        read_list("{}")


def test_the_card_gets_slots_keys_and_laws() -> None:
    with Device.open(_PACKETS) as device:
        assert device.packet is not None
        device.packet.bind(0, "10.0.0.9", remote_qp=1, local_qp=2, destination=4)
        device.qp(1).configure(preset="precog", enable=True, algorithm="pid")
        qps, skipped = read_list(text("iproute2-6"))
        peers = peers_of(["mlx5_1/289=10.0.0.9", "290=fe80::1"])
        made = plan(device, qps, skipped, remote=PEER, peers=peers)
        assert [(one.slot, str(one.remote), one.destination) for one in made.planned] == [
            (2, "10.0.0.7", 0),
            (3, "fe80::1", 1),
            (4, "10.0.0.9", 4),
        ]
        apply(device, made, preset="precog", algorithm="pid", mode="s", mtu=2048)
        bindings = {binding.slot: binding for binding in device.packet.bindings()}
        assert (bindings[2].remote, bindings[2].remote_qp, bindings[2].local_qp) == (
            PEER,
            1021,
            289,
        )
        assert (bindings[4].mode, bindings[4].mtu, bindings[4].destination) == (Mode.S, 2048, 4)
        status = device.qp(4).status()
        assert (status.enable, status.algorithm, status.max_rate_gbps) == (True, "pid", 100.0)
        again = plan(device, qps, skipped, remote=PEER, peers=peers)
        assert again.planned == ()
        assert again.skipped["bound already"] == 3


def test_one_peer_that_cannot_be_bound_leaves_all_of_them_out() -> None:
    """The second of three is at an address that the device was built without."""
    qps, skipped = read_list(text("iproute2-6"))
    with Device.open(f"{_PACKETS},ipv6=0") as device:
        assert device.packet is not None
        made = plan(device, qps, skipped, remote=PEER, peers=peers_of(["290=fe80::1"]))
        with pytest.raises(DeviceError, match="must be an IPv4 address, not fe80::1"):
            apply(device, made, preset="precog", algorithm="pid", mode="off", mtu=1024)
        assert device.packet.bindings() == []
        assert not any(device.qp(n).status().enable for n in range(8))


def test_what_finds_no_slot_or_no_peer() -> None:
    qps, skipped = read_list(text("iproute2-6"))
    with Device.open(_PACKETS) as device:
        assert plan(device, qps, skipped).skipped["without a peer"] == 3
        made = plan(device, qps, Counter(), remote=PEER, first_slot=7)
        assert [one.slot for one in made.planned] == [7]
        # Both cards' 289 would have one key.
        assert made.skipped == {"a key belongs to another slot": 1, "no free slot": 1}
        with pytest.raises(ValueError, match=r"first slot must be in 0\.\.7, not 8"):
            plan(device, qps, skipped, first_slot=8)
        with pytest.raises(ValueError, match="peer of 5 must be of a queue pair that can be"):
            plan(device, qps, skipped, peers=peers_of(["5=10.0.0.1"]))
    with Device.open("emu:qps=8") as device:  # no packets: no keys, no peers
        made = plan(device, qps, skipped)
        assert [(one.slot, one.remote) for one in made.planned] == [(n, None) for n in range(3)]
        apply(device, made, preset="precog", algorithm="pid", mode="off", mtu=1024)
        assert device.qp(2).status().enable


def test_the_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(LISTS / "iproute2-6.json")
    device = ("-d", _PACKETS)
    status, out, _ = run(capsys, path, "--remote", "10.0.0.7", "--ifname", "mlx5_0", "-j", *device)
    assert status == 0
    done = json.loads(out)
    assert [(row["slot"], row["lqpn"], row["remote"]) for row in done["imported"]] == [
        (0, 289, "10.0.0.7"),
        (1, 290, "10.0.0.7"),
    ]
    assert done["skipped"] == {
        "of another device": 1,
        "state ERR": 1,
        "state INIT": 1,
        "type GSI": 1,
        "type UD": 1,
    }
    assert (done["algorithm"], done["dry_run"]) == ("pid", False)

    class Standard:
        buffer = io.BytesIO((LISTS / "iproute2-4.json").read_bytes())

    monkeypatch.setattr("sys.stdin", Standard)
    status, out, _ = run(capsys, "-", "--peer", "17=10.0.0.7", "--dry-run", *device)
    assert "1 would be imported, 1 skipped" in out
    assert "1 type SMI" in out
    assert "rping" in out
    _, out, _ = run(capsys, path, *device)
    assert "3 without a peer\nthe list has no addresses: give --remote or --peer" in out


def test_a_dry_run_changes_nothing(capsys: pytest.CaptureFixture[str], card: Any) -> None:
    path = str(LISTS / "iproute2-6.json")
    monkey = pytest.MonkeyPatch()
    with monkey.context() as patch:
        patch.setattr("precog_host.device.open_transport", lambda _: card)
        status, _, _ = run(capsys, path, "--dry-run")
        assert status == 0
        written = {address for address, _ in card.log}
        status, _, _ = run(capsys, path)
        assert status == 0
    with Device(card) as device:
        allowed = {device.registers.address("QP", name) for name in ("SELECT", "ERROR", "COMMAND")}
        assert written <= allowed  # fetches
        assert device.qp(0).status().enable


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--remote", "host"), "remote must be an IPv4 or IPv6 address, not 'host'"),
        (("--peer", "289"), "peer must be LQPN=IP or DEVICE/LQPN=IP, not '289'"),
        (("--peer", "289=1.1.1.1", "--peer", "289=1.1.1.2"), "peer of 289 must be given once"),
        (("--mode", "q"), "mode must be off, s or r, not 'q'"),
        (("--algo", "bbr"), "algorithm must be one of"),
        (("--preset", "x"), "law preset must be one of"),
        (("--mtu", "1500"), "mtu must be one of 256, 512, 1024, 2048, 4096, not 1500"),
    ],
)
def test_refusals(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    path = str(LISTS / "iproute2-6.json")
    status, _, errors = run(capsys, path, *arguments, "-d", _PACKETS)
    assert status == 2
    assert message in errors


def test_an_address_for_a_device_without_packets(capsys: pytest.CaptureFixture[str]) -> None:
    """It would bind nothing."""
    path = str(LISTS / "iproute2-6.json")
    for option in (("--remote", "10.0.0.7"), ("--peer", "289=10.0.0.7")):
        status, _, errors = run(capsys, path, *option, "-d", "emu:qps=8")
        assert status == 2
        assert "--remote and --peer must be left out: device emu:qps=8 has no packet" in errors


def test_no_such_file(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, errors = run(capsys, "/no/such/list")
    assert (status, errors) == (2, "error: file /no/such/list: No such file or directory\n")
