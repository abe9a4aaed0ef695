"""Sets of model weights and the slots that stand for them: load, check, map."""

import zlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from precog_models.forecast.forecaster import CARD_KEY, Forecaster, Settings
from precog_models.image import Image
from precog_models.tree_image import TreeImage, load_any
from precog_spec.contract import IMAGE_BYTES, HeadKind
from precog_spec.registers.model_sets import LOAD_STATUS

from ..registers import Registers
from ..transport import DeviceError
from .forecast import ForecastDriver

__all__ = ["ModelDriver", "ModelSet"]

_BUSY_READS = 10_000  # polls of a busy bit before the loader counts as hung
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


class ModelDriver:
    """The pool of model sets and the map from slots to sets.

    Parameters
    ----------
    registers : Registers
    forecast : ForecastDriver or None
        The forecast unit, whose settings a model of queues brings with it.
    """

    def __init__(self, registers: Registers, forecast: ForecastDriver | None) -> None:
        self._registers = registers
        self._sizes = registers.sizes
        self._forecast = forecast

    def load(
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
        settings, number = self.check(image, slot=slot, set=set, queue=queue)
        self.write_set(number, image.payload)
        if settings is None or self._forecast is None:
            self.map_slot(slot, number)
        else:
            self._map_queue_model(self._forecast, settings, slot, number)
        return self.sets()[number]

    def _map_queue_model(
        self, forecast: ForecastDriver, settings: Settings, slot: int, number: int
    ) -> None:
        """Map a model of queues with its settings; without it, those before it stay."""
        knots = forecast.knots(HeadKind.QUEUE)
        threshold_bin = int(forecast.parameters()["threshold_bin"])
        try:
            forecast.set_knots(HeadKind.QUEUE, settings.knots)
            forecast.set_parameters(threshold_bin=settings.threshold_bin)
            self.map_slot(slot, number)
        except BaseException:
            with suppress(DeviceError, ValueError):
                entry = self._registers.entry("MODEL", "SLOTS", slot, "SLOT")
                if entry != {"set": number, "enable": 1}:
                    forecast.set_knots(HeadKind.QUEUE, knots)
                    forecast.set_parameters(threshold_bin=threshold_bin)
            raise

    def check(
        self,
        image: Image | TreeImage,
        *,
        slot: int = 0,
        set: int | None = None,
        queue: bool = False,
    ) -> tuple[Settings | None, int]:
        """Refuse what `load` could not load; nothing is written.

        Returns
        -------
        settings : Settings or None
            Those of a model of queues.
        number : int
            The set that it would be loaded into.

        Raises
        ------
        DeviceError, ValueError
            As `load`.
        """
        if image.header.steps > self._sizes.steps:
            raise DeviceError(
                f"model steps must be at most {self._sizes.steps} here, not {image.header.steps}"
            )
        settings = self._check_head(image, queue=queue)
        self._check_slot(slot)
        if set is None:
            return settings, self._free_set()
        self._check_set(set)
        if self.sets()[set].slots:
            raise DeviceError(f"model set {set} was refused: {self._in_use(set)}")
        return settings, set

    def _check_set(self, number: int) -> None:
        if not 0 <= number < self._sizes.sets:
            raise ValueError(f"set must be in 0..{self._sizes.sets - 1}, not {number!r}")

    def _in_use(self, number: int) -> str:
        slots = ", ".join(str(slot) for slot in self.sets()[number].slots)
        return (
            f"{_LOAD_TEXT[_SET_IN_USE]} by slot {slots}: load into another set, or take the slot's "
            "model away first (precog model del)"
        )

    def _where_queue_models_go(self, image: Image | TreeImage) -> str:
        if CARD_KEY not in image.card:
            return (
                f"without {CARD_KEY!r} in its data card it is a model of starts, which runs on the "
                "host: precog qp follow --believe --model"
            )
        if self._forecast is None:
            return "open a device with forecasts (forecast=1)"
        return "load it with --queue"

    def _check_head(self, image: Image | TreeImage, *, queue: bool) -> Settings | None:
        """The engine runs more than the datapath around it can feed and use."""
        weights = image.header
        if queue:
            if self._forecast is None:
                raise DeviceError("device makes no forecasts: it was built without (forecast=0)")
            if weights.kind is not HeadKind.QUEUE:
                raise DeviceError(
                    f"model head must be queue here, not {weights.kind.name.lower()}: "
                    "load it without --queue"
                )
            if isinstance(image, TreeImage) and not self._sizes.tree:
                raise DeviceError(
                    "queue model must be an LSTM here, not a tree: the device was built without "
                    "trees (tree=0)"
                )
            if isinstance(image, Image) and self._sizes.tree:
                raise DeviceError(
                    "queue model must be a tree here, not an LSTM: the device was built with trees "
                    "in its place (tree=1); make one of it with precog model distill"
                )
            if CARD_KEY not in image.card:
                raise DeviceError(
                    "queue model must have a calibration here: "
                    + self._where_queue_models_go(image)
                )
            return Forecaster(image).settings
        if weights.kind is not HeadKind.RTT:
            raise DeviceError(
                f"model head must be rtt here, not {weights.kind.name.lower()}: "
                f"{self._where_queue_models_go(image)}"
            )
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
        registers = self._registers
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
            status = self._registers.fields("MODEL", "STATUS")
            if not status["busy"]:
                break
        else:
            raise DeviceError(f"model loader stays busy after {_BUSY_READS} reads: reset the card")
        if self._registers.fields("MODEL", "ERROR")["load"]:
            self._registers.write_fields("MODEL", "ERROR", load=1)
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
        registers = self._registers
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
        entry = self._registers.entry("MODEL", "SLOTS", slot, "SLOT")
        if not entry["enable"]:
            raise ValueError(f"model slot {slot} must have a model: precog model show lists them")
        self.map_slot(slot, entry["set"], enable=False)

    def sets(self) -> list[ModelSet]:
        """All sets of the pool."""
        slots: dict[int, list[int]] = {}
        for slot in range(self._sizes.sets):
            entry = self._registers.entry("MODEL", "SLOTS", slot, "SLOT")
            if entry["enable"]:
                slots.setdefault(entry["set"], []).append(slot)
        return [
            ModelSet(
                set=number,
                valid=bool(self._registers.entry("MODEL", "SETS", number, "SET_STATE")["valid"]),
                version=self._registers.entry("MODEL", "SETS", number, "SET_VERSION")["version"],
                slots=tuple(slots.get(number, ())),
            )
            for number in range(self._sizes.sets)
        ]

    def _check_slot(self, slot: int) -> None:
        if not 0 <= slot < self._sizes.sets:
            raise ValueError(f"model slot must be in 0..{self._sizes.sets - 1}, not {slot!r}")

    def _free_set(self) -> int:
        """An unmapped set, one that is not valid first."""
        free = [entry for entry in self.sets() if not entry.slots]
        if not free:
            raise DeviceError(
                f"all {self._sizes.sets} model sets are mapped: take a slot's model away first "
                "(precog model del)"
            )
        return min(free, key=lambda entry: (entry.valid, entry.set)).set
