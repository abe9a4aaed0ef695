"""Real Linux RDMA through golden cards: every byte, every counter of the kernel accounted for."""

import json
from pathlib import Path

import pytest
from tests.command_line import ran

from precog_sim.capture import read

from .absent import why_not


@pytest.mark.skipif(bool(why_not()), reason=why_not() or "all is there")
def test_verbs_of_two_guests(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capture = tmp_path / "wire.pcapng"
    words = ["lab", "--iterations", "10", "--pairs", "2", "--pcap", str(capture), "-j"]
    for name in ("write", "read"):
        words += ["-w", name]
    captured = ran(capsys, *words)
    assert not captured.status, captured.err
    found = json.loads(captured.out)
    assert found["differences"] == 0
    assert found["icrc_bad"] == 0
    assert found["identical"] == found["frames"]  # nothing was lost on the wire
    assert found["roce"] == found["icrc_ok"]
    assert found["shims"] == found["scores_heard"] == found["roce"] - found["unbound"]
    # An endpoint that was too slow may get an answer when its queue pair has gone.
    assert found["unbound"] <= found["retransmissions"]
    assert (found["pairs_added"], found["pairs_released"]) == (8, 8)
    assert found["rtts"] > 0
    assert found["decisions"] > found["rtts"]
    # 2 QPs, 10 messages: 8 packets each to write, 8 answers each to read.
    assert found["roce"] >= 2 * 10 * (8 + 1 + 8 + 1)
    guests = found["guests"]
    for here, there in ((0, 1), (1, 0)):
        assert guests[here]["sent_pkts"] == guests[there]["rcvd_pkts"]
        for name in ("out_of_seq_request", "rcvd_seq_err", "send_err", "retry_exceeded_err"):
            assert guests[here][name] == 0, name
    # An overloaded machine may be slower than an endpoint waits; then both count the same.
    assert found["retransmissions"] == sum(guest["duplicate_request"] for guest in guests)
    assert sum(1 for _ in read(capture)) == found["roce"]
