"""RTT samples of one run, as they come out of a simulation, a capture or a NIC's trace FIFO.

A trace is the hand-over point between measurement and training: integers in ticks, the
flow of each sample, and a card that says where they came from. A file holds any number of traces.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precog_spec.contract import Fmt

from .arrays import load_records, save_records

__all__ = ["Role", "RttTrace", "load_traces", "save_traces"]

_COLUMNS = {"flow": "int32", "t": "int64", "rtt": "int32"}
_HEADS = "heads"


class Role(StrEnum):
    """What a trace may be used for."""

    SPLIT = "split"  # train and test, divided by time blocks
    TRAIN = "train"  # training only
    TEST = "test"  # a scenario that is never trained on


@dataclass(frozen=True, eq=False)
class RttTrace:
    """RTT samples of every flow of one run, in the order in which they were completed.

    Parameters
    ----------
    flow : ndarray of int64, shape (n,)
        Flow of each sample.
    t : ndarray of int64, shape (n,)
        When each was completed, ticks, never decreasing.
    rtt : ndarray of int64, shape (n,)
        Round-trip times, ticks, >= 1.
    group : str
        The scenario under which errors are reported, for example ``"incast-20"``.
    law : str
        The rate law that ran, for example ``"pid"``.
    role : Role
        What the trace may be used for.
    card : dict
        Everything needed to make the run again (JSON data).
    tick_ps : int
        Length of a tick, ps.

    Raises
    ------
    ValueError
        Lengths differ, time runs backwards, or an RTT is outside the contract's format.
    """

    flow: NDArray[np.int64]
    t: NDArray[np.int64]
    rtt: NDArray[np.int64]
    group: str
    law: str
    role: Role
    card: dict[str, Any] = field(default_factory=dict)
    tick_ps: int = 1000

    def __post_init__(self) -> None:
        if not len(self.flow) == len(self.t) == len(self.rtt):
            lengths = (len(self.flow), len(self.t), len(self.rtt))
            raise ValueError(f"flow, t and rtt must have one length, not {lengths}")
        if len(self.rtt) and not 1 <= self.rtt.min() <= self.rtt.max() <= Fmt.RTT.max:
            raise ValueError(
                f"rtt must be in 1..{Fmt.RTT.max} ticks, not {self.rtt.min()}..{self.rtt.max()}"
            )
        if len(self.t) and (np.diff(self.t) < 0).any():
            raise ValueError("t must never decrease: samples come in the order of completion")
        if self.tick_ps < 1:
            raise ValueError(f"tick_ps must be positive, not {self.tick_ps!r}")


def save_traces(path: str | Path, traces: Sequence[RttTrace]) -> None:
    """Write traces to a compressed ``.npz`` file."""
    save_records(path, traces, _COLUMNS, _HEADS)


def load_traces(path: str | Path) -> list[RttTrace]:
    """Read what `save_traces` wrote.

    Raises
    ------
    ValueError
        The file is not one of traces.
    """

    def make(role: str, **fields: Any) -> RttTrace:
        return RttTrace(role=Role(role), **fields)

    return load_records(path, make, _COLUMNS, _HEADS, "RTT traces")
