"""The golden NIC core: what the RTL core decides, sample by sample, in exact integers.

    sample ─► feature, base RTT ─► LSTM over the last T features ─► rate unit ─┬─► PSCHED ─► out
                                                                      └► law ──┘     ▲
    event (congestion notification, bytes, time, score) ─────────────────┘───────────┘
    profile ─► LSTM over the last T profiles, or a tree ─► `predict.forecast` ─► score ─► event
                                                                                (`take_score`)

Queue pairs whose law is a program take rate and window from the law engine, after samples, events
and acknowledgements; PSCHED does not move them. Those of TIMELY and DCQCN take their rate from
the law's unit, those of DCQCN after events too; the rate unit has the others. PSCHED moves the
output of those that ask for it.

All of it lives in one block of int64, so that compiled code can run it through a bare pointer:
`GoldenNic.decide_address` is a C function ``int64 decide(void* block, int64* sample, int64*
decision)`` of the same type as the Verilated RTL's, `GoldenNic.event_address` one for events, and
`GoldenNic.handle` is their first argument.

Time inside the gateware is none of its affairs. What depends on it is told by the flags that a
decision bears, `Flag.LATE` and `Flag.HELD`: who replays decisions writes those of the next one to
``block[LOGGED]`` before it is made; else it is 0.

What a queue pair remembers
---------------------------
Every decided sample's feature enters the history, whether or not there is a live model (a slot that
is named and enabled, and its set valid): a new model on a queue pair starts from the inputs that
are there. A reset of the queue pair zeroes everything but its configuration.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numba import carray, types
from numpy.typing import NDArray

from precog_spec.contract import (
    CALIBRATION_KNOTS,
    FORECAST_FIELDS,
    HIDDEN,
    MAX_INPUTS,
    MAX_OUTPUTS,
    MAX_STEPS,
    PROFILE_FIELDS,
    PROFILE_INPUTS,
    PROGRAM_ALGORITHM,
    TREE_DEPTH,
    Algorithm,
    Flag,
    HeadKind,
)
from precog_spec.engine.events import EVENT_FIELDS as PROGRAM_WORDS
from precog_spec.engine.events import Kind
from precog_spec.law_fields import (
    ACK_FIELDS,
    DCQCN_PARAMETERS,
    DECAY_BITS,
    DECAY_LEVELS,
    EVENT_FIELDS,
    LAW_CONFIG,
    LAW_EVENT_FIELDS,
    LAW_EVENTS,
    LAW_PARAMETERS,
    NO_SCORE,
    PSCHED_CONFIG,
    PSCHED_EVENTS,
    PSCHED_PARAMETERS,
    SCORE_BITS,
    TIMELY_PARAMETERS,
    EventKind,
)

from .jit import cfunc, njit
from .measure.base_rtt import BASE_STATE, base_step
from .measure.feature import FEATURE_STATE, feature_step
from .measure.profiler import PROFILE_STATE
from .predict.cps import check_knots, identity_knots
from .predict.forecast import (
    FORECAST_CONFIG,
    FORECAST_PARAMETERS,
    FORECAST_SCORES,
    P_AT,
    forecast_answer,
    forecast_none,
    forecast_scored,
    rtt_told,
    score_to_tell,
)
from .predict.lstm import LstmWeights, forward
from .predict.rtt_head import rtt_pred
from .predict.tree import tree_leaf
from .predict.tree_model import TreeModel, read_image
from .rate.engine.unit import EngineUnit, engine_event, engine_size
from .rate.fractions import decay_table
from .rate.law_unit import LAW_ROW, law_event
from .rate.psched import (
    PSCHED_STATE,
    psched_configure,
    psched_keep,
    psched_output,
    psched_reset,
    psched_score,
)
from .rate.unit import QP_CONFIG, RATE_PARAMETERS, RATE_STATE, rate_step

__all__ = [
    "DROPPED",
    "LOGGED",
    "PARAMETERS",
    "Decision",
    "GoldenNic",
    "acknowledge",
    "decide",
    "forecast",
    "happen",
    "queues_of",
    "take_score",
]

#: Parameters shared by all queue pairs, in the block's order. `sigma` has SIGMA's format,
#: `base_window` is in ticks; `rate.unit` and `rate.law_fields` have the others.
PARAMETERS = (
    *("sigma", "base_window"),
    *RATE_PARAMETERS,
    *(name for name, _ in LAW_PARAMETERS),
    *(name for name, _ in PSCHED_PARAMETERS),
)

#: `decide` and `happen` return it for a sample or an event that makes no decision.
DROPPED = -1

Ints = NDArray[np.int64]


class Decision(NamedTuple):
    """`contract.DECISION_FIELDS` by name."""

    qp: int
    rate: int
    window: int
    rtt_pred: int
    target: int
    base: int
    srtt: int
    flags: int


# --- the block: sizes, parameters, scratch, queue pairs, slots, sets, profiler --------------------
_QPS, _SETS, _SIZE, LOGGED, _FORECAST, _ENGINE = range(6)  # `_ENGINE`: its place; 0: none
_PARAMETERS = 6
_SIGMA = _PARAMETERS + PARAMETERS.index("sigma")
_BASE_WINDOW = _PARAMETERS + PARAMETERS.index("base_window")
_RATE_PARAMETERS = _PARAMETERS + PARAMETERS.index(RATE_PARAMETERS[0])
_ADVICE_HOLD = _PARAMETERS + PARAMETERS.index("advice_hold")
_TIMELY = _RATE_PARAMETERS + len(RATE_PARAMETERS)
_DCQCN = _TIMELY + len(TIMELY_PARAMETERS)
_PSCHED = _DCQCN + len(DCQCN_PARAMETERS)
_MTU = _PARAMETERS + PARAMETERS.index("mtu")
_DECAY = _PARAMETERS + len(PARAMETERS)  # powers of 1 - g, from the parameters
_DIGITS = 1 << DECAY_BITS
_EVENT = _DECAY + DECAY_LEVELS * _DIGITS  # scratch
_SLA = _EVENT + len(EVENT_FIELDS)
_WINDOW = _SLA + len(PSCHED_CONFIG)  # the LSTM's inputs and outputs
_OUT = _WINDOW + MAX_STEPS * MAX_INPUTS
_KNOTS = _OUT + MAX_OUTPUTS  # calibration tables, by `HeadKind`
_FORECASTING = _KNOTS + len(HeadKind) * CALIBRATION_KNOTS
_QP_TABLE = _FORECASTING + len(FORECAST_PARAMETERS)
_KNOTS_RTT, _KNOTS_QUEUE = (_KNOTS + kind * CALIBRATION_KNOTS for kind in HeadKind)

# One queue pair; from `_Q_FEATURE` on it is state, which a reset zeroes.
_Q_FORECAST_CONFIG = len(QP_CONFIG)
_Q_LAW_CONFIG = _Q_FORECAST_CONFIG + len(FORECAST_CONFIG)
_Q_LAW = _Q_LAW_CONFIG + len(LAW_CONFIG)
_Q_FEATURE = _Q_LAW + len(LAW_ROW)
_Q_BASE = _Q_FEATURE + len(FEATURE_STATE)
_Q_RATE = _Q_BASE + len(BASE_STATE)
_Q_HISTORY = _Q_RATE + len(RATE_STATE)  # K, the newest last
_Q_PSCHED = _Q_HISTORY + MAX_STEPS
_Q_PROFILES = _Q_PSCHED + len(PSCHED_STATE)  # the newest last
_Q_SCORES = _Q_PROFILES + MAX_STEPS * len(PROFILE_INPUTS)
_QP_SIZE = _Q_SCORES + len(FORECAST_SCORES)
_Q_QUEUE_ENABLE = _Q_FORECAST_CONFIG + FORECAST_CONFIG.index("queue_enable")
_Q_QUEUE_SLOT = _Q_FORECAST_CONFIG + FORECAST_CONFIG.index("queue_slot")
_Q_PSCHED_ON = QP_CONFIG.index("psched")
_Q_WIN = QP_CONFIG.index("win")
_Q_INIT_RATE = QP_CONFIG.index("init_rate")
_PSCHED_CONFIG_AT = tuple(QP_CONFIG.index(name) for name in PSCHED_CONFIG)
_Q_ENABLE = QP_CONFIG.index("enable")
_Q_ALGORITHM = QP_CONFIG.index("algorithm")
_Q_MODEL_ENABLE = QP_CONFIG.index("model_enable")
_Q_MODEL_SLOT = QP_CONFIG.index("model_slot")

#: The law's configuration among the queue pair's, and the laws that have a unit.
_LAW_CONFIG_AT = tuple(
    QP_CONFIG.index({"law": "algorithm"}.get(name, name)) for name, _ in LAW_CONFIG
)
_LAWS = (int(Algorithm.TIMELY), int(Algorithm.DCQCN))
_EVENTS = tuple(int(kind) for kind in LAW_EVENTS)
_PSCHED_EVENTS = tuple(int(kind) for kind in PSCHED_EVENTS)
_SCORE_EVENT = int(EventKind.SCORE)
_UNSKILLED = 1 << Flag.UNSKILLED
_RTT_KIND, _QUEUE_KIND = int(HeadKind.RTT), int(HeadKind.QUEUE)
_PROFILES = len(PROFILE_INPUTS)
_RTT_EVENT = int(EventKind.RTT)
_OF_EVENT = 1 << Flag.EVENT
_LATE = 1 << Flag.LATE
_HELD = 1 << Flag.HELD

# Words of a program's event, and what programs hear of each `EventKind`; -1: nothing.
_PROGRAM_WORDS, _ACK_SIZE = len(PROGRAM_WORDS), len(ACK_FIELDS)
_ENGINE_BASE = engine_size(0)
_ENGINE_ROW = engine_size(1) - _ENGINE_BASE
(_W_NOW, _W_RTT, _W_NEXT, _W_SCORE, _W_BASE, _W_MTU, _W_PREDICTED, _W_HELD, _W_PREDICTION) = (
    [name for name, _, _ in PROGRAM_WORDS].index(name)
    for name in ("now", "rtt", "next", "score", "base", "mtu", "predicted", "held", "prediction")
)
_HEARD_OF = {
    EventKind.CNP: Kind.CNP,
    EventKind.LOSS: Kind.LOSS,
    EventKind.SWEEP: Kind.TIMER,
    EventKind.SCORE: Kind.SCORE,
}
_HEARD = tuple(int(_HEARD_OF.get(kind, -1)) for kind in EventKind)
_ACK_KIND, _SAMPLE_KIND = int(Kind.ACK), int(Kind.SAMPLE)
_SCORE_MASK = (1 << SCORE_BITS) - 1

_SLOT_SET, _SLOT_ENABLE, _SLOT_SIZE = 0, 1, 2

# One set: header, then the tensors of `LstmWeights`.
_S_VALID, _S_STEPS, _S_OUTPUTS, _S_VERSION, _S_KIND = range(5)
_GATES = 4 * HIDDEN
_TENSORS = (
    ("wh", (_GATES, HIDDEN)),
    ("wx", (_GATES, MAX_INPUTS)),
    ("b", (_GATES,)),
    ("sh_h", (_GATES,)),
    ("sh_x", (_GATES,)),
    ("wl", (MAX_OUTPUTS, HIDDEN)),
    ("bl", (MAX_OUTPUTS,)),
    ("sh_l", (MAX_OUTPUTS,)),
)
_WH = _S_KIND + 1
_WX = _WH + _GATES * HIDDEN
_B = _WX + _GATES * MAX_INPUTS
_SH_H = _B + _GATES
_SH_X = _SH_H + _GATES
_WL = _SH_X + _GATES
_BL = _WL + MAX_OUTPUTS * HIDDEN
_SH_L = _BL + MAX_OUTPUTS
_SET_SIZE = _SH_L + MAX_OUTPUTS

# A tree's numbers in the tensors' place, for NICs whose `_FORECAST` is `_TREES`.
_TREES = 2
_T_DEPTH = _WH
_T_SOURCE = _T_DEPTH + 1
_T_THRESHOLD = _T_SOURCE + (1 << TREE_DEPTH)
_T_LEAVES = _T_THRESHOLD + (1 << TREE_DEPTH)


# The profiler's numbers, then its rows; `nic_queues` is what uses them.
_PROFILER = ("period", *(f"{n}{k}" for n in ("center", "gain") for k in range(_PROFILES)))


def _block_size(qps: int, sets: int) -> int:
    return _QP_TABLE + qps * _QP_SIZE + sets * (_SLOT_SIZE + _SET_SIZE)


def _profiler_size(qps: int) -> int:
    return len(_PROFILER) + qps * len(PROFILE_STATE)


@njit
def queues_of(block: Ints) -> tuple[Ints, Ints]:
    """The profiler's period, centers and gains, and its rows [qps, n]; of a block that has one."""
    numbers = len(_PROFILER)
    size = numbers + block[_QPS] * len(PROFILE_STATE)
    part = block[block[_SIZE] - size : block[_SIZE]]
    return part[:numbers], part[numbers:].reshape(block[_QPS], len(PROFILE_STATE))


