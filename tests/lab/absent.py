"""Why a lab with guests cannot run here."""

import shutil

from precog_lab.packages import QEMU, Cache, default_cache

__all__ = ["why_not"]


def why_not() -> str:
    """What is missing and what mends it; empty if nothing is."""
    absent = Cache(default_cache()).missing()
    if shutil.which(QEMU[0]) is None:
        return f"{QEMU[0]} is not installed: apt-get install --no-install-recommends {QEMU[1]}"
    if absent:
        return f"guests' packages are missing, {next(iter(absent))} and others: precog lab --fetch"
    return ""
