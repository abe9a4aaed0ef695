"""What `Psched` holds of a decision, or of a command, in each of its states.

Said of one cycle and kept by the next, so that one cycle's induction is enough: the solver never
sees twenty cycles of registers at once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Assert, Cat, Module, Mux, Value
from amaranth.lib import data

from precog_spec.contract import Flag
from precog_spec.law_fields import JUDGED_MIN, SCORE_MAX, ScoreCommand

from .peek import Opened

__all__ = [
    "COMMAND",
    "COMMANDED",
    "FORGOTTEN",
    "IDLE",
    "LOAD",
    "OFFER",
    "Told",
    "commanded",
    "steps",
]

#: Fields of a queue pair that its reset clears, and so does turning its scheduler off.
FORGOTTEN = ("scored", "score", "score_t", "heard", "least", "most", "doubt", "cut")


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
    rated : Value
        The law has decided: it knows whether advice is held.
    held : Value
        It said so.
    stays : Value
        There is a last output, which must not rise: the RTT is above the engine's threshold.
    sample : Value
    heard : Value
        A score comes with this decision: to be judged.
    congestion, delay : Value
        The sample's delay is congestion; from where on it is (the parameter).
    since : dict of Value
        What is kept of scores, by name, after this decision.
    cut : Value
        The parameter.
    taken, floor : Value
        What scores may take of the law's rate, and what they must leave.
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
    rated: Value
    held: Value
    stays: Value
    sample: Value
    heard: Value
    congestion: Value
    delay: Value
    since: dict[str, Value]
    cut: Value
    taken: Value
    floor: Value
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
        for fact in facts:  # a failure names the line that claims it
            m.d.comb += Assert(~when | fact, src_loc_at=1)

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
        ~told.rated | (held == told.held),
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
    _scores(claim, after, state, inner, told, old, new)
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
    claim(flies & (state == LEAST), moves | (wanted == new.base))
    binds = moves & new.congested & row.has_output
    floor, cuts = told.floor, moves & new.congested
    claim(
        after(CLAMP),
        moves | (wanted == Mux(told.stays & (row.output < new.base), row.output, new.base)),
        ~binds | (wanted <= row.output) | (wanted == floor),
        ~cuts | (wanted >= Mux(told.stays & (row.output < floor), row.output, floor)),
        ~told.stays | (wanted <= row.output),
        new.cut == (cuts | (~told.sample & row.cut)),
    )
    low, high_rate = config.min_rate, config.max_rate
    within = Mux(wanted > high_rate, high_rate, Mux(wanted < low, low, wanted))
    claim(flies & (state == OFFER), new.has_output, new.output == within)


def _scores(
    claim: Callable[..., None],
    after: Callable[[int], Value],
    state: Value,
    inner: Opened,
    told: Told,
    old: data.View,
    new: data.View,
) -> None:
    """What is kept of scores since the last sample, and what they may take."""
    since, halvings, floor = told.since, told.cut + told.since["doubt"], inner["floor"]
    heard = ("heard", "least", "most")
    early = after(AGE) & (state < SQUARE)  # as it was, of what a sample changes
    claim(early, new.cut == old.cut, new.doubt == old.doubt)
    claim(after(AGE) & (state == AGE), *(new[name] == old[name] for name in heard))
    claims = ("claim_least", "claim_most", "claimed")
    claim(after(AGE) & (state <= SQUARE), *(new[name] == old[name] for name in claims))
    claim(
        after(BAND) & (state <= SQUARE),
        new.heard == (old.heard | told.heard),
        *(new[name] == since[name] for name in ("least", "most")),
    )
    claim(after(AGE) & (state == AGE), (inner["delay"] >= told.delay) == told.congestion)
    claim(after(BAND), inner["congestion"] == told.congestion)
    claim(
        after(SQUARE),
        new.doubt == since["doubt"],
        (state > LEAST) | (new.cut == (~told.sample & old.cut)),
    )
    missed = Mux(told.congestion, SCORE_MAX - old.claim_least, old.claim_most)
    claim(after(SQUARE) & (state == SQUARE) & told.sample, inner["multiplicand"] == missed)
    claim(
        after(JUDGE),
        new.heard == since["heard"],
        *(new[name] == Mux(told.sample, 0, since[name]) for name in ("least", "most")),
        *(told.sample | (new[name] == old[name]) for name in claims),
        ~told.sample | ~old.heard | (new.claimed & (new.claim_least == old.least)),
        ~told.sample | ~old.heard | (new.claim_most == old.most),
        inner["halvings"] == halvings,
    )
    claim(after(SPREAD) & (state == SPREAD), floor == told.taken)
    claim(after(WEIGH), floor == told.floor)
    claim(after(PROVE), inner["sunk"] == (old.output < told.floor))


def commanded(
    m: Module,
    inner: Opened,
    asked: Value,
    command: data.View,
    ghost: dict[str, Any],
    rows: tuple[data.View, data.View],
    read: tuple[Value, Value],
) -> None:
    """Assert what holds while a command for the watched queue pair is in flight (`asked`).

    `ghost` is what the queue pair has been told; `rows` and `read` are as in `steps`.
    """
    state, (row, config) = inner["psched_state"], rows
    old, new = (data.View(row.shape(), inner[name]) for name in ("old", "new"))
    held = Value.cast(old), inner["config"]
    kept = Value.cast(row), Value.cast(config)
    keeps = ~command.clear & command.config.psched
    based = ~command.clear & ghost["based"]
    init = Mux(command.apply, command.config.init_rate, ghost["config"].init_rate)
    made = (
        ~new.has_output
        & Cat(new[name] == Mux(keeps, ghost[name], 0) for name in FORGOTTEN[1:]).all()
        & (~new.scored | (keeps & ghost["scored"]))
        & (new.based == based)
        & (new.base == Mux(based, ghost["base"], init))
    )
    for at, pair in ((LOAD, read), (COMMAND, held)):
        for got, expected in zip(pair, kept, strict=True):
            m.d.comb += Assert(~(asked & (state == at)) | (got == expected))
    m.d.comb += Assert(~(asked & (state == COMMANDED)) | made)
