"""The hash of the contract."""

import hashlib
import json

from .formats import Fmt, Q
from .image import (
    HEAD_ROWS,
    HEADER_OFFSET,
    HIDDEN,
    IMAGE_ROWS,
    MAX_INPUTS,
    MAX_OUTPUTS,
    MAX_SHIFT,
    MAX_STEPS,
    ROW_BYTES,
)
from .tables import tanh_table

__all__ = ["CONTRACT_HASH", "contract_dict"]


def contract_dict() -> dict[str, object]:
    """Everything that the hash covers, as plain data."""
    formats = {
        name: (q.int_bits, q.frac_bits, q.signed)
        for name, q in sorted(vars(Fmt).items())
        if isinstance(q, Q)
    }
    return {
        "formats": formats,
        "hidden": HIDDEN,
        "limits": (MAX_INPUTS, MAX_STEPS, MAX_OUTPUTS, MAX_SHIFT),
        "image": (IMAGE_ROWS, ROW_BYTES, HEAD_ROWS, HEADER_OFFSET),
        "tanh": tanh_table(),
    }


#: First 32 bits of SHA-256 over the contract: in the image, in a register, in telemetry.
CONTRACT_HASH = int.from_bytes(
    hashlib.sha256(json.dumps(contract_dict(), sort_keys=True).encode()).digest()[:4], "big"
)
