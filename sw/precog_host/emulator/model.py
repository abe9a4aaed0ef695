"""Model sets of an emulated device: the loader's commands, the sets' states, the slot map."""

import zlib
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from precog_models.nic import GoldenNic
from precog_models.predict.tree_model import TreeFault, read_image
from precog_spec.config import NicConfig
from precog_spec.contract import CONTRACT_HASH, HEADER_OFFSET, IMAGE_BYTES
from precog_spec.registers.model import Word
from precog_spec.registers.model_sets import LOAD_STATUS

from .register_file import RegisterFile, ignored

__all__ = ["EmulatedModel"]

_TOO_MANY_WORDS = IMAGE_BYTES // 4 + 1  # where the loader's count stops
_STATUS = dict(LOAD_STATUS)
_STEPS_AT = HEADER_OFFSET + 1


class EmulatedModel:
    """The registers of block MODEL.

    Parameters
    ----------
    file : RegisterFile
    nic : GoldenNic
        Runs the models.
    sizes : NicConfig
    failed : callable
        Called when a load or a write of the map was refused.
    changed : callable
        Called after a write of the map.
    loaded : callable
        Called with the number and the 32-bit words of each set that was accepted.
    """

    def __init__(
        self,
        file: RegisterFile,
        nic: GoldenNic,
        sizes: NicConfig,
        *,
        failed: Callable[[], None],
        changed: Callable[[], None],
        loaded: Callable[[int, NDArray[np.uint32]], None],
    ) -> None:
        self._file, self._nic, self._sizes = file, nic, sizes
        self._failed, self._changed, self._loaded = failed, changed, loaded
        self._loading: int | None = None
        self._image = bytearray()
        file.written |= {"MODEL.COMMAND": self._command, "MODEL.DATA": self._data}
        file.tables |= {
            "MODEL.SLOTS": (self._read_slot, self._map_slot),
            "MODEL.SETS": (self._read_set, ignored),
        }

    def _read_slot(self, word: Word) -> int:
        number, enable = self._nic.slot(word.index)
        set_field, enable_field = self._file.map.block("MODEL").table("SLOTS").registers[0].fields
        return enable_field.put(set_field.put(0, number), int(enable))

    def _read_set(self, word: Word) -> int:
        assert word.register is not None
        valid, version = self._nic.set_state(word.index)
        return int(valid) if word.register.name == "SET_STATE" else version

    def _fail(self, bit: str, code: str = "") -> None:
        self._file.put("MODEL.ERROR", **{bit: 1})
        self._failed()
        if code:
            self._file.put("MODEL.STATUS", code=_STATUS[code])

    def _map_slot(self, word: Word, value: int) -> None:
        set_field, enable_field = self._file.map.block("MODEL").table("SLOTS").registers[0].fields
        number, enable = set_field.get(value), bool(enable_field.get(value))
        try:
            self._nic.map_slot(word.index, number, enable=enable)
        except ValueError:
            self._fail("map")
        self._changed()

    def _command(self, value: int) -> None:
        asked = self._file.asked("MODEL.COMMAND", value)
        if "begin" in asked:
            self._begin(self._file.get("MODEL.SET")["set"])
        elif "commit" in asked:
            self._commit()

    def _begin(self, number: int) -> None:
        mapped = {s for s, enable in map(self._nic.slot, range(self._sizes.sets)) if enable}
        self._loading = None
        if number in mapped:
            self._fail("load", "set_in_use")
            return
        self._nic.invalidate_set(number)
        self._loading = number
        self._image.clear()
        self._file.put("MODEL.WORDS", words=0)
        self._file.put("MODEL.STATUS", code=_STATUS["loading"])

    def _data(self, value: int) -> None:
        if self._loading is None:
            self._fail("load", "not_begun")
            return
        count = self._file.get("MODEL.WORDS")["words"] + 1
        self._file.put("MODEL.WORDS", words=min(count, _TOO_MANY_WORDS))
        if len(self._image) < IMAGE_BYTES:
            self._image += value.to_bytes(4, "little")

    def _commit(self) -> None:
        number, self._loading = self._loading, None
        if number is None:
            self._fail("load", "not_begun")
        elif self._file.get("MODEL.WORDS")["words"] * 4 != IMAGE_BYTES:
            self._fail("load", "bad_length")
        elif zlib.crc32(self._image) != self._file.get("MODEL.CRC")["crc"]:
            self._fail("load", "bad_crc")
        elif int.from_bytes(self._image[HEADER_OFFSET + 8 : HEADER_OFFSET + 12], "little") != (
            CONTRACT_HASH
        ):
            self._fail("load", "bad_contract")
        else:
            try:
                if self._image[_STEPS_AT] > self._sizes.steps:
                    raise ValueError(f"steps must be at most {self._sizes.steps}")
                model = read_image(bytes(self._image))
                self._nic.load_set(number, model)
            except TreeFault:
                self._fail("load", "bad_tree" if self._sizes.tree else "bad_header")
            except ValueError:
                self._fail("load", "bad_header")
            else:
                self._file.put("MODEL.STATUS", code=_STATUS["ok"])
                self._loaded(number, np.frombuffer(self._image, dtype="<u4"))