@njit
def _model(block: Ints, enable: int, slot: int, kind: int) -> int:
    """Where the set begins that a queue pair's `slot` stands for; -1 without a valid model.

    With forecasts the model's head must be of `kind`.
    """
    if not enable or slot >= block[_SETS]:
        return -1
    slots = _QP_TABLE + block[_QPS] * _QP_SIZE
    at = slots + slot * _SLOT_SIZE
    enabled, number = block[at + _SLOT_ENABLE], block[at + _SLOT_SET]
    at = slots + block[_SETS] * _SLOT_SIZE + number * _SET_SIZE
    if not enabled or not block[at + _S_VALID]:
        return -1
    if block[_FORECAST] and block[at + _S_KIND] != kind:
        return -1
    return int(at)


@njit
def _predict(block: Ints, history: Ints, model: Ints) -> None:
    """Run `model` over the history [8, inputs]; the outputs are at ``block[_OUT:]``."""
    steps, inputs = model[_S_STEPS], history.shape[1]
    x = block[_WINDOW:_OUT].reshape(MAX_STEPS, MAX_INPUTS)
    for step in range(steps):
        x[step, :inputs] = history[MAX_STEPS - steps + step]
        x[step, inputs:] = 0
    forward(
        model[_WH:_WX].reshape(_GATES, HIDDEN),
        model[_WX:_B].reshape(_GATES, MAX_INPUTS),
        model[_B:_SH_H],
        model[_SH_H:_SH_X],
        model[_SH_X:_WL],
        model[_WL:_BL].reshape(MAX_OUTPUTS, HIDDEN),
        model[_BL:_SH_L],
        model[_SH_L:_SET_SIZE],
        x,
        steps,
        model[_S_OUTPUTS],
        block[_OUT:_KNOTS],
    )


