"""The machine that a figure is of."""

import os
import platform
from pathlib import Path

__all__ = ["processor", "processors"]

_FACTS = Path("/proc/cpuinfo")


def processor() -> str:
    """Its processor's name, as Linux has it; elsewhere what Python knows."""
    if _FACTS.is_file():
        for line in _FACTS.read_text().splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


def processors() -> int:
    """How many of them this process may use."""
    return len(os.sched_getaffinity(0))
