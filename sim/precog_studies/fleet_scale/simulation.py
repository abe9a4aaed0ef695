"""A fleet on a simulated fabric: all routers, and the agents of some racks or of all.

Agents outside of the sample are *shadows*: of them only those records are made that somebody in the
sample follows, at the time and with the bytes that the agent itself would make them. What a shadow
would receive touches no other: agents exchange records with their own router alone, and routers
exchange memberships and rollouts alone. So a router of a rack that is not in the sample takes part
in these exchanges, and holds no reports. `tests/studies` compare a sample with a full run.
"""

import copy
import random
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from precog_fleet.bodies import Membership
from precog_fleet.gossip import Gossip
from precog_fleet.outcome import Outcome
from precog_fleet.records import AUTHORITY, Record, parse_body, seal
from precog_fleet.router_process import HELD, LASTING
from precog_fleet.speaking import Identity, Speaker
from precog_fleet.store import Store
from precog_fleet.timing import Timing

from .arrivals import Arrivals
from .costs import Costs
from .engine import EPOCH_MS, Engine, Server
from .fabric import Fabric, Port
from .host import Host, Outside, Rack, Versions
from .world import Fleet

__all__ = ["Simulation"]

_TURN_US = 100_000  # an agent's and a router's turn, when nothing comes
_YEAR_MS = 365 * 86_400_000
_parsed = lru_cache(8192)(parse_body)  # a frame says the same to all


class _Key:
    """A signing key of the right size; what checking would cost is counted, not spent."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.public = blake2b(name.encode(), digest_size=32).digest()

    def sign(self, message: bytes) -> bytes:
        return blake2b(message, key=self.public).digest()


def _checks(public: bytes, signature: bytes, message: bytes) -> bool:
    return signature == blake2b(message, key=public).digest()


class _Mouth:
    """A shadow's link: it only sends."""

    def __init__(self, fabric: Fabric, rack: int) -> None:
        self._fabric = fabric
        self._rack = rack

    def publish(self, key: str, frame: bytes) -> None:
        """To those in the sample."""
        self._fabric.push(self._rack, key, frame)

    def pump(self, now: int, wait_s: float = 0.0) -> int:
        return 0

    def ask(self, now: int) -> bool:
        return False

    def follow(self, interest: object) -> None:
        """It gets no messages."""


