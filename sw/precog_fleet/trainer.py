"""The trainer's loop: agents that lose skill ask, and new models come without a person.

    drift ─► collect ─► train ─► evaluate ─► release ─► rollout ─► done, or rolled back
             └──────── a job, in a thread ─────────┘    by stages, as agents report

One job at a time, and a pause after each, so that no number of requests makes a storm. Only
requests since the last job and rollout count, whatever release their agents have fallen back to.
A job's steps leave files; a trainer that was killed goes on with the job that it had begun.
Whatever fails is noted and changes nothing that runs. While the disk takes no state, nothing is
decided; the same is tried again.
"""

import json
import shutil
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from precog_models.durable import write_durably
from precog_models.judged import SEEDS
from precog_models.limits import read_json

from .assignments import SHIPPED, Drift
from .collect import CARD, collect
from .dataset import load_dataset
from .errors import FleetError
from .evaluate import ClosedLoop, Limits, check, evaluate, forced
from .modelset import BASE, MANIFEST, Manifest, ModelSet
from .record import RECORD, check_record
from .releases import EVALUATION
from .repository import Repository
from .rollouts import Rollouts
from .runner import Runner
from .store import Store
from .train import FleetRecipe, train

__all__ = ["Job", "Trainer", "release_models"]

_FORMAT = 1
_HISTORY = 50
_KEPT = 4  # folders of jobs; each holds a training set
_RENEW_MS = 600_000
_RETRY_MS = 1000
Submit = Callable[[Callable[[], Path]], "Future[Path]"]


def release_models(
    repository: Repository,
    folder: Path,
    limits: Limits,
    *,
    force: str = "",
    record: Path | None = None,
) -> tuple[int, bytes]:
    """Release the models of a folder that passed their evaluation; number and digest.

    Models that have been released already keep their number: a crash may come between a release
    and its rollout. With `force`, a reason, others are released, too: the reason and what was
    refused are signed with the release, and stand in its list. The record of ``precog model
    evaluate`` must have passed, too: `record`, or the one in the folder. Its commit and seeds are
    signed with the release.

    Raises
    ------
    FleetError
        They did not pass, were changed since, or keys are missing.
    ValueError
        There is no evaluation or record of these very models, or the reason is too short.
    """
    try:
        files, evaluation = check(folder, limits)
        image = Manifest.parse(files[MANIFEST]).files[BASE]
        judged = check_record(
            record or folder / RECORD,
            image,
            bound=limits.loop,
            seeds=limits.seeds,
            scenarios=limits.scenarios,
        )
    except (FleetError, ValueError) as error:
        if not force:
            raise
        files, evaluation, judged = forced(folder, str(error), force), None, {}
    digest = Manifest.parse(files[MANIFEST]).digest
    known = repository.digests()
    if digest in known:
        return known[digest], digest
    if evaluation is None:
        return repository.publish(files, {"forced": force.strip()}), digest
    forecast = evaluation["forecast"]
    about = {
        "skill": f"{forecast['skill']['value']:.4f}",
        "skill_over_live": f"{forecast['skill_over_live']['value']:.4f}",
        "windows": forecast["windows"],
    }
    return repository.publish(files, about | judged), digest


@dataclass(frozen=True)
class Job:
    """How a job is done.

    Parameters
    ----------
    telemetry : tuple of Path
        Folders of agents' parts, or of many such folders.
    recipe : FleetRecipe
    runner : Runner
    loop : callable
        The closed loop (`evaluate.closed_loop`).
    limits : Limits
        What models must reach.
    seeds : int
        Of the closed loop.
    """

    telemetry: tuple[Path, ...]
    recipe: FleetRecipe
    runner: Runner
    loop: ClosedLoop
    limits: Limits
    seeds: int = SEEDS["queue"]

    def __call__(self, folder: Path, live: ModelSet, since: int) -> Path:
        """Collect, train and evaluate, or go on with it; the folder of the models.

        Raises
        ------
        FleetError, ValueError, OSError
            There is too little telemetry, or workers die again and again.
        """
        if not (folder / "set" / CARD).exists():
            collect(self.telemetry, folder / "set", since=since, skip_foreign=True)
        data = load_dataset(folder / "set")
        models = folder / "models"
        if not (models / MANIFEST).exists():
            train(data, live.base, models, self.recipe, self.runner)
        if not (models / EVALUATION).exists():
            evaluate(
                models,
                data,
                live,
                self.loop,
                seeds=self.seeds,
                limits=self.limits,
            )
        return models


