"""Classes of traffic with queues of their own."""

import math
from dataclasses import dataclass

from precog_sim.network.ecn import Ecn

__all__ = ["Priorities"]

_MOST = 8  # of PFC
_SCHEDULES = ("strict", "drr")


@dataclass(frozen=True)
class Priorities:
    """Queues that every port has, and how they share its link; a flow names one.

    PFC pauses each for itself: it has its own headroom, its own reserve and its own threshold.
    Notifications (CNPs) go before all of them.

    Parameters
    ----------
    count : int
    schedule : str
        ``"strict"``: the lowest number with something to send goes first; ``"drr"``: they take
        turns, by bytes and `weights` (deficit round robin: Shreedhar and Varghese, SIGCOMM 1995).
        One that has nothing to send when its turn comes keeps no credit.
    weights : tuple of float
        One a priority, of ``"drr"``; empty: all alike. The smallest stands for one full packet.
    ecn : tuple of Ecn
        Marking, one a priority; empty: the scenario's or the law's for all.

    Raises
    ------
    ValueError
        There are too many or none, the schedule is unknown, there is not one weight or marking for
        each, or a weight is not positive.
    """

    count: int = 1
    schedule: str = "strict"
    weights: tuple[float, ...] = ()
    ecn: tuple[Ecn, ...] = ()

    def __post_init__(self) -> None:
        if not 1 <= self.count <= _MOST:
            raise ValueError(f"priorities must be 1..{_MOST}, not {self.count!r}")
        if self.schedule not in _SCHEDULES:
            raise ValueError(
                f"schedule must be one of {', '.join(_SCHEDULES)}, not {self.schedule!r}"
            )
        if self.weights and self.schedule != "drr":
            raise ValueError(f"weights must be of schedule drr, not of {self.schedule!r}")
        for name, values in (("weights", self.weights), ("markings", self.ecn)):
            if values and len(values) != self.count:
                raise ValueError(
                    f"{name} must be as many as the {self.count} priorities, not {len(values)}"
                )
        for weight in self.weights:
            if not 0 < weight < math.inf:
                raise ValueError(f"weight must be above 0 and finite, not {weight!r}")

    def quanta(self, wire: int) -> list[int]:
        """Bytes of each priority's turn; `wire` is a full packet's."""
        weights = self.weights or (1.0,) * self.count
        return [round(weight / min(weights) * wire) for weight in weights]
