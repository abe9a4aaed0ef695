"""What must hold of a site under faults, and when all of them have ended."""

import hashlib
from collections import Counter
from collections.abc import Callable

from precog_fleet.agent import Agent
from precog_fleet.outcome import Outcome
from precog_fleet.telemetry import read_part
from precog_host.device import Device
from precog_host.emulator.device import Emulator

from .flock import QPS, shipped
from .site import Site

__all__ = ["Checks"]

#: What honest members' records may meet; a head for other models is true, but of no use.
_HONEST = {Outcome.ACCEPTED, Outcome.KNOWN, Outcome.STALE, Outcome.WRONG_BASE}
_TURNS = 160


class Checks:
    """The invariants.

    Attributes
    ----------
    converged_ms : int
        Simulated time that it took after the faults.
    """

    def __init__(self, of: Site) -> None:
        self.of = of
        self.converged_ms = 0
        self._released: dict[int, bytes] = {}

    def always(self) -> None:
        """What holds at any time."""
        self._cards()
        self._records()
        self._releases()
        for name, agent in self.of.agents.items():
            self._counters(name, agent)
        self._parts()

    def _cards(self) -> None:
        """Every card runs a model that was shipped or released."""
        known = {shipped().base.weights.version}
        known |= {100 + job for job in range(1, 40)} | {200 + job for job in range(1, 40)}
        for name, card in self.of.cards.items():
            live = {model.version for model in Device(card).model.sets() if model.slots}
            assert live, f"{name} runs no model"
            assert live <= known, f"{name} runs {live - known}"

    def _records(self) -> None:
        """What the router has acknowledged it holds; no honest record is refused."""
        self.of.held()
        for store in (self.of.hub.store, *(agent.store for agent in self.of.agents.values())):
            refused = set(store.outcomes) - _HONEST
            assert not refused, f"honest records were refused: {store.outcomes}"

    def _releases(self) -> None:
        """A release is whole or absent, and never changes."""
        listed = self.of.auditor.update()
        assert self._released.items() <= {n: one.digest for n, one in listed.items()}.items()
        for number, one in listed.items():
            if number not in self._released:
                self.of.auditor.fetch(number, one.digest, "host0")
                self._released[number] = one.digest

    def _counters(self, name: str, agent: Agent) -> None:
        """Every window is a row that is written, waits, or was lost and counted."""
        telemetry, seating = agent.telemetry, agent.seatings[0]
        rows = telemetry.counts["rows"] + telemetry.waiting + telemetry.counts["rows_lost"]
        windows = seating.card.tallies()["windows"]
        assert rows == windows, f"{name} made {windows} windows, and tells of {rows}"
        assert seating.counts["unlike"] == 0, f"{name} forecasts unlike its card"

    def _parts(self) -> None:
        """Parts that were reported written are there, or counted as gone."""
        missing: Counter[str] = Counter()
        for path, digest in self.of.parts.items():
            if path in self.of.spoilt:
                continue
            if not path.exists():
                missing[path.parent.parent.name] += 1
            else:
                same = hashlib.sha256(path.read_bytes()).hexdigest() == digest
                assert same, f"{path} is not what was written"
        evicted = self.of.seen["parts_evicted"]
        evicted += sum(a.telemetry.counts["parts_evicted"] for a in self.of.agents.values())
        assert missing.total() <= evicted, f"{missing} are gone, but {evicted} were counted"

    # --- after the faults ------------------------------------------------------------------------

    def converges(self, turn: Callable[[], None]) -> None:
        """All agents run, and hold all reports and the newest rollout."""
        began = self.of.now
        for _ in range(_TURNS):
            if self._equal():
                break
            turn()
        self.converged_ms = self.of.now - began
        assert self._equal(), f"agents still differ: {self._differences()}"
        self.always()

    def _equal(self) -> bool:
        return not self._differences()

    def _differences(self) -> list[str]:
        names, order = set(self.of.names), self.of.loop.rollouts._order
        found = []
        for name, agent in self.of.agents.items():
            if agent.health().up != 1:
                found.append(f"{name} has no card")
            if agent.following.rollout() != order:
                found.append(f"{name} knows another rollout")
            for qp in QPS:
                said = {entry.record.origin for entry in agent.store.entries(f"dst/10.0.0.{qp}")}
                found += [f"{name} knows nothing of {one}" for one in names - said]
        return found

    def goes_on(self, ask: Callable[[], None], turn: Callable[[], None]) -> None:
        """Somebody asks again, and another job begins and ends."""
        before = len([row for row in self.of.loop.history if row["what"] != "began"])
        for n in range(_TURNS):
            if n % 8 == 0:
                ask()
            turn()
            if len([row for row in self.of.loop.history if row["what"] != "began"]) > before:
                break
        else:
            raise AssertionError(f"trainer does not go on: {self.of.loop.status(self.of.now)}")
        self.always()

    def at_last(self) -> None:
        """Every agent ends in order; what was refused was counted, and all parts can be read."""
        for name, agent in self.of.agents.items():
            self.of.note(agent)
            self._trace(name, agent)
            assert agent.telemetry.flush(self.of.now)
            agent.close(self.of.now)
        for name in self.of.names:
            self.of.start(name).close(self.of.now)  # sets aside what is damaged
            for part in (self.of.folder / name / "telemetry").glob("*.parquet"):
                assert len(read_part(part))
        told = self.of.seen
        refused = sum(self.of.refused[name] for name in self.of.names)
        counted = told["failed"] + told["unsaved"]
        assert refused == counted, f"disks refused {refused} writes, agents counted {counted}"

    def _trace(self, name: str, agent: Agent) -> None:
        """An agent that has read its trace from the start misses what found no room."""
        card = self.of.cards[name]
        assert isinstance(card, Emulator)
        trace = card.trace
        assert trace is not None
        if name not in self.of.disturbed and not trace.fifo.records:
            lost = agent.seatings[0].card.tallies()["lost"]
            assert lost == trace.fifo.overflowed, f"{name} misses {lost} records"