class Trainer:
    """The loop.

    Parameters
    ----------
    folder : Path
        Of jobs and state.
    store : Store
        Agents' requests.
    rollouts : Rollouts
    repository : Repository
    job : Job
    shipped : ModelSet
        What runs before the first release.
    submit : callable
        Starts a job in a thread; `following.at_once` does it in the caller's.
    asks : int
        Agents that must ask.
    pause_ms : int
        From the end of a job, and of its rollout, to the next one.
    window_ms : int, optional
        How far back telemetry is taken; all of it if not given.

    Attributes
    ----------
    history : list of dict
    errors : dict of str to str
        The last of each kind.
    wanted : str
        Why a job is to begin unasked, once no rollout runs; empty: none is.

    Raises
    ------
    FleetError
        The state is damaged.
    """

    def __init__(
        self,
        folder: Path,
        store: Store,
        rollouts: Rollouts,
        repository: Repository,
        job: Job,
        shipped: ModelSet,
        submit: Submit,
        *,
        asks: int = 1,
        pause_ms: int = 600_000,
        window_ms: int | None = None,
    ) -> None:
        if asks < 1:
            raise ValueError(f"asks must be at least 1, not {asks!r}")
        self.rollouts = rollouts
        self.repository = repository
        self.errors: dict[str, str] = {}
        self.wanted = ""
        self._folder, self._store, self._job = folder, store, job
        self._shipped, self._submit = shipped, submit
        self._asks, self._pause, self._window = asks, pause_ms, window_ms
        self._path = folder / "trainer.json"
        self._number = 0
        self._open: dict[str, Any] | None = None  # the job that has begun
        self._ended: int | None = None
        self._future: Future[Path] | None = None
        self._renewed: int | None = None
        self._failed_at: int | None = None
        self.history: list[dict[str, Any]] = []
        folder.mkdir(parents=True, exist_ok=True)
        if self._path.exists():
            self._load()
        self._saved = self._state()

    # --- state -----------------------------------------------------------------------------------

    def _load(self) -> None:
        try:
            told = read_json(self._path)
            if told["format"] != _FORMAT:
                raise ValueError(f"format must be {_FORMAT}")
            self._number = int(told["number"])
            self._open, self._ended = told["open"], told["ended"]
            self.history = list(told["history"])
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"{self._path} must be the state of a trainer: {error}") from error

    def _save(self) -> None:
        told = {
            "format": _FORMAT,
            "number": self._number,
            "open": self._open,
            "ended": self._ended,
            "history": self.history[-_HISTORY:],
        }
        try:
            write_durably(self._path, (json.dumps(told, indent=1, sort_keys=True) + "\n").encode())
        except OSError:  # as it was
            self._number, self._open, self._ended, self.history = self._saved
            raise
        self._saved = self._state()

    def _state(self) -> tuple[int, dict[str, Any] | None, int | None, list[dict[str, Any]]]:
        return self._number, self._open, self._ended, list(self.history)

    def _note(self, now: int, what: str, why: str) -> str:
        self.history.append({"at": now, "job": self._number, "what": what, "why": why})
        return f"job {self._number} {what}: {why}"

    # --- a turn ----------------------------------------------------------------------------------

    def step(self, now: int) -> list[str]:
        """Do what is due at `now`, ms; what happened."""
        self._renew(now)
        if self._failed_at is not None and 0 <= now - self._failed_at < _RETRY_MS:
            return []
        events: list[str | None] = []
        try:
            events.append(self.rollouts.step(now))
            if self._open is not None:
                events.append(self._go_on(now))
            elif not self.rollouts.running and (why := self.wanted or self._asked(now)):
                events.append(self.begin(now, why))
        except OSError as error:
            self._failed_at = now
            self.errors["disk"] = f"{error.filename or self._folder}: {error.strerror or error}"
        return [event for event in events if event]

    @property
    def quiet_since(self) -> int | None:
        """When the last job or rollout ended; reports of before say nothing about what runs."""
        ends = [] if self._ended is None else [self._ended]
        if not self.rollouts.running:
            ends += [row["at"] for row in self.rollouts.history[-1:]]
        return max(ends, default=None)

    def asking(self, now: int) -> dict[str, Drift]:
        """Requests that count, by agent; none until enough agents ask and the pause is over."""
        ended = self.quiet_since
        if ended is not None and 0 <= now - ended < self._pause:
            return {}
        found = {}
        for entry in self._store.entries():
            body = entry.record.body
            late = ended is None or entry.record.t0 > ended
            if isinstance(body, Drift) and late:
                found[entry.record.origin] = body
        return found if len(found) >= self._asks else {}

    def _asked(self, now: int) -> str:
        """Who asks, in words; empty: too few do."""
        asking = self.asking(now)
        return f"asked by {', '.join(sorted(asking))}" if asking else ""

    def begin(self, now: int, why: str) -> str:
        """Begin a job.

        Raises
        ------
        FleetError
            One has begun already.
        OSError
            The disk does not take it: none has begun.
        """
        if self._open is not None:
            raise FleetError(f"job {self._number} must end first")
        self._number += 1
        since = 0 if self._window is None else now - self._window
        self._open = {"since": since, "live": self.rollouts.live[0]}
        text = self._note(now, "began", why)
        self._save()
        self.wanted = ""
        self._clear_away()
        return text

    def _clear_away(self) -> None:
        """Delete the folders of old jobs: repeated requests must not fill the disk."""
        for folder in (self._folder / "jobs").glob("*"):
            if folder.name.isdecimal() and int(folder.name) <= self._number - _KEPT:
                shutil.rmtree(folder, ignore_errors=True)

    def _go_on(self, now: int) -> str | None:
        assert self._open is not None
        if self._future is None:
            folder = self._folder / "jobs" / str(self._number)
            try:
                live = self.live(self._open["live"])
            except (ValueError, OSError) as error:
                return self._end_job(now, "failed", str(error))
            since = self._open["since"]
            self._future = self._submit(lambda: self._job(folder, live, since))
        if not self._future.done():
            return None
        try:
            models = self._future.result()
        except Exception as error:  # whatever was wrong with data or workers: the loop goes on
            return self._end_job(now, "failed", str(error) or type(error).__name__)
        try:
            number, digest = release_models(self.repository, models, self._job.limits)
            if not self._started(number):
                self.rollouts.start(number, digest, now)
        except (FleetError, ValueError) as error:
            return self._end_job(now, "failed", str(error))
        return self._end_job(now, "released", f"release {number}")

    def _started(self, release: int) -> bool:
        """Whether this job has begun its rollout: a crash may come before its end is noted."""
        began = max((row["at"] for row in self.history if row["what"] == "began"), default=0)
        return any(
            row["what"] == "started" and row["release"] == release and row["at"] >= began
            for row in self.rollouts.history
        )

    def _end_job(self, now: int, what: str, why: str) -> str:
        """Note that the open job has ended; the next one may begin."""
        text = self._note(now, what, why)
        self._open = None
        self._ended = now
        self._save()
        self._future = None
        return text

    def live(self, release: int) -> ModelSet:
        """The models of a release.

        Raises
        ------
        ValueError, OSError
            The repository does not have it any more.
        """
        return self._shipped if release == SHIPPED else self.repository.models(release)[0]

    def _renew(self, now: int) -> None:
        if self._renewed is not None and 0 <= now - self._renewed < _RENEW_MS:
            return
        self._renewed = now
        try:
            self.repository.renew()
        except (ValueError, OSError) as error:
            self.errors["repository"] = str(error)

    def status(self, now: int) -> dict[str, Any]:
        """The trainer's state as JSON data."""
        return {
            "role": "trainer",
            "at": now,
            "job": None if self._open is None else self._open | {"number": self._number},
            "asking": {name: asdict(drift) for name, drift in self.asking(now).items()},
            "rollouts": self.rollouts.status(now),
            "jobs": self.history,
            "errors": self.errors,
        }
