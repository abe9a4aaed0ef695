"""The law engine with what is around it: banks, slots, queue pairs, safety layer, safe law.

    event ─► rate and window in force ─┬─► program of the queue pair's slot ─┬─► safety ─► in force
                                       └─► safe law, if the slot has none ───┘

All of it lies in one array of int64, so that compiled code can have it in a larger one.

Safety, whatever a program says: the rate lies in the queue pair's bounds, a window holds a packet
at least, and with an RTT above the threshold neither rises. An event that ends in a trap holds
both, and its slot is disabled: from then on its queue pairs run the safe law. One that needs a
damaged word of its program holds both, too, and its slot stays until the scrubber has judged.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from precog_spec.contract import TRACE_BODIES, TraceKind
from precog_spec.engine.events import EVENT_FIELDS, EVENTS, Kind
from precog_spec.engine.image_fields import (
    BANKS,
    SAFE_FALL,
    SAFE_RISE,
    TAG_AT,
    VERSION_AT,
    WINDOWED_AT,
)
from precog_spec.engine.isa import CODE_WORDS, ROW_WORDS, SLOT_WORDS, SLOTS
from precog_spec.secded import PROGRAM_ENTRIES, PROGRAM_SLOT

from ...fixed import clamp
from ...jit import njit
from .image import unpacked
from .machine import Status, run

__all__ = ["COUNTS", "TOLD", "EngineUnit", "engine_above", "engine_event", "engine_size"]

Ints = NDArray[np.int64]

#: What is counted, then where the last trap was.
COUNTS = ("events", "trapped", "overrun", "safe")
LAST = ("slot", "status", "qp", "turns")
#: What is known of the last event, for the trace.
TOLD = tuple(name for name, _ in TRACE_BODIES[TraceKind.PROGRAM])
_HEAD = ("threshold", "budget", *COUNTS, *LAST, "damaged", *TOLD)
_THRESHOLD, _BUDGET, _EVENTS, _TRAPPED, _OVERRUN, _SAFE, _LAST = range(7)
_HELD = _LAST + len(LAST)
_TOLD = _HELD + 1
_SLOT_WORDS_AT = len(_HEAD)
_BANK, _ENABLE, _TRIPPED, _DAMAGED, _SLOT_SIZE = range(5)
_BANKS_AT = _SLOT_WORDS_AT + SLOTS * _SLOT_SIZE
_VALID, _TAG, _WINDOWED, _VERSION, _ENTRIES = range(5)
_CODE = _ENTRIES + len(EVENTS)
_MEMORY = _CODE + CODE_WORDS
_BANK_SIZE = _MEMORY + SLOT_WORDS
_ROWS_AT = _BANKS_AT + BANKS * _BANK_SIZE
_ON, _SLOT, _MIN, _MAX, _INIT, _LIVE, _RATE, _WINDOW, _BASE, _TAGGED, _ROW_TAG, _STATE = range(12)
_ROW_SIZE = _STATE + ROW_WORDS

_WORDS = [name for name, _, _ in EVENT_FIELDS]
(_E_RTT, _E_MARKED, _E_RATE, _E_WINDOW, _E_MIN, _E_MAX, _E_INIT, _E_BASE, _E_MTU) = (
    _WORDS.index(name)
    for name in (
        *("rtt", "marked", "rate", "window", "min_rate", "max_rate", "init_rate", "base", "mtu"),
    )
)
(_T_EVENT, _T_RTT, _T_BASE, _T_MARKED, _T_ABOVE, _T_SLOT, _T_LIVE, _T_BANK) = (
    TOLD.index(name) for name in ("event", "rtt", "base", "marked", "above", "slot", "live", "bank")
)
_T_STATUS, _T_TURNS, _T_RATE, _T_WINDOW = (
    TOLD.index(name) for name in ("status", "turns", "rate", "window")
)
_ACK, _SAMPLE, _CNP, _LOSS = (int(k) for k in (Kind.ACK, Kind.SAMPLE, Kind.CNP, Kind.LOSS))
_DONE, _OVER, _WRONG = (int(s) for s in (Status.DONE, Status.OVERRUN, Status.DAMAGED))
_NOTHING = np.zeros((0, 3), dtype=np.int64)
_WORD_MASK = 0xFFFF_FFFF
_NOT_WRITTEN = 1 << 60  # beyond the range of an instruction and a word


def engine_size(qps: int) -> int:
    """Words of the array for `qps` queue pairs."""
    return _ROWS_AT + qps * _ROW_SIZE


@njit
def engine_above(unit: Ints, event: Ints) -> bool:
    """The event has an RTT above the threshold: nothing may rise."""
    return bool(event[0] in (_ACK, _SAMPLE) and event[_E_RTT] > unit[_THRESHOLD])


@njit
def _less(window: int, other: int) -> int:
    """The smaller window; 0 is none."""
    if window == 0:
        return other
    return window if other == 0 else min(window, other)


@njit
def _safe_rate(row: Ints, kind: int, above: bool, rate: int) -> int:
    """The safe law's rate."""
    if above:
        return rate - (rate >> SAFE_FALL)
    if kind in (_ACK, _SAMPLE):
        return rate + int(row[_MAX] >> SAFE_RISE)
    if kind in (_CNP, _LOSS):
        return rate - (rate >> 1)
    return rate