@njit
def _descend(history: Ints, model: Ints, p: Ints) -> None:
    """The distribution `p` that the tree `model` has for the history [8, inputs]."""
    depth = model[_T_DEPTH]
    nodes = (1 << depth) - 1
    source = model[_T_SOURCE : _T_SOURCE + nodes]
    leaf = tree_leaf(source, model[_T_THRESHOLD : _T_THRESHOLD + nodes], depth, history)
    p[:] = model[_T_LEAVES + leaf * MAX_OUTPUTS : _T_LEAVES + (leaf + 1) * MAX_OUTPUTS]


@njit
def _takes_events(q: Ints) -> bool:
    """The queue pair runs a law that `rate.law_unit` has."""
    return q[_Q_ALGORITHM] in _LAWS


@njit
def _law(block: Ints, q: Ints, kind: int, qp: int, t: int, value: int) -> int:
    """The rate after an event."""
    event = block[_EVENT:_SLA]
    event[0], event[1], event[2], event[3] = kind, qp, t, value
    for n, name in enumerate(_LAW_CONFIG_AT):
        event[len(LAW_EVENT_FIELDS) + n] = q[name]
    table = block[_DECAY:_EVENT].reshape(DECAY_LEVELS, _DIGITS)
    rate, _ = law_event(
        q[_Q_LAW:_Q_FEATURE],
        q[_Q_LAW_CONFIG:_Q_LAW],
        block[_TIMELY:_DCQCN],
        block[_DCQCN:_PSCHED],
        table,
        event,
    )
    return int(rate)


@njit
def _programmed(block: Ints, q: Ints) -> bool:
    """The queue pair's law is a program."""
    return bool(block[_ENGINE] != 0 and q[_Q_ALGORITHM] >= PROGRAM_ALGORITHM)


