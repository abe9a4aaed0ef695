"""A Precog device in real units: models, queue pairs, parameters, counters.

One class on every transport: what works on the golden NIC (``emu:``) works on the Verilated RTL
(``sim:``) and on a board.
"""

import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from precog_models.forecast.forecaster import Forecaster, Settings
from precog_models.image import Image
from precog_models.law_presets import ALL_PRESETS
from precog_models.presets import law_preset
from precog_models.tree_image import TreeImage, load_any
from precog_spec.config import NicConfig
from precog_spec.contract import CONTRACT_HASH, IMAGE_BYTES, HeadKind
from precog_spec.registers.counters import COUNTERS
from precog_spec.registers.identity import Identity
from precog_spec.registers.model import Field
from precog_spec.registers.model_sets import LOAD_STATUS

from .driver.ecc import EccDriver
from .driver.forecast import ForecastDriver
from .driver.interrupt import InterruptDriver
from .driver.law import LawDriver
from .driver.mac import MacDriver
from .driver.pacer import PacerDriver
from .driver.packet import PacketDriver
from .driver.profiler import ProfilerDriver
from .driver.qp import Qp
from .driver.receiver import ReceiverDriver
from .driver.reset import ResetDriver
from .driver.senders import SendersDriver
from .driver.trace import TraceDriver
from .driver.wire import WireDriver
from .registers import Registers
from .transport import (
    DeviceError,
    SampleTransport,
    SharedTransport,
    Transport,
    open_transport,
)
from .units import from_real, real_name, to_real

__all__ = ["Device", "ModelSet", "Watchdog"]

_BUSY_READS = 10_000  # polls of a busy bit before the device counts as hung
_LOAD_TEXT = {number: name.replace("_", " ") for name, number in LOAD_STATUS}
_LOAD_OK = dict(LOAD_STATUS)["ok"]
_SET_IN_USE = dict(LOAD_STATUS)["set_in_use"]


@dataclass(frozen=True)
class ModelSet:
    """One set of the pool, as the device shows it."""

    set: int
    valid: bool
    version: int
    slots: tuple[int, ...]  #: slots that stand for it


@dataclass(frozen=True)
class Watchdog:
    """How the watchdog is set, and what it does."""

    period_us: float | None  #: None: there is none
    expired: bool  #: advice of every kind is held


