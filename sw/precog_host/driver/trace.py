"""The trace FIFO of a device: what is recorded, and the records in real units."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from precog_models.rate.engine.machine import Status
from precog_models.trace import unpack
from precog_spec.contract import TRACE_WORDS, Flag, Fmt, TraceKind
from precog_spec.engine.events import Kind
from precog_spec.law_fields import NO_SCORE
from precog_spec.registers.trace import (
    TRACE_BATCH,
    TRACE_DEPTH,
    TRACE_EVENTS,
    TRACE_FILTER,
    TRACE_FORECASTS_FROM,
    TRACE_KINDS,
    TRACE_PROGRAMS_FROM,
)

from ..registers import Registers
from ..transport import DeviceError
from ..windows import Windows

__all__ = ["TraceDriver", "TraceState"]

_PS_PER_US = 1_000_000
_GBPS_TICK_PS = 8000  # 1 byte per tick of 8000 ps is 1 Gb/s
#: Kinds of records, the option that each needs, the block's minor version from which on it is made.
_OPTIONAL = (
    ("receiver", "receiver", 0),
    ("forecast", "forecast", TRACE_FORECASTS_FROM),
    ("program", "law_cores", TRACE_PROGRAMS_FROM),
)


@dataclass(frozen=True)
class TraceState:
    """Kinds of records, records in the FIFO, and totals."""

    kinds: tuple[str, ...]
    qp: int | None  #: only of this one
    every: int  #: so manieth
    threshold: int  #: records from which on the device says so; 0: never
    level: int  #: records that wait
    reached: bool
    counters: dict[str, int]


def _name(kinds: type[IntEnum], code: int) -> str:
    return kinds(code).name.lower() if code in tuple(kinds) else f"code {code}"


def _named(flags: int) -> tuple[str, ...]:
    return tuple(flag.name.lower() for flag in Flag if flags >> flag & 1)


class TraceDriver(Windows):
    """The trace's side of a device.

    Parameters
    ----------
    registers : Registers
        Of a device with a trace FIFO.

    Attributes
    ----------
    missing : dict of str to str
        Kinds of records that the device never makes, and why.

    Raises
    ------
    DeviceError
        The device has none.
    """

    def __init__(self, registers: Registers) -> None:
        if not registers.sizes.trace:
            raise DeviceError("device has no trace FIFO: it was built without one (trace=0)")
        super().__init__(registers)
        self.missing: dict[str, str] = {}
        for kind, option, since in _OPTIONAL:
            if not getattr(registers.sizes, option):
                self.missing[kind] = f"it was built without ({option}=0)"
            elif why := registers.outdated("TRACE", since, "records them"):
                self.missing[kind] = why

    def state(self) -> TraceState:
        """Kinds of records, records in the FIFO, and totals."""
        wanted = self._fields("TRACE", TRACE_FILTER)
        state = self.registers.fields("TRACE", "STATE")
        return TraceState(
            kinds=tuple(
                name for name in TRACE_KINDS if wanted[f"{name}s"] and name not in self.missing
            ),
            qp=wanted["qp"] if wanted["one_qp"] else None,
            every=max(wanted["every"], 1),
            threshold=self.registers.fields("TRACE", "THRESHOLD")["threshold"],
            level=state["level"],
            reached=bool(state["reached"]),
            counters=self.registers.snapshots.read(
                "TRACE", "COUNTERS", [name for name, _ in TRACE_EVENTS]
            ),
        )

    def configure(
        self,
        *,
        kinds: Iterable[str] | None = None,
        qp: int | None = None,
        all_qps: bool = False,
        every: int | None = None,
        threshold: int | None = None,
    ) -> None:
        """Say what is recorded from now on. What is None stays.

        Parameters
        ----------
        kinds : iterable of str
            Of `TRACE_KINDS`; none: nothing is recorded.
        qp : int
            Only records of this queue pair.
        all_qps : bool
            Those of all again.
        every : int
            Every so manieth, 1 or more.
        threshold : int
            Records from which on the device says so, at most the FIFO's `TRACE_DEPTH`; 0: never.

        Raises
        ------
        DeviceError
            The device has no records of a kind; nothing is written then.
        ValueError
            A kind is unknown, or a number does not fit; nothing is written then.
        """
        word = self.registers.fields("TRACE", "FILTER")
        if kinds is not None:
            named = set(kinds)
            for kind in sorted(named - set(TRACE_KINDS)):
                raise ValueError(f"kind must be one of {', '.join(TRACE_KINDS)}, not {kind!r}")
            for kind in sorted(named & self.missing.keys()):
                raise DeviceError(f"device has no records of kind {kind}: {self.missing[kind]}")
            word |= {f"{name}s": int(name in named) for name in TRACE_KINDS}
        if qp is not None and not 0 <= qp < self.registers.sizes.qps:
            raise ValueError(f"QP must be in 0..{self.registers.sizes.qps - 1}, not {qp!r}")
        if qp is not None and all_qps:
            raise ValueError(f"qp must be left out with all_qps, not {qp!r}")
        for name, value, low, high in (
            ("every", every, 1, (1 << 16) - 1),
            ("threshold", threshold, 0, TRACE_DEPTH),
        ):
            if value is not None and not low <= value <= high:
                raise ValueError(f"{name} must be in {low}..{high}, not {value!r}")
        if qp is not None:
            self.registers.write_fields("TRACE", "QP", qp=qp)
        if every is not None:
            self.registers.write_fields("TRACE", "EVERY", every=every)
        if threshold is not None:
            self.registers.write_fields("TRACE", "THRESHOLD", threshold=threshold)
        word["one_qp"] = int((word["one_qp"] or qp is not None) and not all_qps)
        self.registers.write_fields("TRACE", "FILTER", **word)

    def clear(self) -> None:
        """Forget all records that wait."""
        self.registers.write_fields("TRACE", "COMMAND", clear=1)

    def drain(self, limit: int | None = None) -> Iterator[dict[str, int]]:
        """Records, the oldest first, until none is left or `limit` were read.

        The device forgets a batch when the caller asks for the record behind it. If the caller
        stops early, the whole batch is there again next time.

        Yields
        ------
        dict of str to int
            Fields of the contract's `TRACE_HEAD` and of the kind's body.
        """
        left = limit
        while left is None or left > 0:
            count = min(self.registers.fields("TRACE", "STATE")["level"], TRACE_BATCH)
            count = count if left is None else min(count, left)
            if not count:
                return
            batch = [self._record(n) for n in range(count)]
            yield from batch
            self.registers.write_fields("TRACE", "COMMAND", pop=count)
            left = left if left is None else left - count

    def _record(self, index: int) -> dict[str, int]:
        entry = self.registers.entry
        return unpack(
            tuple(
                entry("TRACE", "RECORDS", index, f"WORD{n}")[f"word{n}"] for n in range(TRACE_WORDS)
            )
        )

    def presented(self, record: dict[str, int]) -> dict[str, Any]:
        """A record in real units; None where there is nothing."""
        kind = record["kind"]
        shown: dict[str, Any] = {
            "kind": TRACE_KINDS[kind] if kind < len(TRACE_KINDS) else f"code {kind}",
            "serial": record["serial"],
            "qp": record["qp"],
            "t_us": record["t"] * self._tick_us,
            "score": None if record["score"] == NO_SCORE else record["score"],
        }
        if kind == TraceKind.DECISION:
            return shown | self._decision(record)
        if kind == TraceKind.PROGRAM:
            return shown | self._program(record)
        return shown | {
            name: value
            for name, value in record.items()
            if name not in ("kind", "serial", "qp", "t", "score")
        }

    def _decision(self, record: dict[str, int]) -> dict[str, Any]:
        event = record["flags"] >> Flag.EVENT & 1
        fine = self._tick_us / (1 << Fmt.SRTT.frac_bits)
        predicted = record["rtt_pred"] or record["flags"] >> Flag.PREDICTED & 1
        return {
            "rtt_us": None if event else record["rtt"] * self._tick_us,
            "srtt_us": None if event else record["srtt"] * fine,
            "rtt_pred_us": record["rtt_pred"] * fine if predicted else None,
            "rate_gbps": record["rate"] * self._gbps,
            "set": record["set"] if predicted else None,
            "version": record["version"] if predicted else None,
            "flags": _named(record["flags"]),
        }

    def _program(self, record: dict[str, int]) -> dict[str, Any]:
        live = record["live"]
        return {
            "event": _name(Kind, record["event"]),
            "rtt_us": record["rtt"] * self._tick_us or None,
            "base_us": record["base"] * self._tick_us or None,
            "marked": bool(record["marked"]),
            "above": bool(record["above"]),
            "slot": record["slot"],
            "bank": record["bank"] if live else None,
            "status": _name(Status, record["status"]) if live else "safe",
            "turns": record["turns"] if live else None,
            "rate_gbps": record["rate"] * self._gbps,
            "window_bytes": record["window"] or None,
            "flags": _named(record["flags"]),
        }

    @property
    def _gbps(self) -> float:
        return _GBPS_TICK_PS / self.registers.identity.tick_ps / (1 << Fmt.RATE.frac_bits)

    @property
    def _tick_us(self) -> float:
        return self.registers.identity.tick_ps / _PS_PER_US
