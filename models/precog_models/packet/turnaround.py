"""The receiver's turnaround T2 - T1 of thesis (1), for the time field of acknowledges.

T1 is kept by PSN for a QP's last four packets that asked for an answer. An answer with one of these
PSNs leaves with T2 - T1; any other leaves without a valid time field, so that a sender never
subtracts what was not measured.
"""

from precog_spec.frames.cps import NS_BITS, TIME_BITS, TURNAROUND_DEPTH

__all__ = ["Turnaround"]

_MAX = (1 << TIME_BITS) - 1
_NS_MASK = (1 << NS_BITS) - 1


class Turnaround:
    """One QP's memory of arrivals."""

    def __init__(self) -> None:
        self._arrivals: list[tuple[int, int]] = []  # (PSN, T1), newest last

    def arrived(self, psn: int, t1: int) -> None:
        """A packet that asks for an answer arrived at `t1`, ns; it replaces the oldest of four."""
        self._arrivals = [*self._arrivals, (psn, t1)][-TURNAROUND_DEPTH:]

    def answered(self, psn: int, t2: int) -> int | None:
        """Time field of an answer that leaves at `t2`, ns.

        Returns
        -------
        int or None
            T2 - T1 in ns, a difference of 40-bit times, at most 2**24 - 1. T1 is of the newest
            arrival with that PSN: a retransmission was answered last. None: no such PSN is kept.
        """
        for kept, t1 in reversed(self._arrivals):
            if kept == psn:
                return min((t2 - t1) & _NS_MASK, _MAX)
        return None
