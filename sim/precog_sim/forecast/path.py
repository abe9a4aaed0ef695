"""The other target of the score: the path's queueing delay, from RTT samples and the rtt model.

The event is that the next sample's queueing delay exceeds a budget of one base RTT. The position
that enters the table comes from the predicted RTT, or, as the reference, from the last one.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from precog_models.data.pairs import SIGMA
from precog_models.data.queue_trace import QueueTrace
from precog_models.data.windows import BLOCKS
from precog_models.image import Image
from precog_models.measure.feature import feature_stream
from precog_models.predict.cps import rtt_positions
from precog_models.predict.lstm import forward_windows
from precog_models.predict.rtt_head import rtt_pred
from precog_sim.network import Result
from precog_spec.contract import MAX_INPUTS, Fmt

__all__ = ["PathSamples", "path_samples"]

Ints = NDArray[np.int64]
_LEAST = 8  # samples of a flow


@dataclass(frozen=True, eq=False)
class PathSamples:
    """One row an RTT sample that has a next one.

    Parameters
    ----------
    predicted, last : ndarray of int64
        Positions 0..32768 of the score's table.
    event : ndarray of bool
        The next sample's queueing delay exceeds the budget.
    block : ndarray of int64
        Block of time, unique over runs.
    """

    predicted: Ints
    last: Ints
    event: NDArray[np.bool_]
    block: Ints

    @classmethod
    def concatenate(cls, parts: list["PathSamples"]) -> "PathSamples":
        """All of them."""
        return cls(
            np.concatenate([p.predicted for p in parts]),
            np.concatenate([p.last for p in parts]),
            np.concatenate([p.event for p in parts]),
            np.concatenate([p.block for p in parts]),
        )


def path_samples(image: Image, trace: QueueTrace, result: Result, run: int) -> PathSamples:
    """Positions and events of one run; a window and its label share no sample with the next.

    Parameters
    ----------
    image : Image
        An `rtt` head of one input.
    trace : QueueTrace
        Has the base RTT and the length of the run.
    result : Result
        Has its RTT samples.
    run : int
        Index of the run.
    """
    steps = image.weights.steps
    base_rtt = trace.base_rtt
    flow = result.sample_flow
    rtt = (result.sample_rtt_ps + 500) // 1000
    block = (result.sample_t_us * 1e3 / trace.end * BLOCKS).astype(np.int64).clip(max=BLOCKS - 1)
    empty = np.zeros(0, dtype=np.int64)
    parts = [PathSamples(empty, empty, empty.astype(bool), empty)]
    for f in np.unique(flow):
        mine = np.flatnonzero(flow == f)
        if len(mine) < _LEAST:
            continue
        samples = rtt[mine]
        srtt, k = feature_stream(samples, Fmt.SIGMA.from_float(SIGMA))
        at = np.arange(steps - 1, len(mine) - 1, steps + 1)
        x = np.zeros((len(at), steps, MAX_INPUTS), dtype=np.int64)
        x[:, :, 0] = k[at[:, None] + np.arange(1 - steps, 1)]
        out = forward_windows(image.weights, x)[:, 0]
        predicted = np.array([rtt_pred(s, o) for s, o in zip(srtt[at], out, strict=True)])
        base = np.full(len(at), base_rtt)
        last = samples[at] << Fmt.SRTT.frac_bits
        parts.append(
            PathSamples(
                predicted=rtt_positions(predicted, base, base_rtt),
                last=rtt_positions(np.minimum(last, Fmt.SRTT.max), base, base_rtt),
                event=samples[at + 1] > 2 * base_rtt,
                block=run * BLOCKS + block[mine][at],
            )
        )
    return PathSamples.concatenate(parts)
