"""The fleet that is simulated: racks, who reports which destination, and seeds of everything.

Every agent leads to destinations of its job, whose members lie in racks at random, and to servers
that many others use, too. Both kinds are hosts of the fleet's network; nothing here moves a packet.
"""

import random
from dataclasses import dataclass
from functools import cached_property

__all__ = ["Fleet"]


@dataclass(frozen=True)
class Fleet:
    """Members of the fleet.

    Parameters
    ----------
    agents : int
    rack : int
        Agents of a rack; each rack has one router.
    job : int
        Agents of a job.
    peers : int
        Destinations of an agent within its job.
    servers : int
        Destinations that all may use.
    used : int
        Servers that an agent uses.
    seed : int

    Raises
    ------
    ValueError
        A number is out of its range.
    """

    agents: int
    rack: int
    servers: int
    job: int = 50
    peers: int = 6
    used: int = 2
    seed: int = 1

    def __post_init__(self) -> None:
        if self.agents < 2 * self.rack or self.rack < 1:
            raise ValueError(f"agents must fill two racks of {self.rack}, not {self.agents}")
        if self.agents % self.job == 1 or not 0 < self.peers < min(self.job, self.agents):
            raise ValueError(f"peers must be fewer than a job of {self.job}, not {self.peers}")
        if not 0 <= self.used <= self.servers:
            raise ValueError(f"used must be in 0..{self.servers} servers, not {self.used}")

    @property
    def racks(self) -> int:
        """Racks, the last of which may have room."""
        return -(-self.agents // self.rack)

    def rack_of(self, agent: int) -> int:
        """The rack of an agent."""
        return agent // self.rack

    @cached_property
    def destinations(self) -> list[tuple[str, ...]]:
        """Keys of each agent's destinations."""
        rng = random.Random(f"destinations {self.seed}")
        order = list(range(self.agents))
        rng.shuffle(order)  # a job's members lie anywhere
        found: list[tuple[str, ...]] = [()] * self.agents
        for begin in range(0, self.agents, self.job):
            members = order[begin : begin + self.job]
            for agent in members:
                others = [one for one in members if one != agent]
                peers = rng.sample(others, min(self.peers, len(others)))
                servers = rng.sample(range(self.servers), self.used)
                names = [f"dst/h{one}" for one in peers] + [f"dst/s{one}" for one in servers]
                found[agent] = tuple(names)
        return found

    @cached_property
    def reporters(self) -> dict[str, int]:
        """Agents that report each key, and follow it."""
        counts: dict[str, int] = {}
        for keys in self.destinations:
            for key in keys:
                counts[key] = counts.get(key, 0) + 1
        return counts
