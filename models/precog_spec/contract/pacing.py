"""Pacing: the reciprocal of a rate, gaps, priorities."""

__all__ = [
    "GAP_TICK_BITS",
    "MTU_LOG2_MIN",
    "PACE_EXPONENT_BITS",
    "PACE_MANTISSA_BITS",
    "PRIORITIES",
    "TICK_FRAC_BITS",
]


# --- pacing: reciprocal of a rate, gaps, priorities ---------------------------------------------
TICK_FRAC_BITS = 16  # of a departure time
GAP_TICK_BITS = 32  # a gap saturates below 2**32 ticks
PACE_MANTISSA_BITS = 17  # that are stored: the 18th, the highest, is 1
PACE_EXPONENT_BITS = 6
PRIORITIES = 8  # the highest goes first
MTU_LOG2_MIN = 8  # 256 bytes; windows count in such units
