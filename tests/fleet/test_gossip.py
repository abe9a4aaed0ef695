"""Anti-entropy: stores become equal, hostile records reach nobody, messages are bounded."""

import random
import struct
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from precog_fleet.bodies import Membership
from precog_fleet.compact import shrink
from precog_fleet.gossip import EVERYTHING, Gossip, Round, exchange
from precog_fleet.messages import MessageError, pack, unpack
from precog_fleet.outcome import Outcome
from precog_fleet.records import AUTHORITY, MAX_FRAME_BYTES, open_envelope
from precog_fleet.shelf import Shelf

from .hostile import HOSTILE
from .support import (
    NOW,
    YEAR,
    held,
    key_of,
    membership,
    record,
    sealed,
    settle,
    store,
)

NODES = 20
NAMES = [f"host{n}" for n in range(NODES)]


@pytest.fixture
def rng(seed: int) -> random.Random:
    return random.Random(seed)


@pytest.fixture
def nodes() -> list[Gossip]:
    """Twenty members that know each other."""
    return [Gossip(store(*NAMES, bases=lambda: {7})) for _ in NAMES]


@settings(max_examples=40)
@given(st.integers(2, 6), st.integers(0, 60), st.randoms(use_true_random=False))
def test_all_become_equal(count: int, records: int, rng: random.Random) -> None:
    """Whoever holds which version in the beginning, all end with the newest of each pair."""
    nodes = [Gossip(store(*NAMES[:4])) for _ in range(count)]
    newest: Counter[tuple[str, str]] = Counter()
    for _ in range(records):
        given_ = record(rng.choice(NAMES[:4]), f"dst/{rng.randrange(9)}", rng.randrange(1, 6))
        rng.choice(nodes).store.receive(sealed(given_), NOW)
    for node in nodes:
        for pair, version in node.store.pairs(["dst/"]).items():
            newest[pair] = max(version, newest[pair])
    settle(nodes, NOW, rng)
    assert all(node.store.pairs(["dst/"]) == newest for node in nodes)


def test_a_late_joiner_learns_of_the_dead(nodes: list[Gossip], rng: random.Random) -> None:
    """A publisher's record outlives it, and a new member needs nothing but the authority's key."""
    nodes[0].store.receive(sealed(record("host0")), NOW)
    settle(nodes, NOW, rng)
    late = Gossip(store(bases=lambda: {7}))
    exchange(late, nodes[1], NOW)
    assert held(late) == held(nodes[0])
    assert late.store.outcomes[Outcome.ACCEPTED] == NODES + 1


def test_both_sides_of_a_partition_go_on(nodes: list[Gossip], rng: random.Random) -> None:
    left, right = nodes[:7], nodes[7:]
    left[0].store.receive(sealed(record("host0")), NOW)
    right[0].store.receive(sealed(record("host7")), NOW)
    settle(left, NOW, rng)
    settle(right, NOW, rng)
    assert held(left[3]) != held(right[3])
    settle(nodes, NOW, rng)
    assert ("host0", "dst/10.0.0.7") in held(right[5])


def test_equal_stores_exchange_hashes_alone(nodes: list[Gossip], rng: random.Random) -> None:
    for n, name in enumerate(NAMES):
        frame = sealed(record(name, f"dst/{n}"))
        assert all(node.store.receive(frame, NOW) is Outcome.ACCEPTED for node in nodes[:2])
    idle = exchange(nodes[0], nodes[1], NOW)
    assert idle.equal
    assert idle.bytes_in + idle.bytes_out < 400
    nodes[1].store.receive(sealed(record("host3", "dst/3", 2)), NOW)
    one = exchange(nodes[0], nodes[1], NOW)
    assert (one.received, one.sent) == (1, 0)
    assert one.bytes_in + one.bytes_out < 1500


def test_interest_limits_what_is_fetched(nodes: list[Gossip]) -> None:
    router = nodes[0]
    for n in range(6):
        router.store.receive(sealed(record("host1", f"dst/{n}")), NOW)
    agent = Gossip(store(), ["dst/2", "dst/4"])
    exchange(agent, router, NOW)
    assert sorted(agent.store.pairs(["dst/"])) == [("host1", "dst/2"), ("host1", "dst/4")]
    assert len(agent.store.members) == NODES
    assert exchange(agent, router, NOW).equal
    assert agent.answer(router.opening(), NOW) is not None  # and tells of no more than it follows


def test_a_thousand_settled_members_are_one_hash() -> None:
    names = [f"host{n}" for n in range(1000)]
    one, other = Gossip(store(*names), ["dst/a"]), Gossip(store(*names), ["dst/a"])
    first, later = exchange(one, other, NOW), exchange(one, other, NOW)
    assert first.equal
    assert later.equal
    assert later.bytes_in + later.bytes_out < 300 < first.bytes_out
    other.store.receive(membership("host3", version=2, revoked=True), NOW)
    found = exchange(one, other, NOW)  # the peer says that it holds others, and is asked again
    assert (found.received, found.equal) == (1, False)
    assert one.store.members["host3"].revoked
    assert [exchange(one, other, NOW).equal for _ in range(2)] == [True, True]


