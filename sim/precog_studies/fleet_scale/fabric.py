"""The mesh without Zenoh: the same messages between the same objects, with delays and cuts.

    publish ─► all subscribers of the key, the publisher as well
    ask     ─► one's own router, or any other router ─► answer ─► second question ─► answer

A port counts bytes as `precog_fleet.mesh.Mesh` does. Whatever arrives waits until its member's
server has done what came before. A cut between racks loses what crosses it.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial

from precog_fleet.answering import NONCE_BYTES
from precog_fleet.gossip import Gossip, Round
from precog_fleet.messages import MessageError
from precog_fleet.outcome import Outcome
from precog_fleet.records import open_envelope
from precog_fleet.signing import SIGNATURE_BYTES

from .arrivals import Arrivals
from .costs import Costs
from .engine import Engine, Server

__all__ = ["Fabric", "Port"]

_ANSWER_MS = 5000  # as the mesh: a question without an answer is given up
_LEASE_MS = 10_000  # as Zenoh: a router that is cut off counts as alive so long
_HOP_US = 50


@dataclass
class Fabric:
    """Ports and the links between them.

    Parameters
    ----------
    engine : Engine
    costs : Costs
    arrivals : Arrivals

    Attributes
    ----------
    sides : dict of int to int
        Sides of racks that are cut off; all others are on side 0.
    cut_ms : int
        When the last cut was made.
    """

    engine: Engine
    costs: Costs
    arrivals: Arrivals
    sides: dict[int, int] = field(default_factory=dict)
    cut_ms: int = 0
    _subscribers: dict[str, dict["Port", None]] = field(default_factory=dict)
    routers: dict[int, "Port"] = field(default_factory=dict)

    def cut(self, racks: Iterable[int]) -> None:
        """Cut some racks off from all others."""
        self.sides = dict.fromkeys(racks, 1)
        self.cut_ms = self.engine.ms

    def heal(self) -> None:
        """Join what was cut."""
        self.sides = {}

    def joined(self, one: int, other: int) -> bool:
        """Whether messages pass between two racks."""
        return self.sides.get(one, 0) == self.sides.get(other, 0)

    def subscribe(self, port: "Port", keys: Iterable[str]) -> None:
        """Replace what a port subscribes to; kinds stand for all of their keys."""
        wanted = set(keys)
        for key in port.followed - wanted:
            self._subscribers[key].pop(port, None)
        for key in wanted - port.followed:
            self._subscribers.setdefault(key, {})[port] = None
        port.followed = wanted

    def followers(self, key: str) -> list["Port"]:
        """Ports that a record of a key is sent to."""
        kind = key[: key.index("/") + 1]
        both = (self._subscribers.get(key, {}), self._subscribers.get(kind, {}))
        return [*both[0], *(port for port in both[1] if port not in both[0])]

    def push(self, rack: int, key: str, frame: bytes) -> None:
        """Send a record from a rack to all that follow its key and can be reached."""
        reached = [port for port in self.followers(key) if self.joined(rack, port.rack)]
        origin = open_envelope(frame).origin
        others = [one for one in reached if not (one.router or one.dead or one.name == origin)]
        self.arrivals.said(key, frame, len(others))
        for port in reached:
            hops = 1 + (rack != port.rack) + (not port.router)
            work = partial(port.arrive, key, frame)
            self.engine.at(self.engine.us + hops * _HOP_US, work)

    def near(self, port: "Port", rng: random.Random) -> "Port | None":
        """The router that a member asks: its rack's, or for a router any other one."""
        if not port.router:
            return self.routers.get(port.rack)
        known = self.engine.ms - self.cut_ms < _LEASE_MS
        others = [
            other
            for rack, other in self.routers.items()
            if rack != port.rack and (known or self.joined(rack, port.rack))
        ]
        return rng.choice(others) if others else None

    def carry(
        self, sender: "Port", receiver: "Port", cost: float, work: Callable[[], None]
    ) -> None:
        """Bring a message, unless the way is cut; the receiver's server does the work."""
        if self.joined(sender.rack, receiver.rack):
            hops = 1 + (sender.router and receiver.router and sender.rack != receiver.rack)
            when = self.engine.us + hops * _HOP_US
            self.engine.at(when, lambda: receiver.server.queue(cost, work))


@dataclass
class _Asked:
    """A question that is under way."""

    at: int
    peer: "Port"
    round: Round
    second: bool = False


