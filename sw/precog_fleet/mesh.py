"""Gossip over Zenoh: a thin adapter between a session's callbacks and one loop.

    precog/<fleet>/push/<key>              new records, to those who follow the key
    precog/<fleet>/sync/<router>           questions of anti-entropy, to one router
    precog/<fleet>/alive/<router>/<zid>    liveliness of routers, with their sessions

A router relays for its rack and holds what it needs; agents are clients, subscribe to their own
destinations, and ask the router that they are connected to. Zenoh's threads only put events into a
bounded queue; `Mesh.pump` handles them, and all else, in the caller's thread. What finds the queue
full is dropped and counted, and anti-entropy brings it later. Puts block instead of dropping.

Any session may declare that it answers for a router, and TLS does not tell who has answered. So a
router signs its answers, each for its question (`precog_fleet.answering`), and others are dropped.

Zenoh's threads do not survive a fork: start processes by spawn.
"""

import queue
import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import zenoh

from .answering import NONCE_BYTES, fresh, genuine, signed
from .errors import FleetError
from .gossip import Gossip, Round
from .link_errors import plain
from .mesh_config import MeshConfig
from .messages import MAX_MESSAGE_BYTES, MessageError
from .records import MAX_FRAME_BYTES
from .signing import SIGNATURE_BYTES, SigningKey

__all__ = ["Mesh"]

_QUEUE = 4096
_MAX_PEERS = 1024
_ANSWER_MS = 5000  # a question without an answer is given up
_QUERY_S = 4.0
_MAX_QUESTION = NONCE_BYTES + MAX_MESSAGE_BYTES
_MAX_ANSWER = SIGNATURE_BYTES + MAX_MESSAGE_BYTES
_BLOCK = zenoh.CongestionControl.BLOCK


@dataclass
class _Asked:
    """A question that is under way."""

    peer: str
    at: int
    round: Round
    question: bytes = b""
    second: bool = False