@njit
def _program(block: Ints, qp: int, words: Ints, decision: Ints) -> None:
    """Let a program decide, or the safe law: rate, window and `Flag.HELD`."""
    words[_W_MTU] = block[_MTU]
    words[_W_HELD] = _held(block)
    at = block[_ENGINE]
    size = _ENGINE_BASE + block[_QPS] * _ENGINE_ROW
    rate, window = engine_event(block[at : at + size], qp, words, block[:0].reshape(0, 3))
    decision[1], decision[2] = rate, window
    if words[_W_HELD]:
        decision[7] |= _HELD


@njit
def _held(block: Ints) -> bool:
    """Advice is held."""
    return bool(block[LOGGED] & _HELD != 0 or block[_ADVICE_HOLD] != 0)


@njit
def _scheduled(
    block: Ints, q: Ints, t: int, rate: int, srtt: int, delay: int, window: int, held: bool
) -> tuple[int, int, int]:
    """PSCHED's rate, window and flags; `rate` and `srtt` may be -1 as `psched_output` has it."""
    sla = block[_SLA:_WINDOW]
    for n, at in enumerate(_PSCHED_CONFIG_AT):
        sla[n] = q[at]
    state, parameters = q[_Q_PSCHED:_Q_PROFILES], block[_PSCHED:_DECAY]
    rate, window, flags = psched_output(state, sla, parameters, t, rate, srtt, delay, window, held)
    return int(rate), int(window), int(flags)


@njit
def happen(block: Ints, event: Ints, decision: Ints) -> int:
    """Take an event that is no sample, and make its decision.

    Parameters
    ----------
    block : ndarray of int64
        The NIC's block. Changed in place.
    event : ndarray of int64, shape (4,)
        `rate.law_fields.LAW_EVENT_FIELDS`.
    decision : ndarray of int64, shape (8,)
        Receives `contract.DECISION_FIELDS`: rate, window, `Flag.EVENT`, PSCHED's flags.

    Returns
    -------
    int
        0, or `DROPPED`: the slot does not exist or is not enabled, or neither its law nor PSCHED
        takes such events (`LAW_EVENTS`, `PSCHED_EVENTS`); nothing has changed.
    """
    kind, qp, t, value = event[0], event[1], event[2], event[3]
    if not 0 <= qp < block[_QPS]:
        return DROPPED
    at = _QP_TABLE + qp * _QP_SIZE
    q = block[at : at + _QP_SIZE]
    if _programmed(block, q):
        heard = _HEARD[kind] if 0 <= kind < len(_HEARD) else -1
        if not q[_Q_ENABLE] or heard < 0:
            return DROPPED
        words = np.zeros(_PROGRAM_WORDS, dtype=np.int64)
        words[0], words[_W_NOW] = heard, t
        if kind == _SCORE_EVENT:
            words[_W_SCORE] = value & _SCORE_MASK
        decision[:] = 0
        decision[0], decision[7] = qp, _OF_EVENT
        _program(block, qp, words, decision)
        return 0
    law = _takes_events(q) and kind in _EVENTS
    scheduled = q[_Q_PSCHED_ON] != 0
    if not q[_Q_ENABLE] or not (law or (scheduled and kind in _PSCHED_EVENTS)):
        return DROPPED
    rate, window, flags = _law(block, q, kind, qp, t, value) if law else -1, 0, 0
    if scheduled:
        if kind == _SCORE_EVENT:
            psched_score(q[_Q_PSCHED:_Q_PROFILES], value, t)
        held = _held(block)
        rate, window, flags = _scheduled(block, q, t, rate, -1, 0, 0, held)
        if held:
            flags |= _HELD
    else:
        psched_keep(q[_Q_PSCHED:_Q_PROFILES], rate, 0)
    decision[:] = 0
    decision[0] = qp
    decision[1] = rate
    decision[2] = window
    decision[7] = _OF_EVENT | flags
    return 0


