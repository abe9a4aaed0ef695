"""The curves of the report: arrays in ``series.npz``, in the folder of ``result.json``."""

import io
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from precog_models.durable import write_durably

__all__ = ["CDF_P", "SERIES_FILE", "Prediction", "Run", "Series", "Side", "Training", "quantiles"]

SERIES_FILE = "series.npz"
G = TypeVar("G")
Floats = NDArray[np.float32]

# Cumulative probabilities at which an RTT distribution is kept: even in the body, finer and
# finer towards the tail, where the algorithms differ.
CDF_P = np.unique(
    np.concatenate([np.linspace(0, 0.99, 199), 1 - np.logspace(-2, -5, 61), [1.0]])
).astype(np.float64)


def quantiles(samples: NDArray[np.floating]) -> Floats:
    """RTT samples reduced to their quantiles at `CDF_P` (float32, same unit).

    Raises
    ------
    ValueError
        There is no sample.
    """
    if samples.size == 0:
        raise ValueError("samples must be a non-empty array, not an empty one")
    return np.asarray(np.quantile(samples, CDF_P), np.float32)


@dataclass(frozen=True)
class Run:
    """One incast, every decision of every flow, in order of time.

    Parameters
    ----------
    flow : ndarray of int16, (n,)
        Flow of each decision, from 0.
    t_us, rtt_us, rate_gbps : ndarray of float32, (n,)
        Time since the first flow's start, the RTT sample, the rate decided.
    fct_ms : ndarray of float32, (flows,)
        Flow completion times.
    queue_t_us, queue_kb : ndarray of float32, (m,)
        The bottleneck's queue over time, in 1000 bytes.
    """

    flow: NDArray[np.int16]
    t_us: Floats
    rtt_us: Floats
    rate_gbps: Floats
    fct_ms: Floats
    queue_t_us: Floats
    queue_kb: Floats


@dataclass(frozen=True)
class Prediction:
    """Prediction against truth.

    Parameters
    ----------
    t_us, truth_us, predicted_us : ndarray of float32, (n,)
        One flow over a short window: ``predicted_us[i]`` was made for ``truth_us[i]`` one round
        trip earlier.
    scatter_truth_us, scatter_predicted_us : ndarray of float32, (m,)
        A random subset of the test set (some thousands are enough).
    error_lstm, error_ar3, error_persistence : ndarray of float32, (k,)
        Signed relative errors in percent, test set.
    """

    t_us: Floats
    truth_us: Floats
    predicted_us: Floats
    scatter_truth_us: Floats
    scatter_predicted_us: Floats
    error_lstm: Floats
    error_ar3: Floats
    error_persistence: Floats


@dataclass(frozen=True)
class Training:
    """The training curve of the loaded model: loss or MAPE in percent per epoch."""

    epoch: Floats
    train: Floats
    test: Floats


@dataclass(frozen=True)
class Side:
    """The first pair of runs, prediction off or on; times since the incast's first start.

    Parameters
    ----------
    t_us, rtt_us : ndarray of float32, (n,)
        A sample of each flow, one a round trip.
    queue_t_us, queue_mb : ndarray of float32, (m,)
        The fullest queue before a receiver over time, in 10**6 bytes.
    """

    t_us: Floats
    rtt_us: Floats
    queue_t_us: Floats
    queue_mb: Floats


@dataclass(frozen=True)
class Series:
    """All curves.

    `off` and `on` are the same incast without prediction and with it.
    `predpid` is the run with the RTL in the loop, `pid` the same law without the predictor,
    `cdf` the RTT quantiles (at `CDF_P`, microseconds, one sample per round trip) by algorithm.
    """

    predpid: Run
    pid: Run
    off: Side
    on: Side
    prediction: Prediction
    training: Training
    cdf: dict[str, Floats]

    def save(self, directory: Path) -> Path:
        """Write ``series.npz`` into `directory` and return its path."""
        arrays: dict[str, NDArray[np.generic]] = {}
        for group in ("predpid", "pid", "off", "on", "prediction", "training"):
            value = getattr(self, group)
            for field in fields(value):
                kind = np.int16 if field.name == "flow" else np.float32
                arrays[f"{group}.{field.name}"] = np.asarray(getattr(value, field.name), kind)
        for name, curve in self.cdf.items():
            arrays[f"cdf.{name}"] = np.asarray(curve, np.float32)
        path = directory / SERIES_FILE
        packed = io.BytesIO()
        np.savez_compressed(packed, **arrays)  # type: ignore[arg-type]  # the stub's own keywords
        write_durably(path, packed.getvalue())
        return path

    @classmethod
    def load(cls, directory: Path) -> "Series":
        """The inverse of `save`.

        Raises
        ------
        ValueError
            An array is missing, or arrays that belong together differ in length.
        """
        # numpy leaves a file open that it could not read, so it is opened here.
        with (
            (directory / SERIES_FILE).open("rb") as raw,
            np.load(raw, allow_pickle=False) as file,
        ):
            arrays = {name: file[name] for name in file.files}
        cdf = {
            name.removeprefix("cdf."): value
            for name, value in arrays.items()
            if name.startswith("cdf.")
        }
        for name, value in cdf.items():
            if value.shape != CDF_P.shape:
                raise ValueError(f"cdf.{name} must have {CDF_P.size} quantiles, not {value.size}")
        return cls(
            predpid=_group(Run, "predpid", arrays),
            pid=_group(Run, "pid", arrays),
            off=_group(Side, "off", arrays),
            on=_group(Side, "on", arrays),
            prediction=_group(Prediction, "prediction", arrays),
            training=_group(Training, "training", arrays),
            cdf=cdf,
        )


# Arrays of one length, by the prefix of their names; the longest prefix wins.
_ALIGNED = ("fct_", "queue_", "scatter_", "error_lstm", "error_ar3", "error_persistence", "")


def _group(kind: type[G], group: str, arrays: dict[str, NDArray[np.generic]]) -> G:
    values: dict[str, NDArray[np.generic]] = {}
    lengths: dict[str, int] = {}
    for field in fields(kind):  # type: ignore[arg-type]
        key = f"{group}.{field.name}"
        if key not in arrays:
            raise ValueError(f"array {key} must be present, not missing")
        value = arrays[key]
        if value.ndim != 1 or value.size == 0:
            raise ValueError(f"array {key} must be a non-empty vector, not shape {value.shape}")
        prefix = next(p for p in _ALIGNED if field.name.startswith(p))
        if lengths.setdefault(prefix, value.size) != value.size:
            raise ValueError(f"array {key} must have {lengths[prefix]} entries, not {value.size}")
        values[field.name] = value
    return kind(**values)