def test_a_router_follows_what_it_is_asked_for(nodes: list[Gossip]) -> None:
    router = Gossip(nodes[0].store, ["health/"])
    agent = Gossip(nodes[1].store, ["dst/a"])
    agent.store.receive(sealed(record("host1", "dst/a")), NOW)
    exchange(agent, router, NOW)
    assert router.lent(NOW) == {"dst/a"}
    assert ("host1", "dst/a") in router.store.pairs(["dst/"])
    late = Gossip(store(*NAMES), ["dst/a", "dst/b"])
    exchange(late, router, NOW)
    assert ("host1", "dst/a") in held(late)
    other = Gossip(store(*NAMES), EVERYTHING)  # looks at all that is held, and moves nothing
    exchange(other, router, NOW)
    assert ("host1", "dst/a") in held(other)
    assert router.lent(NOW + 59_999) == {"dst/a", "dst/b"}
    exchange(agent, router, NOW + 59_999)
    assert router.lent(NOW + 60_000) == {"dst/a"}
    assert "dst/a" not in str(router.interest)  # routers do not pass it on to each other


def test_routers_ask_each_other_for_what_lasts(nodes: list[Gossip]) -> None:
    one, other = (Gossip(node.store, ["dst/", "rollout/"], ["rollout/"]) for node in nodes[:2])
    for key in ("dst/a", "dst/b"):
        other.store.receive(sealed(record("host1", key)), NOW)
    one.store.receive(membership("host77"), NOW)
    assert exchange(other, one, NOW).received == 1  # the member, and nothing else
    assert exchange(one, other, NOW).equal
    assert not one.store.pairs(["dst/"])
    looking = Gossip(store(*NAMES), ["dst/"])
    exchange(looking, other, NOW)
    assert len(looking.store.pairs(["dst/"])) == 2


def test_what_is_asked_for_has_a_bound(nodes: list[Gossip]) -> None:
    for n in range(5):
        asker = Gossip(store(), [f"dst/{n}-{k}" for k in range(4000)])
        assert nodes[0].answer(asker.opening(), NOW) is not None
    assert len(nodes[0].lent(NOW)) == 16_384


def test_a_revocation_reaches_everybody(nodes: list[Gossip], rng: random.Random) -> None:
    for node in nodes:
        node.store.receive(sealed(record("host5")), NOW)
    nodes[9].store.receive(membership("host5", version=2, revoked=True), NOW)
    rounds = settle(nodes, NOW, rng)
    assert rounds < 12
    for node in nodes:
        assert node.store.entry("host5", "dst/10.0.0.7") is None
        assert node.store.receive(sealed(record("host5", version=9)), NOW) is Outcome.REVOKED


def test_many_records_take_several_rounds(nodes: list[Gossip]) -> None:
    full, empty = nodes[:2]
    for n in range(950):
        full.store.receive(sealed(record("host0", f"dst/{n}")), NOW)
    got = [exchange(empty, full, NOW).received for _ in range(4)]
    assert got == [400, 400, 150, 0]


# --- hostile records -----------------------------------------------------------------------------


@pytest.fixture
def besieged(nodes: list[Gossip]) -> Iterator[list[Gossip]]:
    """Twenty nodes; what they hold must be the same afterwards."""
    for node in nodes:
        for version in (2, 3):
            node.store.receive(sealed(record(version=version)), NOW)
        node.store.receive(membership("host19", version=2, revoked=True), NOW)
        node.store.outcomes.clear()
    before = [list(node.store.entries()) for node in nodes]
    yield nodes
    assert [list(node.store.entries()) for node in nodes] == before


@pytest.mark.parametrize("kind", HOSTILE)
def test_no_node_accepts_a_hostile_record(
    besieged: list[Gossip], kind: str, rng: random.Random
) -> None:
    make, reason = HOSTILE[kind]
    frame = make()
    for node in besieged:
        assert node.store.receive(frame, NOW) is reason
        if len(frame) <= MAX_FRAME_BYTES:
            assert node.take(unpack(pack({}, [frame]))[1], NOW) == 0
        else:
            with pytest.raises(MessageError, match="frame must have at most"):
                unpack(pack({}, [frame]))
    settle(besieged, NOW, rng)
    assert all(node.store.outcomes[Outcome.ACCEPTED] == 0 for node in besieged)


def test_a_frame_in_the_name_of_the_authority(nodes: list[Gossip]) -> None:
    body = Membership(key_of("mallory").public, "agent")
    fake = record(AUTHORITY, "member/mallory", life=YEAR, body=body)
    frame = sealed(fake, key=key_of("mallory"))
    assert open_envelope(frame).origin == AUTHORITY
    assert all(node.store.receive(frame, NOW) is Outcome.FORGED for node in nodes)