@njit
def decide(block: Ints, sample: Ints, decision: Ints) -> int:
    """Take a sample and make its decision.

    Parameters
    ----------
    block : ndarray of int64
        The NIC's block. Changed in place.
    sample : ndarray of int64, shape (3,)
        `contract.SAMPLE_FIELDS`.
    decision : ndarray of int64, shape (8,)
        Receives `contract.DECISION_FIELDS`.

    Returns
    -------
    int
        0, or `DROPPED`: the slot does not exist or is not enabled, and nothing has changed.
    """
    qp, rtt, t = sample[0], sample[1], sample[2]
    if not 0 <= qp < block[_QPS]:
        return DROPPED
    at = _QP_TABLE + qp * _QP_SIZE
    q = block[at : at + _QP_SIZE]
    if not q[_Q_ENABLE]:
        return DROPPED

    k = feature_step(q[_Q_FEATURE:_Q_BASE], rtt, block[_SIGMA])
    srtt = q[_Q_FEATURE + 1]
    base = base_step(q[_Q_BASE:_Q_RATE], rtt, t, block[_BASE_WINDOW])

    history = q[_Q_HISTORY:_Q_PSCHED]
    history[:-1] = history[1:]
    history[-1] = k

    predicted = False
    prediction = 0
    late = block[LOGGED] & _LATE != 0
    at = _model(block, q[_Q_MODEL_ENABLE], q[_Q_MODEL_SLOT], _RTT_KIND)
    if at >= 0 and not late:
        predicted = True
        _predict(block, history.reshape(MAX_STEPS, 1), block[at : at + _SET_SIZE])
        prediction = rtt_pred(srtt, block[_OUT])

    rate, window, target, flags = rate_step(
        q[_Q_RATE:_Q_HISTORY],
        q[:_Q_FORECAST_CONFIG],
        block[_RATE_PARAMETERS:_TIMELY],
        rtt,
        base,
        predicted,
        prediction,
        late,
        _held(block),
    )
    if _takes_events(q):
        rate = _law(block, q, _RTT_EVENT, qp, t, rtt)
    programmed = _programmed(block, q)
    if q[_Q_PSCHED_ON] and not programmed:
        delay = rtt - base
        rate, window, moved = _scheduled(block, q, t, rate, srtt, delay, window, _held(block))
        flags |= moved
    else:
        psched_keep(q[_Q_PSCHED:_Q_PROFILES], rate, window)
    if block[_FORECAST]:
        rtt_told(
            q[_Q_FORECAST_CONFIG:_Q_LAW_CONFIG],
            block[_FORECASTING:_QP_TABLE],
            block[_KNOTS_RTT : _KNOTS_RTT + CALIBRATION_KNOTS],
            q[_Q_SCORES:_QP_SIZE],
            prediction,
            base,
            flags & _UNSKILLED == 0,
        )
    decision[0] = qp
    decision[1] = rate
    decision[2] = window
    decision[3] = prediction
    decision[4] = target
    decision[5] = base
    decision[6] = srtt
    decision[7] = flags
    if programmed:
        words = np.zeros(_PROGRAM_WORDS, dtype=np.int64)
        words[0], words[_W_NOW], words[_W_RTT], words[_W_BASE] = _SAMPLE_KIND, t, rtt, base
        words[_W_PREDICTED], words[_W_PREDICTION] = prediction != 0, prediction
        _program(block, qp, words, decision)
    return 0


@njit
def acknowledge(block: Ints, ack: Ints, decision: Ints) -> int:
    """Tell a program of an acknowledgement, and make its decision.

    Parameters
    ----------
    block : ndarray of int64
        The NIC's block. Changed in place.
    ack : ndarray of int64, shape (7,)
        `rate.law_fields.ACK_FIELDS`.
    decision : ndarray of int64, shape (8,)
        As `happen`'s.

    Returns
    -------
    int
        0, or `DROPPED`: the slot does not exist or is not enabled, or its law is no program;
        nothing has changed.
    """
    qp = ack[0]
    if not 0 <= qp < block[_QPS]:
        return DROPPED
    at = _QP_TABLE + qp * _QP_SIZE
    q = block[at : at + _QP_SIZE]
    if not q[_Q_ENABLE] or not _programmed(block, q):
        return DROPPED
    words = np.zeros(_PROGRAM_WORDS, dtype=np.int64)
    words[0] = _ACK_KIND
    words[_W_NOW : _W_NEXT + 1] = ack[1:]
    decision[:] = 0
    decision[0], decision[7] = qp, _OF_EVENT
    _program(block, qp, words, decision)
    return 0


@njit
def forecast(block: Ints, profile: Ints, answer: Ints) -> int:
    """Take a profile and make its forecast.

    Parameters
    ----------
    block : ndarray of int64
        The NIC's block. Changed in place.
    profile : ndarray of int64, shape (6,)
        `contract.PROFILE_FIELDS`.
    answer : ndarray of int64, shape (20,)
        Receives `contract.FORECAST_FIELDS`.

    Returns
    -------
    int
        0, or `DROPPED`: the NIC makes no forecasts, or the slot does not exist or is not enabled;
        nothing has changed.
    """
    qp = profile[0]
    if not block[_FORECAST] or not 0 <= qp < block[_QPS]:
        return DROPPED
    at = _QP_TABLE + qp * _QP_SIZE
    q = block[at : at + _QP_SIZE]
    if not q[_Q_ENABLE]:
        return DROPPED
    history = q[_Q_PROFILES:_Q_SCORES].reshape(MAX_STEPS, _PROFILES)
    history[:-1] = history[1:]
    history[-1] = profile[2:]

    answer[:2] = profile[:2]
    config, scores = q[_Q_FORECAST_CONFIG:_Q_LAW_CONFIG], q[_Q_SCORES:_QP_SIZE]
    at = _model(block, q[_Q_QUEUE_ENABLE], q[_Q_QUEUE_SLOT], _QUEUE_KIND)
    if at < 0:
        forecast_none(config, scores, answer)
        return 0
    shared = block[_FORECASTING:_QP_TABLE]
    knots = block[_KNOTS_QUEUE : _KNOTS_QUEUE + CALIBRATION_KNOTS]
    version = block[at + _S_VERSION]
    if block[_FORECAST] == _TREES:
        _descend(history, block[at : at + _SET_SIZE], answer[P_AT : P_AT + MAX_OUTPUTS])
        forecast_scored(config, shared, knots, scores, version, answer)
        return 0
    _predict(block, history, block[at : at + _SET_SIZE])
    outputs = block[at + _S_OUTPUTS]
    forecast_answer(config, shared, knots, scores, block[_OUT:_KNOTS], outputs, version, answer)
    return 0


@njit
def take_score(block: Ints, qp: int) -> int:
    """What PSCHED of `qp` is to be told now, as the value of an `EventKind.SCORE`; -1: nothing.

    To be asked after `decide` and `forecast`; asking takes the news.
    """
    if not block[_FORECAST]:
        return -1
    at = _QP_TABLE + qp * _QP_SIZE
    q = block[at : at + _QP_SIZE]
    return int(score_to_tell(q[_Q_FORECAST_CONFIG:_Q_LAW_CONFIG], q[_Q_SCORES:_QP_SIZE]))