class Mesh:
    """A member's session.

    Parameters
    ----------
    config : MeshConfig
    gossip : Gossip
    rng : random.Random, optional
        Chooses whom to ask.
    connect_ms : int
        How long a client tries to reach a router; a router tries for ever.

    Attributes
    ----------
    counts : Counter of str
        ``dropped`` (the queue was full), ``unsent``, ``unanswered``, ``posed`` (answers that were
        not the router's), ``rounds``, ``bytes_in``, ``bytes_out``.
    equal_at : dict of str to int
        When an exchange with a router last found nothing to do, ms.
    acknowledged_at : dict of str to int
        When a router last acknowledged all that this member has said, ms.

    Raises
    ------
    FleetError
        The session cannot be opened: no router answers, or it refuses the certificate.
    """

    def __init__(
        self,
        config: MeshConfig,
        gossip: Gossip,
        *,
        rng: random.Random | None = None,
        connect_ms: int = 10_000,
    ) -> None:
        self.config = config
        self.gossip = gossip
        self._store = gossip.store
        self.counts: Counter[str] = Counter()
        self._routers: frozenset[tuple[str, str]] = frozenset()  # session and name
        self.equal_at: dict[str, int] = {}
        self.acknowledged_at: dict[str, int] = {}
        self._rng = rng or random.Random()
        self._inbox: queue.Queue[tuple[str, Any]] = queue.Queue(_QUEUE)
        self._asked: _Asked | None = None
        self._followed: dict[str, zenoh.Subscriber[None]] = {}
        self._session = config.open(connect_ms)
        self._declare()

    def _declare(self) -> None:
        session, name = self._session, self.config.name
        self._alive = session.liveliness().declare_subscriber(
            self._key("alive", "*", "*"), self._on_alive, history=True
        )
        if self.config.router:
            self._signer = SigningKey.load(self.config.folder / "signing.key")
            self._queries = session.declare_queryable(
                self._key("sync", name), lambda query: self._put("query", query), complete=True
            )
            alive = self._key("alive", name, str(session.zid()))
            self._token = session.liveliness().declare_token(alive)
        self.follow(self.gossip.interest)

    def _key(self, *parts: str) -> str:
        return "/".join(("precog", self.config.fleet, *parts))

    def _put(self, kind: str, event: Any) -> None:
        """Called by Zenoh's threads."""
        try:
            self._inbox.put_nowait((kind, event))
        except queue.Full:
            self.counts["dropped"] += 1
            if kind == "query":
                event.reply_err(b"busy")
                event.drop()

    def _on_alive(self, sample: zenoh.Sample) -> None:
        """Called by Zenoh's threads; few, and none may be lost, so the queue is no place for it."""
        name, session = str(sample.key_expr).split("/")[-2:]
        if sample.kind == zenoh.SampleKind.DELETE:
            self._routers = self._routers - {(session, name)}
        elif name != self.config.name and len(self._routers) < _MAX_PEERS:
            self._routers = self._routers | {(session, name)}

    def _on_answer(self, asked: _Asked, question: bytes, reply: zenoh.Reply) -> None:
        """Called by Zenoh's threads; what is not the router's must not fill the queue."""
        if reply.ok is None:
            return  # busy, or it does not serve this: others may answer, else the time runs out
        answer = _bounded(reply.ok.payload, _MAX_ANSWER)
        if genuine(self._public(asked.peer), self._store.authority, asked.peer, question, answer):
            self._put("reply", (asked, question, answer))
        else:
            self.counts["posed"] += 1

    def _public(self, peer: str) -> bytes | None:
        known = self._store.members.get(peer)
        return None if known is None else known.public

    @property
    def peers(self) -> frozenset[str]:
        """Routers that live, without this one."""
        return frozenset(name for _, name in self._routers)

    @property
    def near(self) -> frozenset[str]:
        """Routers that this session is connected to; `peers` if it is to none of them."""
        here = {str(one) for one in self._session.info.routers_zid()}
        return frozenset(name for one, name in self._routers if one in here) or self.peers

    # --- the caller's thread ---------------------------------------------------------------------

    def follow(self, interest: Iterable[str]) -> None:
        """Change what is subscribed to; a kind such as ``dst/`` stands for all of its keys."""
        self.gossip.follow(interest)
        self._subscribe(self.gossip.interest)

    def lend(self, now: int) -> None:
        """Subscribe to keys that others ask for, too, and no longer than they do."""
        self._subscribe([*self.gossip.interest, *self.gossip.lent(now)])

    def _subscribe(self, keys: Iterable[str]) -> None:
        if not self.config.subscribes:
            return
        wanted = {key + "*" if key.endswith("/") else key for key in keys}
        for key in set(self._followed) - wanted:
            self._followed.pop(key).undeclare()  # type: ignore[no-untyped-call]
        for key in wanted - set(self._followed):
            self._followed[key] = self._session.declare_subscriber(
                self._key("push", key), lambda sample: self._put("push", sample)
            )

    def publish(self, key: str, frame: bytes) -> None:
        """Send a record to those who follow its key.

        Raises
        ------
        FleetError
            The session has ended.
        """
        try:
            self._session.put(self._key("push", key), frame, congestion_control=_BLOCK)
        except zenoh.ZError as error:
            raise FleetError(f"mesh took no record: {plain(error)}") from error
        self.counts["bytes_out"] += len(frame)

    def pump(self, now: int, wait_s: float = 0.0, limit: int = 1024) -> int:
        """Handle events, the first of which may take `wait_s` to come; their count."""
        handled = 0
        while handled < limit:
            try:
                kind, event = self._inbox.get(timeout=wait_s) if wait_s else self._inbox.get(False)
            except queue.Empty:
                break
            wait_s = 0.0
            handled += 1
            getattr(self, f"_on_{kind}")(event, now)
        return handled

    def ask(self, now: int, peer: str | None = None) -> bool:
        """Begin an exchange with a router; False: none lives, or the last one is under way.

        Parameters
        ----------
        peer : str, optional
            One of `peers`; any of those near if not given.
        """
        if self._asked is not None:
            if now - self._asked.at < _ANSWER_MS:
                return False
            self.counts["unanswered"] += 1
            self._asked = None
        peers = self._believed()
        if not peers:
            return False
        self._asked = _Asked(peer or self._rng.choice(peers), now, Round())
        self._send(self._asked, self.gossip.opening())
        return True

    def _believed(self) -> list[str]:
        """Peers worth asking, the near ones first: any member may say that it lives as a router.

        Unknown routers are asked while no other lives: they bring the memberships.
        """
        members = self.gossip.store.members
        routers = {n for n, of in members.items() if of.role == "router" and not of.revoked}
        near = self.near
        return sorted(near & routers or self.peers & routers or near - set(members))

    def _send(self, asked: _Asked, message: bytes) -> None:
        """Ask all who answer for the peer: the router itself is among them."""
        asked.question = question = fresh(message)
        self.counts["bytes_out"] += len(question)
        try:
            self._session.get(
                self._key("sync", asked.peer),
                lambda reply: self._on_answer(asked, question, reply),
                payload=question,
                target=zenoh.QueryTarget.ALL,
                consolidation=zenoh.ConsolidationMode.NONE,
                timeout=_QUERY_S,
                congestion_control=_BLOCK,
            )
        except zenoh.ZError:
            self.counts["unsent"] += 1
            self._asked = None

    # --- events ----------------------------------------------------------------------------------

    def _on_push(self, sample: zenoh.Sample, now: int) -> None:
        self.counts["bytes_in"] += len(sample.payload)
        self.gossip.take([_bounded(sample.payload, MAX_FRAME_BYTES)], now)

    def _on_query(self, query: zenoh.Query, now: int) -> None:
        with query:
            if query.payload is None:
                return
            self.counts["bytes_in"] += len(query.payload)
            question = _bounded(query.payload, _MAX_QUESTION)
            reply = self.gossip.answer(question[NONCE_BYTES:], now)
            if reply is not None:
                whose = self._store.authority, self.config.name
                answer = signed(self._signer, *whose, question, reply)
                self.counts["bytes_out"] += len(answer)
                try:
                    query.reply(query.key_expr, answer)  # blocks, as its question does
                except zenoh.ZError:
                    self.counts["unsent"] += 1  # the asker has left

    def _on_reply(self, event: tuple[_Asked, bytes, bytes], now: int) -> None:
        asked, question, answer = event
        if asked is not self._asked or question != asked.question:
            return  # given up already, or answered
        known = self._public(asked.peer) is not None
        asked.question = b""
        self.counts["bytes_in"] += len(answer)
        message = answer[SIGNATURE_BYTES:]
        try:
            if asked.second:
                self.gossip.finish(message, now, asked.round)
                follow_up = None
            else:
                follow_up = self.gossip.proceed(message, asked.round)
        except MessageError:
            self.gossip.refused += 1
            follow_up = None
        if follow_up is not None:
            asked.second, asked.at = True, now
            self._send(asked, follow_up)
            return
        if asked.round.again:
            asked.second = asked.round.again = False
            asked.at = now
            self._send(asked, self.gossip.opening())
            return
        self._asked = None
        self.counts["rounds"] += 1
        if asked.round.equal and known:
            self.equal_at[asked.peer] = now
        if asked.round.acknowledged and known:
            self.acknowledged_at[asked.peer] = now

    def close(self) -> None:
        """Leave the mesh."""
        self._session.close()  # type: ignore[no-untyped-call]


def _bounded(payload: zenoh.ZBytes, limit: int) -> bytes:
    """A payload's bytes; of one that is too large only as much as shows that."""
    return payload.to_bytes() if len(payload) <= limit else payload.to_bytes()[: limit + 1]
