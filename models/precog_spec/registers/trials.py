"""The blocks TRIALS and TRIAL_SUMS: whether following advice lowers delay x time.

They stand in the map of a NIC with `NicConfig.trials`. Widths and order of the parameters are those
of `precog_spec.trial_fields`; a test compares them.
"""

from precog_spec.registers.model import Access, Block, Field, Register
from precog_spec.trial_fields import COUNT_BITS, ROUND_LEAST, SUM_BITS, TRIAL_KINDS, Verdict

__all__ = ["TRIALS_ID", "TRIAL_SUMS", "sums_block", "trials_block"]

_RW, _RO, _PULSE = Access.RW, Access.RO, Access.PULSE
_ROUND_US = 500.0
#: The block says by its presence that advice is tried.
TRIALS_ID = 0x48


def _round_of(tick_ps: int) -> int:
    """The shortest round that is no shorter than `_ROUND_US`."""
    lengths = [(1 << ROUND_LEAST + n) * tick_ps / 1e6 for n in range(16)]
    return next((n for n, length in enumerate(lengths) if length >= _ROUND_US), 15)


def trials_block(tick_ps: int) -> Block:
    """What both trials share; `tick_ps` is the length of a tick in picoseconds."""
    return Block(
        "TRIALS",
        "Trials of advice: in some rounds it is held, so that its effect can be measured.",
        id=TRIALS_ID,
        version=(1, 0),
        registers=(
            Register(
                "CONTROL",
                "What is tried, and on whom. What is off stays as it was, and holds nothing.",
                (
                    Field("trial_rtt", 1, _RW, "Predictions of the RTT, which predpid follows."),
                    Field("trial_scores", 1, _RW, "Scores, which PSCHED follows.", lsb=1),
                    Field(
                        "trial_apart",
                        1,
                        _RW,
                        "Each QP has draws of its own, for QPs that share no queue.",
                        lsb=2,
                    ),
                ),
            ),
            Register(
                "ROUND",
                "Length of a round. Samples of its second half are counted.",
                (
                    Field(
                        "trial_round",
                        4,
                        _RW,
                        f"A round is {1 << ROUND_LEAST} << this many ticks.",
                        reset=_round_of(tick_ps),
                    ),
                ),
            ),
            Register(
                "MARGIN",
                "What following may cost and still count as worth it.",
                (
                    Field(
                        "trial_margin",
                        4,
                        _RW,
                        "Delay x time may be 1 + 2**-n of that without.",
                        reset=5,
                    ),
                ),
            ),
            Register(
                "LEAST",
                "What a verdict needs.",
                (Field("trial_least", 11, _RW, "Samples in each arm.", reset=64),),
            ),
            Register(
                "SEED", "Of all draws.", (Field("trial_seed", 32, _RW, "Any number.", reset=1),)
            ),
        ),
    )


def _sum(arm: str, doc: str) -> tuple[Register, ...]:
    """The registers of an arm."""
    parts = (("delay", "ticks"), ("rate", ""))
    return (
        Register(
            f"{arm.upper()}_COUNT",
            f"Samples of the arm that {doc}.",
            (Field(f"{arm}_count", COUNT_BITS, _RO, "Samples."),),
        ),
        *(
            Register(
                f"{arm.upper()}_{part.upper()}_{half}",
                f"Sum over its samples, {half.lower()} word.",
                (Field(f"{arm}_{part}_{half.lower()}", bits, _RO, f"Sum of {part}s.", unit=unit),),
            )
            for part, unit in parts
            for half, bits in (("LOW", 32), ("HIGH", SUM_BITS - 32))
        ),
    )


TRIAL_SUMS: tuple[Register, ...] = (
    Register(
        "VERDICT",
        "Of the trial that was fetched last.",
        (
            Field(
                "verdict",
                2,
                _RO,
                "; ".join(f"{verdict.value} {verdict.name.lower()}" for verdict in Verdict) + ".",
            ),
        ),
    ),
    *_sum("follow", "follows"),
    *_sum("hold", "holds"),
)


def sums_block() -> Block:
    """What the trials have found."""
    return Block(
        "TRIAL_SUMS",
        "What a trial has found; all of one moment. Rates are in 2**-16 bytes per tick.",
        id=0x49,
        version=(1, 0),
        registers=(
            Register(
                "COMMAND",
                "Copies what a trial has found to the registers below.",
                tuple(
                    Field(f"fetch_{kind}", 1, _PULSE, f"The trial of {text}.", lsb=bit)
                    for bit, (kind, text) in enumerate(
                        zip(TRIAL_KINDS, ("predictions", "scores"), strict=True)
                    )
                ),
            ),
            *TRIAL_SUMS,
        ),
    )