# --- hostile messages ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\0\0\0\1x",
        bytes((1 << 20) + 1),
        pack({}, []),
        pack({"interest": [], "hashes": [], "members": ""}, []),
        pack({"interest": [], "hashes": [1]}, []),
        pack({"interest": ["x"], "hashes": [1], "members": ""}, []),
        pack({"interest": [3], "hashes": [1], "members": ""}, []),
        pack({"interest": ["dst/"], "hashes": list(range(1025)), "members": ""}, []),
        pack({"want": [["a"]]}, []),
        pack({"want": 3}, []),
        pack({"want": [["a", "dst/b"]] * 401}, []),
        pack({"want": [["a", "dst/../b"]]}, []),
        pack({"want": []}, [b"x"])[:-2],
    ],
)
def test_questions_that_say_nothing(nodes: list[Gossip], message: bytes) -> None:
    before = held(nodes[0])
    assert nodes[0].answer(message, NOW) is None
    assert nodes[0].refused == 1
    assert held(nodes[0]) == before


@pytest.mark.parametrize(
    "head",
    [
        {},
        {"of": 0, "buckets": [], "pairs": []},
        {"of": 4, "buckets": [4], "pairs": []},
        {"of": 4, "buckets": [0], "pairs": [["a", "b"]]},
        {"of": 4, "buckets": [0], "pairs": [["a", 1, 2]]},
        {"of": 4, "buckets": [0], "pairs": 7},
        {"of": 4, "buckets": [], "pairs": []},
        {"of": 4, "buckets": [], "pairs": [], "settled": 1},
        {"of": 4, "buckets": [0], "pairs": [["A", "dst/b", 1]]},
        {"of": 4, "buckets": [0], "pairs": [["a", "member/" + "b" * 64, 1]]},
    ],
)
def test_answers_that_say_nothing(nodes: list[Gossip], head: dict[str, object]) -> None:
    with pytest.raises(MessageError, match="must"):
        nodes[0].proceed(pack(head, []), Round())


def test_text_that_is_no_text_ends_nobody(nodes: list[Gossip]) -> None:
    """Half of a surrogate pair: JSON has it, UTF-8 has not, so nobody can ask for it."""
    told = b'{"buckets":[0],"of":1,"pairs":[["a","member/\\ud800",5]]}'
    head = shrink(told)
    with pytest.raises(MessageError, match="key must be"):
        nodes[0].proceed(struct.pack(">I", len(head)) + head, Round())


def test_a_peer_acknowledges_what_it_has_on_disk(tmp_path: Path) -> None:
    with Shelf(tmp_path / "router") as shelf:
        router = Gossip(store("host0", "host1"))
        shelf.keep(router.store)
        agent = Gossip(store("host0", "host1"), ["dst/"], origin="host0")
        agent.store.receive(sealed(record()), NOW)
        assert not exchange(agent, router, NOW).equal  # the record goes over
        round_ = exchange(agent, router, NOW)
        assert round_.equal
        assert not round_.acknowledged  # a kill would lose it
        shelf.keep(router.store)
        router.store.receive(sealed(record("host1")), NOW)
        exchange(agent, router, NOW)
        assert exchange(agent, router, NOW).acknowledged  # another's record does not count
        other = Gossip(agent.store, ["dst/"], origin="host1")
        assert not exchange(other, router, NOW).acknowledged


def test_who_withholds_is_not_the_only_one_who_is_asked(
    nodes: list[Gossip], rng: random.Random
) -> None:
    """A router that hides a rollback or a revocation: another one tells."""
    liar, honest, agent = nodes[0], nodes[1], Gossip(store(*NAMES), ["dst/"])
    for node in (liar, honest):
        node.store.receive(sealed(record()), NOW)
    honest.store.receive(membership("host7", version=2, revoked=True), NOW)
    honest.store.receive(sealed(record(version=2)), NOW)
    for _ in range(20):
        exchange(agent, rng.choice([liar, honest]), NOW)
    assert agent.store.mark("host0", "dst/10.0.0.7") == 2
    assert agent.store.members["host7"].revoked


@given(st.binary(max_size=200))
def test_noise_has_no_answer(noise: bytes) -> None:
    node = Gossip(store())
    assert node.answer(noise, NOW) is None


def test_a_peer_that_promises_what_it_has_not(nodes: list[Gossip]) -> None:
    """Promised records are asked for, and when nothing is sent, nothing happens."""
    head = {"of": 1, "buckets": [0], "pairs": [["host0", "dst/a", 5]], "settled": True}
    promise = pack(head, [])
    round_ = Round()
    second = nodes[0].proceed(promise, round_)
    assert second is not None
    nodes[0].finish(pack({}, []), NOW, round_)
    assert round_.received == 0


def test_interest_is_checked() -> None:
    with pytest.raises(ValueError, match=r"key must be dst/…"):
        Gossip(store(), ["elsewhere/x"])
    assert set(Gossip(store(), EVERYTHING).interest) == set(EVERYTHING)