@njit
def _decide_many(block: Ints, samples: Ints, decisions: Ints) -> int:
    made = 0
    for n in range(len(samples)):
        if decide(block, samples[n], decisions[made]) != DROPPED:
            made += 1
    return made


_PROFILE_SIZE, _ANSWER_SIZE = len(PROFILE_FIELDS), len(FORECAST_FIELDS)
_POINTER = types.CPointer(types.int64)


@cfunc(types.int64(_POINTER, _POINTER, _POINTER))
def _decide_c(handle, sample, decision):  # type: ignore[no-untyped-def]
    head = carray(handle, (_PARAMETERS,))
    return decide(carray(handle, (head[_SIZE],)), carray(sample, (3,)), carray(decision, (8,)))


@cfunc(types.int64(_POINTER, _POINTER, _POINTER))
def _happen_c(handle, event, decision):  # type: ignore[no-untyped-def]
    head = carray(handle, (_PARAMETERS,))
    return happen(carray(handle, (head[_SIZE],)), carray(event, (4,)), carray(decision, (8,)))


@cfunc(types.int64(_POINTER, _POINTER, _POINTER))
def _acknowledge_c(handle, ack, decision):  # type: ignore[no-untyped-def]
    head = carray(handle, (_PARAMETERS,))
    block = carray(handle, (head[_SIZE],))
    return acknowledge(block, carray(ack, (_ACK_SIZE,)), carray(decision, (8,)))


@cfunc(types.int64(_POINTER, _POINTER, _POINTER))
def _forecast_c(handle, profile, answer):  # type: ignore[no-untyped-def]
    head = carray(handle, (_PARAMETERS,))
    block = carray(handle, (head[_SIZE],))
    return forecast(block, carray(profile, (_PROFILE_SIZE,)), carray(answer, (_ANSWER_SIZE,)))