@njit
def engine_event(unit: Ints, qp: int, event: Ints, nothing: Ints) -> tuple[int, int]:
    """Let an event happen to a queue pair that runs a program.

    Parameters
    ----------
    unit : ndarray of int64
        `engine_size` words. Changed in place.
    qp : int
    event : ndarray of int64
        `events.EVENT_FIELDS`; rate, window and bounds are filled in, and the base RTT, if it is 0.
    nothing : ndarray of int64, shape (0, 3)

    Returns
    -------
    rate, window : int
        In force from now on.
    """
    at = _ROWS_AT + qp * _ROW_SIZE
    row = unit[at : at + _ROW_SIZE]
    kind = event[0]
    timed = kind in (_ACK, _SAMPLE)
    above = engine_above(unit, event)
    rate = clamp(row[_RATE] if row[_LIVE] else row[_INIT], row[_MIN], row[_MAX])
    window = row[_WINDOW] if row[_LIVE] else 0
    if event[_E_BASE]:
        row[_BASE] = event[_E_BASE]
    base = row[_BASE] if row[_BASE] or not timed else event[_E_RTT]
    event[_E_RATE], event[_E_WINDOW], event[_E_BASE] = rate, window, base
    event[_E_MIN], event[_E_MAX], event[_E_INIT] = row[_MIN], row[_MAX], row[_INIT]

    slot = unit[_SLOT_WORDS_AT + row[_SLOT] * _SLOT_SIZE :][:_SLOT_SIZE]
    new_rate, new_window = rate, window
    live, status, turns, stored = slot[_ENABLE], _DONE, 0, 0
    if live:
        start = _BANKS_AT + slot[_BANK] * _BANK_SIZE
        bank = unit[start : start + _BANK_SIZE]
        if not row[_TAGGED] or row[_ROW_TAG] != bank[_TAG]:
            row[_STATE:] = 0
            row[_TAGGED], row[_ROW_TAG] = 1, bank[_TAG]
        entry = bank[_ENTRIES + kind]
        unit[_EVENTS] += 1
        if entry >= CODE_WORDS:
            status = _WRONG
        elif entry >= 0:
            code, memory = bank[_CODE:_MEMORY], bank[_MEMORY:_BANK_SIZE]
            status, turns, stored = run(
                code, entry, memory, row[_STATE:], event, unit[_BUDGET], nothing
            )
        if status == _WRONG:
            unit[_HELD] += 1
        elif status != _DONE:
            unit[_OVERRUN if status == _OVER else _TRAPPED] += 1
            slot[_ENABLE], slot[_TRIPPED] = 0, 1
            unit[_LAST] = row[_SLOT]
            unit[_LAST + 1], unit[_LAST + 2], unit[_LAST + 3] = status, qp, turns
        else:
            if stored & 1:
                new_rate = row[_STATE] & _WORD_MASK
            if not bank[_WINDOWED]:
                new_window = 0
            elif stored & 2:
                new_window = max(row[_STATE + 1] & _WORD_MASK, event[_E_MTU])
    else:
        unit[_SAFE] += 1
        new_rate, new_window = _safe_rate(row, kind, above, rate), 0
    new_rate = clamp(new_rate, row[_MIN], row[_MAX])
    if above:
        new_rate, new_window = min(new_rate, rate), _less(new_window, window)
    row[_LIVE], row[_RATE], row[_WINDOW] = 1, new_rate, new_window
    told = unit[_TOLD:_SLOT_WORDS_AT]
    told[_T_EVENT], told[_T_RTT], told[_T_BASE] = kind, event[_E_RTT], base
    told[_T_MARKED], told[_T_ABOVE], told[_T_SLOT] = event[_E_MARKED], above, row[_SLOT]
    told[_T_LIVE], told[_T_BANK], told[_T_STATUS] = live, slot[_BANK] if live else 0, status
    told[_T_TURNS] = 0 if status == _WRONG else turns
    told[_T_RATE], told[_T_WINDOW] = new_rate, new_window
    return int(new_rate), int(new_window)


def _word_at(at: int) -> int:
    """Where a bank has a word of its program."""
    if at < PROGRAM_SLOT:
        return _CODE + at
    return _MEMORY + at - PROGRAM_SLOT if at < PROGRAM_ENTRIES else _ENTRIES + at - PROGRAM_ENTRIES


