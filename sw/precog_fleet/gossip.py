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

Memberships are many and hardly ever change, so one hash stands for all of them. A peer that says
that it holds others is asked again at once; then they fall into buckets, too.

A router that is asked for a key begins to follow it: so a router holds what members around it need,
and no more. A key that was not asked for in a minute is let go.

A peer **acknowledges** what a member has said of the keys it asks for by an answer to its opening:
nothing differs, and `kept` is true, for what the peer holds of that member is on its disk. Until
then a record may be lost if both are killed; afterwards no crash of either loses it.
"""

import math
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from .bodies import BODIES, body_of
from .messages import MessageError, as_pair, number, numbers, pack, unpack
from .outcome import Outcome, Pair
from .store import Store

__all__ = ["EVERYTHING", "Gossip", "Round", "exchange"]

#: Interest of a member that keeps all records.
EVERYTHING = tuple(f"{kind}/" for kind in BODIES)
_MAX_LISTED = 8192  # pairs in one list
_MAX_FRAMES = 400  # in one message: with the head they fit
_MAX_BUCKETS = 1024
_MAX_INTEREST = 4096
_MAX_LENT = 16_384  # keys that are followed because others ask for them
_LENT_MS = 60_000
_MEMBERS = "member/"


@dataclass
class Round:
    """What one exchange did."""

    received: int = 0  #: frames that were accepted
    sent: int = 0  #: frames
    bytes_in: int = 0
    bytes_out: int = 0
    equal: bool = False  #: both sides held the same to begin with
    acknowledged: bool = False  #: ... and the peer's disk has all that the asker has said
    again: bool = False  #: the peer holds other memberships, and is to be asked for them


class Gossip:
    """One member's side of exchanges.

    Parameters
    ----------
    store : Store
    interest : iterable of str
        Keys, or kinds such as ``dst/``; memberships are always of interest.
    asks : iterable of str, optional
        The part of it that its own questions are about; all of it if not given. Records that are
        soon renewed need no questions between routers.
    origin : str, optional
        The member whose records peers are to acknowledge.

    Attributes
    ----------
    refused : int
        Messages that said nothing.
    settled : bool
        The last peer held the same memberships.
    """

    def __init__(
        self,
        store: Store,
        interest: Iterable[str] = EVERYTHING,
        asks: Iterable[str] | None = None,
        *,
        origin: str = "",
    ) -> None:
        self.store = store
        self.origin = origin
        self._asks = None if asks is None else {*asks, _MEMBERS}
        self.interest: tuple[str, ...] = ()
        self.follow(interest)
        self.refused = 0
        self._lent: dict[str, int] = {}  # when others asked for keys last
        self._opened: list[str] = []  # interest of the question that is under way
        self.settled = False
        self._roster = (-1, "")  # hash of memberships, and the state of the store that it is of

    def follow(self, interest: Iterable[str]) -> None:
        """Change what is of interest.

        Raises
        ------
        ValueError
            Something is no key and no kind.
        """
        self.interest = _checked(sorted({*interest, _MEMBERS}))

    def lent(self, now: int) -> frozenset[str]:
        """Keys that are followed because others have asked for them in the last minute."""
        self._lent = {key: at for key, at in self._lent.items() if 0 <= now - at < _LENT_MS}
        return frozenset(self._lent)

    def _lend(self, keys: Iterable[str], now: int) -> None:
        """Follow what a peer follows; whole kinds are for members that ask for them."""
        for key in keys:
            if not key.endswith("/") and (key in self._lent or len(self._lent) < _MAX_LENT):
                self._lent[key] = now

    # --- asking ----------------------------------------------------------------------------------

    def opening(self) -> bytes:
        """The first question."""
        self._opened = [
            one
            for one in self.interest
            if (self._asks is None or one in self._asks) and (one != _MEMBERS or not self.settled)
        ]
        mine = self.store.pairs(self._opened)
        hashes = _hashes(mine, _buckets(len(mine)))
        head = {"interest": self._opened, "hashes": hashes, "members": self._members()}
        return pack(head | {"origin": self.origin}, [])

    def _members(self) -> str:
        """One hash of all memberships."""
        if self._roster[0] != self.store.enrolments:
            (text,) = _hashes(self.store.pairs([_MEMBERS]), 1)
            self._roster = (self.store.enrolments, text)
        return self._roster[1]

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
        if type(head.get("settled")) is not bool:
            raise MessageError(f"settled must be true or false, not {head.get('settled')!r}")
        self.settled = head["settled"]
        round_.again = not self.settled and _MEMBERS not in self._opened
        if not differing:
            round_.equal = self.settled
            round_.acknowledged = round_.equal and head.get("kept") is True
            return None
        mine = {
            pair: version
            for pair, version in self.store.pairs(self._opened).items()
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
            return self._compare(head, now)
        except MessageError:
            self.refused += 1
            return None

    def _compare(self, head: dict[str, Any], now: int) -> bytes:
        try:
            interest = _checked(head["interest"])
            hashes = head["hashes"]
            settled = head["members"] == self._members()
        except (KeyError, TypeError, ValueError) as error:
            raise MessageError(f"opening must have an interest and hashes: {error}") from error
        if type(hashes) is not list or not 1 <= len(hashes) <= _MAX_BUCKETS:
            raise MessageError(f"hashes must be a list of 1..{_MAX_BUCKETS}")
        self._lend(interest, now)
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
        kept = self.store.keeps(str(head.get("origin")))
        answer = {"of": count, "buckets": told, "pairs": pairs_, "settled": settled, "kept": kept}
        return pack(answer, [])

    def take(self, frames: Iterable[bytes], now: int) -> int:
        """Frames that were accepted, of those."""
        return sum(self.store.receive(frame, now) is Outcome.ACCEPTED for frame in frames)

    def _follows(self, key: str) -> bool:
        kind = f"{key.partition('/')[0]}/"
        return key in self.interest or kind in self.interest or key in self._lent

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
    round_ = Round(again=True)

    def ask(message: bytes) -> bytes:
        reply = peer.answer(message, now)
        if reply is None:
            raise MessageError("peer has no answer")
        round_.bytes_out += len(message)
        round_.bytes_in += len(reply)
        return reply

    while round_.again:
        second = asker.proceed(ask(asker.opening()), round_)
        if second is not None:
            asker.finish(ask(second), now, round_)
    return round_


def _buckets(pairs: int) -> int:
    return min(_MAX_BUCKETS, 1 << max(0, math.isqrt(pairs)).bit_length())


@lru_cache(1 << 16)  # most pairs are hashed again and again
def _place(pair: Pair) -> int:
    return zlib.crc32("\0".join(pair).encode())


@lru_cache(1 << 16)
def _hash(pair: Pair, version: int) -> int:
    text = f"{pair[0]}\0{pair[1]}\0{version}".encode()
    return int.from_bytes(blake2b(text, digest_size=8).digest())


def _bucket(pair: Pair, count: int) -> int:
    return _place(pair) % count


def _hashes(pairs: dict[Pair, int], count: int) -> list[str]:
    """A hash of each bucket's pairs and versions; of their sum, so that order does not count."""
    sums = [0] * count
    for pair, version in pairs.items():
        sums[_bucket(pair, count)] += _hash(pair, version)
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
