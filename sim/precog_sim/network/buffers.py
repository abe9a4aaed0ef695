"""Buffers of switches: sizes, PFC thresholds and what is dropped without PFC."""

import math
from dataclasses import dataclass

__all__ = ["Buffers"]

_MIB = 1 << 20


@dataclass(frozen=True)
class Buffers:
    """A switch's shared packet memory and its PFC.

    Parameters
    ----------
    total : int
        Bytes per switch.
    pfc : str
        ``"dynamic"``: an ingress port pauses its peer at (free shared bytes) >> `alpha_shift`, as
        the ns-3 codes do; ``"static"``: at `pfc_bytes`; ``"off"``: never, and packets are dropped
        as `drop` says.
    pfc_bytes : int
        t_PFC of the static form; 0: the largest that source 004 allows.
    headroom : int
        Bytes per port kept for what is in flight after a PAUSE; 0: 3 x rate x delay of the link.
    reserve : int
        Bytes per port that never count against the shared part.
    alpha_shift : int
        Shift of the dynamic threshold of a port as fast as the slowest host's link; of a faster
        one it is less by one for every doubling begun, down to 0, as in ns-3.
    resume_bytes : int
        RESUME is sent this far below the threshold; 0: two packets of full size.
    drop : str
        Without PFC: ``"tail"``: packets are dropped when the memory is full; ``"dynamic"``: also
        when their queue would be longer than `drop_alpha` times the memory that is free
        (Choudhury and Hahne, IEEE/ACM ToN 6(2), 1998).
    drop_alpha : float

    Raises
    ------
    ValueError
        `pfc` or `drop` is unknown, a size is negative, or `drop_alpha` is not positive.
    """

    total: int = 32 * _MIB
    pfc: str = "dynamic"
    pfc_bytes: int = 0
    headroom: int = 0
    reserve: int = 4096
    alpha_shift: int = 3
    resume_bytes: int = 3072
    drop: str = "tail"
    drop_alpha: float = 1.0

    def __post_init__(self) -> None:
        if self.pfc not in ("dynamic", "static", "off"):
            raise ValueError(f"pfc must be one of dynamic, static, off, not {self.pfc!r}")
        if self.drop not in ("tail", "dynamic"):
            raise ValueError(f"drop must be one of tail, dynamic, not {self.drop!r}")
        if not 0 < self.drop_alpha < math.inf:
            raise ValueError(f"drop_alpha must be positive and finite, not {self.drop_alpha!r}")
        for name in ("total", "pfc_bytes", "headroom", "reserve", "alpha_shift", "resume_bytes"):
            if getattr(self, name) < 0:
                raise ValueError(f"buffer {name} must be >= 0, not {getattr(self, name)!r}")

    def shift_at(self, ratio: float) -> int:
        """Shift of the dynamic threshold of a port that is `ratio` times as fast."""
        return max(self.alpha_shift - max(math.ceil(math.log2(ratio)), 0), 0)
