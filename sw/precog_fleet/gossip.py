"""Push-pull anti-entropy between stores: two questions make both sides equal.

    asker                                                        peer
    opening():  interest, a hash of each bucket of pairs  ────►  answer()
    proceed():  ◄────  buckets that differ, and what the peer has in them
                what I want; frames that the peer lacks   ────►  answer()
    finish():   ◄────  frames that I want

Pairs (origin, key) fall into about √n buckets, so equal stores exchange 8 √n bytes, and one new
record costs one bucket's list. Interest limits all of it to some keys. Messages are bounded on
both sides; what does not fit goes with the next round. Lost questions and answers cost a round.
Nothing here trusts a peer: frames are judged by `Store.receive`.
"""

import math
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from .bodies import BODIES, body_of
from .messages import MessageError, as_pair, number, numbers, pack, unpack
from .outcome import Outcome, Pair
from .store import Store

__all__ = ["EVERYTHING", "Gossip", "Round", "exchange"]

#: Interest of who keeps all records.
EVERYTHING = tuple(f"{kind}/" for kind in BODIES)
_MAX_LISTED = 8192  # pairs in one list
_MAX_FRAMES = 400  # in one message: with the head they fit
_MAX_BUCKETS = 1024
_MAX_INTEREST = 4096


@dataclass
class Round:
    """What one exchange did."""

    received: int = 0  #: frames that were accepted
    sent: int = 0  #: frames
    bytes_in: int = 0
    bytes_out: int = 0
    equal: bool = False  #: both sides held the same to begin with


class Gossip:
    """One member's side of exchanges.

    Parameters
    ----------
    store : Store
    interest : iterable of str
        Keys, or kinds such as ``dst/``; memberships are always of interest.

    Attributes
    ----------
    refused : int
        Messages that said nothing.
    """

    def __init__(self, store: Store, interest: Iterable[str] = EVERYTHING) -> None:
        self.store = store
        self.interest: tuple[str, ...] = ()
        self.follow(interest)
        self.refused = 0

    def follow(self, interest: Iterable[str]) -> None:
        """Change what is of interest.

        Raises
        ------
        ValueError
            Something is no key and no kind.
        """
        self.interest = _checked(sorted({*interest, "member/"}))

    # --- asking ----------------------------------------------------------------------------------

    def opening(self) -> bytes:
        """The first question."""
        mine = self.store.pairs(self.interest)
        count = _buckets(len(mine))
        return pack({"interest": list(self.interest), "hashes": _hashes(mine, count)}, [])

    def proceed(self, reply: bytes, round_: Round) -> bytes | None:
        """The second question after the peer's first answer; None: there is nothing to say.

        Raises
        ------
        MessageError
            The answer says nothing.
        """
        head, _ = unpack(reply)
        count = number(head, "of", 1, _MAX_BUCKETS)
        differing = set(numbers(head, "buckets", count))
        theirs = _pairs(head, "pairs")
        if not differing:
            round_.equal = True
            return None
        mine = {
            pair: version
            for pair, version in self.store.pairs(self.interest).items()
            if _bucket(pair, count) in differing
        }
        wanted = [
            list(pair)
            for pair, version in theirs.items()
            if version > self.store.seen(*pair) and self._follows(pair[1])
        ]
        offered = self._frames(
            pair for pair, version in mine.items() if version > theirs.get(pair, 0)
        )
        if not wanted and not offered:
            return None
        round_.sent += len(offered)
        return pack({"want": wanted[:_MAX_FRAMES]}, offered)

    def finish(self, reply: bytes, now: int, round_: Round) -> None:
        """Take the frames of the peer's second answer.

        Raises
        ------
        MessageError
            The answer says nothing.
        """
        _, frames = unpack(reply)
        round_.received += self.take(frames, now)

    # --- answering -------------------------------------------------------------------------------

    def answer(self, message: bytes, now: int) -> bytes | None:
        """The answer to a question; None, and counted, where it says nothing."""
        try:
            head, frames = unpack(message)
            if "want" in head:
                self.take(frames, now)
                wanted = head["want"]
                if type(wanted) is not list or len(wanted) > _MAX_FRAMES:
                    raise MessageError("want must be a list of pairs")
                return pack({}, self._frames(as_pair(item) for item in wanted))
            return self._compare(head)
        except MessageError:
            self.refused += 1
            return None

    def _compare(self, head: dict[str, Any]) -> bytes:
        try:
            interest = _checked(head["interest"])
            hashes = head["hashes"]
        except (KeyError, TypeError, ValueError) as error:
            raise MessageError(f"opening must have an interest and hashes: {error}") from error
        if type(hashes) is not list or not 1 <= len(hashes) <= _MAX_BUCKETS:
            raise MessageError(f"hashes must be a list of 1..{_MAX_BUCKETS}")
        mine = {
            pair: version
            for pair, version in self.store.pairs(interest).items()
            if self._follows(pair[1])
        }
        count = len(hashes)
        differing = [n for n, text in enumerate(_hashes(mine, count)) if text != hashes[n]]
        lists: dict[int, list[tuple[Pair, int]]] = {n: [] for n in differing}
        for pair, version in mine.items():
            if (bucket := _bucket(pair, count)) in lists:
                lists[bucket].append((pair, version))
        listed: list[tuple[Pair, int]] = []
        told: list[int] = []
        for bucket, pairs in lists.items():
            if told and len(listed) + len(pairs) > _MAX_LISTED:
                break
            told.append(bucket)
            listed += pairs[:_MAX_LISTED]
        pairs_ = [[origin, key, version] for (origin, key), version in listed]
        return pack({"of": count, "buckets": told, "pairs": pairs_}, [])

    def take(self, frames: Iterable[bytes], now: int) -> int:
        """Frames that were accepted, of those."""
        return sum(self.store.receive(frame, now) is Outcome.ACCEPTED for frame in frames)

    def _follows(self, key: str) -> bool:
        return key in self.interest or f"{key.partition('/')[0]}/" in self.interest

    def _frames(self, pairs: Iterable[Pair]) -> list[bytes]:
        """Frames of pairs; memberships come first, because they say whose signatures count."""
        entries = [self.store.entry(*pair) for pair in pairs]
        held = [entry for entry in entries if entry is not None]
        held.sort(key=lambda entry: not entry.record.key.startswith("member/"))
        return [entry.frame for entry in held[:_MAX_FRAMES]]


