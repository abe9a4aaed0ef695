"""Forecasts of an emulated device: the golden NIC's, behind their register block."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from precog_models.nic import GoldenNic
from precog_spec.contract import CALIBRATION_KNOTS, FORECAST_FIELDS, NO_SCORE, PROBABILITY, HeadKind
from precog_spec.registers.forecast import FORECAST_EVENTS, FORECAST_PAIR, KNOT_STRIDE

from .counters import EmulatedCounters
from .register_file import RegisterFile, ignored

__all__ = ["EmulatedForecast"]

Ints = NDArray[np.int64]

_SHARED = {"FORECAST.THRESHOLD": "threshold_bin", "FORECAST.BUDGET": "rtt_budget"}


class EmulatedForecast:
    """Configurations, calibration tables and counters through the registers.

    Unlike hardware it scores every decision: none is `stale`.

    Parameters
    ----------
    file : RegisterFile
    nic : GoldenNic
    changed : callable
        Hears that a configuration was written.

    Attributes
    ----------
    counters : EmulatedCounters
    use : callable
        Gets every forecast, `contract.FORECAST_FIELDS`; none by default.
    """

    def __init__(self, file: RegisterFile, nic: GoldenNic, changed: Callable[[], None]) -> None:
        self._file, self._nic = file, nic
        self._changed = changed
        self.use: Callable[[Ints], None] = lambda _: None
        self.counters = EmulatedCounters([name for name, _ in FORECAST_EVENTS])
        file.written |= {
            "FORECAST.COMMAND": self._command,
            "FORECAST.KNOT": self._show_knot,
            "FORECAST.KNOT_WRITE": self._write_knot,
            **dict.fromkeys(_SHARED, self._set_shared),
        }
        file.tables["FORECAST.COUNTERS"] = self.counters.read, ignored
        self._set_shared()
        self._show_knot()

    def forecast(self, profile: Ints) -> Ints | None:
        """`contract.FORECAST_FIELDS` for one profile; None if it is dropped."""
        qp, t, *x = profile.tolist()
        answer = self._nic.forecast(qp, t, x)
        if answer is None:
            self.counters.add("dropped", 1)
            return None
        config = self._nic.forecast_configuration(qp)
        self._count_head(bool(config["queue_enable"]), config["queue_slot"], HeadKind.QUEUE)
        self.counters.add("forecasts", 1)
        self.counters.add("no_model", int(answer["cps"] == NO_SCORE))
        made = np.array([answer[name] for name, _ in FORECAST_FIELDS], dtype=np.int64)
        self.use(made)
        return made

    def decided(self, qp: int) -> None:
        """A sample of a queue pair was decided on."""
        config = self._nic.configuration(qp)
        self._count_head(bool(config["model_enable"]), config["model_slot"], HeadKind.RTT)

    def to_tell(self, qp: int) -> int:
        """Score for the queue pair's PSCHED, and for its program, now; -1: none."""
        value = self._nic.take_score(qp)
        listens = self._nic.configuration(qp)["psched"] or self._nic.runs_program(qp)
        return value if listens else -1

    def _count_head(self, enable: bool, slot: int, kind: HeadKind) -> None:
        if not enable or slot >= self._nic.sets:
            return
        number, mapped = self._nic.slot(slot)
        found = self._nic.head_kind(number)
        self.counters.add("wrong_head", int(mapped and found not in (None, kind)))

    # --- registers that do something -------------------------------------------------------------

    def _set_shared(self, _: int = 0) -> None:
        self._nic.set_forecast({name: self._file.get(word)[name] for word, name in _SHARED.items()})

    def _knots(self) -> tuple[Ints, int]:
        """The table that KNOT names, and the place in it."""
        table, place = divmod(self._file.get("FORECAST.KNOT")["knot"], KNOT_STRIDE)
        return self._nic.knots(HeadKind(table)), place

    def _show_knot(self, _: int = 0) -> None:
        knots, place = self._knots()
        value = int(knots[place]) if place < CALIBRATION_KNOTS else PROBABILITY.one
        self._file.put("FORECAST.KNOT_VALUE", value=value)

    def _write_knot(self, value: int) -> None:
        knots, place = self._knots()
        if place < CALIBRATION_KNOTS:
            knots[place] = min(value & 0xFFFF, PROBABILITY.one)
        self._show_knot()

    def _command(self, value: int) -> None:
        asked = self._file.asked("FORECAST.COMMAND", value)
        qp = self._file.get("FORECAST.SELECT")["index"]
        if not asked:
            return
        if qp >= self._nic.qps:
            self._file.put("FORECAST.ERROR", range=1)
            return
        for register in FORECAST_PAIR:
            word = f"FORECAST.{register.name}"
            if "apply" in asked:
                self._nic.configure_forecast(qp, self._file.get(word))
                self._changed()
            if "fetch" in asked:
                shown = self._nic.forecast_configuration(qp)
                self._file.put(word, **{f.name: shown[f.name] for f in register.fields})
