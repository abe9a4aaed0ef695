"""The register block of PSCHED: its parameters, shared by all queue pairs.

Widths and order are those of `precog_spec.law_fields`; resets are the preset ``precog`` of
`precog_models.psched_presets`; tests compare them.
"""

from precog_spec.registers.common import ticks_of
from precog_spec.registers.model import Access, Block, Field, Register

__all__ = ["psched_block"]

_RW = Access.RW


def psched_block(tick_ps: int) -> Block:
    """Parameters of the predictive scheduler.

    Parameters
    ----------
    tick_ps : int
        Length of a tick in picoseconds.
    """

    def one(
        name: str, bits: int, reset: int, doc: str, *, unit: str = "", frac: int = 0
    ) -> Register:
        field = Field(f"psched_{name}", bits, _RW, doc, reset=reset, unit=unit, frac_bits=frac)
        return Register(name.upper(), doc, (field,))

    return Block(
        "PSCHED",
        "Parameters of the predictive scheduler, which moves a law's rate by a congestion score; "
        "shared by all QPs.",
        id=0x14,
        version=(2, 1),
        registers=(
            one(
                "threshold",
                7,
                70,
                "Scores above it lower rates, by no more than half; 100 and above: none does.",
            ),
            one("hysteresis", 7, 5, "A score must fall so far below the threshold to end that."),
            one("increase", 16, 6554, "Rise of rates below the threshold, at most 0.1.", frac=16),
            one(
                "score_ticks",
                32,
                ticks_of(200.0, tick_ps),
                "A score older than this is none, nor is one that came so long after another with "
                "no sample in between; 0: it holds for ever.",
                unit="ticks",
            ),
            one(
                "delay",
                24,
                ticks_of(4.0, tick_ps),
                "Queueing delay from which on there is congestion, where scores are judged.",
                unit="ticks",
            ),
            one("skill", 1, 1, "Follow a queue pair's scores only while they have shown skill."),
            one(
                "cut",
                3,
                1,
                "Scores take 2**-n of a law's rate at most, half as much after each sample that "
                "finds no congestion; 0: all of it.",
            ),
        ),
    )
