"""``precog qp follow``: slots come and go with the lists, and those of others stay."""

import io
import json
from collections.abc import Sequence
from ipaddress import ip_address
from pathlib import Path

import pytest
from tests.command_line import Ran, ran

from precog_host import pairs
from precog_host.device import Device
from precog_host.emulator.opening import open_emulator
from precog_host.rdma_follow import Follower
from precog_host.rdma_list import RdmaQp, read_list
from precog_host.transport import DeviceError

_PACKETS = "emu:qps=8,width=64"
_LISTS = Path(__file__).parent / "rdma/follow.jsonl"  # of a guest while ib_write_bw -q 2 ran
PEER = ip_address("10.0.0.7")


def recorded() -> list[list[RdmaQp]]:
    return [read_list(line)[0] for line in _LISTS.read_text().splitlines()]


def follow(capsys: pytest.CaptureFixture[str], *arguments: str) -> Ran:
    return ran(capsys, "qp", "follow", *arguments)


def bound(device: Device) -> list[tuple[int, int, int]]:
    assert device.packet is not None
    return [(b.slot, b.local_qp, b.remote_qp) for b in device.packet.bindings()]


def made(*numbers: tuple[int, int]) -> Sequence[RdmaQp]:
    return [RdmaQp("rxe0", 1, here, there, "RC", "RTS", "test") for here, there in numbers]


def test_the_table_is_the_list_at_every_moment() -> None:
    with Device.open(_PACKETS) as device:
        follower = Follower(device, mode="s")
        most = 0
        for qps in recorded():
            follower.update(qps, remote=PEER)
            assert sorted((here, there) for _, here, there in bound(device)) == sorted(
                (qp.lqpn, qp.rqpn) for qp in qps
            )
            assert len(list(pairs.states(device))) == len(qps)
            most = max(most, len(qps))
        assert most == 2
        assert bound(device) == []


def test_a_slot_is_used_again_and_an_order_is_kept() -> None:
    with Device.open("emu:qps=2,width=64") as device:
        follower = Follower(device)
        for number in range(20, 40):  # numbers of soft-RoCE grow, slots do not
            change = follower.update(made((number, number + 100)), remote=PEER)
            assert [one.slot for one in change.added] == [0]
            assert len(change.released) == (number > 20)
        full = follower.update(made((1, 2), (3, 4), (5, 6)), remote=PEER)
        assert full.skipped == {"no free slot": 1}
        assert [one.qp.lqpn for one in follower.followed] == [1, 3]
        assert [one.qp.lqpn for one in follower.release()] == [1, 3]


def test_a_queue_pair_with_another_peer_or_number_begins_anew() -> None:
    with Device.open(_PACKETS) as device:
        follower = Follower(device)
        follower.update(made((5, 6), (7, 8)), remote=PEER)
        other = ip_address("10.0.0.8")
        change = follower.update(made((5, 6), (7, 9)), remote=PEER, peers={"rxe0/5": other})
        assert [(one.qp.lqpn, one.qp.rqpn) for one in change.released] == [(5, 6), (7, 8)]
        assert [(one.qp.rqpn, one.remote) for one in change.added] == [(6, other), (9, PEER)]


def test_others_slots_stay_and_what_was_followed_before_is_adopted() -> None:
    with Device.open(_PACKETS) as device:
        assert device.packet is not None
        device.packet.bind(3, "10.0.0.9", remote_qp=70, local_qp=71)
        first = Follower(device)
        first.update(made((5, 6)), remote=PEER)
        second = Follower(device)
        change = second.update(made((5, 6), (7, 8)), remote=PEER)
        assert [one.slot for one in change.adopted] == [0]
        assert [one.qp.lqpn for one in change.added] == [7]
        assert len(second.release()) == 2
        assert bound(device) == [(3, 71, 70)]


def test_what_an_operator_took_away_comes_back() -> None:
    with Device.open(_PACKETS) as device:
        follower = Follower(device)
        follower.update(made((5, 6)), remote=PEER)
        pairs.remove(device, [0])
        change = follower.update(made((5, 6)), remote=PEER)
        assert [one.qp.lqpn for one in change.added] == [5]
        pairs.remove(device, [0])
        assert follower.update((), remote=PEER).released == ()


@pytest.mark.parametrize(
    "parts", ["", ",cnps=0"]
)  # the latter: rows do not say if slots are in use
def test_what_another_program_did_is_seen(parts: str) -> None:
    """Two programs share the device: the operator's gives a slot to another connection."""
    emulator = open_emulator(f"width=64,qps=8{parts}")
    ours, theirs = Device(emulator), Device(emulator)
    follower = Follower(ours)
    follower.update(made((5, 6), (7, 8)), remote=PEER)
    assert bound(theirs) == [(0, 5, 6), (1, 7, 8)]
    pairs.remove(theirs, [1])
    pairs.add(theirs, [1])
    assert theirs.packet is not None
    theirs.packet.bind(1, "10.0.0.9", remote_qp=70, local_qp=71)
    change = follower.update(made((5, 6), (7, 8)), remote=PEER)
    assert [one.slot for one in change.added] == [2]
    assert [one.slot for one in follower.release()] == [0, 2]
    assert bound(Device(emulator)) == [(1, 71, 70)]
    assert ours.qp(1).status().enable
    theirs.packet.unbind(1)
    theirs.packet.bind(1, "10.0.0.9", remote_qp=70, local_qp=72)  # no row says that
    assert ours.packet is not None
    assert [one.local_qp for one in ours.packet.bindings()] == [72]