class Device:
    """A device behind a transport.

    Parameters
    ----------
    transport : Transport

    Attributes
    ----------
    registers : Registers
    sizes : NicConfig
    identity : Identity

    Raises
    ------
    DeviceError
        The device is not a Precog that this package knows, or has another contract.
    """

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.registers = Registers(transport)
        self.sizes: NicConfig = self.registers.sizes
        self.identity: Identity = self.registers.identity
        if self.identity.contract_hash != CONTRACT_HASH:
            raise DeviceError(
                f"device contract must be {CONTRACT_HASH:#010x}, "
                f"not {self.identity.contract_hash:#010x}: host package and gateware differ"
            )
        #: The packet path, where the device has one.
        self.packet = PacketDriver(self.registers) if self.sizes.width else None
        #: Gigabit ports, as above.
        self.mac = MacDriver(self.registers) if self.sizes.macs else None
        #: The pacer, as above.
        self.pacer = PacerDriver(self.registers) if self.sizes.grants else None
        #: The queue profiler, as above.
        self.profiler = ProfilerDriver(self.registers) if self.sizes.profile else None
        #: Queue models and scores, as above.
        self.forecast = ForecastDriver(self.registers) if self.sizes.forecast else None
        #: The receiver of congestion scores, as above.
        self.receiver = ReceiverDriver(self.registers) if self.sizes.receiver else None
        #: The count of queue pairs that send to it, as above.
        self.senders = SendersDriver(self.registers) if self.sizes.senders else None
        #: The trace FIFO, as above.
        self.trace = TraceDriver(self.registers) if self.sizes.trace else None
        #: Packets that wait for grants, as above.
        self.wire = WireDriver(self.registers) if self.sizes.wire else None
        #: Check bits of the models, as above.
        self.ecc = EccDriver(self.registers) if self.sizes.ecc else None
        #: Laws that are programs, as above.
        self.law = LawDriver(self.registers) if self.sizes.law_cores else None
        #: What the device interrupts its host for.
        self.interrupt = InterruptDriver(self.registers)
        #: Parts that can be reset while the device works.
        self.reset = ResetDriver(self.registers)
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

    def release(self) -> None:
        """Let others who share the device have it until the next access, where that can be."""
        if isinstance(self.transport, SharedTransport):
            self.transport.release()

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
        self,
        model: Image | TreeImage | str | Path,
        *,
        slot: int = 0,
        set: int | None = None,
        queue: bool = False,
    ) -> ModelSet:
        """Load a model into a set that no slot stands for, check it there, then map `slot` to it.

        The map changes in one write and only once the hardware has accepted the image: until then,
        and after any failure, the slot's queue pairs run what they ran before.

        Parameters
        ----------
        model : Image, TreeImage, str or Path
            An image or a model file.
        slot : int
            Slot of the model map.
        set : int, optional
            Set to load into; a free one if not given.
        queue : bool
            It is a model of queues: also load its calibration and its first bin of congestion,
            which all queue pairs share.

        Raises
        ------
        ModelImageError
            The file is not a model image for this contract, or of a queue without what it needs.
        DeviceError
            The datapath cannot run the model: its head is not `HeadKind.RTT`, or `HeadKind.QUEUE`
            with `queue`, it has other inputs or outputs, too many steps, or is a tree where queue
            models are LSTMs, or the other way round. No set is free, or the device refused the
            image or the map.
        ValueError
            The slot or the set does not exist.
        """
        image = load_any(model) if isinstance(model, str | Path) else model
        settings, number = self.check_model(image, slot=slot, set=set, queue=queue)
        self.write_set(number, image.payload)
        if settings is not None and self.forecast is not None:
            self.forecast.set_knots(HeadKind.QUEUE, settings.knots)
            self.forecast.set_parameters(threshold_bin=settings.threshold_bin)
        self.map_slot(slot, number)
        return self.models()[number]

    def check_model(
        self,
        image: Image | TreeImage,
        *,
        slot: int = 0,
        set: int | None = None,
        queue: bool = False,
    ) -> tuple[Settings | None, int]:
        """Refuse what `load_model` could not load; nothing is written.

        Returns
        -------
        settings : Settings or None
            Those of a model of queues.
        number : int
            The set that it would be loaded into.

        Raises
        ------
        DeviceError, ValueError
            As `load_model`.
        """
        if image.header.steps > self.sizes.steps:
            raise DeviceError(
                f"model steps must be at most {self.sizes.steps} here, not {image.header.steps}"
            )
        settings = self._check_head(image, queue=queue)
        self._check_slot(slot)
        if set is None:
            return settings, self._free_set()
        self._check_set(set)
        if self.models()[set].slots:
            raise DeviceError(f"model set {set} was refused: {self._in_use(set)}")
        return settings, set

    def _check_set(self, number: int) -> None:
        if not 0 <= number < self.sizes.sets:
            raise ValueError(f"set must be in 0..{self.sizes.sets - 1}, not {number!r}")

    def _in_use(self, number: int) -> str:
        slots = ", ".join(str(slot) for slot in self.models()[number].slots)
        return (
            f"{_LOAD_TEXT[_SET_IN_USE]} by slot {slots}: load into another set, or take the slot's "
            "model away first (precog model del)"
        )

    def _check_head(self, image: Image | TreeImage, *, queue: bool) -> Settings | None:
        """The engine runs more than the datapath around it can feed and use."""
        weights = image.header
        if queue:
            if self.forecast is None:
                raise DeviceError("device makes no forecasts: it was built without (forecast=0)")
            if weights.kind is not HeadKind.QUEUE:
                raise DeviceError(
                    f"model head must be queue here, not {weights.kind.name.lower()}: "
                    "load it without --queue"
                )
            if isinstance(image, TreeImage) and not self.sizes.tree:
                raise DeviceError(
                    "queue model must be an LSTM here, not a tree: the device was built without "
                    "trees (tree=0)"
                )
            if isinstance(image, Image) and self.sizes.tree:
                raise DeviceError(
                    "queue model must be a tree here, not an LSTM: the device was built with trees "
                    "in its place (tree=1); make one of it with precog model distill"
                )
            return Forecaster(image).settings
        if weights.kind is not HeadKind.RTT:
            hint = ": load it with --queue" if self.forecast is not None else ""
            raise DeviceError(f"model head must be rtt here, not {weights.kind.name.lower()}{hint}")
        for name, value in (("inputs", weights.inputs), ("outputs", weights.outputs)):
            if value != 1:
                raise DeviceError(
                    f"model {name} must be 1 here, not {value}: a queue pair gives its model one "
                    "feature and takes one RTT"
                )
        return None

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
        self._check_set(number)
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
                reason = self._in_use(number)
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

    def unmap_slot(self, slot: int) -> None:
        """Let `slot` stand for no set; its queue pairs run the base law.

        Raises
        ------
        ValueError
            The slot does not exist, or stands for none already.
        """
        self._check_slot(slot)
        entry = self.registers.entry("MODEL", "SLOTS", slot, "SLOT")
        if not entry["enable"]:
            raise ValueError(f"model slot {slot} must have a model: precog model show lists them")
        self.map_slot(slot, entry["set"], enable=False)

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
                f"all {self.sizes.sets} model sets are mapped: take a slot's model away first "
                "(precog model del)"
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
        psched: str | None = None,
        **values: float,
    ) -> None:
        """Set some parameters, in real units, after all of the presets that are given.

        Parameters
        ----------
        preset : str, optional
            Of pid and predpid (`precog_models.presets`).
        timely, dcqcn, psched : str, optional
            Of those laws and of the predictive scheduler (`precog_models.law_presets`).
        **values
            By the names that `parameters` shows.

        Raises
        ------
        ValueError
            As `planned_parameters`; nothing is written then.
        """
        self.write_parameters(
            self.planned_parameters(preset, timely=timely, dcqcn=dcqcn, psched=psched, **values)
        )

    def write_parameters(self, words: Mapping[tuple[str, str], Mapping[str, int]]) -> None:
        """Write what `planned_parameters` returned."""
        for (block, register), word in words.items():
            self.registers.write_fields(block, register, **word)

    def planned_parameters(
        self,
        preset: str | None = None,
        /,
        *,
        timely: str | None = None,
        dcqcn: str | None = None,
        psched: str | None = None,
        **values: float,
    ) -> dict[tuple[str, str], dict[str, int]]:
        """The fields by block and register that `set_parameters` would write, checked.

        Raises
        ------
        ValueError
            A name is unknown or a value does not fit.
        """
        known = self._parameters()
        integers = self._presets(preset, timely=timely, dcqcn=dcqcn, psched=psched)
        unknown = sorted(integers.keys() - {field.name for _, _, field in known.values()})
        if unknown:
            raise ValueError(
                f"device must have timely, dcqcn and psched for a preset of theirs, but it has no "
                f"{unknown[0]} (built with laws=0)"
            )
        writes: dict[tuple[str, str], dict[str, int]] = {}
        for block, register, field in known.values():
            if field.name in integers:
                writes.setdefault((block, register), {})[field.name] = integers[field.name]
        for name, value in values.items():
            if name not in known:
                raise ValueError(f"parameter {name!r} must be one of {', '.join(known)}")
            block, register, field = known[name]
            word = writes.setdefault((block, register), self.registers.fields(block, register))
            word[field.name] = from_real(field, value, self.tick_ps)
        return writes

    def _presets(self, preset: str | None, **of_laws: str | None) -> dict[str, int]:
        """Field name to integer, of the presets that are given."""
        integers: dict[str, int] = {}
        if preset is not None:
            integers |= law_preset(preset).parameters(self.tick_ps)
        for law, name in of_laws.items():
            presets = ALL_PRESETS[law]
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
        """Events since power-up or the last reset of `counters`, by name."""
        names = [name for name, _ in COUNTERS]
        return self.registers.snapshots.read("COUNTERS", "COUNTERS", names)

    @contextmanager
    def one_instant(self, *, idle: bool = False) -> Iterator[None]:
        """In the context counters of all parts are of one instant.

        Parameters
        ----------
        idle : bool
            Of one in which every sample and every event that was counted had had its decision, or
            was dropped or ignored.

        Raises
        ------
        DeviceError
            The device does not answer, or is never idle.
        """
        with self.registers.snapshots.one_instant(idle=idle):
            yield

    # --- watchdog --------------------------------------------------------------------------------

    def set_watchdog(self, period_us: float) -> None:
        """Hold advice of every kind whenever `kick` does not come within `period_us`; 0: never.

        The device counts clock cycles, and with packets one is a tick; without, what a tick is to
        its clock is its integrator's affair. On an emulated device no time passes.

        Raises
        ------
        ValueError
            The period is negative, shorter than a tick, or longer than the device can count.
        """
        field = self.registers.registers("WATCHDOG")[0].fields[0]
        period = from_real(field, period_us, self.tick_ps)
        self.kick()
        self.registers.write_fields("WATCHDOG", "PERIOD", period=period)
        self.kick()

    def kick(self) -> None:
        """Tell the watchdog that the host is alive."""
        self.registers.write_fields("WATCHDOG", "COMMAND", kick=1)

    def watchdog(self) -> Watchdog:
        """How the watchdog is set, and whether it holds advice."""
        field = self.registers.registers("WATCHDOG")[0].fields[0]
        period = self.registers.fields("WATCHDOG", "PERIOD")["period"]
        expired = bool(self.registers.fields("WATCHDOG", "STATE")["expired"])
        return Watchdog(float(to_real(field, period, self.tick_ps)) or None, expired)

    # --- queue pairs -----------------------------------------------------------------------------

    def qp(self, number: int) -> Qp:
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
        return self.sampled().decide(samples)

    def sampled(self) -> SampleTransport:
        """The transport, of a device to which the host gives samples.

        Raises
        ------
        DeviceError
            It takes none.
        """
        if not isinstance(self.transport, SampleTransport):
            raise DeviceError(
                "device takes its samples from the wire, not from the host: use emu: or sim:"
            )
        return self.transport

    def qp_command(self, number: int, *commands: str) -> None:
        """Have the QP window execute commands on queue pair `number`, and wait for their end.

        Raises
        ------
        DeviceError
            The device refused, or does not come to an end.
        """
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
