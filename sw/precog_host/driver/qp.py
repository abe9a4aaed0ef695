"""A queue pair of a device in real units: its configuration and its last decision."""

from dataclasses import dataclass
from typing import TypedDict, Unpack

from precog_models.presets import law_preset
from precog_spec.contract import PROGRAM_ALGORITHM, Algorithm, Flag
from precog_spec.registers.model import Field
from precog_spec.registers.qp import QP_CONFIG, QP_STATUS

from ..registers import Registers
from ..units import from_real, to_real
from .law import STANDARD, LawDriver
from .qp_window import QpWindow

__all__ = ["Qp", "QpChanges", "QpStatus"]

_QP_FIELDS: dict[str, Field] = {f.name: f for r in QP_CONFIG for f in r.fields}


@dataclass(frozen=True)
class QpStatus:
    """Configuration and last decision of a queue pair, of one instant, in real units."""

    qp: int
    enable: bool
    algorithm: str
    model_slot: int | None
    target_mode: str
    rttch: bool
    win: bool
    psched: bool
    sla_priority: int
    sla_latency_us: float | None  #: None: none promised
    min_rate_gbps: float
    max_rate_gbps: float
    init_rate_gbps: float
    samples: int
    rate_gbps: float
    window_bytes: int | None  #: None: no limit
    rtt_pred_us: float | None  #: None: no prediction
    target_us: float
    base_us: float
    srtt_us: float
    flags: tuple[str, ...]


class QpChanges(TypedDict, total=False):
    """What `Qp.configure` may change; what is left out or None stays.

    Attributes
    ----------
    preset : str
        A law preset: target, limits, initial rate, adjuster. The other arguments override it.
    enable : bool
        Samples of the queue pair are decided on.
    algorithm : str
        ``"fixed"``, ``"pid"`` or ``"predpid"``; with a law engine also the name of a loaded law, or
        its slot, as in ``"law:2"``, ``"timely"`` and ``"dcqcn"``. An engine without a program of
        timely or dcqcn gets it, with the configuration.
    target_us : float
        A fixed RTT target.
    follow_base : bool
        Target = base RTT + queue budget instead.
    min_gbps, max_gbps, init_gbps : float
        Rate limits and initial rate.
    rttch, win : bool
        Target adjuster; window limit (with pid and predpid).
    psched : bool
        A congestion score moves the law's rate, within the rate limits.
    sla_priority : int
        0 to 7: the higher, the less a score lowers the rate, and the more it raises one while
        `psched_increase` is below its limit of 0.1.
    sla_latency_us : float
        No rise while the smoothed RTT is above it; 0: whatever it is.
    model_slot : int
        Slot of the model map; it also turns the model on.
    use_model : bool
        False: no model.
    """

    preset: str | None
    enable: bool | None
    algorithm: str | None
    target_us: float | None
    follow_base: bool | None
    min_gbps: float | None
    max_gbps: float | None
    init_gbps: float | None
    rttch: bool | None
    win: bool | None
    psched: bool | None
    sla_priority: int | None
    sla_latency_us: float | None
    model_slot: int | None
    use_model: bool | None


