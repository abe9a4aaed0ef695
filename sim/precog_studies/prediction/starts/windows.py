"""What a NIC knows of a destination when a flow starts: windows of the engine's inputs.

A step is a start to that destination by that NIC; the last step is the flow that starts now. Inputs
of a step: the time since the start before, the size, the level that the flow before was told with
its first 64 KB, and the size over that of the flow before.
"""

from collections import defaultdict
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from precog_net.workloads import Traffic
from precog_spec.contract import MAX_INPUTS, Fmt

__all__ = ["BINS", "INPUTS", "LEVEL", "LEVEL_ONE", "STEPS", "known", "windows"]

STEPS = 8
BINS = 8  #: levels 0..7
INPUTS = 4
_PS_PER_US = 1e6
_LONG_US = 16384.0
_SPAN = 2  # levels and binary logarithms are halved to fit the inputs' format
LEVEL = 2  #: the input that is a level
LEVEL_ONE = Fmt.X.one // _SPAN  #: a level of 1 there

_Ints = NDArray[np.int64]


def _engine(values: NDArray[np.float64]) -> _Ints:
    exact = np.floor(values * Fmt.X.one + 0.5)
    return np.clip(exact, Fmt.X.min, Fmt.X.max).astype(np.int64)


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
    steps = np.zeros((len(traffic), INPUTS))
    before: dict[int, int] = {}
    for flows in _pairs(traffic):
        before.update((f, last) for last, f in pairwise(flows))
    for f in range(len(traffic)):
        last = before.get(f)
        gap = _LONG_US if last is None else (traffic.start_ps[f] - traffic.start_ps[last]) * 1e-6
        ratio = 1.0 if last is None else traffic.size[f] / traffic.size[last]
        steps[f] = (
            np.log2(np.clip(gap, 1.0, _LONG_US)) - 7.0,
            np.log2(max(traffic.size[f], 1.0) / 65536.0),
            told[f],
            np.log2(ratio),
        )
    rows = _engine(steps / _SPAN)
    found = np.zeros((len(traffic), STEPS, MAX_INPUTS), dtype=np.int64)
    for flows in _pairs(traffic):
        for place, f in enumerate(flows):
            mine = flows[max(place - STEPS + 1, 0) : place + 1]
            found[f, STEPS - len(mine) :, :INPUTS] = rows[mine]
    return found
