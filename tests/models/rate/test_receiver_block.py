"""The receiver as a C function = `Receiver`, event for event."""

import ctypes
import random

import numpy as np

from precog_models.rate.receiver import Receiver
from precog_models.rate.receiver_block import ReceiverBlock
from precog_spec.law_fields import NO_SCORE
from precog_spec.receiver_fields import RECEIVER_RESULT, Act, ReceiverKind

_PARAMETERS = {
    **{"high": 75, "low": 25, "hysteresis": 5, "ticks": 400},
    **{"rate": 1, "priority": 1, "quota": 1, "boost": 2, "shift": 1, "limit": 100},
}
_CONFIG = {"commands": 1, "boosts": 1, "grows": 1, "base_quota": 64}
_QPS = 3


def test_every_event_has_the_same_result(seed: int) -> None:
    rng = random.Random(seed)
    block, golden = ReceiverBlock(_QPS, _PARAMETERS, _CONFIG), Receiver(_QPS)
    golden.parameters = _PARAMETERS.copy()
    for qp in range(_QPS):
        golden.configure(qp, _CONFIG, 0)
    call = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 3)(ReceiverBlock.ADDRESS)
    result = np.zeros(len(RECEIVER_RESULT), dtype=np.int64)
    t = acts = 0
    for _ in range(3000):
        t += rng.choice([1, 50, 50, 450])
        kind = rng.choice([ReceiverKind.SCORE, ReceiverKind.SCORE, ReceiverKind.VISIT])
        score = rng.choice([rng.randrange(101), rng.randrange(101), NO_SCORE])
        event = np.array([kind, rng.randrange(_QPS), t, score, rng.randrange(2)], dtype=np.int64)
        assert call(block.handle, event.ctypes.data, result.ctypes.data) == 0
        expected = golden.happen(*event.tolist())
        assert dict(zip(expected, result.tolist(), strict=True)) == expected
        acts |= expected["acts"]
    assert acts == sum(Act)  # each of them happens
    event[1] = _QPS
    assert call(block.handle, event.ctypes.data, result.ctypes.data) == -1
