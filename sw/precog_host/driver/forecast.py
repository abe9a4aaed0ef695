"""Forecasts of a device in real units: queue models, calibration, scores, counters."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from precog_models.predict.cps import check_knots
from precog_spec.contract import CALIBRATION_KNOTS, HeadKind, ScoreSource
from precog_spec.registers.forecast import FORECAST_EVENTS, FORECAST_PAIR, KNOT_STRIDE

from ..registers import Registers
from ..transport import DeviceError
from ..units import from_real, real_name, to_real
from ..windows import Windows

__all__ = ["ForecastDriver", "QueueModel"]

_SHARED = ("THRESHOLD", "BUDGET", "CARRY_AGE")


@dataclass(frozen=True)
class QueueModel:
    """What forecasts a queue pair's queue, and what its scheduler is told."""

    qp: int
    model_slot: int | None  #: None: it names no queue model
    source: str  #: "none", "queue", "rtt" or "max"


class ForecastDriver(Windows):
    """Forecasts' side of a device.

    Parameters
    ----------
    registers : Registers
        Of a device with forecasts.

    Raises
    ------
    DeviceError
        The device makes none.
    """

    def __init__(self, registers: Registers) -> None:
        if not registers.sizes.forecast:
            raise DeviceError("device makes no forecasts: it was built without (forecast=0)")
        super().__init__(registers)

    def pair(self, qp: int) -> QueueModel:
        """A queue pair's configuration.

        Raises
        ------
        ValueError
            The device has no such slot.
        """
        row = self._row(qp)
        slot = row["queue_slot"] if row["queue_enable"] else None
        return QueueModel(qp, slot, ScoreSource(row["score_source"]).name.lower())

    def configure(
        self,
        qp: int,
        *,
        model_slot: int | None = None,
        off: bool = False,
        source: str | None = None,
    ) -> None:
        """Change a queue pair's configuration; what is None stays.

        Parameters
        ----------
        qp : int
        model_slot : int
            Slot of the model map whose queue model forecasts.
        off : bool
            Name no queue model.
        source : str
            Whose score the predictive scheduler is told: none, queue, rtt or max.

        Raises
        ------
        ValueError
            A slot or a source does not exist; nothing is written then.
        DeviceError
            The device refused.
        """
        row = self._row(qp)
        if model_slot is not None:
            sets = self.registers.sizes.sets
            if off:
                raise ValueError("a queue pair names a model slot or none, not both")
            if not 0 <= model_slot < sets:
                raise ValueError(f"model slot must be in 0..{sets - 1}, not {model_slot!r}")
            row |= {"queue_enable": 1, "queue_slot": model_slot}
        if off:
            row["queue_enable"] = 0
        if source is not None:
            known = {one.name.lower(): int(one) for one in ScoreSource}
            if source not in known:
                raise ValueError(f"score source must be one of {', '.join(known)}, not {source!r}")
            row["score_source"] = known[source]
        for register in FORECAST_PAIR:
            named = {field.name: row[field.name] for field in register.fields}
            self.registers.write_fields("FORECAST", register.name, **named)
        self._command("FORECAST", qp, apply=1)

    def parameters(self) -> dict[str, float | int]:
        """What all queue pairs share, by the names of `set_parameters`."""
        shown: dict[str, float | int] = {}
        for name in _SHARED:
            field = self.registers.register("FORECAST", name).fields[0]
            value = self.registers.fields("FORECAST", name)[field.name]
            shown[real_name(field)] = to_real(field, value, self.registers.identity.tick_ps)
        return shown

    def set_parameters(
        self,
        *,
        threshold_bin: int | None = None,
        rtt_budget_us: float | None = None,
        carry_age_us: float | None = None,
    ) -> None:
        """Change some of them.

        Parameters
        ----------
        threshold_bin : int
            First bin of queue length that is congestion.
        rtt_budget_us : float
            Queueing delay of a predicted RTT that is congestion.
        carry_age_us : float
            How long packets carry a predicted score; 0: until the next one.

        Raises
        ------
        ValueError
            A number does not fit; nothing is written then.
        """
        words = {}
        values = (threshold_bin, rtt_budget_us, carry_age_us)
        for register, value in zip(_SHARED, values, strict=True):
            if value is not None:
                field = self.registers.register("FORECAST", register).fields[0]
                words[register] = from_real(field, value, self.registers.identity.tick_ps)
        if words.get("BUDGET") == 0:
            raise ValueError(f"rtt_budget_us must be at least one tick, not {rtt_budget_us!r}")
        for register, word in words.items():
            self.registers.write("FORECAST", register, word)

    def knots(self, kind: HeadKind) -> NDArray[np.int64]:
        """The calibration table of one kind of model."""
        return np.array([self._knot(kind, n) for n in range(CALIBRATION_KNOTS)], dtype=np.int64)

    def set_knots(self, kind: HeadKind, knots: ArrayLike) -> None:
        """Load a calibration table. Scores that are made meanwhile see parts of both.

        Raises
        ------
        ValueError
            As `check_knots`; nothing is written then.
        DeviceError
            A knot does not read back.
        """
        for n, value in enumerate(check_knots(knots).tolist()):
            self.registers.write("FORECAST", "KNOT", kind * KNOT_STRIDE + n)
            self.registers.write("FORECAST", "KNOT_WRITE", value)
            seen = self._knot(kind, n)
            if seen != value:
                raise DeviceError(f"knot {n} must read back {value}, not {seen}")

    def counters(self) -> dict[str, int]:
        """Events since reset."""
        return self.registers.snapshots.read(
            "FORECAST", "COUNTERS", [name for name, _ in FORECAST_EVENTS]
        )

    def _knot(self, kind: HeadKind, n: int) -> int:
        self.registers.write("FORECAST", "KNOT", kind * KNOT_STRIDE + n)
        self.registers.fields("FORECAST", "STATE")  # the table needs some cycles
        return self.registers.fields("FORECAST", "KNOT_VALUE")["value"]

    def _row(self, qp: int) -> dict[str, int]:
        if not 0 <= qp < self.registers.sizes.qps:
            raise ValueError(f"QP must be in 0..{self.registers.sizes.qps - 1}, not {qp!r}")
        return self._fetch("FORECAST", qp, FORECAST_PAIR)
