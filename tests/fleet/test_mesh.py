"""Gossip over Zenoh with mutual TLS on the loopback."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import zenoh

from precog_fleet.announce import announce
from precog_fleet.answering import fresh, genuine, signed
from precog_fleet.certificates import LinkAuthority, new_key, request
from precog_fleet.clock import now_ms
from precog_fleet.errors import FleetError
from precog_fleet.looking import Look
from precog_fleet.mesh import Mesh
from precog_fleet.mesh_config import MeshConfig
from precog_fleet.messages import pack
from precog_fleet.outcome import Outcome
from precog_fleet.router_process import HELD
from precog_fleet.signing import SIGNATURE_BYTES, SigningKey

from .meshed import Lab


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    made = Lab(tmp_path)
    yield made
    made.stop()


def holds(mesh: Mesh, origin: str, key: str) -> bool:
    return mesh.gossip.store.entry(origin, key) is not None


def lent(mesh: Mesh) -> frozenset[str]:
    return mesh.gossip.lent(now_ms())


def test_records_reach_those_who_follow(lab: Lab) -> None:
    """Push to followers at once; a late joiner and a new router get what others hold."""
    router, one, two, three = (
        lab.member(name, "router" if name == "rack0" else "agent")
        for name in ("rack0", "host0", "host1", "host2")
    )
    relay = lab.start(router)
    first, second = lab.start(one, ["dst/a"]), lab.start(two, ["dst/b"])
    # The router learns of members that joined after it from their own questions.
    lab.until(lambda: len(relay.gossip.store.members) == 3)
    lab.say(first, one, "dst/b")
    lab.say(first, one, "dst/c")
    lab.until(lambda: holds(second, "host0", "dst/b") and holds(relay, "host0", "dst/c"))
    assert not holds(second, "host0", "dst/c")
    lab.stop(first)  # the publisher is dead
    late = lab.start(three, ["dst/c"])
    lab.until(lambda: holds(late, "host0", "dst/c"))

    lab.stop(relay)
    relay = lab.start(router)  # with an empty store
    assert not holds(relay, "host0", "dst/b")
    lab.until(lambda: holds(relay, "host0", "dst/b") and holds(relay, "host0", "dst/c"))
    assert relay.counts["dropped"] == 0


def test_who_poses_as_a_router_is_not_asked(lab: Lab) -> None:
    """Else a member could keep everybody from hearing of its own revocation."""
    router, good, bad = (
        lab.member(name, "router" if name == "rack0" else "agent")
        for name in ("rack0", "host0", "host1")
    )
    relay, host, mallory = lab.start(router), lab.start(good), lab.start(bad)
    lab.until(lambda: len(relay.gossip.store.members) == 3)
    session = mallory._session
    posed = [
        session.liveliness().declare_token(mallory._key("alive", name, str(zid)))
        for name in ("a-router", "host1")
        for zid in (session.zid(), relay._session.zid())
    ]
    lab.until(lambda: host.peers == {"a-router", "host1", "rack0"})
    assert host._believed() == ["rack0"]
    lab.authority.revoke("host1", now_ms())
    with ThreadPoolExecutor(1) as pool:
        told = pool.submit(announce, lab.authority)
        lab.until(told.done)
    assert told.result() == ["rack0"]
    lab.until(lambda: host.gossip.store.members["host1"].revoked)
    assert len(posed) == 4


def test_who_answers_for_a_router_is_not_heard(lab: Lab) -> None:
    """Any session may declare that it serves a router's questions; its answers come sooner."""
    router, good, bad = (
        lab.member(name, "router" if name == "rack0" else "agent")
        for name in ("rack0", "host0", "host1")
    )
    relay, host, mallory = lab.start(router), lab.start(good), lab.start(bad)
    lab.until(lambda: all(len(one.gossip.store.members) == 3 for one in (relay, host)))
    lab.meshes.remove(mallory)
    nothing = {"of": 1, "buckets": [], "pairs": [], "settled": True, "kept": True}

    def lie(query: zenoh.Query) -> None:
        with query:
            query.reply(query.key_expr, bytes(SIGNATURE_BYTES) + pack(nothing, []))
            query.reply_err(b"busy")

    posing = mallory._session.declare_queryable(mallory._key("sync", "rack0"), lie, complete=True)
    lab.until(lambda: host.counts["posed"] > 0)
    lab.authority.revoke("host1", now_ms())
    with ThreadPoolExecutor(1) as pool:
        told = pool.submit(announce, lab.authority)
        lab.until(told.done)
    assert told.result() == ["rack0"]
    assert relay.gossip.store.members["host1"].revoked
    lab.until(lambda: host.gossip.store.members["host1"].revoked)
    posing.undeclare()
    mallory.close()


def test_an_answer_counts_for_one_question() -> None:
    key, other, lab = SigningKey.generate(), SigningKey.generate(), bytes(32)
    question, again = fresh(b"?"), fresh(b"?")
    answer = signed(key, lab, "rack0", question, b"!")
    assert genuine(key.public, lab, "rack0", question, answer)
    for wrong in (
        (other.public, lab, "rack0", question, answer),
        (key.public, bytes(31) + b"1", "rack0", question, answer),
        (key.public, lab, "rack1", question, answer),
        (key.public, lab, "rack0", again, answer),
        (key.public, lab, "rack0", question, answer + b"!"),
        (key.public, lab, "rack0", question, b""),
    ):
        assert not genuine(*wrong)


