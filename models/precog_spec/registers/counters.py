"""The block COUNTERS: the snapshot of all 64-bit counters, and those of the core."""

from precog_spec.config import NicConfig
from precog_spec.registers.common import counter_registers
from precog_spec.registers.model import Block, Table
from precog_spec.registers.snapshot import snapshot_registers

__all__ = ["COUNTERS", "counter_block"]

#: (name, doc) of the 64-bit counters, in table order.
COUNTERS: tuple[tuple[str, str], ...] = (
    ("samples", "samples that came in"),
    ("decisions", "decisions made"),
    ("predictions", "decisions that used a prediction"),
    ("fallbacks", "predpid decisions without a live model (base law alone)"),
    ("advice_clamped", "predictions clamped to RTT * (1 +- advice limit)"),
    ("delta_clamped", "rate steps clamped to dmin or dmax"),
    ("rate_clamped", "rates clamped to the QP's minimum or maximum"),
    ("target_moves", "moves of the target adjuster"),
    ("dropped", "samples of a disabled QP or a slot that does not exist, or too many for the core"),
    ("load_errors", "model loads and map writes that were refused"),
    ("events", "events for programs and PSCHED"),
    ("ignored", "of them those of a disabled QP, a slot that does not exist, or another law"),
    ("unskilled", "predictions not followed because persistence is better on the QP"),
    ("late", "decisions that did not wait longer for the predictor"),
    ("held", "decisions while advice was held"),
    ("scored", "decisions that a congestion score moved"),
    ("congested", "of them those with a score above the threshold"),
)


def counter_block(sizes: NicConfig) -> Block:
    """The block; `sizes` say which other blocks have counters, which a snapshot keeps too."""
    return Block(
        "COUNTERS",
        "The snapshot of all 64-bit counters, and those of the core, events since power-up: "
        + "; ".join(f"{n} {name}" for n, (name, _) in enumerate(COUNTERS)),
        id=0x20,
        version=(3, 0),
        registers=snapshot_registers(sizes),
        tables=(
            Table(
                "COUNTERS",
                "As of the last COMMAND.snapshot.",
                counter_registers(),
                count=len(COUNTERS),
            ),
        ),
    )