def test_a_table_that_was_half_written_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with Device.open(_PACKETS) as device:
        assert device.packet is not None
        with monkeypatch.context() as patch:
            patch.setattr(device.packet, "_apply_row", lost)
            with pytest.raises(DeviceError, match="link"):
                device.packet.bind(0, PEER, remote_qp=6, local_qp=5)
        assert bound(device) == []
        device.packet.bind(0, PEER, remote_qp=6, local_qp=5)
        assert bound(device) == [(0, 5, 6)]


def lost(*_: object, **__: object) -> None:
    raise DeviceError("link was lost")


def test_a_device_without_packets() -> None:
    with Device.open("emu:qps=4") as device:
        follower = Follower(device, algorithm="pid")
        follower.update(made((5, 6), (7, 8)))
        assert [state.qp for state in pairs.states(device)] == [0, 1]
        follower.update(made((7, 8)))
        assert [state.qp for state in pairs.states(device)] == [1]


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--from", str(_LISTS), "--remote", str(PEER), "-d", _PACKETS]
    code, out, _ = follow(capsys, *options, "-j")
    assert code == 0
    lines = [json.loads(line) for line in out.splitlines()]
    assert len(lines) == len(recorded())
    assert [line["followed"] for line in lines] == [len(qps) for qps in recorded()]
    added, released = (sum(len(line[name]) for line in lines) for name in ("added", "released"))
    assert (added, released) == (2, 2)
    code, out, _ = follow(capsys, *options)
    assert code == 0
    assert out.count("added") == out.count("released") == 2
    code, out, _ = follow(capsys, *options, "-j", "--count", "1")
    assert code == 0
    assert len(out.splitlines()) == 1


def test_a_program_that_lists(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    one = tmp_path / "list.json"
    one.write_text(next(line for line in _LISTS.read_text().splitlines() if '"RTS","rq' in line))
    options = ["--remote", str(PEER), "-d", _PACKETS, "--every", "0.05"]
    code, out, _ = follow(capsys, *options, "-j", "--count", "2", "--command", f"cat {one}")
    assert code == 0
    assert [len(json.loads(line)["added"]) for line in out.splitlines()][1] == 0
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(one.read_bytes())))
    code, out, _ = follow(capsys, *options, "-j", "--from", "-")
    assert code == 0
    assert json.loads(out)["followed"] >= 1


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (b"\\ud800", "\N{REPLACEMENT CHARACTER}"),
        (b"a\\u0007b\\u001b[2J", "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}[2J"),
        (b"\xff\xfe", "\N{REPLACEMENT CHARACTER}" * 2),
    ],
)
def test_a_process_may_have_any_name(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: bytes, shown: str
) -> None:
    """Its owner chooses it, and must end no follower and steer no terminal."""
    path = tmp_path / "list.json"
    entry = b'{"ifname":"a","lqpn":5,"rqpn":6,"type":"RC","state":"RTS","comm":"NAME"}'
    path.write_bytes(b"[%s,{}]" % entry.replace(b"NAME", name))
    options = ["--remote", str(PEER), "-d", _PACKETS]
    for source in (["--command", f"cat {path}"], ["--from", str(path)]):
        code, out, _ = follow(capsys, *options, *source, "--count", "1")
        assert (code, out) == (0, f"added    slot 0: a QP 5 to 6 of {PEER}, {shown}\n")
    path.write_bytes(b'[{"type":"%s"}]' % name)
    code, out, _ = ran(capsys, "qp", "import", str(path), *options)
    assert code == 0
    assert f"1 type {shown.upper()}\n" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--command", '"'], "command must be words of a shell, not '\"': No closing quotation"),
        (["--command", "no-such-program"], "command must be a program that is there, not 'no-such"),
        (["--command", ""], "command must name a program, not be empty"),
        (["--command", "false"], "false failed: 1"),
        (["--command", "echo nonsense"], "list must be what rdma -j resource show qp prints"),
        (["--mode", "x"], "mode must be off, s or r, not 'x'"),
        (["--mtu", "17"], "mtu must be one of"),
        (["--first-slot", "9", "--from", str(_LISTS)], "first slot must be in 0..7, not 9"),
        (["--remote", "nowhere"], "remote must be an IPv4 or IPv6 address, not 'nowhere'"),
        (["-d", "emu:", "--remote", "10.0.0.1"], "--remote and --peer must be left out"),
    ],
)
def test_refusals(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    given = arguments if "-d" in arguments else [*arguments, "-d", _PACKETS]
    code, _, error = follow(capsys, *given)
    assert code in (1, 2)
    assert message in error
