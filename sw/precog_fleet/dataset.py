"""A training set in memory, split by time: to learn from, to choose by, to be judged on.

Time decides, as it does in use: models learn from the past. The last part is never looked at
before the evaluation. Blocks of the bootstrap are slices of time over all queues, because queues
that share a bottleneck are not independent.
"""

import hashlib
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precog_models.data.windows import HORIZONS, STEPS, Windows
from precog_models.limits import read_json
from precog_spec.contract import CONTRACT_HASH, PROFILE_INPUTS

from . import places
from .collect import CARD, WINDOWS
from .modelset import Queue
from .places import require
from .telemetry import read_part

__all__ = ["PARTS", "Dataset", "load_dataset"]

Ints = NDArray[np.int64]

PARTS = ("train", "validation", "test")
_SHARES = (0.7, 0.15, 0.15)
_BLOCKS = 20  # slices of time in a part


@dataclass(frozen=True, eq=False)
class Dataset:
    """Windows by part; `Windows.queue` is an index into `queues`.

    Parameters
    ----------
    queues : tuple of Queue
    parts : dict of str to Windows
        By `PARTS`.
    times : dict of str to tuple of int
        First and last ms of each part.
    card : dict
    """

    queues: tuple[Queue, ...]
    parts: dict[str, Windows]
    times: dict[str, tuple[int, int]]
    card: dict[str, Any]


def load_dataset(folder: Path) -> Dataset:
    """The set that `collect` wrote.

    Raises
    ------
    ValueError
        The folder is none, or the set is damaged, for another contract, or too short to be split.
    OSError
        A file is missing.
    """
    require(folder, places.TRAINING_SET)
    path = folder / WINDOWS
    try:
        card = read_json(folder / CARD)
        wanted, contract = card["sha256"], int(card["contract"], 16)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{folder / CARD} must be the card of a training set: {error}") from error
    if contract != CONTRACT_HASH:
        raise ValueError(
            f"training set must be for contract {CONTRACT_HASH:#010x}, not {contract:#010x}: "
            "collect it again"
        )
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != wanted:
        raise ValueError(f"{path} must have the SHA-256 of its card, {wanted}, not {found}")
    table = read_part(path, sys.maxsize)
    t = table["t"].to_numpy()
    keys = list(zip(*(table[name].to_pylist() for name in ("origin", "device", "qp")), strict=True))
    queues = sorted(set(keys))
    index = {key: n for n, key in enumerate(queues)}
    windows = Windows(
        signals=_matrix(table, "signals").reshape(-1, STEPS, len(PROFILE_INPUTS)),
        queue=np.array([index[key] for key in keys], dtype=np.int64),
        run=np.zeros(len(t), dtype=np.int64),
        block=np.zeros(len(t), dtype=np.int64),
        whole=np.ones(len(t), dtype=np.bool_),
        later=_matrix(table, "later"),
        highest=_matrix(table, "highest"),
        requested=np.zeros((len(t), len(HORIZONS)), dtype=np.int64),  # a card does not tell
    )
    first, second = np.quantile(t, np.cumsum(_SHARES)[:2], method="higher")
    # What has the very time of a border lies on both sides of it.
    masks = {
        "train": t < first,
        "validation": (t > first) & (t < second),
        "test": t > second,
    }
    for name, mask in masks.items():
        if not mask.any():
            raise ValueError(
                f"training set must last long enough to be split by time, but {name} is empty: "
                f"{len(t)} windows in {t.max() - t.min()} ms"
            )
    parts = {name: _blocked(windows.select(mask), t[mask]) for name, mask in masks.items()}
    times = {name: (int(t[mask].min()), int(t[mask].max())) for name, mask in masks.items()}
    return Dataset(tuple(Queue(*key) for key in queues), parts, times, card)


def _matrix(table: Any, name: str) -> Ints:
    flat = table[name].combine_chunks().flatten().to_numpy()
    return np.asarray(flat.reshape(table.num_rows, -1), dtype=np.int64)


def _blocked(windows: Windows, t: Ints) -> Windows:
    """The windows with slices of time as blocks, of as many windows each.

    Slices of equal length would be two where one host's clock is an hour ahead of the others.
    """
    block = np.searchsorted(np.quantile(t, np.arange(1, _BLOCKS) / _BLOCKS), t, side="right")
    columns = {**vars(windows), "block": block.astype(np.int64)}
    return Windows(**columns)
