"""Register blocks of TIMELY, DCQCN and PSCHED: their parameters, shared by all queue pairs.

Widths and order are those of `precog_spec.law_fields` and `rate.psched`, names too but for
the law's in front of each, which tells them apart where all parameters stand together; resets the
presets ``precog`` (TIMELY) and ``vendor`` (DCQCN) of `precog_models.law_presets`; tests compare
them.
"""

from precog_spec.registers.common import ticks_of
from precog_spec.registers.model import Access, Block, Field, Register

__all__ = ["dcqcn_block", "fixed_law_blocks", "psched_block", "timely_block"]

_RW = Access.RW


class _Maker:
    """Registers of one field each, their resets in real units.

    Parameters
    ----------
    law : str
        In front of every field's name.
    tick_ps : int
        Length of a tick in picoseconds.
    """

    def __init__(self, law: str, tick_ps: int) -> None:
        self._law = law
        self._tick_ps = tick_ps

    def factor(self, name: str, reset: float, doc: str) -> Register:
        """A number below 1."""
        return self._one(name, 24, round(reset * (1 << 24)), doc, frac_bits=24)

    def ticks(self, name: str, reset_us: float, doc: str) -> Register:
        """A time."""
        return self._one(name, 24, ticks_of(reset_us, self._tick_ps), doc, unit="ticks")

    def rate(self, name: str, reset_mbps: float, doc: str) -> Register:
        """A rate."""
        reset = round(reset_mbps * self._tick_ps / 8e6 * (1 << 24))
        return self._one(name, 32, reset, doc, unit="bytes/tick", frac_bits=24)

    def count(self, name: str, bits: int, reset: int, doc: str, *, unit: str = "") -> Register:
        """A plain number."""
        return self._one(name, bits, reset, doc, unit=unit)

    def _one(
        self, name: str, bits: int, reset: int, doc: str, *, unit: str = "", frac_bits: int = 0
    ) -> Register:
        field = Field(
            f"{self._law}_{name}", bits, _RW, doc, reset=reset, unit=unit, frac_bits=frac_bits
        )
        return Register(name.upper(), doc, (field,))


def fixed_law_blocks(tick_ps: int) -> tuple[Block, ...]:
    """The blocks of laws that are logic; `tick_ps` is the length of a tick in picoseconds."""
    return timely_block(tick_ps), dcqcn_block(tick_ps)


def timely_block(tick_ps: int) -> Block:
    """Parameters of timely.

    Parameters
    ----------
    tick_ps : int
        Length of a tick in picoseconds.
    """
    make = _Maker("timely", tick_ps)
    variant = Field(
        "timely_variant",
        2,
        _RW,
        "Form of the law.",
        reset=2,
        values=(("source", 0), ("ns3", 1), ("patched", 2)),
    )
    return Block(
        "TIMELY",
        "Parameters of the law timely, shared by all QPs.",
        id=0x12,
        version=(1, 0),
        registers=(
            Register("VARIANT", "Which form of TIMELY runs.", (variant,)),
            make.factor("alpha", 0.875, "EWMA weight of the newest RTT difference."),
            make.factor("beta", 0.8, "Multiplicative decrease."),
            make.ticks("low", 5.0, "T_low: below it the rate always rises."),
            make.ticks("high", 50.0, "T_high: above it the rate always falls."),
            make.ticks("min_rtt", 4.18, "RTT that normalises the gradient."),
            make.ticks("reference", 5.0, "RTT_ref of patched TIMELY."),
            make.factor("slope", 0.008, "Decrease between the thresholds, patched TIMELY."),
            make.rate("ai", 100.0, "Additive increase per update."),
            make.rate("hai", 500.0, "Hyperactive increase per update."),
            make.count("hai_count", 8, 5, "Updates in a row before increases are hyperactive."),
        ),
    )


def dcqcn_block(tick_ps: int) -> Block:
    """Parameters of dcqcn.

    Parameters
    ----------
    tick_ps : int
        Length of a tick in picoseconds.
    """
    make = _Maker("dcqcn", tick_ps)
    return Block(
        "DCQCN",
        "Parameters of the law dcqcn (its reaction point), shared by all QPs. A change of g costs "
        "the next event 720 cycles.",
        id=0x13,
        version=(1, 0),
        registers=(
            make.factor("g", 1 / 256, "Gain of alpha."),
            make.ticks("alpha_ticks", 1.0, "Period K of alpha's update; 0: none."),
            make.ticks("cut_ticks", 4.0, "Period of the decrease check; 0: each CNP cuts at once."),
            make.ticks("rate_ticks", 300.0, "Period T of the increase timer; 0: none."),
            make.count("recovery", 8, 1, "Rounds F of fast recovery."),
            make.count("byte_count", 32, 32767, "Byte counter B; 0: none.", unit="bytes"),
            make.rate("ai", 5.0, "Additive increase of the target rate."),
            make.rate("hai", 50.0, "Hyper increase of the target rate; 0: additive only."),
            make.count("clamp_target", 1, 0, "Every cut sets the target; 0: the first after one."),
        ),
    )


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