class EngineUnit:
    """Loading, slots and queue pairs of a law engine.

    Parameters
    ----------
    qps : int
        Queue pairs.
    array : ndarray of int64, optional
        Where it lies, `engine_size` words; of its own without it.
    """

    def __init__(self, qps: int, array: Ints | None = None) -> None:
        self.array = np.zeros(engine_size(qps), dtype=np.int64) if array is None else array

    def set_parameters(self, *, threshold: int, budget: int) -> None:
        """RTT in ticks above which nothing rises, and most turns of an event."""
        self.array[_THRESHOLD], self.array[_BUDGET] = threshold, budget

    def configure(self, qp: int, slot: int | None, values: Mapping[str, int]) -> None:
        """A queue pair runs the program of `slot`, or none, within its bounds."""
        row = self._row(qp)
        if not row[_ON] or slot is None:
            self.reset(qp)
        row[_ON], row[_SLOT] = slot is not None, slot or 0
        for place, name in ((_MIN, "min_rate"), (_MAX, "max_rate"), (_INIT, "init_rate")):
            row[place] = values[name]

    def reset(self, qp: int) -> None:
        """Forget all but the configuration."""
        self._row(qp)[_LIVE:] = 0

    def invalidate(self, bank: int) -> None:
        """A load into a bank begins."""
        self._bank(bank)[_VALID] = 0

    def load(self, bank: int, words: Ints) -> None:
        """Put an image that is `judged` good into a bank, and make it valid."""
        held = self._bank(bank)
        entries, code, memory = unpacked(words)
        held[_TAG], held[_WINDOWED] = words[TAG_AT], words[WINDOWED_AT] & 1
        held[_VERSION], held[_VALID] = words[VERSION_AT], 1
        held[_ENTRIES:_CODE], held[_CODE:_MEMORY], held[_MEMORY:] = entries, code, memory

    def valid(self, bank: int) -> bool:
        """It holds a program."""
        return bool(self._bank(bank)[_VALID])

    def version(self, bank: int) -> int:
        """CRC-32 of what was loaded last."""
        return int(self._bank(bank)[_VERSION])

    def map_slot(self, slot: int, bank: int, *, enable: bool) -> bool:
        """Let a slot stand for a bank, or for none; False: refused, the bank is not valid."""
        if enable and not self.valid(bank):
            return False
        self._slot(slot)[:] = bank, int(enable), 0, 0
        return True

    def slot(self, slot: int) -> tuple[int, bool, bool]:
        """Bank, whether it is enabled, whether a trap has disabled it."""
        bank, enable, tripped, _ = self._slot(slot).tolist()
        return bank, bool(enable), bool(tripped)

    def damaged(self, slot: int) -> bool:
        """A double error in its program has disabled it."""
        return bool(self._slot(slot)[_DAMAGED])

    def spoil(self, bank: int) -> None:
        """A bank's program has a double error: it is valid no more, and no slot stands for it."""
        self.invalidate(bank)
        for slot in range(SLOTS):
            one = self._slot(slot)
            if one[_ENABLE] and one[_BANK] == bank:
                one[_ENABLE], one[_DAMAGED] = 0, 1

    def damage(self, bank: int, at: int) -> None:
        """Word `at` of a bank's program, as `secded` numbers them, is not as it was written."""
        if at < PROGRAM_ENTRIES:
            self._bank(bank)[_word_at(at)] ^= _NOT_WRITTEN
        else:
            self._bank(bank)[_word_at(at)] = CODE_WORDS

    def held(self) -> int:
        """Events that needed a damaged word: their rate was held."""
        return int(self.array[_HELD])

    def event(self, qp: int, words: Ints) -> tuple[int, int]:
        """`engine_event` on a copy of the words."""
        return engine_event(self.array, qp, words.copy(), _NOTHING)

    def state(self, qp: int) -> list[int]:
        """A queue pair's row, as programs see it."""
        return [int(word) for word in self._row(qp)[_STATE:]]

    def counts(self) -> dict[str, int]:
        """`COUNTS` since the start."""
        return dict(zip(COUNTS, self.array[_EVENTS:_LAST].tolist(), strict=True))

    def told(self) -> dict[str, int]:
        """`TOLD` of the last event."""
        return dict(zip(TOLD, self.array[_TOLD:_SLOT_WORDS_AT].tolist(), strict=True))

    def last(self) -> dict[str, int]:
        """Where the last trap was."""
        return dict(zip(LAST, self.array[_LAST:_HELD].tolist(), strict=True))

    def _row(self, qp: int) -> Ints:
        at = _ROWS_AT + qp * _ROW_SIZE
        return self.array[at : at + _ROW_SIZE]

    def _slot(self, slot: int) -> Ints:
        at = _SLOT_WORDS_AT + slot * _SLOT_SIZE
        return self.array[at : at + _SLOT_SIZE]

    def _bank(self, bank: int) -> Ints:
        at = _BANKS_AT + bank * _BANK_SIZE
        return self.array[at : at + _BANK_SIZE]
