"""A Precog device in real units: models, queue pairs, parameters, counters.

One class on every transport: what works on the golden NIC (``emu:``) works on the Verilated RTL
(``sim:``) and on a board.
"""

import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from precog_hw.regmap.model import Field
from precog_hw.regmap.precog import (
    COUNTERS,
    LOAD_STATUS,
    QP_CONFIG,
    QP_STATUS,
    Identity,
    Sizes,
)
from precog_models.contract import CONTRACT_HASH, IMAGE_BYTES, Algorithm, Flag, HeadKind
from precog_models.image import Image, load
from precog_models.law_presets import DCQCN_PRESETS, TIMELY_PRESETS
from precog_models.presets import law_preset

from .pacing import Pacing
from .packets import PacketPath
from .registers import Registers
from .transport import DeviceError, SampleTransport, Transport, open_transport
from .units import from_real, real_name, to_real

__all__ = ["Device", "ModelSet", "Qp", "QpChanges", "QpStatus"]

_BUSY_READS = 10_000  # polls of a busy bit before the device counts as hung
_LOAD_TEXT = {number: name.replace("_", " ") for name, number in LOAD_STATUS}
_LOAD_OK = dict(LOAD_STATUS)["ok"]
_SET_IN_USE = dict(LOAD_STATUS)["set_in_use"]
_QP_FIELDS: dict[str, Field] = {f.name: f for r in QP_CONFIG for f in r.fields}


@dataclass(frozen=True)
class ModelSet:
    """One set of the pool, as the device shows it."""

    set: int
    valid: bool
    version: int
    slots: tuple[int, ...]  #: slots that stand for it


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


