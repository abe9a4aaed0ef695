"""Two golden NICs back to back: everything said is heard, and every counter is explained."""

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest

from precog_models.packet.icrc import icrc_ok
from precog_models.packet.parser import parse
from precog_sim.backtoback.__main__ import main
from precog_sim.backtoback.account import check
from precog_sim.backtoback.endpoint import Endpoint, EndpointSettings
from precog_sim.backtoback.frames import ACKNOWLEDGE, Host, Packet, build, read, with_ce
from precog_sim.backtoback.node import SLOTS, Through
from precog_sim.backtoback.run import BackToBack
from precog_sim.backtoback.wire import Wire, WireSettings
from precog_spec.frames.descriptor import Direction

HOSTS = Host(1, 0x0A000001), Host(2, 0x0A000002)


def test_scores_travel_over_a_bad_wire(seed: int) -> None:
    """Loss, overtaking, and every packet of data marked: CNPs come."""
    wire = WireSettings(loss=0.03, reorder=0.03, mark_bytes=0)
    run = BackToBack(900, seed, wire)
    run.run()
    check(run)
    assert run.differences == []
    for side in range(2):
        seen, sent = run.seen[side], run.wires[side]
        assert min(sent.lost, sent.overtaken, sent.marked) > 0
        assert sum(seen.cnps_acted) > 0
        for slot, (_, source, _) in enumerate(SLOTS):
            assert (seen.scores_sent[slot] == {33}) == (source == "host")
            said = run.seen[1 - side].scores_sent[slot]
            assert seen.score[slot] in (said or {None})
        assert any(seen.scores_sent[slot] - {33} for slot in range(len(SLOTS)))
        assert run.nodes[side].device.counters()["scored"] > 0


def test_resets_and_new_models_under_load(seed: int) -> None:
    """Every part of both ends is reset while packets flow, and every counter is explained."""
    wire = WireSettings(loss=0.02, reorder=0.02, mark_bytes=0)
    run = BackToBack(900, seed, wire, disturb_ticks=10_000)
    run.run()
    check(run)
    assert run.differences == []
    for side in range(2):
        seen, node = run.seen[side], run.nodes[side]
        assert set(seen.resets) == set(node.parts)
        assert seen.swaps > 0
        assert node.counts("events")["rtt_forgotten"] > 0
        assert node.counts("core") != node.device.counters()


def test_the_books_find_what_is_wrong(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    run = BackToBack(40, seed, WireSettings(loss=0.0, reorder=0.0))
    broken = [False]
    receive = run.nodes[1].receive

    def breaks(frame: bytes, t: int) -> Through:
        through = receive(frame, t)
        if not broken[0] and through.frame is not None:
            broken[0] = True
            last = bytes([through.frame[-1] ^ 1])
            return replace(through, frame=through.frame[:-1] + last)
        return through

    monkeypatch.setattr(run.nodes[1], "receive", breaks)
    run.run()
    assert "came out as" in run.differences[0]
    run.differences.clear()
    check(run)
    assert any("rx of_qp" in line for line in run.differences)  # the card saw one more than we


def test_an_endpoint_goes_back(seed: int) -> None:
    """A NAK and a silence: the same requests again, and the peer takes each once."""
    rng = random.Random(seed)
    settings = EndpointSettings(message_packets=6)
    first = (1 << 24) - 2
    says = Endpoint(7, first, 50, settings, rng, 6)
    hears = Endpoint(8, 50, first, settings, rng, 0)
    while says.think(0):
        pass
    packets = []
    while says.ready():
        packets.append(says.send(0))
    assert [p.psn for p in packets] == [(first + n) & 0xFFFFFF for n in range(6)]
    assert hears.receive(packets[0], 1) is None
    nak = hears.receive(packets[2], 2)
    assert nak is not None
    assert (nak.psn, nak.syndrome) == (packets[1].psn, 0x60)
    assert hears.receive(packets[3], 3) is None  # one NAK for a gap
    says.receive(nak, 4)
    again = [says.send(5) for _ in range(5)]
    assert again == packets[1:]
    assert says.timer is not None
    says.expire(says.timer)
    for packet in (*again, *(says.send(6) for _ in range(5))):
        hears.receive(packet, 7)
    assert hears.counts == {"taken": 6, "early": 2, "naks_said": 1, "twice": 5}
    says.receive(hears.answer(), 9)
    assert says.idle()
    assert says.said == hears.heard == b"".join(p.payload for p in packets)


def test_frames_are_whole(seed: int) -> None:
    rng = random.Random(seed)
    for packet in (
        Packet(4, 5, 6, ack_req=True, payload=rng.randbytes(rng.randrange(1, 99))),
        Packet(ACKNOWLEDGE, 5, 6, syndrome=0x1F, msn=9),
    ):
        frame = build(packet, *HOSTS, 0xC000)
        for same in (frame, with_ce(frame)):
            assert read(same) == packet
            assert icrc_ok(same, parse(same, Direction.RX))
        assert with_ce(frame) != frame


def test_a_wire_keeps_order_but_for_what_is_late(seed: int) -> None:
    frame = build(Packet(4, 5, 6, payload=bytes(200)), *HOSTS, 0xC000)
    wire = Wire[int](WireSettings(loss=0.0, reorder=0.0, mark=0.0), random.Random(seed))
    flights = [wire.carry(frame, 10 * n, n) for n in range(200)]
    times = [flight.t for flight in flights if flight is not None]
    assert times == sorted(set(times))
    assert len(times) == 200
    marks = [flight.marked for flight in flights if flight is not None]
    assert marks == sorted(marks)  # the queue only grows
    assert marks[-1]
    assert Wire[int](WireSettings(loss=1.0), random.Random(seed)).carry(frame, 0, 0) is None
    with pytest.raises(ValueError, match=r"loss must be in 0\.\.1, not 1\.5"):
        WireSettings(loss=1.5)
    with pytest.raises(ValueError, match="delay must not be negative, not -1"):
        WireSettings(delay=-1)
    with pytest.raises(ValueError, match="rate must be positive, not 0"):
        WireSettings(rate=0)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "found.json"
    assert main(["--packets", "16", "--seed", "5", "--out", str(out)]) == 0
    found = json.loads(out.read_text())
    assert (found["requests"], found["differences"]) == (24, [])
    assert "24 requests, 0 differences" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["--packets", "0"])
