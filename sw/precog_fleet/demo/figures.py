"""Skill on the agents' own traffic, from their telemetry: what the cards forecast, what came true.

All figures rest on CRPS with 95 % intervals over slices of time. A *gain* is paired: what ran, and
what would have run without the release, on the very same windows, which came after it.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from precog_models.data.windows import STEPS
from precog_models.forecast.forecaster import Forecaster
from precog_models.forecast.metrics import crps, skill
from precog_spec.contract import PROBABILITY, PROFILE_INPUTS

from ..collect import PARTS_TABLE, spelled
from ..errors import FleetError
from ..fitting import column_of
from ..judging import persistence_crps
from ..modelset import ModelSet, Queue

__all__ = ["History", "load_history"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_BLOCKS = 20  # slices of time under an interval
_SLICE_MS = 2000  # of the course of skill
_QUERY = f"""
    SELECT t, origin, device, qp, signals, predicted, later
    FROM {PARTS_TABLE} WHERE model <> 0 ORDER BY t, origin, qp
"""


@dataclass(frozen=True, eq=False)
class History:
    """Windows of all agents that a model forecast, in order of time.

    Parameters
    ----------
    t : ndarray (n,)
        Ms of Unix time.
    queues : list of Queue
    queue : ndarray (n,)
        Index into `queues`.
    signals : ndarray (n, 8, 4)
    bins : ndarray (n,)
        What came true.
    score, reference : ndarray (n,)
        CRPS of the card's forecast and of persistence.
    """

    t: Ints
    queues: list[Queue]
    queue: Ints
    signals: Ints
    bins: Ints
    score: Floats
    reference: Floats

    def between(self, begin: int, end: int) -> "History":
        """The windows of a time.

        Raises
        ------
        FleetError
            There are fewer than two slices of them.
        """
        which = (self.t >= begin) & (self.t < end)
        columns = {name: value[which] for name, value in vars(self).items() if name != "queues"}
        found = History(queues=self.queues, **columns)
        if not which.any() or len(np.unique(found.blocks())) < 2:
            raise FleetError(f"windows must lie in {begin}..{end} ms, but hardly any does")
        return found

    def blocks(self) -> Ints:
        """Slices of time."""
        span = int(self.t[-1] - self.t[0]) + 1
        found: Ints = (self.t - self.t[0]) * _BLOCKS // span
        return found

    def skill(self) -> dict[str, float]:
        """Skill of the cards' forecasts, relative to persistence."""
        return asdict(skill(self.score, self.reference, self.blocks()))

    def gain(self, models: ModelSet) -> dict[str, float]:
        """What the cards forecast, over what a set of models would have forecast."""
        other = np.zeros(len(self.t))
        for n, queue in enumerate(self.queues):
            mine = self.queue == n
            if mine.any():
                forecaster = Forecaster(models.image(queue))
                p = forecaster.distributions(self.signals[mine]) / PROBABILITY.one
                other[mine] = crps(p, self.bins[mine])
        return asdict(skill(self.score, other, self.blocks()))

    def course(self) -> list[dict[str, float]]:
        """Skill over persistence in slices of two seconds; ``at`` is the middle of one, ms."""
        slices = (self.t - self.t[0]) // _SLICE_MS
        found = []
        for number in np.unique(slices):
            which = slices == number
            reference = float(self.reference[which].sum())
            if reference:
                value = 1.0 - float(self.score[which].sum()) / reference
                middle = int(self.t[0]) + int(number) * _SLICE_MS + _SLICE_MS // 2
                found.append({"at": middle, "skill": value})
        return found


def load_history(folders: Iterable[Path], like: ModelSet) -> History:
    """All windows under some folders that a model forecast.

    Parameters
    ----------
    folders : iterable of Path
        Of agents' telemetry.
    like : ModelSet
        One of the sets that ran: bins and horizon.

    Raises
    ------
    FleetError
        There is none.
    """
    parts = [spelled(path) for folder in folders for path in sorted(folder.rglob("*.parquet"))]
    if not parts:
        raise FleetError("telemetry must have parts, but there is none")
    with duckdb.connect() as db:
        db.execute("SET enable_progress_bar = false")
        table: Any = db.sql(_QUERY, params={"parts": parts}).to_arrow_table()
    names = [table[name].to_pylist() for name in ("origin", "device", "qp")]
    keys = [Queue(*key) for key in zip(*names, strict=True)]
    queues = sorted(set(keys))
    index = {key: n for n, key in enumerate(queues)}
    settings = Forecaster(like.base).settings
    signals = np.array(table["signals"].to_pylist(), dtype=np.int64)
    signals = signals.reshape(-1, STEPS, len(PROFILE_INPUTS))
    later = np.array(table["later"].to_pylist(), dtype=np.int64)
    bins = settings.bins(later[:, column_of(settings)])
    count = len(settings.bin_edges) + 1
    p = np.array(table["predicted"].to_pylist(), dtype=np.int64)[:, :count] / PROBABILITY.one
    return History(
        t=table["t"].to_numpy(),
        queues=queues,
        queue=np.array([index[key] for key in keys], dtype=np.int64),
        signals=signals,
        bins=bins,
        score=np.asarray(crps(p, bins), dtype=np.float64),
        reference=persistence_crps(settings.bins(signals[:, -1, 0]), bins),
    )
