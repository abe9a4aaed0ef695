"""The law of a queue pair: the laws' unit, the law engine, the predictive scheduler."""

from precog_spec.contract import PROGRAM_ALGORITHM, Algorithm
from precog_spec.engine.events import EVENT_FIELDS as PROGRAM_WORDS
from precog_spec.law_fields import (
    ACK_FIELDS,
    DECAY_LEVELS,
    LAW_CONFIG,
    LAW_EVENT_FIELDS,
    PSCHED_CONFIG,
)

from ..jit import njit
from ..rate.engine.unit import engine_event, engine_size
from ..rate.law_unit import law_event
from ..rate.psched import psched_output
from ..rate.unit import QP_CONFIG
from .layout import (
    ADVICE_HOLD,
    DCQCN,
    DECAY,
    DIGITS,
    ENGINE,
    EVENT,
    HELD,
    INPUTS,
    LOGGED,
    MTU,
    PSCHED,
    Q_ALGORITHM,
    Q_FEATURE,
    Q_LAW,
    Q_LAW_CONFIG,
    Q_PROFILES,
    Q_PSCHED,
    QPS,
    SLA,
    TIMELY,
    Ints,
)

__all__ = [
    "ACK_SIZE",
    "EVENT_WORDS",
    "W_BASE",
    "W_HELD",
    "W_MTU",
    "W_NEXT",
    "W_NOW",
    "W_PREDICTED",
    "W_PREDICTION",
    "W_RTT",
    "W_SCORE",
    "W_SENDERS",
    "advice_held",
    "has_law_unit",
    "is_programmed",
    "law_rate",
    "run_program",
    "schedule",
]

# Words of a program's event.
EVENT_WORDS, ACK_SIZE = len(PROGRAM_WORDS), len(ACK_FIELDS)
(W_NOW, W_RTT, W_NEXT, W_SCORE, W_SENDERS, W_BASE, W_MTU, W_PREDICTED, W_HELD, W_PREDICTION) = (
    [name for name, _, _ in PROGRAM_WORDS].index(name)
    for name in (
        "now",
        "rtt",
        "next",
        "score",
        "senders",
        "base",
        "mtu",
        "predicted",
        "held",
        "prediction",
    )
)

_ENGINE_BASE = engine_size(0)
_ENGINE_ROW = engine_size(1) - _ENGINE_BASE

_PSCHED_CONFIG_AT = tuple(QP_CONFIG.index(name) for name in PSCHED_CONFIG)
#: The law's configuration among the queue pair's, and the laws that have a unit.
_LAW_CONFIG_AT = tuple(
    QP_CONFIG.index({"law": "algorithm"}.get(name, name)) for name, _ in LAW_CONFIG
)
_LAWS = (int(Algorithm.TIMELY), int(Algorithm.DCQCN))


@njit
def has_law_unit(block: Ints, q: Ints) -> bool:
    """The queue pair runs a law that `rate.law_unit` has; with a law engine there is no unit."""
    return bool(block[ENGINE] == 0 and q[Q_ALGORITHM] in _LAWS)


@njit
def law_rate(block: Ints, q: Ints, kind: int, qp: int, t: int, value: int) -> int:
    """The rate after an event."""
    event = block[EVENT:SLA]
    event[0], event[1], event[2], event[3] = kind, qp, t, value
    for n, name in enumerate(_LAW_CONFIG_AT):
        event[len(LAW_EVENT_FIELDS) + n] = q[name]
    table = block[DECAY:EVENT].reshape(DECAY_LEVELS, DIGITS)
    rate, _ = law_event(
        q[Q_LAW:Q_FEATURE],
        q[Q_LAW_CONFIG:Q_LAW],
        block[TIMELY:DCQCN],
        block[DCQCN:PSCHED],
        table,
        event,
    )
    return int(rate)


@njit
def is_programmed(block: Ints, q: Ints) -> bool:
    """The queue pair's law is a program."""
    return bool(block[ENGINE] != 0 and q[Q_ALGORITHM] >= PROGRAM_ALGORITHM)


@njit
def run_program(block: Ints, qp: int, words: Ints, decision: Ints) -> None:
    """Let a program decide, or the safe law: rate, window and `Flag.HELD`."""
    words[W_MTU] = block[MTU]
    words[W_HELD] = advice_held(block)
    at = block[ENGINE]
    size = _ENGINE_BASE + block[QPS] * _ENGINE_ROW
    rate, window = engine_event(block[at : at + size], qp, words, block[:0].reshape(0, 3))
    decision[1], decision[2] = rate, window
    if words[W_HELD]:
        decision[7] |= HELD


@njit
def advice_held(block: Ints) -> bool:
    """Advice is held."""
    return bool(block[LOGGED] & HELD != 0 or block[ADVICE_HOLD] != 0)


@njit
def schedule(
    block: Ints, q: Ints, t: int, rate: int, srtt: int, delay: int, window: int, held: bool
) -> tuple[int, int, int]:
    """PSCHED's rate, window and flags; `rate` and `srtt` may be -1 as `psched_output` has it."""
    sla = block[SLA:INPUTS]
    for n, at in enumerate(_PSCHED_CONFIG_AT):
        sla[n] = q[at]
    state, parameters = q[Q_PSCHED:Q_PROFILES], block[PSCHED:DECAY]
    rate, window, flags = psched_output(state, sla, parameters, t, rate, srtt, delay, window, held)
    return int(rate), int(window), int(flags)
