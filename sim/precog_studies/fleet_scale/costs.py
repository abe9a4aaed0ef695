"""What one record and one question cost, measured once with real signatures on this machine."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from precog_fleet.answering import fresh, genuine, signed
from precog_fleet.bodies import Membership, Report, Statistics
from precog_fleet.gossip import Gossip
from precog_fleet.records import AUTHORITY, Record, seal
from precog_fleet.signing import SigningKey
from precog_fleet.store import Store

from .engine import EPOCH_MS

__all__ = ["Costs", "measured"]

_MEMBERS = 64
_KEYS = 8
_YEAR_MS = 365 * 86_400_000
_REPEATS = 5
_QUESTION_BYTES = 1024


@dataclass(frozen=True)
class Costs:
    """Processor time, µs.

    Parameters
    ----------
    receive : float
        A frame, with its signature's check.
    seal : float
        A record of one's own, with its signature.
    question : float
        An opening, and its answer, each.
    pair : float
        Further, for each pair that an opening covers.
    sign, check : float
        Further, for the signature under an answer: at the router, at the member that has asked.
    """

    receive: float = 165.0
    seal: float = 290.0
    question: float = 100.0
    pair: float = 4.0
    sign: float = 80.0
    check: float = 160.0


def measured() -> Costs:
    """The costs here; the least of some repetitions, since other work disturbs."""
    root = SigningKey.from_seed(bytes(32))
    keys = {f"h{n}": SigningKey.from_seed(bytes([n + 1]) * 32) for n in range(_MEMBERS)}
    made = [(name, f"dst/{k}") for name in keys for k in range(_KEYS)]

    def told(key: str, version: int, origin: str, body: Report | Membership) -> bytes:
        life = _YEAR_MS if origin == AUTHORITY else 30_000
        record = Record(origin, key, version, EPOCH_MS, EPOCH_MS + life, body)
        return seal(record, root if origin == AUTHORITY else keys[origin], root.public)

    def report(name: str, key: str) -> bytes:
        stats = Statistics(4, 25_000_000, 8000 + len(key), 250_000, 12_000, 4096)
        return told(key, 7, name, Report(stats))

    def store() -> Store:
        held = Store(root.public)
        for name, key in keys.items():
            frame = told(f"member/{name}", 1, AUTHORITY, Membership(key.public, "agent"))
            held.receive(frame, EPOCH_MS)
        return held

    stores = [store() for _ in range(_REPEATS)]
    sealing = _least(_REPEATS, lambda _: [report(*one) for one in made]) / len(made)
    frames = [report(*one) for one in made]

    def take(n: int) -> object:
        return [stores[n].receive(frame, EPOCH_MS) for frame in frames]

    receiving = _least(_REPEATS, take) / len(made)
    many, few = Gossip(stores[0], ["dst/"]), Gossip(stores[0], ["dst/0"])
    for gossip in (many, few):
        gossip.opening()
    all_pairs = _least(20, lambda _: many.opening())
    some_pairs = _least(20, lambda _: few.opening())
    pair = (all_pairs - some_pairs) / (len(made) - _MEMBERS)
    question = max(0.0, some_pairs - 2 * _MEMBERS * pair)
    signing, checking = _signatures(root.public, keys["h0"])
    found = (receiving, sealing, question, pair, signing, checking)
    return Costs(*(round(1e6 * one, 1) for one in found))


def _signatures(authority: bytes, key: SigningKey) -> tuple[float, float]:
    asked = [fresh(bytes(_QUESTION_BYTES)) for _ in range(_MEMBERS)]
    replies = [signed(key, authority, "h0", question, b"") for question in asked]

    def sign(_: int) -> object:
        return [signed(key, authority, "h0", question, b"") for question in asked]

    def check(_: int) -> object:
        pairs = zip(asked, replies, strict=True)
        return [genuine(key.public, authority, "h0", question, one) for question, one in pairs]

    return _least(_REPEATS, sign) / len(asked), _least(_REPEATS, check) / len(asked)


def _least(times: int, work: Callable[[int], object]) -> float:
    """CPU seconds of the fastest of several runs of `work`."""
    took = []
    for n in range(times):
        began = time.process_time()
        work(n)
        took.append(time.process_time() - began)
    return min(took)
