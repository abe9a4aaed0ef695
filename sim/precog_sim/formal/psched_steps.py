"""What `Psched` holds of a decision, or of a command, in each of its states.

Said of one cycle and kept by the next, so that one cycle's induction is enough: the solver never
sees twenty cycles of registers at once.
"""

from dataclasses import dataclass

from amaranth.hdl import Assert, Module, Mux, Value
from amaranth.lib import data

from precog_models.contract import Flag
from precog_models.rate.law_fields import JUDGED_MIN, ScoreCommand

from .peek import Opened

__all__ = ["COMMAND", "COMMANDED", "IDLE", "LOAD", "OFFER", "Told", "steps"]

# States, in the order in which the gateware's machine names them.
IDLE, LOAD, SCORE, COMMAND, COMMANDED = range(5)
AGE, BAND, SQUARE, JUDGE, SPREAD, WEIGH, PROVE, TRUST = range(5, 13)
STEP, PRODUCT, FACTOR, LOW, HIGH, PART, SUM, LEAST, CLAMP, OFFER = range(13, 23)


@dataclass(frozen=True)
class Told:
    """What is known from outside of the watched queue pair's decision in flight.

    Attributes
    ----------
    base, score, scored, score_t, age : Value
        With this decision: the law's rate, the score that counts, whether there is one, of when,
        how old it is.
    based : Value
    fresh : Value
        The score is not too old.
    new_score : Value
        It comes with this decision.
    reduces : Value
        It does, and asks to reduce.
    held : Value
        The law said that advice is held (samples).
    sample : Value
    threshold : Value
    skill : Value
        Skill is asked for.
    """

    base: Value
    based: Value
    score: Value
    scored: Value
    score_t: Value
    age: Value
    fresh: Value
    new_score: Value
    reduces: Value
    held: Value
    sample: Value
    threshold: Value
    skill: Value


def steps(
    m: Module,
    inner: Opened,
    flies: Value,
    told: Told,
    row: data.View,
    config: data.View,
    read: tuple[Value, Value],
) -> None:
    """Assert what holds while a decision of the watched queue pair is in flight (`flies`).

    Parameters
    ----------
    m : Module
    inner : Opened
        `Psched`.
    flies : Value
    told : Told
    row, config : View
        The memories' rows of the watched queue pair.
    read : (Value, Value)
        What the memories' ports read.
    """
    state = inner["psched_state"]
    old, new = (data.View(row.shape(), inner[name]) for name in ("old", "new"))
    above, moves, wanted = (inner[name] for name in ("above", "moves", "wanted"))
    held, flags = inner["held"], inner["flags"]

    def after(first: int) -> Value:
        return flies & (state >= first)

    def claim(when: Value, *facts: Value) -> None:
        m.d.comb += [Assert(~when | fact) for fact in facts]

    claim(flies & (state == LOAD), read[0] == Value.cast(row), read[1] == Value.cast(config))
    claim(
        flies & (state > LOAD),
        Value.cast(old) == Value.cast(row),
        inner["config"] == Value.cast(config),
    )
    claim(
        after(AGE),
        *(new.base == told.base, new.based == told.based),
        *(new.score == told.score, new.score_t == told.score_t),
        ~new.scored | told.scored,
        ~told.new_score | ((new.command == ScoreCommand.REDUCE) == told.reduces),
        ~told.sample | (held == told.held),
    )
    claim(after(AGE) & (state != OFFER), new.output == row.output, new.has_output == row.has_output)
    claim(flies & (state <= BAND) & (state >= AGE) & told.new_score, new.scored == told.scored)
    claim(flies & (state == AGE), inner["age"] == told.age)
    claim(flies & (state == BAND), inner["expired"] == ~told.fresh)
    claim(
        after(BAND),
        above == told.score - told.threshold,
        (told.score <= told.threshold) | ~inner["falls"],
    )
    claim(after(SQUARE), ~new.scored | told.fresh, ~moves | (new.scored & ~held))
    acts = told.new_score & told.scored & told.fresh & ~held
    high = told.reduces | (told.score > told.threshold)
    claim(after(SQUARE), ~(acts & high) | (new.congested & (moves | told.skill)))
    claim(after(STEP), ~(told.skill & moves) | (new.judged >= JUDGED_MIN))
    claim(
        after(PRODUCT),
        *(flags[Flag.SCORED] == moves, flags[Flag.CONGESTED] == (moves & new.congested)),
        flags[Flag.HELD] == held,
    )
    claim(after(LEAST), moves | (wanted == new.base))
    binds = moves & new.congested & row.has_output
    claim(after(CLAMP), ~binds | (wanted <= row.output))
    low, high_rate = config.min_rate, config.max_rate
    within = Mux(wanted > high_rate, high_rate, Mux(wanted < low, low, wanted))
    claim(flies & (state == OFFER), new.has_output, new.output == within)