def test_members_ask_their_own_router_which_holds_what_they_need(tmp_path: Path) -> None:
    lab = Lab(tmp_path, routers=2)
    try:
        racks = [lab.member(f"rack{n}", "router") for n in range(2)]
        relays = [lab.start(rack, HELD, n) for n, rack in enumerate(racks)]
        one, two = lab.member("host0"), lab.member("host1")
        first, second = lab.start(one, ["dst/a"], 0), lab.start(two, ["dst/b"], 1)
        names = {"rack0", "rack1"}
        lab.until(lambda: first.peers == second.peers == names)
        assert (first.near, second.near) == ({"rack0"}, {"rack1"})
        lab.until(lambda: [lent(relay) for relay in relays] == [{"dst/a"}, {"dst/b"}])
        for relay in relays:
            relay.lend(now_ms())
        lab.until(lambda: all(len(relay.gossip.store.members) == 4 for relay in relays))
        lab.say(first, one, "dst/b")
        lab.until(lambda: holds(relays[1], "host0", "dst/b") and holds(second, "host0", "dst/b"))
        lab.say(second, two, "dst/a")
        lab.until(lambda: holds(relays[0], "host1", "dst/a") and holds(first, "host1", "dst/a"))
        assert not holds(relays[0], "host0", "dst/b")
    finally:
        lab.stop()


def test_who_looks_follows_nothing(lab: Lab) -> None:
    relay = lab.start(lab.member("rack0", "router"), HELD)
    one, two = lab.member("host0"), lab.member("host1")
    first = lab.start(one, ["dst/a"])
    look = Look(two)
    lab.meshes.append(look.mesh)
    assert not look.mesh._followed
    lab.until(lambda: len(relay.gossip.store.members) == 3)
    lab.say(first, one, "dst/a")
    lab.until(lambda: holds(look.mesh, "host0", "dst/a"))
    assert lent(relay) == {"dst/a"}


def test_a_look_by_a_wrong_clock_says_what_was_refused(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.start(lab.member("rack0", "router"), HELD)
    host = lab.member("host0")
    monkeypatch.setattr("precog_fleet.looking.now_ms", lambda: now_ms() - 3_600_000)
    look = Look(host)
    lab.meshes.append(look.mesh)
    with pytest.raises(FleetError, match=r"told its records within 0\.2 s; refused: 2 future"):
        look.settle(200)


def test_a_revocation_reaches_every_member(lab: Lab) -> None:
    router, good, bad = (
        lab.member(name, "router" if name == "rack0" else "agent")
        for name in ("rack0", "host0", "host1")
    )
    relay, host, mallory = lab.start(router), lab.start(good), lab.start(bad)
    lab.until(lambda: len(relay.gossip.store.members) == 3)
    lab.say(mallory, bad, "dst/a")
    lab.until(lambda: holds(host, "host1", "dst/a"))
    lab.authority.revoke("host1", now_ms())
    with ThreadPoolExecutor(1) as pool:  # another process, as for an operator
        told = pool.submit(announce, lab.authority)
        lab.until(told.done)
    assert told.result() == ["rack0"]
    lab.until(lambda: not holds(host, "host1", "dst/a"))
    assert not holds(relay, "host1", "dst/a")
    # The revoked member does not obey, but nobody believes it.
    mallory.publish("dst/a", lab.sealed(bad, "dst/a", 2))
    lab.until(lambda: relay.gossip.store.outcomes[Outcome.REVOKED] > 0)
    assert not holds(host, "host1", "dst/a")
    assert not holds(relay, "host1", "dst/a")


def test_links_need_a_certificate_of_the_fleet(lab: Lab, tmp_path: Path) -> None:
    relay = lab.start(lab.member("rack0", "router"))
    stranger = tmp_path / "stranger"
    stranger.mkdir()
    ends = lab.authority.info.routers
    other = LinkAuthority.create("lab")  # of the same name, another key
    key = new_key()
    (stranger / "link.key").write_bytes(key)
    (stranger / "link.pem").write_bytes(other.issue(request(key, "host0", ()), "host0"))
    (stranger / "ca.pem").write_bytes((lab.authority.folder / "ca.pem").read_bytes())
    config = MeshConfig("lab", "host0", stranger, False, (), ends)
    with pytest.raises(FleetError, match=r"no router answers at tls/127\.0\.0\.1:\d+: see"):
        Mesh(config, relay.gossip, connect_ms=500)
    with pytest.raises(FleetError, match=r"cannot listen at tls/127.*: another process has"):
        lab.start(lab.member("rack1", "router"))  # the port is in use


def test_a_full_queue_drops_and_counts(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("precog_fleet.mesh._QUEUE", 4)
    router, one = lab.member("rack0", "router"), lab.member("host0")
    relay, host = lab.start(router), lab.start(one)
    lab.until(lambda: len(relay.gossip.store.members) == 2)
    for version in range(1, 40):
        lab.say(host, one, "dst/a", version)
    lab.until(lambda: relay.gossip.store.mark("host0", "dst/a") == 39)  # anti-entropy
    assert relay.counts["dropped"] > 0