class Device:
    """A device behind a transport.

    Parameters
    ----------
    transport : Transport

    Attributes
    ----------
    registers : Registers
    sizes : Sizes
    identity : Identity

    Raises
    ------
    DeviceError
        The device is not a Precog that this package knows, or has another contract.
    """

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.registers = Registers(transport)
        self.sizes: Sizes = self.registers.sizes
        self.identity: Identity = self.registers.identity
        if self.identity.contract_hash != CONTRACT_HASH:
            raise DeviceError(
                f"device contract must be {CONTRACT_HASH:#010x}, "
                f"not {self.identity.contract_hash:#010x}: host package and gateware differ"
            )
        #: The packet path, where the device has one.
        self.packets = PacketPath(self.registers) if self.sizes.width else None
        #: The pacer, likewise.
        self.pacing = Pacing(self.registers) if self.sizes.grants else None
        self._wait_qp()  # after its reset the device disables every queue pair first

    @classmethod
    def open(cls, uri: str) -> "Device":
        """The device that `uri` names, such as ``emu:`` or ``sim:``.

        Raises
        ------
        DeviceError
            There is no such transport or device.
        """
        transport = open_transport(uri)
        try:
            return cls(transport)
        except BaseException:
            transport.close()
            raise

    def close(self) -> None:
        """Give the transport back."""
        self.transport.close()

    def __enter__(self) -> "Device":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def tick_ps(self) -> int:
        """Length of a tick in picoseconds."""
        return self.identity.tick_ps

    # --- models ----------------------------------------------------------------------------------

    def load_model(
        self, model: Image | str | Path, *, slot: int = 0, set: int | None = None
    ) -> ModelSet:
        """Load a model into a set that no slot stands for, check it there, then map `slot` to it.

        The map changes in one write and only once the hardware has accepted the image: until then,
        and after any failure, the slot's queue pairs run what they ran before.

        Parameters
        ----------
        model : Image, str or Path
            An image or a model file.
        slot : int
            Slot of the model map.
        set : int, optional
            Set to load into; a free one if not given.

        Raises
        ------
        ModelImageError
            The file is not a model image for this contract.
        DeviceError
            The datapath cannot run the model: its head is not `HeadKind.RTT`, it has more than one
            input or output, or too many steps. No set is free, or the device refused the image or
            the map.
        ValueError
            The slot or the set does not exist.
        """
        image = model if isinstance(model, Image) else load(model)
        weights = image.weights
        if weights.steps > self.sizes.steps:
            raise DeviceError(
                f"model steps must be at most {self.sizes.steps} here, not {weights.steps}"
            )
        # The engine runs more than the datapath around it can feed and use.
        if weights.kind is not HeadKind.RTT:
            raise DeviceError(f"model head must be rtt here, not {weights.kind.name.lower()}")
        for name, value in (("inputs", weights.inputs), ("outputs", weights.outputs)):
            if value != 1:
                raise DeviceError(
                    f"model {name} must be 1 here, not {value}: a queue pair gives its model one "
                    "feature and takes one RTT"
                )
        self._check_slot(slot)
        number = self._free_set() if set is None else set
        self.write_set(number, image.payload)
        self.map_slot(slot, number)
        return self.models()[number]

    def write_set(self, number: int, payload: bytes, *, crc: int | None = None) -> None:
        """Write an image's payload into a set and commit it.

        Parameters
        ----------
        number : int
            The set; no slot may stand for it.
        payload : bytes
            The canonical bytes; the device says no to a wrong length.
        crc : int, optional
            CRC-32 that the device is to expect; that of `payload` if not given.

        Raises
        ------
        DeviceError
            The device refused; the set is then not valid.
        ValueError
            The set does not exist or the payload is not whole words.
        """
        if not 0 <= number < self.sizes.sets:
            raise ValueError(f"set must be in 0..{self.sizes.sets - 1}, not {number!r}")
        if len(payload) % 4 or len(payload) > 2 * IMAGE_BYTES:
            raise ValueError(
                f"payload must be whole words and at most {2 * IMAGE_BYTES} bytes, "
                f"not {len(payload)}"
            )
        registers = self.registers
        registers.write_fields("MODEL", "ERROR", load=1)  # a stale error is not this load's
        registers.write_fields("MODEL", "SET", set=number)
        registers.write_fields("MODEL", "COMMAND", begin=1)
        self._check_load(number)
        for word in np.frombuffer(payload, dtype="<u4").tolist():
            registers.write("MODEL", "DATA", word)
        registers.write("MODEL", "CRC", zlib.crc32(payload) if crc is None else crc)
        registers.write_fields("MODEL", "COMMAND", commit=1)
        self._check_load(number)
        code = registers.fields("MODEL", "STATUS")["code"]
        if code != _LOAD_OK:
            raise DeviceError(f"model set {number} was not accepted: {_LOAD_TEXT.get(code, code)}")

    def _check_load(self, number: int) -> None:
        for _ in range(_BUSY_READS):
            status = self.registers.fields("MODEL", "STATUS")
            if not status["busy"]:
                break
        else:
            raise DeviceError("model loader stays busy")
        if self.registers.fields("MODEL", "ERROR")["load"]:
            self.registers.write_fields("MODEL", "ERROR", load=1)
            reason = _LOAD_TEXT.get(status["code"], f"code {status['code']}")
            if status["code"] == _SET_IN_USE:
                slots = ", ".join(str(slot) for slot in self.models()[number].slots)
                reason += f" by slot {slots}: load into another set or disable the slot (map_slot)"
            raise DeviceError(f"model set {number} was refused: {reason}")

    def map_slot(self, slot: int, number: int, *, enable: bool = True) -> None:
        """Let `slot` stand for set `number`, or for none.

        Raises
        ------
        DeviceError
            The device refused: the set is not valid. The slot is as it was.
        ValueError
            The slot does not exist.
        """
        self._check_slot(slot)
        registers = self.registers
        registers.write_fields("MODEL", "ERROR", map=1)
        registers.write_entry("MODEL", "SLOTS", slot, "SLOT", set=number, enable=int(enable))
        if registers.fields("MODEL", "ERROR")["map"]:
            registers.write_fields("MODEL", "ERROR", map=1)
            raise DeviceError(f"model slot {slot} was refused: set {number} is not valid")
        seen = registers.entry("MODEL", "SLOTS", slot, "SLOT")
        if seen != {"set": number, "enable": int(enable)}:
            raise DeviceError(f"model slot {slot} must read back what was written, not {seen}")

    def models(self) -> list[ModelSet]:
        """All sets of the pool."""
        slots: dict[int, list[int]] = {}
        for slot in range(self.sizes.sets):
            entry = self.registers.entry("MODEL", "SLOTS", slot, "SLOT")
            if entry["enable"]:
                slots.setdefault(entry["set"], []).append(slot)
        return [
            ModelSet(
                set=number,
                valid=bool(self.registers.entry("MODEL", "SETS", number, "SET_STATE")["valid"]),
                version=self.registers.entry("MODEL", "SETS", number, "SET_VERSION")["version"],
                slots=tuple(slots.get(number, ())),
            )
            for number in range(self.sizes.sets)
        ]

    def _check_slot(self, slot: int) -> None:
        if not 0 <= slot < self.sizes.sets:
            raise ValueError(f"model slot must be in 0..{self.sizes.sets - 1}, not {slot!r}")

    def _free_set(self) -> int:
        """An unmapped set, one that is not valid first."""
        free = [entry for entry in self.models() if not entry.slots]
        if not free:
            raise DeviceError(
                f"all {self.sizes.sets} model sets are mapped: disable a slot (map_slot) before "
                "loading"
            )
        return min(free, key=lambda entry: (entry.valid, entry.set)).set

    # --- parameters and counters -----------------------------------------------------------------

    def _parameters(self) -> dict[str, tuple[str, str, Field]]:
        """Presented name: (block, register, field)."""
        return {
            real_name(field): (block, register.name, field)
            for block in self.sizes.parameter_blocks
            for register in self.registers.registers(block)
            for field in register.fields
        }

    def parameters(self) -> dict[str, float | int]:
        """Parameters that all queue pairs share, in real units."""
        return {
            name: to_real(field, self.registers.fields(block, register)[field.name], self.tick_ps)
            for name, (block, register, field) in self._parameters().items()
        }

    def set_parameters(
        self,
        preset: str | None = None,
        /,
        *,
        timely: str | None = None,
        dcqcn: str | None = None,
        **values: float,
    ) -> None:
        """Set some parameters, in real units, after all of the presets that are given.

        Parameters
        ----------
        preset : str, optional
            Of pid and predpid (`precog_models.presets`).
        timely, dcqcn : str, optional
            Of those laws (`precog_models.law_presets`).
        **values
            By the names that `parameters` shows.

        Raises
        ------
        ValueError
            A name is unknown or a value does not fit; nothing is written then.
        """
        known = self._parameters()
        integers = self._presets(preset, timely, dcqcn)
        unknown = sorted(integers.keys() - {field.name for _, _, field in known.values()})
        if unknown:
            raise ValueError(
                f"device must have the laws timely and dcqcn for a preset of theirs, but it has no "
                f"{unknown[0]} (built with laws=0)"
            )
        writes: dict[tuple[str, str], dict[str, int]] = {}
        for block, register, field in known.values():
            if field.name in integers:
                writes.setdefault((block, register), {})[field.name] = integers[field.name]
        for name, value in values.items():
            if name not in known:
                raise ValueError(f"parameter must be one of {', '.join(known)}, not {name!r}")
            block, register, field = known[name]
            word = writes.setdefault((block, register), self.registers.fields(block, register))
            word[field.name] = from_real(field, value, self.tick_ps)
        for (block, register), word in writes.items():
            self.registers.write_fields(block, register, **word)

    def _presets(self, preset: str | None, timely: str | None, dcqcn: str | None) -> dict[str, int]:
        """Field name to integer, of the presets that are given."""
        integers: dict[str, int] = {}
        if preset is not None:
            integers |= law_preset(preset).parameters(self.tick_ps)
        for law, presets, name in (
            ("timely", TIMELY_PRESETS, timely),
            ("dcqcn", DCQCN_PRESETS, dcqcn),
        ):
            if name is None:
                continue
            if name not in presets:
                raise ValueError(f"{law} preset must be one of {', '.join(presets)}, not {name!r}")
            values = presets[name].parameters(self.tick_ps)
            integers |= {f"{law}_{field}": value for field, value in values.items()}
        return integers

    def apply_preset(self, name: str) -> None:
        """Set all parameters of pid and predpid to those of a preset.

        Raises
        ------
        ValueError
            There is no such preset.
        """
        self.set_parameters(name)

    def counters(self) -> dict[str, int]:
        """Events since power-up, by name."""
        result = {}
        for index, (name, _) in enumerate(COUNTERS):
            low = self.registers.entry("COUNTERS", "COUNTERS", index, "LOW")["low"]
            high = self.registers.entry("COUNTERS", "COUNTERS", index, "HIGH")["high"]
            result[name] = high << 32 | low
        return result

    # --- queue pairs -----------------------------------------------------------------------------

    def qp(self, number: int) -> "Qp":
        """Queue pair slot `number`.

        Raises
        ------
        ValueError
            The device has no such slot.
        """
        if not 0 <= number < self.sizes.qps:
            raise ValueError(f"QP must be in 0..{self.sizes.qps - 1}, not {number!r}")
        return Qp(self, number)

    def decide(self, samples: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give samples [n, 3] to a device that takes them from the host; decisions [m, 8].

        Raises
        ------
        DeviceError
            The transport cannot.
        ValueError
            As `checked_samples`; nothing is decided then.
        """
        if not isinstance(self.transport, SampleTransport):
            raise DeviceError("device takes its samples from the wire, not from the host")
        return self.transport.decide(samples)

    def _qp_command(self, number: int, *commands: str) -> None:
        registers = self.registers
        registers.write_fields("QP", "SELECT", index=number)
        registers.write_fields("QP", "COMMAND", **dict.fromkeys(commands, 1))
        self._wait_qp()
        errors = [name for name, bit in registers.fields("QP", "ERROR").items() if bit]
        if errors:
            registers.write_fields("QP", "ERROR", **dict.fromkeys(errors, 1))
            raise DeviceError(f"QP {number} command was refused: {', '.join(errors)}")

    def _wait_qp(self) -> None:
        for _ in range(_BUSY_READS):
            if not self.registers.fields("QP", "STATE")["busy"]:
                return
        raise DeviceError("QP window stays busy")


class QpChanges(TypedDict, total=False):
    """What `Qp.configure` may change; what is left out or None stays.

    Attributes
    ----------
    preset : str
        A law preset: target, limits, initial rate, adjuster. The other arguments override it.
    enable : bool
        Samples of the queue pair are decided on.
    algorithm : str
        ``"fixed"``, ``"pid"``, ``"predpid"``, ``"timely"`` or ``"dcqcn"``.
    target_us : float
        A fixed RTT target.
    follow_base : bool
        Target = base RTT + queue budget instead.
    min_gbps, max_gbps, init_gbps : float
        Rate limits and initial rate.
    rttch, win : bool
        Target adjuster; window limit (not with timely and dcqcn).
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
    model_slot: int | None
    use_model: bool | None


class Qp:
    """One queue pair of a device."""

    def __init__(self, device: Device, number: int) -> None:
        self._device = device
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
        device = self._device
        device._qp_command(self.number, "fetch")
        config: dict[str, int] = {}
        for register in QP_CONFIG:
            config |= device.registers.fields("QP", register.name)
        preset, algorithm = changes.get("preset"), changes.get("algorithm")
        target_us, follow_base = changes.get("target_us"), changes.get("follow_base")
        model_slot = changes.get("model_slot")
        if preset is not None:
            config |= law_preset(preset).configuration(device.tick_ps)
        if algorithm is not None:
            config["algorithm"] = _algorithm(algorithm)
            if config["algorithm"] > Algorithm.PREDPID and not device.sizes.laws:
                raise ValueError(
                    f"algorithm must be fixed, pid or predpid on this device (laws=0), "
                    f"not {algorithm!r}"
                )
        if target_us is not None:
            config["target_mode"] = 0
        if follow_base is not None:
            config["target_mode"] = int(follow_base)
        if model_slot is not None:
            if not 0 <= model_slot < device.sizes.sets:
                raise ValueError(
                    f"model slot must be in 0..{device.sizes.sets - 1}, not {model_slot!r}"
                )
            config |= {"model_slot": model_slot, "model_enable": 1}
        for name, flag in (
            ("enable", changes.get("enable")),
            ("rttch", changes.get("rttch")),
            ("win", changes.get("win")),
            ("model_enable", changes.get("use_model")),
        ):
            if flag is not None:
                config[name] = int(flag)
        if config["win"] and config["algorithm"] > Algorithm.PREDPID:
            law = Algorithm(config["algorithm"]).name.lower()
            raise ValueError(f"win must be off with {law}: it has no window limit")
        for name, value in (
            ("target", target_us),
            ("min_rate", changes.get("min_gbps")),
            ("max_rate", changes.get("max_gbps")),
            ("init_rate", changes.get("init_gbps")),
        ):
            if value is not None:
                config[name] = from_real(_QP_FIELDS[name], value, device.tick_ps)
        low, first, high = (
            to_real(_QP_FIELDS[name], config[name], device.tick_ps)
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
            raise ValueError(f"init_gbps must be in {low:g}..{high:g}, not {first:g}")
        return config

    def apply(self, config: dict[str, int], *, clear: bool = True) -> None:
        """Write what `planned` returned; it takes effect at once as a whole.

        Raises
        ------
        DeviceError
            The device refused.
        """
        device = self._device
        for register in QP_CONFIG:
            device.registers.write_fields(
                "QP", register.name, **{f.name: config[f.name] for f in register.fields}
            )
        device._qp_command(self.number, "apply", *(["clear"] if clear else []))

    def clear(self) -> None:
        """Start anew: empty history, initial rate; the configuration stays."""
        self._device._qp_command(self.number, "clear")

    def status(self) -> QpStatus:
        """Configuration and last decision, of one instant."""
        device = self._device
        device._qp_command(self.number, "fetch")
        words: dict[str, int] = {}
        real: dict[str, float] = {}
        for register in (*QP_CONFIG, *QP_STATUS):
            values = device.registers.fields("QP", register.name)
            for field in register.fields:
                key = register.name.lower() if register in QP_STATUS else field.name
                words[key] = values[field.name]
                real[key] = to_real(field, values[field.name], device.tick_ps)
        # A prediction of 0 is possible; one that the law did not use has no flag.
        predicted = words["last_rtt_pred"] or words["last_flags"] >> Flag.PREDICTED & 1
        return QpStatus(
            qp=self.number,
            enable=bool(words["enable"]),
            algorithm=_algorithm_name(words["algorithm"]),
            model_slot=words["model_slot"] if words["model_enable"] else None,
            target_mode="base" if words["target_mode"] else "fixed",
            rttch=bool(words["rttch"]),
            win=bool(words["win"]),
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


def _algorithm_name(code: int) -> str:
    """A register may hold a code that is no law's; the device runs it as fixed."""
    return Algorithm(code).name.lower() if code in set(Algorithm) else f"code {code}"


def _algorithm(name: str) -> int:
    names = {algorithm.name.lower(): int(algorithm) for algorithm in Algorithm}
    if name not in names:
        raise ValueError(f"algorithm must be one of {', '.join(names)}, not {name!r}")
    return names[name]
