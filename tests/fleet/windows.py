"""Telemetry of made-up queues: random numbers, or queues that fill and drain."""

from pathlib import Path

import numpy as np

from precog_fleet.telemetry import Observation, Telemetry
from precog_models.data.queue_trace import QueueTrace
from precog_models.data.windows import make_windows
from precog_models.forecast.forecaster import Forecaster
from precog_models.image import Image
from precog_spec.contract import PROBABILITY

from .support import NOW

__all__ = ["observation", "telemetry", "traffic"]

_RTT = 5000  # ticks


def observation(
    rng: np.random.Generator,
    *,
    t: int = NOW,
    device: str = "emu0",
    qp: int = 0,
    destination: str = "",
    model: int = 0x1234_5678,
) -> Observation:
    """Random numbers in their ranges; a distribution if a model ran."""
    shares = rng.dirichlet(np.ones(16)) if model else np.zeros(16)
    predicted = np.floor(shares * PROBABILITY.one).astype(np.int64)
    if model:
        predicted[-1] += PROBABILITY.one - predicted.sum()
    return Observation(
        t=t,
        device=device,
        qp=qp,
        destination=destination,
        set=3 if model else 0,
        version=7 if model else 0,
        model=model,
        signals=rng.integers(0, 1 << 20, (8, 4)),
        predicted=predicted,
        later=rng.integers(0, 1 << 20, 2),
        highest=rng.integers(0, 1 << 20, 2),
    )


def traffic(seed: int, *, queues: int = 2, samples: int = 600, spacing: int = 500) -> QueueTrace:
    """Queues that bursts of packets fill and a link of steady rate drains, a packet in 1000 ticks.

    Parameters
    ----------
    spacing : int
        Mean ticks between packets of a burst.
    """
    rng = np.random.default_rng(seed)
    end = samples * _RTT
    changes: list[tuple[int, int, int]] = []
    for queue in range(queues):
        t = int(rng.integers(1, 10 * _RTT))
        free = 0
        while t < end:
            for _ in range(int(rng.uniform(6, 14) * _RTT / spacing)):
                changes.append((t, queue, 4096))
                free = max(free, t) + 1000
                changes.append((free, queue, -4096))
                t += int(rng.integers(spacing * 4 // 5, spacing * 6 // 5))
            t += int(rng.uniform(8, 16) * _RTT)
    changes = sorted(change for change in changes if change[0] < end)
    t_, queue_, size_ = (np.array(column, dtype=np.int64) for column in zip(*changes, strict=True))
    return QueueTrace(queue_, t_, size_, queues, _RTT, end, "made up", "none")


def telemetry(
    folder: Path,
    origin: str,
    seed: int,
    *,
    model: Image | None = None,
    spacing: int = 500,
    start: int = NOW,
    samples: int = 600,
) -> int:
    """Write the parts of an agent whose queues carry `traffic`, a window a millisecond; rows."""
    windows = make_windows([traffic(seed, spacing=spacing, samples=samples)], stride=3)
    order = np.argsort(windows.block, kind="stable")
    windows = windows.select(order)
    forecasts = np.zeros((len(windows), 16), dtype=np.int64)
    if model is not None:
        forecasts = Forecaster(model).distributions(windows.signals)
    rows = [
        Observation(
            t=start + n,
            device="emu0",
            qp=int(windows.queue[n]),
            destination=f"10.0.0.{windows.queue[n]}",
            set=1,
            version=1,
            model=0 if model is None else model.crc32,
            signals=windows.signals[n],
            predicted=forecasts[n],
            later=windows.later[n],
            highest=windows.highest[n],
        )
        for n in range(len(windows))
    ]
    writer = Telemetry(folder, origin, rows=100)
    writer.add(rows, start)
    writer.close(start)
    return len(rows)
