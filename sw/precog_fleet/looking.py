"""The fleet as its records tell: who lives and runs what, skill, hotspots, and what was refused."""

from collections.abc import Mapping
from typing import Any

from .assignments import LIVE_KEY, Drift, Rollout
from .bodies import Report, Skill
from .clock import now_ms
from .errors import FleetError
from .gossip import EVERYTHING, Gossip
from .health import TWIN, Health
from .member import Member
from .mesh import Mesh
from .mesh_config import MeshConfig
from .robust import Voice, shared
from .speaking import refusals
from .store import Store

__all__ = ["Look", "view"]

_MILLION = 1_000_000
_NAME = "looking"
_AGE_MS = 30_000
_CONNECT_MS = 5000


def view(store: Store, now: int) -> dict[str, Any]:
    """JSON data of all that a store's records tell at `now`, ms."""
    members: dict[str, dict[str, Any]] = {
        name: {"name": name, "role": one.role, "state": "revoked" if one.revoked else "silent"}
        for name, one in sorted(store.members.items())
    }
    skills: list[dict[str, Any]] = []
    rollouts: list[tuple[int, int, Rollout]] = []
    drifts: list[dict[str, Any]] = []
    for entry in store.entries():
        record, body = entry.record, entry.record.body
        if isinstance(body, Health) and record.key == f"health/{record.origin}":
            state = "alive" if now <= record.t1 else "silent"
            members[record.origin] |= {"state": state, "age_s": (now - record.t0) / 1000}
            members[record.origin] |= _health(body)
        elif isinstance(body, Skill):
            skills.append(
                {
                    "origin": record.origin,
                    "model": record.key.partition("/")[2],
                    "windows": body.n,
                    "skill": _skill(body.score, body.reference),
                }
            )
        elif isinstance(body, Drift):
            skill = _skill(body.score, body.reference)
            drifts.append({"origin": record.origin, "release": body.release, "skill": skill})
        elif isinstance(body, Rollout) and record.key == LIVE_KEY:
            rollouts.append((record.t0, record.version, body))
    return {
        "at": now,
        "members": [*members.values()],
        "skill": sorted(skills, key=lambda row: (row["model"], row["origin"])),
        "drift": sorted(drifts, key=lambda row: str(row["origin"])),
        "rollout": _rollout(max(rollouts, key=lambda row: row[:2])[2]) if rollouts else None,
        "hotspots": _hotspots(store, now),
        "twins": [
            name
            for name, member in members.items()
            if member["state"] == "alive" and TWIN in member["refused"]
        ],
    }


def _health(body: Health) -> dict[str, Any]:
    plain = body.plain()
    del plain["contract"]
    return plain


def _skill(score: int, reference: int) -> float | None:
    return 1.0 - score / reference if reference else None


def _rollout(body: Rollout) -> dict[str, Any]:
    return {"release": body.release, "previous": body.previous, "share": body.share / 1000}


def _hotspots(store: Store, now: int) -> list[dict[str, Any]]:
    voices: dict[str, list[Voice]] = {}
    for entry in store.entries():
        body = entry.record.body
        if isinstance(body, Report):
            name = entry.record.key.partition("/")[2]
            voices.setdefault(name, []).append(
                Voice(entry.record.origin, entry.record.t0, body.stats)
            )
    found = []
    for name, said in sorted(voices.items()):
        known = shared(said, now, age_ms=_AGE_MS, skew_ms=_AGE_MS, quorum=1)
        if known is not None:
            found.append(
                {
                    "destination": name,
                    "reporters": known.reporters,
                    "queue_pairs": known.n,
                    "rate_gbps": known.rate / _MILLION,
                    "rtt_us": known.mean / 1000,
                    "rtt_p99_us": known.p99 / 1000,
                }
            )
    return found


class Look:
    """A session that asks for all that a router holds, with a member's credentials.

    It follows nothing, so that a look at a large fleet moves no record to this place but once.

    Parameters
    ----------
    member : Member
    connect_ms : int, optional
        How long to try to reach a router.

    Raises
    ------
    FleetError
        No router answers.
    """

    def __init__(self, member: Member, *, connect_ms: int | None = None) -> None:
        self.store = Store(member.info.public)
        for frame in member.memberships():
            self.store.receive(frame, now_ms())
        info = member.info
        # Under its own name a router would not ask the one that runs.
        config = MeshConfig(
            info.fleet, _NAME, member.folder, False, (), info.routers, subscribes=False
        )
        self.mesh = Mesh(
            config, Gossip(self.store, EVERYTHING), connect_ms=connect_ms or _CONNECT_MS
        )
        self._asked = 0

    def turn(self, wait_s: float = 0.1) -> None:
        """Take what has come, and ask a router every half second."""
        now = now_ms()
        self.mesh.pump(now, wait_s)
        if not 0 <= now - self._asked < 500:
            self._asked = now
            self.mesh.ask(now)

    def settle(self, limit_ms: int = 10_000) -> Mapping[str, Any]:
        """The view once a router has told everything.

        Raises
        ------
        FleetError
            No router has, in that time.
        """
        end = now_ms() + limit_ms
        while now_ms() < end:
            self.turn(0.05)
            if not self.mesh.equal_at and self.mesh.counts["rounds"]:
                self._asked = 0  # the next question shows whether that was all
            if self.mesh.equal_at:
                return view(self.store, now_ms())
        refused = ", ".join(f"{n} {outcome}" for outcome, n in refusals(self.store).items())
        raise FleetError(
            f"no router has told its records within {limit_ms / 1000:g} s"
            + (f"; refused: {refused}" if refused else "")
        )

    def close(self) -> None:
        """Leave the mesh."""
        self.mesh.close()
