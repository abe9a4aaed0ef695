"""Whether a packet that came may have any effect: its ICRC, its queue pair, and the rate of CNPs.

    whole, of a queue pair ─► ICRC right? ─► a CNP? ─► interval since the last over? ─► it acts

Anyone who knows two addresses and a QPN can make frames that look like a queue pair's. What such a
frame says may cut a rate, so that it counts only if

* its ICRC is right (IBTA annex A17.9.2): what a transport would drop says nothing, and
* it is not a CNP that comes sooner behind the last one than any notification point sends them
  (DCQCN, 004: one per flow in N ticks).

The packet itself passes untouched: what it is to the endpoint is for the endpoint to say.
"""

from dataclasses import dataclass

from precog_spec.contract import Fmt
from precog_spec.frames.opcodes import CNP

from .cps_rx import Received

__all__ = ["Trust", "TrustConfig"]


@dataclass(frozen=True)
class TrustConfig:
    """Registers.

    Raises
    ------
    ValueError
        The gap does not fit its register.
    """

    icrc_gate: bool = True  # packets with a wrong ICRC have no effect
    cnp_gap: int = 25_000  # ticks in which one CNP of a queue pair has an effect; 0: all have

    def __post_init__(self) -> None:
        if not 0 <= self.cnp_gap <= 0xFFFFFFFF:
            raise ValueError(f"cnp_gap must be 0..{0xFFFFFFFF} ticks, not {self.cnp_gap!r}")


class Trust:
    """State: when each queue pair's last CNP came that had an effect.

    Parameters
    ----------
    slots : int
        Queue pairs.
    config : TrustConfig
        Registers.

    Attributes
    ----------
    refused_icrc, refused_cnp : int
        Packets that had no effect.
    """

    def __init__(self, slots: int, config: TrustConfig) -> None:
        self.config = config
        self.refused_icrc = 0
        self.refused_cnp = 0
        self._last: list[int | None] = [None] * slots

    def acts(self, got: Received, t: int, *, right: bool) -> bool:
        """Whether a packet may have an effect.

        Parameters
        ----------
        got : Received
        t : int
            When it came, ticks in 40 bits. After a pause close to a multiple of 2**40 ticks one CNP
            may be refused.
        right : bool
            Its ICRC is right, or is not checked.
        """
        slot = got.slot
        if slot is None or got.descriptor.error:
            return False
        if not right:
            self.refused_icrc += 1
            return False
        if got.descriptor.opcode != CNP:
            return True
        last = self._last[slot]
        if last is not None and (t - last) & Fmt.TIME.max < self.config.cnp_gap:
            self.refused_cnp += 1
            return False
        self._last[slot] = t
        return True

    def reset(self, slot: int) -> None:
        """Forget a queue pair's last CNP."""
        self._last[slot] = None