class Simulation:
    """One fleet.

    Parameters
    ----------
    fleet : Fleet
    sample : sequence of int, optional
        Racks whose agents are simulated; all of them if not given.
    costs : Costs
    one_loop : bool
        All members share one thread, as in a process that holds them all.
    timing : Timing

    Attributes
    ----------
    engine : Engine
    fabric : Fabric
    hosts : dict of int to Host
    ports : dict of int to Port
        Of hosts.
    routers : list of Port
    arrivals : Arrivals
    """

    def __init__(
        self,
        fleet: Fleet,
        sample: Sequence[int] | None = None,
        *,
        costs: Costs | None = None,
        one_loop: bool = False,
        timing: Timing | None = None,
    ) -> None:
        self.fleet = fleet
        self.sample = frozenset(range(fleet.racks) if sample is None else sample)
        self.engine = Engine()
        self.arrivals = Arrivals(self.engine)
        self.fabric = Fabric(self.engine, costs or Costs(), self.arrivals)
        self.timing = timing or Timing()
        self._root = _Key(AUTHORITY)
        self._server = Server(self.engine) if one_loop else None
        self._told = self._roster()
        self._outside = Outside(fleet)
        self._before: list[Record] = []
        self.hosts: dict[int, Host] = {}
        self.ports: dict[int, Port] = {}
        self.racks = [self._rack(n) for n in range(fleet.racks)]
        self.routers = [self.fabric.routers[n] for n in range(fleet.racks)]
        for agent in range(fleet.agents):
            if fleet.rack_of(agent) in self.sample:
                self.add(agent)
        self._followed = {key for host in self.hosts.values() for key in host.keys}
        for port in self.ports.values():  # routers begin to follow what they are asked for
            self.routers[port.rack].gossip.answer(port.gossip.opening(), self.engine.ms)
        for rack in self.sample:
            self.routers[rack].lend(self.engine.ms)
        for agent in range(fleet.agents):
            if fleet.rack_of(agent) not in self.sample:
                self._shadow(agent)
        self._told_before()

    def _told_before(self) -> None:
        """Let all followers hold what was said before the beginning."""
        for record in self._before:
            followers = self.fabric.followers(record.key)
            if followers:
                frame = self._sealed(record)
                for port in followers:
                    port.gossip.store.receive(frame, self.engine.ms)
        for port in (*self.routers, *self.ports.values()):
            port.gossip.store.outcomes.clear()

    def _sealed(self, record: Record) -> bytes:
        key: Any = _Key(record.origin)
        return seal(record, key, self._root.public)

    # --- members ---------------------------------------------------------------------------------

    def membership(self, name: str, role: str, *, version: int = 1, revoked: bool = False) -> bytes:
        """The authority's word on a member."""
        body = Membership(_Key(name).public, role, revoked)
        t0 = self.engine.ms
        record = Record(AUTHORITY, f"member/{name}", version, t0, t0 + _YEAR_MS, body)
        return self._sealed(record)

    def store(self) -> Store:
        """An empty one."""
        return Store(self._root.public, check=_checks, parse=_parsed)

    def _roster(self) -> Store:
        """A store that knows all members."""
        store = self.store()
        for role, count in (("agent", self.fleet.agents), ("router", self.fleet.racks)):
            for n in range(count):
                frame = self.membership(f"{role[0]}{n}", role)
                assert store.receive(frame, EPOCH_MS) is Outcome.ACCEPTED
        return store

    def _knowing(self) -> Store:
        """Such a store that shares its entries, which never change, with all others of its kind."""
        store = copy.copy(self._told)
        for name, value in vars(self._told).items():
            if isinstance(value, dict):
                inner = {k: dict(v) if type(v) is dict else v for k, v in value.items()}
                setattr(store, name, type(value)(inner))
            elif isinstance(value, list):
                setattr(store, name, list(value))
        store.outcomes.clear()
        return store

    def _speaker(self, key: _Key, store: Any, link: Any) -> tuple[Identity, Speaker]:
        identity = Identity(key.name, key, self._root.public)  # type: ignore[arg-type]
        return identity, Speaker(identity, store, link, Versions())  # type: ignore[arg-type]

    def _rng(self, name: str) -> random.Random:
        return random.Random(f"{self.fleet.seed} {name}")

    def _rack(self, n: int) -> Rack:
        """A router; outside of the sample without health and skill, which it keeps to itself."""
        name = f"r{n}"
        gossip = Gossip(self._knowing(), HELD if n in self.sample else LASTING, LASTING)
        gossip.settled = True
        port = Port(self.fabric, name, n, gossip, self._rng(name), router=True, server=self._server)
        _, speaker = self._speaker(_Key(name), gossip.store, port)
        rack = Rack(gossip, port, speaker, name)
        self._turns(port, rack.step, self._rng(f"phase {name}"))
        return rack

    def add(self, agent: int, *, new: bool = False) -> Host:
        """An agent of the sample; a new one knows itself alone."""
        name, rack = f"a{agent}", agent // self.fleet.rack if not new else min(self.sample)
        store = self.store() if new else self._knowing()
        if new:
            store.receive(self.membership(name, "agent"), self.engine.ms)
        gossip = Gossip(store, ())
        gossip.settled = not new
        port = Port(self.fabric, name, rack, gossip, self._rng(name), server=self._server)
        keys = self.fleet.destinations[agent if not new else rack * self.fleet.rack]
        identity, speaker = self._speaker(_Key(name), store, port)
        host = Host(identity, store, port, speaker, keys, self.fleet.seed, self.timing)
        port.follow(host.interest())
        self.hosts[agent], self.ports[agent] = host, port
        self._before += host.spread(self._outside, self.engine.ms).values()
        self._turns(port, host.step, self._rng(f"phase {name}"))
        return host

    def _turns(self, port: Port, step: Any, rng: random.Random) -> None:
        def turn() -> None:
            if not port.dead:
                step(self.engine.ms)
                self.engine.at(self.engine.us + _TURN_US, turn)

        self.engine.at(self.engine.us + rng.randrange(_TURN_US), turn)

    # --- who is not in the sample ----------------------------------------------------------------

    def _shadow(self, agent: int) -> None:
        rack, name = self.fleet.rack_of(agent), f"a{agent}"
        link = _Mouth(self.fabric, rack)
        identity, speaker = self._speaker(_Key(name), self._outside, link)
        store: Any = self._outside
        keys = self.fleet.destinations[agent]
        host = Host(identity, store, link, speaker, keys, self.fleet.seed, self.timing)
        self._before += host.spread(self._outside, self.engine.ms).values()
        phase = self._rng(f"phase {name}").randrange(_TURN_US)
        for key in (*keys, *host.others()):
            if not key.startswith("dst/") or key in self._followed:
                self._again(host, key, phase)

    def _again(self, host: Host, key: str, phase: int) -> None:
        """Say it in the first turn in which it is due."""
        due = (host.cadence.due_at(key) - EPOCH_MS) * 1000
        turn = phase + max(0, -(-(due - phase) // _TURN_US)) * _TURN_US

        def work() -> None:
            host.cadence.said(key, self.engine.ms)
            host.say(key, self.engine.ms)
            self._again(host, key, phase)

        self.engine.at(turn, work)

    def run(self, seconds: float) -> None:
        """Go on."""
        self.engine.run(self.engine.us + round(seconds * 1e6))
