"""Where everything of the golden NIC lies in its block of int64.

    sizes ─ parameters ─ scratch ─ queue pairs ─ slots ─ sets ─ law engine ─ profiler

A queue pair's row begins with its configuration; from `Q_FEATURE` on it is state, which a reset
zeroes.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from precog_spec.contract import (
    CALIBRATION_KNOTS,
    HIDDEN,
    MAX_INPUTS,
    MAX_OUTPUTS,
    MAX_STEPS,
    PROFILE_INPUTS,
    TREE_DEPTH,
    Flag,
    HeadKind,
)
from precog_spec.law_fields import (
    PSCHED_CONFIG,
    PSCHED_PARAMETERS,
)
from precog_spec.trial_fields import TRIAL_KINDS, TRIAL_PARAMETERS, TRIAL_STATE

from ..jit import njit
from ..measure.base_rtt import BASE_STATE
from ..measure.feature import FEATURE_STATE
from ..measure.profiler import PROFILE_STATE
from ..predict.forecast import FORECAST_CONFIG, FORECAST_PARAMETERS, FORECAST_SCORES
from ..rate.psched import PSCHED_STATE
from ..rate.unit import QP_CONFIG, RATE_PARAMETERS, RATE_STATE

#: Parameters shared by all queue pairs, in the block's order. `sigma` has SIGMA's format,
#: `base_window` is in ticks; `rate.unit`, `law_fields` and `trial_fields` have the others.
PARAMETERS = (
    *("sigma", "base_window"),
    *RATE_PARAMETERS,
    *(name for name, _ in PSCHED_PARAMETERS),
    *(name for name, _ in TRIAL_PARAMETERS),
)

#: `decide` and `happen` return it for a sample or an event that makes no decision.
DROPPED = -1

Ints = NDArray[np.int64]

# --- the block: sizes, parameters, scratch, queue pairs, slots, sets, profiler --------------------
QPS, SETS, BLOCK_SIZE, LOGGED, FORECAST, ENGINE = range(6)  # `ENGINE`: its place; 0: none
HEAD_WORDS = 6
SIGMA = HEAD_WORDS + PARAMETERS.index("sigma")
BASE_WINDOW = HEAD_WORDS + PARAMETERS.index("base_window")
RATE_AT = HEAD_WORDS + PARAMETERS.index(RATE_PARAMETERS[0])
ADVICE_HOLD = HEAD_WORDS + PARAMETERS.index("advice_hold")
PSCHED = RATE_AT + len(RATE_PARAMETERS)
TRIALS = PSCHED + len(PSCHED_PARAMETERS)
MTU = HEAD_WORDS + PARAMETERS.index("mtu")
SLA = HEAD_WORDS + len(PARAMETERS)  # scratch
INPUTS = SLA + len(PSCHED_CONFIG)  # the LSTM's inputs and outputs
OUTPUTS = INPUTS + MAX_STEPS * MAX_INPUTS
KNOTS = OUTPUTS + MAX_OUTPUTS  # calibration tables, by `HeadKind`
FORECASTING = KNOTS + len(HeadKind) * CALIBRATION_KNOTS
RTT_TRIAL = FORECASTING + len(FORECAST_PARAMETERS)  # what trials keep
SCORE_TRIAL = RTT_TRIAL + len(TRIAL_STATE)
QP_TABLE = RTT_TRIAL + len(TRIAL_KINDS) * len(TRIAL_STATE)
KNOTS_RTT, KNOTS_QUEUE = (KNOTS + kind * CALIBRATION_KNOTS for kind in HeadKind)

# One queue pair; from `Q_FEATURE` on it is state, which a reset zeroes.
Q_FORECAST_CONFIG = len(QP_CONFIG)
Q_FEATURE = Q_FORECAST_CONFIG + len(FORECAST_CONFIG)
Q_BASE = Q_FEATURE + len(FEATURE_STATE)
Q_RATE = Q_BASE + len(BASE_STATE)
Q_HISTORY = Q_RATE + len(RATE_STATE)  # K, the newest last
Q_PSCHED = Q_HISTORY + MAX_STEPS
Q_PROFILES = Q_PSCHED + len(PSCHED_STATE)  # the newest last
Q_SCORES = Q_PROFILES + MAX_STEPS * len(PROFILE_INPUTS)
QP_SIZE = Q_SCORES + len(FORECAST_SCORES)
Q_QUEUE_ENABLE = Q_FORECAST_CONFIG + FORECAST_CONFIG.index("queue_enable")
Q_QUEUE_SLOT = Q_FORECAST_CONFIG + FORECAST_CONFIG.index("queue_slot")
Q_PSCHED_ON = QP_CONFIG.index("psched")
Q_WIN = QP_CONFIG.index("win")
Q_INIT_RATE = QP_CONFIG.index("init_rate")
Q_ENABLE = QP_CONFIG.index("enable")
Q_ALGORITHM = QP_CONFIG.index("algorithm")
Q_MODEL_ENABLE = QP_CONFIG.index("model_enable")
Q_MODEL_SLOT = QP_CONFIG.index("model_slot")

RTT_KIND, QUEUE_KIND = int(HeadKind.RTT), int(HeadKind.QUEUE)
PROFILES = len(PROFILE_INPUTS)
OF_EVENT = 1 << Flag.EVENT
LATE = 1 << Flag.LATE
HELD = 1 << Flag.HELD

SLOT_SET, SLOT_ENABLE, SLOT_SIZE = 0, 1, 2

# One set: header, then the tensors of `LstmWeights`.
S_VALID, S_STEPS, S_OUTPUTS, S_VERSION, S_KIND = range(5)
GATES = 4 * HIDDEN
TENSORS = (
    ("wh", (GATES, HIDDEN)),
    ("wx", (GATES, MAX_INPUTS)),
    ("b", (GATES,)),
    ("sh_h", (GATES,)),
    ("sh_x", (GATES,)),
    ("wl", (MAX_OUTPUTS, HIDDEN)),
    ("bl", (MAX_OUTPUTS,)),
    ("sh_l", (MAX_OUTPUTS,)),
)
WEIGHTS = S_KIND + 1
INPUT_WEIGHTS = WEIGHTS + GATES * HIDDEN
BIAS = INPUT_WEIGHTS + GATES * MAX_INPUTS
SH_H = BIAS + GATES
SH_X = SH_H + GATES
HEAD_WEIGHTS = SH_X + GATES
HEAD_BIAS = HEAD_WEIGHTS + MAX_OUTPUTS * HIDDEN
SH_L = HEAD_BIAS + MAX_OUTPUTS
SET_SIZE = SH_L + MAX_OUTPUTS

# A tree's numbers in the tensors' place, for NICs whose `FORECAST` is `TREES`.
TREES = 2
T_DEPTH = WEIGHTS
T_SOURCE = T_DEPTH + 1
T_THRESHOLD = T_SOURCE + (1 << TREE_DEPTH)
T_LEAVES = T_THRESHOLD + (1 << TREE_DEPTH)

# The profiler's numbers, then its rows, for `nic_queues`.
_PROFILER = ("period", *(f"{n}{k}" for n in ("center", "gain") for k in range(PROFILES)))


def block_size(qps: int, sets: int) -> int:
    """Words of a block without law engine and profiler."""
    return QP_TABLE + qps * QP_SIZE + sets * (SLOT_SIZE + SET_SIZE)


def profiler_size(qps: int) -> int:
    """Words of the profiler."""
    return len(_PROFILER) + qps * len(PROFILE_STATE)


@njit
def queues_of(block: Ints) -> tuple[Ints, Ints]:
    """The profiler's period, centers and gains, and its rows [qps, n]; of a block that has one."""
    numbers = len(_PROFILER)
    size = numbers + block[QPS] * len(PROFILE_STATE)
    part = block[block[BLOCK_SIZE] - size : block[BLOCK_SIZE]]
    return part[:numbers], part[numbers:].reshape(block[QPS], len(PROFILE_STATE))


def store(row: Ints, names: Sequence[str], values: Mapping[str, int], noun: str) -> None:
    """Set the values of a row whose words are `names`.

    Raises
    ------
    ValueError
        A name is unknown.
    """
    for name, value in values.items():
        if name not in names:
            raise ValueError(f"{noun} must be one of {', '.join(names)}, not {name!r}")
        row[names.index(name)] = value
