"""One process works on a trainer's folder; another asks it to roll back."""

import threading
from pathlib import Path

import pytest

from precog_fleet.authority import Authority
from precog_fleet.clock import now_ms
from precog_fleet.errors import FleetError
from precog_fleet.member import Member
from precog_fleet.outcome import Outcome
from precog_fleet.places import BusyError
from precog_fleet.rollouts import Stages
from precog_fleet.trainer_process import TrainerNode, ask_for_rollback

pytestmark = pytest.mark.usefixtures("unreachable")
ROUTER = "tls/127.0.0.1:9"  # no server listens there
ONE = bytes([1]) * 32


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A trainer's, whose fleet has an agent."""
    authority = Authority.create(tmp_path / "authority", "lab", (ROUTER,))
    for name, role in (("host0", "agent"), ("trainer0", "trainer")):
        asked = Member.enroll(tmp_path / name, name, role)
        given = authority.approve(asked, now_ms())
    Member.join(tmp_path / "trainer0", given)
    return tmp_path / "trainer0"


def test_a_rollback_is_done_by_the_process_that_runs(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = TrainerNode(folder, Stages())
    assert node.rollouts.agents() == ["host0"]
    with pytest.raises(BusyError, match="is in use: end the process that works on it first"):
        TrainerNode(folder)
    stop = threading.Event()
    events: list[str] = []

    def turns() -> None:
        # SQLite's connection stays in its thread, so all of the node's work is done here.
        while not stop.is_set():
            events.extend(node._requested(now_ms()))

    thread = threading.Thread(target=turns)
    thread.start()
    try:
        with pytest.raises(FleetError, match="rollout must have been made before it can be"):
            ask_for_rollback(folder, "too early", limit_s=5.0)
    finally:
        stop.set()
        thread.join()
    node.rollouts.start(1, ONE, now_ms())
    (folder / "rollback.request").write_text("by test")
    node.turn(wait_s=0.0)
    assert node.rollouts.live == (0, bytes(32))
    assert not (folder / "rollback.request").exists()
    assert node.rollouts.history[-1]["why"] == "by test"
    with pytest.raises(FleetError, match=r"did not answer in 0\.1 s"):
        ask_for_rollback(folder, "x", limit_s=0.1)
    assert not (folder / "rollback.request").exists()

    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as during:
        during.setattr("time.sleep", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ask_for_rollback(folder, "x")
    assert not (folder / "rollback.request").exists()  # or a later process would act on it
    node.close()


def test_what_was_decided_without_a_router_is_kept(folder: Path) -> None:
    node = TrainerNode(folder)
    node.rollouts.start(1, ONE, now_ms())
    assert node.wait_until_heard(0.2) is False
    node.close()
    for _ in range(2):  # as the error says: repeat the command
        with pytest.raises(FleetError, match="release 1 is rolled back, but no router has heard"):
            ask_for_rollback(folder, "why", limit_s=0.2)
    again = TrainerNode(folder)
    assert again.rollouts.live == (0, bytes(32))
    assert again.rollouts.status(now_ms())["unsaid"]
    entry = again.store.entry("trainer0", "rollout/live")
    assert entry is None or again.store.receive(entry.frame, now_ms()) is Outcome.KNOWN
    again.close()
