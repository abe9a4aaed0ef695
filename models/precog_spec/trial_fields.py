"""The trials of advice: what all of one device share, and the sizes of what they keep.

The golden model is `precog_models.rate.trials`, the gateware `precog_hw.rate.trials`.
"""

from enum import IntEnum

__all__ = [
    "COUNT_BITS",
    "DRAWS",
    "FULL",
    "HOLDS",
    "MIXES",
    "MIX_LEFT",
    "MIX_RIGHT",
    "ROUND_LEAST",
    "SEED_BITS",
    "SUM_BITS",
    "TESTS",
    "TRIAL_KINDS",
    "TRIAL_PARAMETERS",
    "TRIAL_RATE_DROP",
    "TRIAL_STATE",
    "Verdict",
]

#: What is tried, in order.
TRIAL_KINDS = ("rtt", "scores")

SEED_BITS = 32
#: (name, bits).
TRIAL_PARAMETERS: tuple[tuple[str, int], ...] = (
    ("trial_rtt", 1),
    ("trial_scores", 1),
    ("trial_apart", 1),
    ("trial_round", 4),
    ("trial_margin", 4),
    ("trial_least", 11),
    ("trial_seed", SEED_BITS),
)

#: A round is 2**(ROUND_LEAST + trial_round) ticks.
ROUND_LEAST = 10
#: A draw is of 0..DRAWS - 1.
DRAWS = 16
#: The least TESTS draws always hold, the greatest always follow; they alone are counted.
TESTS = 2
#: Times that a draw mixes its word: x += x << MIX_LEFT; x ^= x >> MIX_RIGHT.
MIXES, MIX_LEFT, MIX_RIGHT = 5, 10, 6

COUNT_BITS = 12
#: An arm with this many samples is full: all counts and sums are halved.
FULL = (1 << COUNT_BITS) - 1
#: Of the sums of delays, and of rates without their low TRIAL_RATE_DROP bits. What halving leaves
#: of an odd count may be more than its samples: less than FULL + 1 greatest ones fit.
SUM_BITS = 24 + COUNT_BITS
TRIAL_RATE_DROP = 8

#: What is kept of one kind: the last round; the verdict; of the arm that follows and of that which
#: holds samples, sum of delays in ticks, sum of rates.
TRIAL_STATE = (
    "number",
    "verdict",
    "follow_count",
    "follow_delay",
    "follow_rate",
    "hold_count",
    "hold_delay",
    "hold_rate",
)


class Verdict(IntEnum):
    """Whether following lowers delay x time."""

    UNDECIDED = 0  # too few samples in an arm
    WORTH = 1
    WORTHLESS = 2


#: Draws below it hold, by verdict.
HOLDS = {Verdict.UNDECIDED: DRAWS // 2, Verdict.WORTH: TESTS, Verdict.WORTHLESS: DRAWS - TESTS}