class Qp:
    """One queue pair of a device.

    Parameters
    ----------
    registers : Registers
    window : QpWindow
        The device's; queue pairs share it.
    law : LawDriver or None
        Of its law engine, if it has one.
    number : int
    """

    def __init__(
        self, registers: Registers, window: QpWindow, law: LawDriver | None, number: int
    ) -> None:
        self._registers, self._window, self._law = registers, window, law
        self._tick_ps = registers.identity.tick_ps
        self.number = number

    def configure(self, *, clear: bool = True, **changes: Unpack[QpChanges]) -> None:
        """Change the configuration; what is not given stays. It takes effect at once as a whole.

        Parameters
        ----------
        clear : bool
            Start anew: empty history, initial rate.
        **changes
            As `QpChanges`.

        Raises
        ------
        ValueError
            A name is unknown, a value does not fit, the rates are out of order, or a queue pair
            without a maximum rate is to be enabled; nothing is changed then.
        DeviceError
            The device refused.
        """
        self.apply(self.planned(**changes), clear=clear)

    def planned(self, **changes: Unpack[QpChanges]) -> dict[str, int]:
        """The configuration that `configure` would write, checked; nothing is changed.

        Returns
        -------
        dict of str to int
            Fields of `QP_CONFIG`, for `apply`.

        Raises
        ------
        ValueError, DeviceError
            As `configure`.
        """
        self._window.command(self.number, "fetch")
        config: dict[str, int] = {}
        for register in QP_CONFIG:
            config |= self._registers.fields("QP", register.name)
        preset, algorithm = changes.get("preset"), changes.get("algorithm")
        target_us, follow_base = changes.get("target_us"), changes.get("follow_base")
        model_slot = changes.get("model_slot")
        if preset is not None:
            config |= law_preset(preset).configuration(self._tick_ps)
        if algorithm is not None:
            config["algorithm"] = _algorithm(algorithm, self._law)
        if target_us is not None:
            config["target_mode"] = 0
        if follow_base is not None:
            config["target_mode"] = int(follow_base)
        if model_slot is not None:
            if not 0 <= model_slot < self._registers.sizes.sets:
                raise ValueError(
                    f"model slot must be in 0..{self._registers.sizes.sets - 1}, not {model_slot!r}"
                )
            config |= {"model_slot": model_slot, "model_enable": 1}
        for name, flag in (
            ("enable", changes.get("enable")),
            ("rttch", changes.get("rttch")),
            ("win", changes.get("win")),
            ("psched", changes.get("psched")),
            ("model_enable", changes.get("use_model")),
        ):
            if flag is not None:
                config[name] = int(flag)
        if config["win"] and config["algorithm"] > Algorithm.PREDPID:
            law = _algorithm_name(config["algorithm"], self._law)
            raise ValueError(f"win must be off with {law}: it has no window limit")
        promises = {name: config[name] for name in ("psched", "sla_priority", "sla_latency")}
        if any(promises.values()) and not self._registers.sizes.laws:
            raise ValueError(
                "psched must be off on this device (laws=0), and all that belongs to it"
            )
        for name, value in (
            ("sla_priority", changes.get("sla_priority")),
            ("sla_latency", changes.get("sla_latency_us")),
            ("target", target_us),
            ("min_rate", changes.get("min_gbps")),
            ("max_rate", changes.get("max_gbps")),
            ("init_rate", changes.get("init_gbps")),
        ):
            if value is not None:
                config[name] = from_real(_QP_FIELDS[name], value, self._tick_ps)
        low, first, high = (
            to_real(_QP_FIELDS[name], config[name], self._tick_ps)
            for name in ("min_rate", "init_rate", "max_rate")
        )
        if config["enable"] and not high:
            raise ValueError(
                f"QP {self.number} must have a maximum rate before it is enabled, not 0 Gb/s: "
                "give a preset (--preset)"
            )
        if low > high:
            raise ValueError(f"min_gbps must not be above max_gbps, not {low:g} and {high:g}")
        if not low <= first <= high:
            raise ValueError(
                f"initial rate (init_gbps) must be in min_gbps..max_gbps, {low:g}..{high:g} Gb/s, "
                f"not {first:g}: give another rate, or other limits"
            )
        return config

    def apply(self, config: dict[str, int], *, clear: bool = True) -> None:
        """Write what `planned` returned; it takes effect at once as a whole.

        Raises
        ------
        DeviceError
            The device refused.
        """
        if self._law is not None and config["algorithm"] >= PROGRAM_ALGORITHM:
            self._law.fulfil(config["algorithm"] - PROGRAM_ALGORITHM)
        for register in QP_CONFIG:
            self._registers.write_fields(
                "QP", register.name, **{f.name: config[f.name] for f in register.fields}
            )
        self._window.command(self.number, "apply", *(["clear"] if clear else []))

    def clear(self) -> None:
        """Start anew: empty history, initial rate; the configuration stays."""
        self._window.command(self.number, "clear")

    def status(self) -> QpStatus:
        """Configuration and last decision, of one instant."""
        self._window.command(self.number, "fetch")
        words: dict[str, int] = {}
        real: dict[str, float] = {}
        for register in (*QP_CONFIG, *QP_STATUS):
            values = self._registers.fields("QP", register.name)
            for field in register.fields:
                key = register.name.lower() if register in QP_STATUS else field.name
                words[key] = values[field.name]
                real[key] = to_real(field, values[field.name], self._tick_ps)
        # A prediction of 0 is possible; one that the law did not use has no flag.
        predicted = words["last_rtt_pred"] or words["last_flags"] >> Flag.PREDICTED & 1
        return QpStatus(
            qp=self.number,
            enable=bool(words["enable"]),
            algorithm=_algorithm_name(words["algorithm"], self._law),
            model_slot=words["model_slot"] if words["model_enable"] else None,
            target_mode="base" if words["target_mode"] else "fixed",
            rttch=bool(words["rttch"]),
            win=bool(words["win"]),
            psched=bool(words["psched"]),
            sla_priority=words["sla_priority"],
            sla_latency_us=real["sla_latency"] or None,
            min_rate_gbps=real["min_rate"],
            max_rate_gbps=real["max_rate"],
            init_rate_gbps=real["init_rate"],
            samples=words["last_samples"],
            rate_gbps=real["last_rate"],
            window_bytes=words["last_window"] or None,
            rtt_pred_us=real["last_rtt_pred"] if predicted else None,
            target_us=real["last_target"],
            base_us=real["last_base"],
            srtt_us=real["last_srtt"],
            flags=tuple(flag.name.lower() for flag in Flag if words["last_flags"] >> flag & 1),
        )


def _algorithm_name(code: int, engine: LawDriver | None) -> str:
    """A register may hold a code that is no law's; the device runs it as fixed."""
    slot = code - PROGRAM_ALGORITHM
    if slot >= 0:
        return f"law:{slot}" if engine is None else engine.named(slot)
    return Algorithm(code).name.lower() if code in set(Algorithm) else f"code {code}"


def _algorithm(name: str, engine: LawDriver | None) -> int:
    """Code of a law that the device has, or of a program by its slot or its law's name."""
    if engine is not None and name in STANDARD:
        return PROGRAM_ALGORITHM + engine.place(name)
    names = {algorithm.name.lower(): int(algorithm) for algorithm in Algorithm}
    if engine is not None:
        for one in engine.slots():
            names[f"law:{one.slot}"] = PROGRAM_ALGORITHM + one.slot
            if one.law is not None:
                names.setdefault(one.law, PROGRAM_ALGORITHM + one.slot)
    if name not in names:
        # The two that are loaded when they are named are there even if no slot has them.
        known, hint = list(names), "; programs need a law engine (law_cores=1)"
        if engine is not None:
            known = list(dict.fromkeys((*names, *STANDARD)))
            hint = "; load others with precog law load"
        elif name in STANDARD:
            hint = f": {name} needs a law engine (law_cores=1)"
        raise ValueError(f"algorithm must be one of {', '.join(known)}, not {name!r}{hint}")
    return names[name]
