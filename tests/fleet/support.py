"""A fleet in one process: an authority, members with keys from seeds, stores that gossip."""

import itertools
import random
from collections.abc import Iterable

from precog_fleet.bodies import Body, Membership, Report, Statistics
from precog_fleet.gossip import EVERYTHING, Gossip, exchange
from precog_fleet.outcome import Outcome
from precog_fleet.records import AUTHORITY, Record, seal
from precog_fleet.signing import SigningKey
from precog_fleet.store import Store

NOW = 1_790_000_000_000  # a day in 2026
MINUTE = 60_000
YEAR = 365 * 86_400_000


def key_of(name: str) -> SigningKey:
    """A key that a name makes."""
    return SigningKey.from_seed(random.Random(name).randbytes(32))


ROOT = key_of(AUTHORITY)


def stats(**changes: int) -> Statistics:
    """Plausible statistics."""
    plain = {"n": 4, "rate": 25_000_000, "mean": 8000, "var": 250_000, "p99": 12_000, "queue": 4096}
    return Statistics(**(plain | changes))


def record(
    origin: str = "host0",
    key: str = "dst/10.0.0.7",
    version: int = 1,
    *,
    t0: int = NOW,
    life: int = MINUTE,
    body: Body | None = None,
) -> Record:
    """A record of plausible content."""
    return Record(origin, key, version, t0, t0 + life, Report(stats()) if body is None else body)


def sealed(given: Record, *, key: SigningKey | None = None) -> bytes:
    """A record's frame, signed by its origin, or by `key`."""
    return seal(given, key or key_of(given.origin), ROOT.public)


def membership(
    name: str, *, version: int = 1, role: str = "agent", revoked: bool = False, t0: int = NOW
) -> bytes:
    """The authority's frame about a member."""
    body = Membership(key_of(name).public, role, revoked)
    return sealed(record(AUTHORITY, f"member/{name}", version, t0=t0, life=YEAR, body=body))


def store(*members: str, **options: object) -> Store:
    """A store that knows some members."""
    made = Store(ROOT.public, **options)  # type: ignore[arg-type]
    for name in members:
        assert made.receive(membership(name), NOW) is Outcome.ACCEPTED
    return made


def settle(nodes: Iterable[Gossip], now: int, rng: random.Random, rounds: int = 40) -> int:
    """Let every node ask a random other one until all exchanges find nothing; rounds it took."""
    nodes = list(nodes)
    for count in range(rounds):
        quiet = True
        for node in nodes:
            peer = rng.choice([other for other in nodes if other is not node])
            quiet &= exchange(node, peer, now).equal
        if quiet and all(held(a) == held(b) for a, b in itertools.pairwise(nodes)):
            return count
    raise AssertionError(f"stores still differ after {rounds} rounds")


def held(node: Gossip) -> dict[tuple[str, str], int]:
    """Versions that a node holds."""
    return node.store.pairs(EVERYTHING)
