"""The records that a member holds: a state machine without clock, network or disk.

`Store.receive` decides on one frame at a given time. Every refusal has a reason and is counted.
The newest record of each origin and key is kept until it expires; its version is the pair's
high-water mark, below which nothing is taken again. A mark is forgotten once every record under it
has expired, so marks need no more room than records.

Membership is records, too, signed by the authority: a revocation is a newer membership, and takes
what the member has signed with it. It counts for ever: no clock that is set brings a member back.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from precog_spec.contract import CONTRACT_HASH

from .bodies import Body, Membership, Report, Skill
from .declined import Declined
from .fields import PoisonError
from .outcome import Entry, Outcome, Pair, Row
from .records import AUTHORITY, MAX_FRAME_BYTES, Envelope, Record, open_envelope, parse_body
from .signing import verify

__all__ = ["Store"]

_SKEW_MS = 60_000
_MAX_KEYS = 1024  # of one origin
_MAX_RECORDS = 1 << 20
_ENDS_PER_PAIR = 4  # entries of the heap, before those that newer records replaced are dropped


class Store:
    """The records of one member.

    Parameters
    ----------
    authority : bytes
        Public key of the fleet's authority.
    bases : callable, optional
        Gives the CRCs of the images that deltas may be made for; without it all are taken, as by a
        router, which runs no model.
    skew_ms : int
        How far clocks of members may be apart.
    check : callable
        Verifies a signature, as `signing.verify`.
    parse : callable
        The record of an envelope, as `records.parse_body`.

    Attributes
    ----------
    outcomes : Counter of Outcome
    members : dict of str to Membership
        By name; the revoked as well.
    enrolments : int
        Changes when memberships do.
    """

    def __init__(
        self,
        authority: bytes,
        *,
        bases: Callable[[], Iterable[int]] | None = None,
        skew_ms: int = _SKEW_MS,
        check: Callable[[bytes, bytes, bytes], bool] = verify,
        parse: Callable[[Envelope], Record] = parse_body,
    ) -> None:
        self.authority = authority
        self.outcomes: Counter[Outcome] = Counter()
        self.members: dict[str, Membership] = {}
        self.enrolments = 0
        self._bases = bases
        self._skew = skew_ms
        self._check = check
        self._parse = parse
        self._held: dict[str, dict[str, Entry]] = {}  # by key, then origin
        self._kinds: dict[str, dict[str, None]] = {}  # keys that are held, by kind
        self._marks: dict[Pair, tuple[int, int]] = {}  # version, the latest t1
        self._keys: Counter[str] = Counter()  # pairs of each origin
        self._declined = Declined(_MAX_KEYS)
        self._dirty: dict[Pair, None] = {}
        self._ends: list[tuple[int, Pair]] = []  # a heap: when to look at pairs again

    # --- taking records --------------------------------------------------------------------------

    def receive(self, frame: bytes, now: int) -> Outcome:
        """Decide on a frame at `now`, in milliseconds of Unix time; it is held if accepted."""
        outcome = self._receive(frame, now)
        self.outcomes[outcome] += 1
        return outcome

    def _receive(self, frame: bytes, now: int) -> Outcome:
        if len(frame) > MAX_FRAME_BYTES:
            return Outcome.OVERSIZED
        try:
            envelope = open_envelope(frame)
        except ValueError:
            return Outcome.MALFORMED
        origin = envelope.origin
        member = self.members.get(origin)
        if origin != AUTHORITY:
            if member is None:
                return Outcome.STRANGER
            if member.revoked:
                return Outcome.REVOKED
        public = self.authority if member is None else member.public
        if not self._check(public, envelope.signature, envelope.message(self.authority)):
            return Outcome.FORGED
        try:
            record = self._parse(envelope)
        except PoisonError:
            return Outcome.POISONED
        except ValueError:
            return Outcome.MALFORMED
        return self._judge(record, frame, now)

    def _judge(self, record: Record, frame: bytes, now: int) -> Outcome:
        """Decide on a record whose signature holds."""
        pair = (record.origin, record.key)
        if not self._may_sign(record):
            return Outcome.FORBIDDEN
        if not record.revokes:
            if record.t0 > now + self._skew:
                return Outcome.FUTURE
            if record.t1 < now - self._skew:
                return Outcome.EXPIRED
        mark = self._marks.get(pair, (0, 0))[0]
        if record.version < mark:
            return Outcome.STALE
        if record.version == mark:
            held = self._held.get(record.key, {}).get(record.origin)
            same = held is None or held.frame == frame  # dropped, or held
            return Outcome.KNOWN if same else Outcome.CONFLICT
        useless = self._useless(record.body)
        if useless is not None:
            self._declined.add(record)
            return useless
        if pair not in self._marks and (
            len(self._marks) >= _MAX_RECORDS
            or (record.origin != AUTHORITY and self._keys[record.origin] >= _MAX_KEYS)
        ):
            return Outcome.FULL
        self._hold(record, frame)
        return Outcome.ACCEPTED

    def _may_sign(self, record: Record) -> bool:
        if record.origin == AUTHORITY:
            return isinstance(record.body, Membership) and record.key != f"member/{AUTHORITY}"
        return self.members[record.origin].role in record.body.SIGNERS

    def _useless(self, body: Body) -> Outcome | None:
        """Why a true record is of no use here; None: it is."""
        if isinstance(body, Membership):
            return None
        if body.contract != CONTRACT_HASH:
            return Outcome.WRONG_CONTRACT
        wrong = (
            isinstance(body, Report)
            and bool(body.delta)
            and self._bases is not None
            and body.base_crc not in set(self._bases())
        )
        return Outcome.WRONG_BASE if wrong else None

    def _hold(self, record: Record, frame: bytes) -> None:
        pair = (record.origin, record.key)
        if pair not in self._marks:
            self._keys[record.origin] += 1
        # An older record may expire later: the mark must outlive it.
        latest = max(record.end, self._marks.get(pair, (0, 0))[1])
        self._marks[pair] = (record.version, latest)
        self._held.setdefault(record.key, {})[record.origin] = Entry(record, frame)
        heapq.heappush(self._ends, (record.end, pair))
        if len(self._ends) > _ENDS_PER_PAIR * (len(self._marks) + _MAX_KEYS):
            self._tidy()
        self._kinds.setdefault(_kind(record.key), {})[record.key] = None
        self._declined.drop(*pair)
        self._dirty[pair] = None
        if isinstance(record.body, Membership):
            self._enrol(record.key.removeprefix("member/"), record.body)

    def _enrol(self, name: str, membership: Membership) -> None:
        before = self.members.get(name)
        self.members[name] = membership
        self.enrolments += 1
        rekeyed = before is not None and before.public != membership.public
        if membership.revoked or rekeyed:
            for key in [key for key, of in self._held.items() if name in of]:
                self._drop(name, key)
        if rekeyed:  # a thief of the old key may have used up all versions
            for pair in [pair for pair in self._marks if pair[0] == name]:
                self._forget(pair)

    def _drop(self, origin: str, key: str) -> None:
        of = self._held[key]
        del of[origin]
        if not of:
            del self._held[key]
            del self._kinds[_kind(key)][key]
        self.enrolments += origin == AUTHORITY
        self._dirty[origin, key] = None

    def expire(self, now: int) -> int:
        """Drop records that have expired, and marks that nothing is under; the records' count."""
        dropped, limit = 0, now - self._skew
        while self._ends and self._ends[0][0] < limit:
            _, pair = heapq.heappop(self._ends)
            entry = self.entry(*pair)
            if entry is not None and entry.record.end < limit:
                self._drop(*pair)
                dropped += 1
            if self._marks.get(pair, (0, limit))[1] < limit:
                self._forget(pair)
        self._declined.expire(limit)
        return dropped

    def _tidy(self) -> None:
        """Keep only ends that still say something: one member may say a thing very often."""
        self._ends = [(latest, pair) for pair, (_, latest) in self._marks.items()]
        self._ends += [
            (one.record.end, (origin, key))
            for key, of in self._held.items()
            for origin, one in of.items()
        ]
        heapq.heapify(self._ends)

    def _forget(self, pair: Pair) -> None:
        del self._marks[pair]
        self._keys[pair[0]] -= 1
        self._dirty[pair] = None

    def reconsider(self) -> None:
        """Look again at records that were of no use: the images that run here have changed."""
        self._declined.clear()

    # --- looking at them -------------------------------------------------------------------------

    def entries(self, key: str | None = None) -> Iterator[Entry]:
        """Records of a key, or all of them."""
        for of in [self._held.get(key, {})] if key is not None else list(self._held.values()):
            yield from of.values()

    def entry(self, origin: str, key: str) -> Entry | None:
        """The record of a pair, if it is held."""
        return self._held.get(key, {}).get(origin)

    def voices(self, key: str) -> int:
        """Members whose record of a key is held."""
        return len(self._held.get(key, ()))

    def mark(self, origin: str, key: str) -> int:
        """The newest version seen of a pair; 0: none."""
        return self._marks.get((origin, key), (0, 0))[0]

    def seen(self, origin: str, key: str) -> int:
        """The newest version seen of a pair, declined or not: no peer needs to send it again."""
        return max(self.mark(origin, key), self._declined.version(origin, key))

    def pairs(self, interest: Iterable[str]) -> dict[Pair, int]:
        """Newest versions that no peer needs to send, of keys of interest.

        Parameters
        ----------
        interest : iterable of str
            Keys, or kinds such as ``dst/``: all of their keys.
        """
        wanted = set(interest)
        keys = {key for key in wanted if key in self._held}
        keys.update(*(self._kinds.get(kind, ()) for kind in wanted))
        found = {
            (origin, key): entry.record.version
            for key in keys
            for origin, entry in self._held[key].items()
        }
        for pair, version in self._declined:
            if pair[1] in wanted or _kind(pair[1]) in wanted:
                found[pair] = max(version, found.get(pair, 0))
        return found

    def skills(self, model: str) -> dict[str, Skill]:
        """What members say about a model, by origin."""
        found = ((e.record.origin, e.record.body) for e in self.entries(f"{Skill.PREFIX}/{model}"))
        return {origin: body for origin, body in found if isinstance(body, Skill)}

    def __len__(self) -> int:
        return sum(len(of) for of in self._held.values())

    # --- disk ------------------------------------------------------------------------------------

    def changed(self) -> list[Row | Pair]:
        """State of the pairs that are not on disk as they are; a bare pair is to be deleted."""
        rows: list[Row | Pair] = []
        for origin, key in self._dirty:
            mark = self._marks.get((origin, key))
            if mark is None:
                rows.append((origin, key))
                continue
            entry = self.entry(origin, key)
            rows.append(Row(origin, key, *mark, None if entry is None else entry.frame))
        return rows

    def saved(self) -> None:
        """All that `changed` gave is on disk."""
        self._dirty.clear()

    def keeps(self, origin: str) -> bool:
        """Whether all that is held of an origin is on disk, too: no crash loses it."""
        return all(pair[0] != origin for pair in self._dirty)

    def restore(self, rows: Iterable[Row], now: int) -> int:
        """Take up what was on disk: marks at their word, frames as from a stranger.

        Returns
        -------
        int
            Frames that were damaged, or count no more.
        """
        lost = 0
        # The authority's come first: they say whose signatures count.
        for row in sorted(rows, key=lambda row: row.origin != AUTHORITY):
            version = row.version
            if row.frame is not None and self._receive(row.frame, now) is not Outcome.ACCEPTED:
                lost += 1
                version -= 1  # a peer may send the very record again
            mark, t1 = self._marks.get((row.origin, row.key), (0, 0))
            if not mark:
                self._keys[row.origin] += 1
            self._marks[row.origin, row.key] = (max(mark, version), max(t1, row.t1))
            heapq.heappush(self._ends, (row.t1, (row.origin, row.key)))
        self._dirty.clear()
        return lost


def _kind(key: str) -> str:
    return key[: key.index("/") + 1]
