"""The time of records: milliseconds of Unix time."""

import time

__all__ = ["now_ms"]


def now_ms() -> int:
    """The present."""
    return time.time_ns() // 1_000_000
