"""A queue's own head as its difference to the shared base image.

Queues of one fleet share an LSTM and differ in the head: 256 weights, 16 biases, 16 shifts and the
version. The difference modulo 256 of these 300 bytes, compressed, is what a record carries; the
sum gives the queue's image back bit for bit.
"""

import zlib

import numpy as np
from numpy.typing import NDArray

from precog_models.predict.lstm import unpack
from precog_spec.contract import HEAD_ROWS, HEADER_OFFSET, IMAGE_BYTES, ROW_BYTES

from .compact import expand, shrink

__all__ = ["MAX_DELTA_BYTES", "apply_delta", "head_delta"]

_VERSION = slice(HEADER_OFFSET + 4, HEADER_OFFSET + 8)
_HEAD = np.zeros(IMAGE_BYTES, dtype=bool)
_HEAD[HEAD_ROWS[0] * ROW_BYTES : HEADER_OFFSET] = True
_HEAD[_VERSION] = True
_HEAD_BYTES = int(_HEAD.sum())
MAX_DELTA_BYTES = 512  # compressed; incompressible heads are a few bytes longer than 300


def head_delta(base: bytes, own: bytes) -> bytes:
    """The compressed difference of two images' heads.

    Parameters
    ----------
    base, own : bytes
        Payloads of 2048 bytes.

    Raises
    ------
    ValueError
        They differ in more than the head.
    """
    old, new = _image(base), _image(own)
    if (old != new)[~_HEAD].any():
        raise ValueError(
            "image must differ from its base in the head only: train the head alone, "
            "or send it as a release"
        )
    return shrink((new - old)[_HEAD].tobytes())


def apply_delta(base: bytes, delta: bytes, *, base_crc: int) -> bytes:
    """The payload whose difference to `base` is `delta`.

    Parameters
    ----------
    base_crc : int
        CRC-32 of the base that the delta was made for.

    Raises
    ------
    ValueError
        The base is another one, the delta is damaged, or the sum is no valid image.
    """
    if zlib.crc32(base) != base_crc:
        raise ValueError(
            f"base must have CRC-32 {base_crc:#010x}, not {zlib.crc32(base):#010x}: "
            "the delta was made for another base"
        )
    if len(delta) > MAX_DELTA_BYTES:
        raise ValueError(f"delta must have at most {MAX_DELTA_BYTES} bytes, not {len(delta)}")
    change = expand(delta, _HEAD_BYTES)
    if len(change) != _HEAD_BYTES:
        raise ValueError(f"delta must hold {_HEAD_BYTES} bytes, not {len(change)}")
    image = _image(base).copy()
    image[_HEAD] += np.frombuffer(change, dtype=np.uint8)
    payload: bytes = image.tobytes()
    unpack(payload)
    return payload


def _image(payload: bytes) -> NDArray[np.uint8]:
    if len(payload) != IMAGE_BYTES:
        raise ValueError(f"payload must have {IMAGE_BYTES} bytes, not {len(payload)}")
    return np.frombuffer(payload, dtype=np.uint8)
