"""What a NIC knows of a destination when a flow starts: windows of the engine's inputs.

Steps and inputs are those of `precog_models.forecast.starts`, which hosts use, too. Here a flow is
told a level with its first 64 KB.
"""

from collections import defaultdict
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from precog_models.forecast.starts import INPUTS, STEPS, Start, row
from precog_net.workloads import Traffic
from precog_spec.contract import MAX_INPUTS

__all__ = ["known", "windows"]

_PS_PER_US = 1e6

_Ints = NDArray[np.int64]


def known(traffic: Traffic, heard: _Ints, heard_us: NDArray[np.float64]) -> _Ints:
    """Level that each flow's NIC has heard of the flow before to the same destination, when it
    starts; 0: nothing yet."""
    found = np.zeros(len(traffic), dtype=np.int64)
    for flows in _pairs(traffic):
        for before, f in pairwise(flows):
            if heard_us[before] * _PS_PER_US <= traffic.start_ps[f]:
                found[f] = heard[before]
    return found


def _pairs(traffic: Traffic) -> list[list[int]]:
    """Flows by source and destination, by their starts."""
    pairs: dict[tuple[int, int], list[int]] = defaultdict(list)
    for f in np.argsort(traffic.start_ps, kind="stable").tolist():
        if not traffic.waits[f]:
            pairs[int(traffic.src[f]), int(traffic.dst[f])].append(f)
    return list(pairs.values())


def windows(traffic: Traffic, told: _Ints) -> _Ints:
    """Windows [n, STEPS, 8] of all flows, oldest step first; `told` as `known` has it.

    Steps before a NIC's first start to a destination are zero, as are flows that wait for others.
    """
    starts = [
        Start(*values)
        for values in zip(
            traffic.start_ps.tolist(), traffic.size.tolist(), told.tolist(), strict=True
        )
    ]
    found = np.zeros((len(traffic), STEPS, MAX_INPUTS), dtype=np.int64)
    for flows in _pairs(traffic):
        mine = [None, *(starts[f] for f in flows)]
        rows = np.array([row(now, before) for before, now in pairwise(mine) if now is not None])
        for place, f in enumerate(flows):
            steps = rows[max(place - STEPS + 1, 0) : place + 1]
            found[f, STEPS - len(steps) :, :INPUTS] = steps
    return found
