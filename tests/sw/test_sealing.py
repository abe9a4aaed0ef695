"""Datagrams under a token: what is changed, late, recorded or of another is refused and counted."""

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precog_host.sealing import (
    MOST_APART_S,
    Refusal,
    Seal,
    SealError,
    Verifier,
    make_token,
    read_token,
)
from precog_host.transport import DeviceError

TOKEN = b"0123456789abcdef"
SECOND = 10**9


class Clocks:
    """The client's and the server's, in nanoseconds."""

    def __init__(self) -> None:
        self.client = self.server = 1_000 * SECOND
        self.seal = Seal(TOKEN, lambda: self.client)
        self.verifier = Verifier(TOKEN, lambda: self.server)
        self.client += 1

    def refused(self, datagram: bytes) -> Refusal:
        before = dict(self.verifier.refused)
        with pytest.raises(SealError) as caught:
            self.verifier.open(datagram)
        refusal = caught.value.refusal
        assert self.verifier.refused == before | {refusal: before[refusal] + 1}
        return refusal


def test_there_and_back() -> None:
    clocks = Clocks()
    for text in (b"", b"ask", b"x" * 600):
        clocks.seal.begin()
        opened, head = clocks.verifier.open(clocks.seal.seal(text))
        assert opened == text
        answer = clocks.verifier.seal(head, b"answer")
        assert clocks.seal.open(answer) == b"answer"
        assert Seal(TOKEN).open(answer) is None, "it is another client's"
        clocks.seal.begin()
        assert clocks.seal.open(answer) is None, "it answers an earlier request"
    assert not any(clocks.verifier.refused.values())


@given(st.data())
def test_one_changed_byte_is_enough(data: st.DataObject) -> None:
    clocks = Clocks()
    sealed = bytearray(clocks.seal.seal(b"write 1 to COMMAND"))
    at = data.draw(st.integers(0, len(sealed) - 1))
    sealed[at] ^= data.draw(st.integers(1, 255))
    assert clocks.refused(bytes(sealed)) in (Refusal.UNSEALED, Refusal.FORGED)
    opened, head = clocks.verifier.open(clocks.seal.seal(b"ask"))
    assert opened == b"ask"
    answer = bytearray(clocks.verifier.seal(head, b"some words"))
    at = data.draw(st.integers(0, len(answer) - 1))
    answer[at] ^= data.draw(st.integers(1, 255))
    assert clocks.seal.open(bytes(answer)) is None


def test_recordings_are_refused() -> None:
    clocks = Clocks()
    first, second = clocks.seal.seal(b"1"), clocks.seal.seal(b"2")
    clocks.verifier.open(second)
    assert clocks.refused(second) is Refusal.REPLAYED
    assert clocks.refused(first) is Refusal.REPLAYED
    restarted = Verifier(TOKEN, lambda: clocks.server + 2)
    with pytest.raises(SealError, match="replayed"):
        restarted.open(second)
    clocks.server += MOST_APART_S * SECOND + 10
    assert clocks.refused(second) is Refusal.LATE


def test_what_a_forgotten_client_sent_stays_refused() -> None:
    clocks = Clocks()
    recorded = clocks.seal.seal(b"write")
    clocks.verifier.open(recorded)
    for _ in range(1024):
        clocks.client += 1
        clocks.verifier.open(Seal(TOKEN, lambda: clocks.client).seal(b"read"))
    assert clocks.refused(recorded) is Refusal.REPLAYED


def test_clocks_too_far_apart_and_other_tokens() -> None:
    clocks = Clocks()
    clocks.client += MOST_APART_S * SECOND
    assert clocks.refused(clocks.seal.seal(b"ask")) is Refusal.LATE
    assert clocks.refused(Seal(b"another token....").seal(b"ask")) is Refusal.FORGED
    assert clocks.refused(b"ask") is Refusal.UNSEALED


def test_token_files(tmp_path: Path) -> None:
    path = tmp_path / "token"
    make_token(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(read_token(path)) == 64
    with pytest.raises(FileExistsError):
        make_token(path)
    path.chmod(0o640)
    with pytest.raises(DeviceError, match="must be its owner's alone: chmod 600"):
        read_token(path)
    path.chmod(0o600)
    path.write_text("short\n")
    with pytest.raises(DeviceError, match=r"must have 16\.\.1024 bytes, not 5"):
        read_token(path)