class GoldenNic:
    """A golden NIC core: sets, slots, configuration and state in one block.

    Parameters
    ----------
    qps : int
        Queue pairs.
    sets : int
        Model sets, and as many slots.
    forecast : int
        1: queue pairs may have a second model, for their profiles.
    tree : int
        1: that model is a tree, not an LSTM.
    profile : int
        1: the profiler stands in the block, too (`nic_queues`).
    law_cores : int
        1: queue pairs may run programs (`rate.engine.unit`).

    Raises
    ------
    ValueError
        A size is not positive, or there are trees without forecasts.

    Notes
    -----
    Everything is zero at first: no queue pair is enabled, and the parameters are zero; but the
    calibration tables change nothing.
    """

    def __init__(
        self,
        *,
        qps: int = 64,
        sets: int = 16,
        forecast: int = 0,
        tree: int = 0,
        profile: int = 0,
        law_cores: int = 0,
    ) -> None:
        for name, value in (("qps", qps), ("sets", sets)):
            if value < 1:
                raise ValueError(f"{name} must be positive, not {value!r}")
        self.qps = qps
        self.sets = sets
        engine = _block_size(qps, sets)
        size = engine + (engine_size(qps) if law_cores else 0) + profile * _profiler_size(qps)
        self.block: Ints = np.zeros(size, dtype=np.int64)
        if tree and not forecast:
            raise ValueError("forecast must be 1 with tree, not 0")
        kind = _TREES if tree else forecast
        self.block[[_QPS, _SETS, _SIZE, _FORECAST]] = qps, sets, len(self.block), kind
        self.block[_KNOTS:_FORECASTING] = np.tile(identity_knots(), len(HeadKind))
        #: The law engine, where there is one: it lies in the block, too.
        self.engine: EngineUnit | None = None
        if law_cores:
            self.block[_ENGINE] = engine
            self.engine = EngineUnit(qps, self.block[engine : engine + engine_size(qps)])

    @property
    def handle(self) -> int:
        """Address of the block; valid as long as this object lives."""
        return int(self.block.ctypes.data)

    @property
    def trees(self) -> bool:
        """Queue models are trees."""
        return bool(self.block[_FORECAST] == _TREES)

    @property
    def decide_address(self) -> int:
        """Address of ``int64 decide(void* block, int64* sample, int64* decision)``."""
        return int(_decide_c.address)

    @property
    def event_address(self) -> int:
        """Address of ``int64 happen(void* block, int64* event, int64* decision)``."""
        return int(_happen_c.address)

    @property
    def ack_address(self) -> int:
        """Address of ``int64 acknowledge(void* block, int64* ack, int64* decision)``."""
        return int(_acknowledge_c.address)

    @property
    def forecast_address(self) -> int:
        """Address of ``int64 forecast(void* block, int64* profile, int64* answer)``."""
        return int(_forecast_c.address)

    def set_parameters(self, values: Mapping[str, int]) -> None:
        """Set some of `PARAMETERS`, as integers of their formats.

        Raises
        ------
        ValueError
            A name is unknown.
        """
        _store(self.block[_PARAMETERS:_DECAY], PARAMETERS, values, "parameter")
        if "dcqcn_g" in values:
            self.block[_DECAY:_EVENT] = decay_table(values["dcqcn_g"]).reshape(-1)

    def parameters(self) -> dict[str, int]:
        """All `PARAMETERS` by name."""
        return dict(zip(PARAMETERS, self.block[_PARAMETERS:_DECAY].tolist(), strict=True))

    def configure(self, qp: int, values: Mapping[str, int]) -> None:
        """Set some of `QP_CONFIG` of one queue pair.

        Raises
        ------
        ValueError
            The queue pair or a name does not exist.
        """
        q = self._qp(qp)
        _store(q[:_Q_FORECAST_CONFIG], QP_CONFIG, values, "configuration field")
        _law(self.block, q, int(EventKind.CONFIGURE), qp, 0, 0)
        windowed = bool(q[_Q_WIN]) and q[_Q_ALGORITHM] <= Algorithm.PREDPID
        programmed = bool(_programmed(self.block, q))
        scheduled = bool(q[_Q_PSCHED_ON]) and q[_Q_ALGORITHM] < PROGRAM_ALGORITHM
        psched_configure(q[_Q_PSCHED:_Q_PROFILES], scheduled, windowed, int(q[_Q_INIT_RATE]))
        if self.engine is not None:
            on = programmed and q[_Q_ENABLE]
            slot = int(q[_Q_ALGORITHM]) - PROGRAM_ALGORITHM if on else None
            self.engine.configure(qp, slot, self.configuration(qp))

    def configuration(self, qp: int) -> dict[str, int]:
        """`QP_CONFIG` of one queue pair by name."""
        return dict(zip(QP_CONFIG, self._qp(qp)[:_Q_FORECAST_CONFIG].tolist(), strict=True))

    def answering(self, qp: int) -> tuple[int, int]:
        """Set and version of the model that answers for a queue pair in time; else zeros."""
        q = self._qp(qp)
        live = _model(self.block, q[_Q_MODEL_ENABLE], q[_Q_MODEL_SLOT], _RTT_KIND) >= 0
        if not live or self.block[LOGGED] & _LATE:
            return 0, 0
        number, _ = self.slot(int(q[_Q_MODEL_SLOT]))
        return number, self.set_state(number)[1]

    def score(self, qp: int) -> int:
        """The score that counts for a queue pair; NO_SCORE without one."""
        state = self._qp(qp)[_Q_PSCHED:]
        scored = state[PSCHED_STATE.index("scored")]
        return int(state[PSCHED_STATE.index("score")]) if scored else NO_SCORE

    def reset_qp(self, qp: int) -> None:
        """Forget all that was measured, predicted and decided for a queue pair."""
        q = self._qp(qp)
        q[_Q_FEATURE:] = 0
        _law(self.block, q, int(EventKind.RESET), qp, 0, 0)
        psched_reset(q[_Q_PSCHED:_Q_PROFILES], int(q[_Q_INIT_RATE]))
        if self.engine is not None:
            self.engine.reset(qp)

    def restart_predictor(self) -> None:
        """Forget the inputs of both models of every queue pair."""
        for qp in range(self.qps):
            q = self._qp(qp)
            q[_Q_HISTORY:_Q_PSCHED] = 0
            q[_Q_PROFILES:_Q_SCORES] = 0

    def set_forecast(self, values: Mapping[str, int]) -> None:
        """Set some of `FORECAST_PARAMETERS`.

        Raises
        ------
        ValueError
            A name is unknown.
        """
        _store(
            self.block[_FORECASTING:_QP_TABLE], FORECAST_PARAMETERS, values, "forecast parameter"
        )

    def set_knots(self, kind: HeadKind, knots: Sequence[int] | Ints) -> None:
        """Set the calibration table of one kind of model.

        Raises
        ------
        ValueError
            As `check_knots`.
        """
        at = _KNOTS + kind * CALIBRATION_KNOTS
        self.block[at : at + CALIBRATION_KNOTS] = check_knots(knots)

    def knots(self, kind: HeadKind) -> Ints:
        """The calibration table of one kind of model; what is written to it counts."""
        at = _KNOTS + kind * CALIBRATION_KNOTS
        return self.block[at : at + CALIBRATION_KNOTS]

    def configure_forecast(self, qp: int, values: Mapping[str, int]) -> None:
        """Set some of `FORECAST_CONFIG` of one queue pair.

        Raises
        ------
        ValueError
            The queue pair or a name does not exist.
        """
        row = self._qp(qp)[_Q_FORECAST_CONFIG:_Q_LAW_CONFIG]
        _store(row, FORECAST_CONFIG, values, "forecast field")

    def forecast_configuration(self, qp: int) -> dict[str, int]:
        """`FORECAST_CONFIG` of one queue pair by name."""
        row = self._qp(qp)[_Q_FORECAST_CONFIG:_Q_LAW_CONFIG]
        return dict(zip(FORECAST_CONFIG, row.tolist(), strict=True))

    def load_set(self, number: int, model: bytes | LstmWeights | TreeModel) -> None:
        """Put a model into a set and make it valid; an image that is refused leaves the set as is.

        Raises
        ------
        ValueError
            The set does not exist, the image is refused by `read_image`, or the NIC was
             made for queue models of the other kind.
        """
        if isinstance(model, bytes):
            model = read_image(model)
        if isinstance(model, TreeModel) != (self.trees and model.kind is HeadKind.QUEUE):
            kind = "a tree" if self.trees else "an LSTM"
            raise ValueError(f"a queue model must be {kind} here")
        s = self._set(number)
        if isinstance(model, TreeModel):
            tree, nodes = model.tree, len(model.tree.source)
            s[_T_DEPTH] = tree.depth
            s[_T_SOURCE : _T_SOURCE + nodes] = tree.source
            s[_T_THRESHOLD : _T_THRESHOLD + nodes] = tree.threshold
            s[_T_LEAVES : _T_LEAVES + tree.leaves.size] = tree.leaves.reshape(-1)
        else:
            s[_WH:] = np.concatenate([getattr(model, name).reshape(-1) for name, _ in _TENSORS])
        s[_S_STEPS] = model.steps
        s[_S_OUTPUTS] = model.outputs
        s[_S_VERSION] = model.version
        s[_S_KIND] = model.kind
        s[_S_VALID] = 1

    def invalidate_set(self, number: int) -> None:
        """Take a set out of service, as the begin of a load does."""
        self._set(number)[_S_VALID] = 0

    def map_slot(self, slot: int, number: int, *, enable: bool = True) -> None:
        """Let `slot` stand for set `number`.

        Raises
        ------
        ValueError
            The slot or the set does not exist, or an invalid set is to be enabled.
        """
        if not 0 <= slot < self.sets:
            raise ValueError(f"slot must be in 0..{self.sets - 1}, not {slot!r}")
        if enable and not self._set(number)[_S_VALID]:
            raise ValueError(f"set {number} must hold a valid model before a slot is mapped to it")
        at = _QP_TABLE + self.qps * _QP_SIZE + slot * _SLOT_SIZE
        self.block[at : at + _SLOT_SIZE] = number, int(enable)

    def slot(self, slot: int) -> tuple[int, bool]:
        """The set that `slot` stands for, and whether it is enabled."""
        if not 0 <= slot < self.sets:
            raise ValueError(f"slot must be in 0..{self.sets - 1}, not {slot!r}")
        at = _QP_TABLE + self.qps * _QP_SIZE + slot * _SLOT_SIZE
        number, enable = self.block[at : at + _SLOT_SIZE].tolist()
        return number, bool(enable)

    def head_kind(self, number: int) -> HeadKind | None:
        """Kind of the head of a set's model; None without a valid one."""
        s = self._set(number)
        return HeadKind(int(s[_S_KIND])) if s[_S_VALID] else None

    def set_state(self, number: int) -> tuple[bool, int]:
        """Whether a set holds a valid model, and the version of what was loaded last."""
        s = self._set(number)
        return bool(s[_S_VALID]), int(s[_S_VERSION])

    def decide(self, qp: int, rtt: int, t: int) -> Decision | None:
        """The decision on one sample; None if the sample is dropped."""
        decision = np.zeros(len(Decision._fields), dtype=np.int64)
        if decide(self.block, np.array([qp, rtt, t], dtype=np.int64), decision) == DROPPED:
            return None
        return Decision(*decision.tolist())

    def happen(self, kind: int, qp: int, t: int, value: int = 0) -> Decision | None:
        """The decision on one event; None if it is dropped."""
        decision = np.zeros(len(Decision._fields), dtype=np.int64)
        event = np.array([kind, qp, t, value], dtype=np.int64)
        if happen(self.block, event, decision) == DROPPED:
            return None
        return Decision(*decision.tolist())

    def acknowledge(self, ack: Sequence[int] | Ints) -> Decision | None:
        """The decision on one acknowledgement, `ACK_FIELDS`; None if it is dropped."""
        decision = np.zeros(len(Decision._fields), dtype=np.int64)
        if acknowledge(self.block, np.array(ack, dtype=np.int64), decision) == DROPPED:
            return None
        return Decision(*decision.tolist())

    def forecast(self, qp: int, t: int, x: Sequence[int]) -> dict[str, int] | None:
        """`contract.FORECAST_FIELDS` by name for one profile; None if it is dropped."""
        answer = np.zeros(_ANSWER_SIZE, dtype=np.int64)
        if forecast(self.block, np.array([qp, t, *x], dtype=np.int64), answer) == DROPPED:
            return None
        return dict(zip((name for name, _ in FORECAST_FIELDS), answer.tolist(), strict=True))

    def rtt_score(self, qp: int) -> int:
        """Score plus 1 of the last decision on a sample of a queue pair; 0 without one."""
        return int(self._qp(qp)[_Q_SCORES + FORECAST_SCORES.index("rtt_made")])

    def has_model(self, qp: int, kind: HeadKind) -> bool:
        """Whether a queue pair is enabled and names a slot that stands for a model."""
        q = self._qp(qp)
        if kind is HeadKind.QUEUE:
            named, slot = q[_Q_QUEUE_ENABLE], int(q[_Q_QUEUE_SLOT])
        else:
            named, slot = q[_Q_MODEL_ENABLE], int(q[_Q_MODEL_SLOT])
        return bool(q[_Q_ENABLE] and named and slot < self.sets and self.slot(slot)[1])

    def take_score(self, qp: int) -> int:
        """As the function `take_score`."""
        self._qp(qp)
        return int(take_score(self.block, qp))

    def decide_many(self, samples: Ints) -> Ints:
        """Decisions [m, 8] on samples [n, 3] in order; dropped samples leave no row."""
        decisions = np.zeros((len(samples) + 1, len(Decision._fields)), dtype=np.int64)
        return decisions[: _decide_many(self.block, samples, decisions)]

    def _qp(self, qp: int) -> Ints:
        if not 0 <= qp < self.qps:
            raise ValueError(f"queue pair must be in 0..{self.qps - 1}, not {qp!r}")
        at = _QP_TABLE + qp * _QP_SIZE
        return self.block[at : at + _QP_SIZE]

    def _set(self, number: int) -> Ints:
        if not 0 <= number < self.sets:
            raise ValueError(f"set must be in 0..{self.sets - 1}, not {number!r}")
        at = _QP_TABLE + self.qps * _QP_SIZE + self.sets * _SLOT_SIZE + number * _SET_SIZE
        return self.block[at : at + _SET_SIZE]


def _store(row: Ints, names: Sequence[str], values: Mapping[str, int], noun: str) -> None:
    for name, value in values.items():
        if name not in names:
            raise ValueError(f"{noun} must be one of {', '.join(names)}, not {name!r}")
        row[names.index(name)] = value
