"""Zstandard with a bound on the decompressed size: a few bytes must not become a gigabyte."""

import zstandard

__all__ = ["expand", "shrink"]


def shrink(data: bytes) -> bytes:
    """`data` compressed; the frame states its length."""
    return zstandard.ZstdCompressor(level=19).compress(data)


def expand(data: bytes, limit: int) -> bytes:
    """What `shrink` compressed.

    Raises
    ------
    ValueError
        The frame is damaged, states no length, or states more than `limit` bytes; nothing is
        allocated then.
    """
    try:
        # A stated length wins over the decompressor's own limit, so it is checked first.
        stated = zstandard.frame_content_size(data)
        if not 0 <= stated <= limit:
            raise ValueError(f"compressed data must hold at most {limit} bytes, not {stated}")
        return zstandard.ZstdDecompressor().decompress(data, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise ValueError(f"data must be one zstd frame: {error}") from error
