"""PSCHED, the predictive scheduler: a congestion score moves what a base law decided. 000, 2.

    base law's rate ─► x (1 + increase (1 + p/20))         score at most the threshold, or none of:
                       x (1 - (score - threshold)(1 - p/20))      above it, and until it has fallen
                       │                                      below it by the hysteresis, or to 0
                       └─► above: not more than the last output, nor less than
                           base (1 - 2^-(cut + doubt)) ─► [min, max] ─► output

The score is 0 to 100, p the queue pair's priority 0 to 7, the factor in [1/2, 1.1]. It multiplies
the law's output and is never written back into the law's state. There is no increase while the
queue pair's smoothed RTT is above the latency that its SLA promises. A command that comes with the
score only takes away: HOLD the increase, REDUCE too, as a score above the threshold does. Without
a score, with one that is too old, or while advice is held, the output is the base law's rate.

Scores are hearsay, so what they take is bounded and decays. In all they take 2^-cut of what the law
decided, half by default, however long they stay above the threshold. Each sample that finds no
congestion after a cut halves that (doubt), each that finds some makes it whole. Scores that no
sample judges lapse as one: `score_ticks` after the first of them.

The base law may be a program of the law engine. PSCHED stands behind the engine's safety layer, so
that the rate in force, from which the program goes on, stays the law's own. What that layer
promises of rates holds behind PSCHED as well: the bounds are the same and come last, and an event
whose RTT is above the engine's threshold raises no output.

Where the source contradicts itself: its pseudocode multiplies by the priority after the cap, which
can break the SLA and raise a rate above the threshold; here the priority scales the step, and the
bounds come last. Its outputs above the threshold fall for ever, as those of a law that swings do;
here they rise with the law, to what the bound leaves.
"""

import numpy as np
from numpy.typing import NDArray

from precog_spec.contract import Flag, Fmt
from precog_spec.law_fields import (
    DOUBT_MAX,
    DROP,
    DROP_FRAC,
    FACTOR_FRAC,
    INCREASE_MAX,
    NO_SCORE,
    PSCHED_CONFIG,
    PSCHED_PARAMETERS,
    RAISE,
    SCORE_BITS,
    SCORE_MAX,
    ScoreCommand,
)

from ..fixed import clamp
from ..jit import njit
from .score_skill import SCORE_SKILL_STATE, score_heard, score_skilled, score_step

__all__ = [
    "CONGESTED",
    "PSCHED_STATE",
    "SCORED",
    "psched_configure",
    "psched_keep",
    "psched_output",
    "psched_reset",
    "psched_score",
]

#: What is kept of a queue pair: the base law's rate and the last output, whether there are both;
#: the score, whether there is one, and when it came, or the first since the last sample; above the
#: threshold; its command; latency broken; whether a score has cut since the last sample, and how
#: often in a row that found no congestion; what the scores' skill is judged by; the law's last
#: window, which events that it does not decide on repeat.
PSCHED_STATE = (
    "base",
    "based",
    "output",
    "has_output",
    "score",
    "scored",
    "score_t",
    "congested",
    "command",
    "late",
    "cut",
    "doubt",
    *SCORE_SKILL_STATE,
    "window",
)

SCORED = 1 << Flag.SCORED
CONGESTED = 1 << Flag.CONGESTED
_HOLD, _REDUCE, _KEEP = (int(ScoreCommand[name]) for name in ("HOLD", "REDUCE", "KEEP"))
_HALF = 1 << (FACTOR_FRAC - 1)
(
    _THRESHOLD,
    _HYSTERESIS,
    _INCREASE,
    _SCORE_TICKS,
    _DELAY,
    _SKILL,
    _CUT_MOST,
) = range(len(PSCHED_PARAMETERS))
_PRIORITY, _LATENCY, _MIN, _MAX = range(len(PSCHED_CONFIG))
(
    _BASE,
    _BASED,
    _OUTPUT,
    _HAS_OUTPUT,
    _SCORE,
    _SCORED,
    _SCORE_T,
    _CONGESTED,
    _COMMAND,
    _LATE,
    _CUT,
    _DOUBT,
) = range(PSCHED_STATE.index("doubt") + 1)
_JUDGED = PSCHED_STATE.index(SCORE_SKILL_STATE[0])
_WINDOW = PSCHED_STATE.index("window")
_HEARD = PSCHED_STATE.index("heard")
_TIME_BITS = Fmt.TIME.width
_TIME_MAX = Fmt.TIME.max
_SRTT_FRAC = Fmt.SRTT.frac_bits


@njit
def psched_configure(state: NDArray[np.int64], on: bool, windowed: bool, init_rate: int) -> None:
    """The configuration has changed: the last output binds no more.

    Parameters
    ----------
    state : ndarray of int64, shape (22,)
        `PSCHED_STATE`. Changed in place.
    on : bool
        The queue pair's output is moved; else all but what the law decided is forgotten.
    windowed : bool
        The law goes on with a window; else the last one is forgotten.
    init_rate : int
        What the law's rate counts as before its first decision.
    """
    if not on:
        state[_OUTPUT:_WINDOW] = 0
    if not windowed:
        state[_WINDOW] = 0
    state[_HAS_OUTPUT] = 0
    if not state[_BASED]:
        state[_BASE] = init_rate


