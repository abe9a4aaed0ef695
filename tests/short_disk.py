"""A disk that is soon full, for this process: writes end in the midst of a file."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["short_disk"]


@contextmanager
def short_disk(most: int) -> Iterator[None]:
    """Let no file grow beyond `most` bytes: what is written up to there stays, as on a full disk.

    The error is EFBIG and not ENOSPC, since only root may mount a small file system.
    """
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