class Port:
    """One member's link, as `precog_fleet.speaking.Link`.

    Parameters
    ----------
    fabric : Fabric
    name : str
    rack : int
    gossip : Gossip
    rng : random.Random
        Chooses whom to ask.
    router : bool
    server : Server, optional
        One of its own if not given.

    Attributes
    ----------
    counts : Counter of str
        ``bytes_in``, ``bytes_out``, ``records`` (frames that had to be judged), ``sealed``,
        ``rounds``, ``unanswered``.
    dead : bool
        Takes nothing, says nothing.
    """

    def __init__(
        self,
        fabric: Fabric,
        name: str,
        rack: int,
        gossip: Gossip,
        rng: random.Random,
        *,
        router: bool = False,
        server: Server | None = None,
    ) -> None:
        self.fabric = fabric
        self.name = name
        self.rack = rack
        self.gossip = gossip
        self.router = router
        self.server = server or Server(fabric.engine)
        self.counts: Counter[str] = Counter()
        self.followed: set[str] = set()
        self.dead = False
        self._rng = rng
        self._asked: _Asked | None = None
        if router:
            fabric.routers[rack] = self
        self.follow(gossip.interest)

    # --- what a speaker and an agent use ---------------------------------------------------------

    def publish(self, key: str, frame: bytes) -> None:
        """Send a record to those who follow its key."""
        self.counts["bytes_out"] += len(frame)
        self.counts["sealed"] += 1
        self.server.spend(self.fabric.costs.seal)
        self.fabric.push(self.rack, key, frame)

    def pump(self, now: int, wait_s: float = 0.0) -> int:
        """Messages come by events."""
        return 0

    def follow(self, interest: Iterable[str]) -> None:
        """Change which keys are of interest."""
        self.gossip.follow(interest)
        self.fabric.subscribe(self, self.gossip.interest)

    def lend(self, now: int) -> None:
        """Subscribe to keys that others ask for, too."""
        self.fabric.subscribe(self, [*self.gossip.interest, *self.gossip.lent(now)])

    def ask(self, now: int) -> bool:
        """Begin an exchange with a router."""
        if self._asked is not None:
            if now - self._asked.at < _ANSWER_MS:
                return False
            self.counts["unanswered"] += 1
            self._asked = None
        peer = self.fabric.near(self, self._rng)
        if peer is None:
            return False
        self._asked = _Asked(now, peer, Round())
        self.server.spend(self._price())
        self._send(self._asked, self.gossip.opening())
        return True

    # --- messages --------------------------------------------------------------------------------

    def arrive(self, key: str, frame: bytes) -> None:
        """Queue a pushed record for the server, unless it is dead."""
        if not self.dead:
            self.server.queue(self.fabric.costs.receive, partial(self._take, key, frame))

    def _take(self, key: str, frame: bytes) -> None:
        self.counts["bytes_in"] += len(frame)
        self.counts["records"] += 1
        outcome = self.gossip.store.receive(frame, self.fabric.engine.ms)
        if outcome is Outcome.ACCEPTED and not self.router:
            self.fabric.arrivals.heard(key, frame)

    def _price(self) -> float:
        """Of an opening or its answer: pairs of interest are hashed, members but once."""
        costs, held = self.fabric.costs, self.gossip.store.voices
        pairs = sum(held(key) for key in self.gossip.interest)
        return costs.question + costs.pair * pairs

    def _send(self, asked: _Asked, message: bytes) -> None:
        self.counts["bytes_out"] += NONCE_BYTES + len(message)
        work = partial(asked.peer._question, self, asked, message)
        self.fabric.carry(self, asked.peer, self._price(), work)

    def _question(self, asker: "Port", asked: _Asked, message: bytes) -> None:
        if self.dead:
            return
        before = self._judged()
        self.counts["bytes_in"] += NONCE_BYTES + len(message)
        reply = self.gossip.answer(message, self.fabric.engine.ms)
        self._charge(before)
        if reply is not None:
            self.counts["bytes_out"] += SIGNATURE_BYTES + len(reply)
            self.server.spend(self.fabric.costs.sign)
            self.fabric.carry(self, asker, 0.0, partial(asker._reply, asked, reply))

    def _reply(self, asked: _Asked, reply: bytes) -> None:
        """An answer to an exchange of gossip: continue it, or end it."""
        if asked is not self._asked or self.dead:
            return
        before = self._judged()
        self.counts["bytes_in"] += SIGNATURE_BYTES + len(reply)
        self.server.spend(self.fabric.costs.check)
        follow_up = None
        try:
            if asked.second:
                self.gossip.finish(reply, self.fabric.engine.ms, asked.round)
            else:
                follow_up = self.gossip.proceed(reply, asked.round)
        except MessageError:
            self.gossip.refused += 1
        self._charge(before)
        if follow_up is not None:
            asked.second, asked.at = True, self.fabric.engine.ms
            self._send(asked, follow_up)
            return
        if asked.round.again:
            asked.second = asked.round.again = False
            asked.at = self.fabric.engine.ms
            self._send(asked, self.gossip.opening())
            return
        self._asked = None
        self.counts["rounds"] += 1

    def _judged(self) -> int:
        return self.gossip.store.outcomes.total()

    def _charge(self, before: int) -> None:
        frames = self._judged() - before
        self.counts["records"] += frames
        self.server.spend(self.fabric.costs.receive * frames)
