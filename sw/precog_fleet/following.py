"""The rollout that counts for an agent, and releases that are fetched while its cards go on."""

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Protocol

from .assignments import LIVE_KEY, Rollout
from .modelset import ModelSet
from .seating import Seating
from .store import Store

__all__ = ["Following", "Source", "Submit", "at_once"]

Submit = Callable[[Callable[[], ModelSet]], "Future[ModelSet]"]


class Source(Protocol):
    """Where releases come from: `releases.Releases`."""

    def fetch(self, number: int, digest: bytes, origin: str) -> ModelSet:
        """A release's models for one member."""


def at_once(work: Callable[[], ModelSet]) -> "Future[ModelSet]":
    """Do the work in the caller's thread: for simulations."""
    future: Future[ModelSet] = Future()
    try:
        future.set_result(work())
    except Exception as error:
        future.set_exception(error)
    return future


class Following:
    """An agent's side of rollouts.

    Parameters
    ----------
    origin : str
        The member.
    store : Store
    source : Source, optional
        Without one, no release is fetched.
    submit : callable
        Starts a download; `at_once` does it in the caller's thread.
    here : dict of bytes to ModelSet
        Models that need no download, by digest.

    Attributes
    ----------
    counts : Counter of str
        ``fetched``, ``unfetched``.
    error : str
        The last one.
    """

    def __init__(
        self,
        origin: str,
        store: Store,
        source: Source | None,
        submit: Submit,
        here: dict[bytes, ModelSet],
    ) -> None:
        self.counts: Counter[str] = Counter()
        self.error = ""
        self._origin = origin
        self._store = store
        self._source = source
        self._submit = submit
        self._here = here
        self._models: tuple[bytes, ModelSet] | None = None
        self._fetching: tuple[bytes, Future[ModelSet]] | None = None

    def rollout(self) -> Rollout | None:
        """The newest rollout of any trainer; None without one."""
        found = [entry.record for entry in self._store.entries(LIVE_KEY)]
        newest = max(found, key=lambda record: (record.t0, record.version), default=None)
        return newest.body if newest and isinstance(newest.body, Rollout) else None

    def turn(self, now: int, seatings: Sequence[Seating]) -> None:
        """Offer cards the release that is assigned, once it is here."""
        rollout = self.rollout()
        if rollout is None:
            return
        release, digest = rollout.assigned(self._origin)
        wanting = [one for one in seatings if one.wants(digest)]
        models = self._get(release, digest) if wanting else None
        if models is None:
            return
        for seating in wanting:
            if not seating.offer(now, release, digest, models) and seating.error:
                self.error = f"{seating.card.name}: {seating.error}"

    def _get(self, release: int, digest: bytes) -> ModelSet | None:
        """The models of a release, if they are here; else a download begins or goes on."""
        if digest in self._here:
            return self._here[digest]
        if self._models is not None and self._models[0] == digest:
            return self._models[1]
        if self._source is None:
            return None
        if self._fetching is None:
            source = self._source
            work = self._submit(lambda: source.fetch(release, digest, self._origin))
            self._fetching = digest, work
        wanted, future = self._fetching
        if not future.done():
            return None
        self._fetching = None
        try:
            models = future.result()
        except Exception as error:  # whatever a repository made of it: the cards go on
            self.counts["unfetched"] += 1
            self.error = str(error) or type(error).__name__
            return None
        self.counts["fetched"] += 1
        self._models = wanted, models
        return models if wanted == digest else None
