"""Which congestion scores a run has: their source, their scale, the way they come."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from precog_models.predict.cps import check_knots
from precog_sim.network.layout import ScoreSource
from precog_spec.contract import CALIBRATION_KNOTS, PROBABILITY, Fmt

__all__ = ["ONE_WAY_SOURCES", "QUEUE_SOURCES", "SOURCES", "QueueCalls", "Scores", "ramp"]

SOURCES = tuple(source.name.lower() for source in ScoreSource if source != ScoreSource.NONE)
#: Those that a device's queue model makes.
QUEUE_SOURCES = tuple(s.name.lower() for s in ScoreSource if s >= ScoreSource.QUEUE)
#: Those that look at the queues on the one way of a flow.
ONE_WAY_SOURCES = ("oracle", "inverted", "forged")
_TICKS_PER_US = 1000
_MIDDLE = (CALIBRATION_KNOTS - 1) // 2  # the knot of a delay that equals the budget


def ramp(low: float, high: float) -> tuple[int, ...]:
    """A calibration table that rises evenly from 0 to 1 between two delays, in budgets, up to 2.

    Raises
    ------
    ValueError
        They are out of order or not within 0..2.
    """
    if not 0 <= low < high <= 2:
        raise ValueError(f"ramp must satisfy 0 <= low < high <= 2, not {low!r}, {high!r}")
    delays = np.arange(CALIBRATION_KNOTS) / _MIDDLE
    share = np.clip((delays - low) / (high - low), 0.0, 1.0)
    return tuple(np.round(share * PROBABILITY.one).astype(int).tolist())


@dataclass(frozen=True)
class QueueCalls:
    """How a device is told what send queues do, and asked for its forecasts of them.

    Parameters
    ----------
    observe : int
        Address of ``int64 f(void *handle, int64 *event, void *)``: `contract.QUEUE_EVENT_FIELDS`;
        queue pair = flow number.
    visit : int
        Address of ``int64 f(void *handle, int64 *t, int64 *forecasts)``: at `t` ticks every queue
        has its turn; rows of queue pairs with a new forecast, `contract.FORECAST_FIELDS`, are
        written. Negative results of both abort the run.
    period_ps : int
        From one visit to the next.

    Raises
    ------
    ValueError
        The period is not positive.
    """

    observe: int
    visit: int
    period_ps: int

    def __post_init__(self) -> None:
        if self.period_ps < 1:
            raise ValueError(f"visits' period_ps must be positive, not {self.period_ps!r}")


@dataclass(frozen=True)
class Scores:
    """Scores of a run.

    Parameters
    ----------
    source : str
        ``"oracle"``: the queueing delay that the switches on the way hold now; ``"inverted"``: 100
        minus that; ``"persistence"``: the delay that was measured just now; ``"model"``: the one
        that the device predicts; ``"garbage"``: uniform in 0..100; ``"forged"``: the oracle's when
        a sample comes, 100 at all other times, at home only; ``"constant"``: always 100;
        ``"queue"``: the device's queue model of the sender's own send queue; ``"queue_inverted"``:
        100 minus that.
    budget_us : float
        The queueing delay that counts as congestion.
    table : tuple of int
        Calibration table (`precog_models.predict.cps`) of delays up to twice the budget; of all
        sources but ``garbage`` and those of queues, whose table is in the device.
    echo : bool
        Scores travel to the receiver and act when they have come back; else at once.
    receiver : bool
        On their way they act at the receiver, too: on the queue pair that sends the other way.

    Raises
    ------
    ValueError
        Unknown source, a budget that is no time, a bad table, a receiver without a way to it, or
        forged scores that travel.
    """

    source: str
    budget_us: float = 4.0
    table: tuple[int, ...] = ramp(0.5, 1.5)
    echo: bool = False
    receiver: bool = False

    def __post_init__(self) -> None:
        if self.receiver and not self.echo:
            raise ValueError("scores must travel (echo) to act at the receiver: set echo, too")
        if self.source not in SOURCES:
            raise ValueError(
                f"score source must be one of {', '.join(SOURCES)}, not {self.source!r}"
            )
        if self.echo and self.source == "forged":
            raise ValueError("forged scores must act at home: they are timed by samples; no echo")
        if not 1 <= self.budget_us * _TICKS_PER_US <= Fmt.RTT.max:
            raise ValueError(
                f"score budget_us must be in 0.001..{Fmt.RTT.max / _TICKS_PER_US:g}, "
                f"not {self.budget_us!r}"
            )
        check_knots(self.table)

    @property
    def number(self) -> int:
        """The source as the kernel knows it."""
        return int(ScoreSource[self.source.upper()])

    @property
    def budget_ticks(self) -> int:
        """The budget in ticks of 1 ns."""
        return round(self.budget_us * _TICKS_PER_US)

    @property
    def knots(self) -> NDArray[np.int64]:
        """The table as the kernel wants it."""
        return check_knots(self.table)