@njit
def psched_reset(state: NDArray[np.int64], init_rate: int) -> None:
    """Forget all."""
    state[:] = 0
    state[_BASE] = init_rate


@njit
def psched_score(state: NDArray[np.int64], value: int, t: int) -> None:
    """A score has come at `t`, with a `ScoreCommand`; `NO_SCORE` takes the last one back."""
    score, command = value & ((1 << SCORE_BITS) - 1), value >> SCORE_BITS & 3
    if command == _KEEP:
        return
    state[_SCORED] = score < NO_SCORE
    state[_COMMAND] = command
    state[_SCORE] = min(score, SCORE_MAX)
    # Of several scores between two samples, the first one's time counts for the deadline.
    if not state[_HEARD]:
        state[_SCORE_T] = t
    if score < NO_SCORE:
        score_heard(state[_JUDGED:_WINDOW], state[_SCORE])


@njit
def psched_keep(state: NDArray[np.int64], rate: int, window: int) -> None:
    """What a law decided for a queue pair that does not ask, in case that it asks one day."""
    state[:] = 0
    state[_BASE], state[_BASED], state[_WINDOW] = rate, 1, window


@njit
def psched_output(
    state: NDArray[np.int64],
    config: NDArray[np.int64],
    parameters: NDArray[np.int64],
    t: int,
    rate: int,
    srtt: int,
    delay: int,
    window: int,
    held: bool,
    above: bool = False,
    withheld: bool = False,
) -> tuple[int, int, int]:
    """The output, with what has been decided last.

    Parameters
    ----------
    state : ndarray of int64, shape (22,)
        `PSCHED_STATE`. Changed in place.
    config : ndarray of int64, shape (4,)
        `PSCHED_CONFIG`.
    parameters : ndarray of int64, shape (7,)
        `PSCHED_PARAMETERS`.
    t : int
        Now, ticks, 40 bits.
    rate : int
        The base law's new rate, RATE's format; negative: it has not decided.
    srtt : int
        The sample's smoothed RTT, SRTT's format; negative: this is no sample.
    delay : int
        The sample's RTT above the base RTT, ticks.
    window : int
        The law's new one, with a rate.
    held : bool
        Advice is held.
    above : bool
        The event's RTT is above the law engine's threshold: the output must not rise.
    withheld : bool
        A trial holds the score.

    Returns
    -------
    rate, window : int
    flags : int
        `Flag.SCORED`, `Flag.CONGESTED`.
    """
    if rate >= 0:
        state[_BASE], state[_BASED], state[_WINDOW] = rate, 1, window
    sample = srtt >= 0
    if sample:
        state[_LATE] = config[_LATENCY] != 0 and srtt >> _SRTT_FRAC > config[_LATENCY]
    age = (t - state[_SCORE_T]) & _TIME_MAX
    past = age >> (_TIME_BITS - 1) == 0  # else the score is of later than now
    if parameters[_SCORE_TICKS] and past and age > parameters[_SCORE_TICKS]:
        state[_SCORED] = 0
    threshold, score = parameters[_THRESHOLD], state[_SCORE]
    skill = state[_JUDGED:_WINDOW]
    if sample:
        congestion = delay >= parameters[_DELAY]
        score_step(skill, congestion, state[_SCORED] != 0, score)
        if congestion:
            state[_DOUBT] = 0
        elif state[_CUT]:
            state[_DOUBT] = min(state[_DOUBT] + 1, DOUBT_MAX)
        state[_CUT] = 0
    if state[_SCORED] and state[_COMMAND] == _REDUCE:
        state[_CONGESTED] = 1
    elif not state[_SCORED] or score == 0 or score + parameters[_HYSTERESIS] <= threshold:
        state[_CONGESTED] = 0
    elif score > threshold:
        state[_CONGESTED] = 1

    wanted, flags = state[_BASE], 0
    trusted = parameters[_SKILL] == 0 or score_skilled(skill)
    if state[_SCORED] and trusted and not held and not withheld:
        flags = SCORED
        if state[_CONGESTED]:
            flags |= CONGESTED
            excess = max(score - threshold, 0)
            drop = min((excess * _DROP[config[_PRIORITY]]) >> (DROP_FRAC - FACTOR_FRAC), _HALF)
            factor = (1 << FACTOR_FRAC) - drop
        elif state[_LATE] or state[_COMMAND] == _HOLD or above:
            factor = 1 << FACTOR_FRAC
        else:
            step = (parameters[_INCREASE] * _RAISE[config[_PRIORITY]]) >> 16
            factor = (1 << FACTOR_FRAC) + min(step, INCREASE_MAX)
        wanted = (wanted * factor) >> FACTOR_FRAC
        if state[_CONGESTED]:
            if state[_HAS_OUTPUT]:
                wanted = min(wanted, state[_OUTPUT])
            taken = state[_BASE] >> (parameters[_CUT_MOST] + state[_DOUBT])
            wanted = max(wanted, state[_BASE] - taken)
            state[_CUT] = 1
    if above and state[_HAS_OUTPUT]:
        wanted = min(wanted, state[_OUTPUT])
    output = clamp(wanted, config[_MIN], config[_MAX])
    state[_OUTPUT], state[_HAS_OUTPUT] = output, 1
    return int(output), int(state[_WINDOW]), flags


_RAISE = np.array(RAISE)
_DROP = np.array(DROP)