def exchange(asker: Gossip, peer: Gossip, now: int) -> Round:
    """One exchange between members of one process, as a transport would carry it.

    Raises
    ------
    MessageError
        One of them is broken.
    """
    round_ = Round()

    def ask(message: bytes) -> bytes:
        reply = peer.answer(message, now)
        if reply is None:
            raise MessageError("peer has no answer")
        round_.bytes_out += len(message)
        round_.bytes_in += len(reply)
        return reply

    second = asker.proceed(ask(asker.opening()), round_)
    if second is not None:
        asker.finish(ask(second), now, round_)
    return round_


def _buckets(pairs: int) -> int:
    return min(_MAX_BUCKETS, 1 << max(0, math.isqrt(pairs)).bit_length())


def _bucket(pair: Pair, count: int) -> int:
    return zlib.crc32("\0".join(pair).encode()) % count


def _hashes(pairs: dict[Pair, int], count: int) -> list[str]:
    """A hash of each bucket's pairs and versions; of their sum, so that order does not count."""
    sums = [0] * count
    for pair, version in pairs.items():
        text = f"{pair[0]}\0{pair[1]}\0{version}".encode()
        sums[_bucket(pair, count)] += int.from_bytes(blake2b(text, digest_size=8).digest())
    return [f"{total & 0xFFFF_FFFF_FFFF_FFFF:x}" for total in sums]


def _checked(interest: Any) -> tuple[str, ...]:
    if not isinstance(interest, list) or len(interest) > _MAX_INTEREST:
        raise ValueError(f"interest must be a list of at most {_MAX_INTEREST} keys")
    for key in interest:
        if type(key) is not str:
            raise ValueError(f"interest must hold text, not {key!r}")
        if key not in EVERYTHING:
            body_of(key)
    return tuple(interest)


def _pairs(head: dict[str, Any], name: str) -> dict[Pair, int]:
    items = head.get(name)
    if type(items) is not list or len(items) > 2 * _MAX_LISTED:
        raise MessageError(f"{name} must be a list of at most {2 * _MAX_LISTED}")
    found = {}
    for item in items:
        if type(item) is not list or len(item) != 3 or type(item[2]) is not int:
            raise MessageError(f"{name} must hold origin, key and version, not {item!r}")
        found[as_pair(item[:2])] = item[2]
    return found
