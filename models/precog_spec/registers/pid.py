"""The block PID: parameters of the laws pid and predpid, and when advice is followed."""

from precog_spec.registers.common import fraction_of, ticks_of
from precog_spec.registers.model import Access, Block, Field, Register

__all__ = ["pid_block"]

RW = Access.RW


def pid_block(tick_ps: int) -> Block:
    """The block; `tick_ps` is the length of a tick in picoseconds."""

    def gain(name: str, value: float, doc: str) -> Register:
        reset = _signed(fraction_of(value, 13), 16)
        field = Field(name, 16, RW, doc, reset=reset, signed=True, frac_bits=13)
        return Register(name.upper(), doc, (field,))

    def bound(name: str, value: float, doc: str) -> Register:
        reset = _signed(fraction_of(value, 16), 17)
        field = Field(name, 17, RW, doc, reset=reset, signed=True, frac_bits=16)
        return Register(name.upper(), doc, (field,))

    def ticks(name: str, us: float, doc: str) -> Register:
        reset = ticks_of(us, tick_ps) << 8
        field = Field(name, 32, RW, doc, reset=reset, unit="ticks", frac_bits=8)
        return Register(name.upper(), doc, (field,))

    return Block(
        "PID",
        "Parameters of the laws pid and predpid, shared by all QPs.",
        id=0x10,
        version=(2, 0),
        registers=(
            gain("kp", -0.358, "Proportional gain, equation (15)."),
            gain("ki", -0.060, "Gain of the mean error."),
            gain("kd", -0.040, "Derivative gain."),
            bound("dmin", -0.6, "Lowest rate step, equation (20)."),
            bound("dmax", 0.5, "Highest rate step, equation (20)."),
            Register(
                "ADVICE",
                "How far a prediction may lie from the measured RTT.",
                (
                    Field(
                        "advice_limit",
                        16,
                        RW,
                        "Prediction is clamped to RTT * (1 +- limit).",
                        reset=fraction_of(0.25, 16),
                        frac_bits=16,
                    ),
                    Field("advice_clamp", 1, RW, "The clamp is on.", lsb=16, reset=1),
                ),
            ),
            Register(
                "ADVICE_USE",
                "When predictions and scores are followed.",
                (
                    Field(
                        "skill_monitor",
                        1,
                        RW,
                        "Only while a QP's predictions are clearly better than persistence.",
                        reset=1,
                    ),
                    Field("advice_hold", 1, RW, "Never: the base laws decide alone.", lsb=1),
                ),
            ),
            Register(
                "ADVICE_DEADLINE",
                "How long a decision waits for its prediction once all else is ready.",
                (
                    Field(
                        "advice_deadline",
                        16,
                        RW,
                        "0: for ever.",
                        reset=4096,
                        unit="cycles",
                    ),
                ),
            ),
            ticks("queue_budget", 0.8, "Target minus base RTT, for QPs with target mode base."),
            Register(
                "RTTCH_THRESHOLD",
                "Samples on one side of the target before the adjuster moves it.",
                (Field("rttch_threshold", 8, RW, "Fires above this count.", reset=6),),
            ),
            ticks("rttch_margin", 0.2, "The adjuster keeps the target above base RTT plus this."),
            Register(
                "MTU",
                "Largest packet, for the window limit.",
                (Field("mtu", 16, RW, "Largest packet.", reset=1000, unit="bytes"),),
            ),
        ),
    )


def _signed(value: int, bits: int) -> int:
    """Two's complement of `value`."""
    return value & ((1 << bits) - 1)
