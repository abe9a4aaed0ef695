"""The law of a queue pair: the law engine and the predictive scheduler."""

from precog_spec.contract import PROGRAM_ALGORITHM
from precog_spec.engine.events import EVENT_FIELDS as PROGRAM_WORDS
from precog_spec.law_fields import (
    ACK_FIELDS,
    PSCHED_CONFIG,
)
from precog_spec.trial_fields import TRIAL_KINDS

from ..jit import njit
from ..rate.engine.unit import engine_above, engine_event, engine_size
from ..rate.psched import PSCHED_STATE, psched_keep, psched_output
from ..rate.trials import trial_arm, trial_count
from ..rate.unit import QP_CONFIG
from .layout import (
    ADVICE_HOLD,
    ENGINE,
    HELD,
    INPUTS,
    LOGGED,
    MTU,
    PSCHED,
    Q_ALGORITHM,
    Q_PROFILES,
    Q_PSCHED,
    Q_PSCHED_ON,
    QP_TABLE,
    QPS,
    SCORE_TRIAL,
    SLA,
    TRIALS,
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
    "is_programmed",
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

_SCORES = TRIAL_KINDS.index("scores")
_SCORED = PSCHED_STATE.index("scored")
_PSCHED_CONFIG_AT = tuple(QP_CONFIG.index(name) for name in PSCHED_CONFIG)


@njit
def is_programmed(block: Ints, q: Ints) -> bool:
    """The queue pair's law is a program."""
    return bool(block[ENGINE] != 0 and q[Q_ALGORITHM] >= PROGRAM_ALGORITHM)


@njit
def run_program(block: Ints, qp: int, words: Ints, decision: Ints) -> bool:
    """Let a program decide, or the safe law: rate, window and `Flag.HELD`.

    Returns
    -------
    bool
        The event's RTT is above the engine's threshold.
    """
    words[W_MTU] = block[MTU]
    words[W_HELD] = advice_held(block)
    at = block[ENGINE]
    size = _ENGINE_BASE + block[QPS] * _ENGINE_ROW
    unit = block[at : at + size]
    rate, window = engine_event(unit, qp, words, block[:0].reshape(0, 3))
    decision[1], decision[2] = rate, window
    if words[W_HELD]:
        decision[7] |= HELD
    return bool(engine_above(unit, words))


@njit
def advice_held(block: Ints) -> bool:
    """Advice is held."""
    return bool(block[LOGGED] & HELD != 0 or block[ADVICE_HOLD] != 0)


@njit
def schedule(
    block: Ints, q: Ints, t: int, srtt: int, delay: int, above: bool, decision: Ints
) -> None:
    """Let PSCHED move what a law decided, if the queue pair asks for that; else it is kept.

    Parameters
    ----------
    block : ndarray of int64
        The NIC's block. Changed in place.
    q : ndarray of int64
        The queue pair's row. Changed in place.
    t : int
        Now, ticks.
    srtt, delay : int
        Of a sample, as `psched_output` has them; `srtt` -1: the decision is of an event.
    above : bool
        As `psched_output` has it.
    decision : ndarray of int64, shape (8,)
        The law's, with a rate of -1 if the law has not decided. Rate, window and flags change.
    """
    state, qp = q[Q_PSCHED:Q_PROFILES], decision[0]
    rate, window = decision[1], decision[2]
    if not q[Q_PSCHED_ON]:
        psched_keep(state, rate, window)
        return
    sla = block[SLA:INPUTS]
    for n, at in enumerate(_PSCHED_CONFIG_AT):
        sla[n] = q[at]
    held = advice_held(block)
    trial, parameters = block[SCORE_TRIAL:QP_TABLE], block[TRIALS:SLA]
    arm = trial_arm(trial, parameters, _SCORES, qp, t)
    rate, window, flags = psched_output(
        state, sla, block[PSCHED:TRIALS], t, rate, srtt, delay, window, held, above, arm & 1 != 0
    )
    if srtt >= 0 and state[_SCORED] and not held:
        trial_count(trial, parameters, t, arm, delay, rate)
    decision[1], decision[2] = rate, window
    decision[7] |= flags
    if held:
        decision[7] |= HELD
