"""The receiver of congestion scores in real units: bands, actions, rows, counters."""

from dataclasses import dataclass

from precog_spec.registers.model import Field
from precog_spec.registers.receiver import (
    RECEIVER_EVENTS,
    RECEIVER_METER,
    RECEIVER_PARAMETERS,
    RECEIVER_QP_CONFIG,
)

from ..registers import Registers
from ..transport import DeviceError
from ..units import from_real, real_name, to_real
from ..windows import Windows

__all__ = ["ReceiverDriver", "ReceivingQp"]


@dataclass(frozen=True)
class ReceivingQp:
    """What the bands do for a queue pair."""

    qp: int
    commands: bool  #: to its law, which must run PSCHED
    boosts: bool  #: high: its priority rises
    grows: bool  #: high: its quota grows
    base_quota: int  #: cells


class ReceiverDriver(Windows):
    """The receiver's side of a device.

    Parameters
    ----------
    registers : Registers
        Of a device with a receiver.

    Raises
    ------
    DeviceError
        The device has none.
    """

    def __init__(self, registers: Registers) -> None:
        if not registers.sizes.receiver:
            raise DeviceError("device has no receiver: it was built without one (receiver=0)")
        super().__init__(registers)

    def qp(self, qp: int) -> ReceivingQp:
        """A queue pair's row.

        Raises
        ------
        ValueError
            The device has no such slot.
        """
        row = self._row(qp)
        return ReceivingQp(
            qp, bool(row["commands"]), bool(row["boosts"]), bool(row["grows"]), row["base_quota"]
        )

    def configure(
        self,
        qp: int,
        *,
        commands: bool | None = None,
        boosts: bool | None = None,
        grows: bool | None = None,
        base_quota: int | None = None,
    ) -> None:
        """Change a queue pair's row, and forget its score. What is None stays.

        Raises
        ------
        ValueError
            A number does not fit; nothing is written then.
        DeviceError
            The device refused.
        """
        row = self._row(qp)
        for name, value in (("commands", commands), ("boosts", boosts), ("grows", grows)):
            row[name] = row[name] if value is None else int(value)
        if base_quota is not None:
            if not 0 <= base_quota < 1 << 16:
                raise ValueError(f"base_quota must be in 0..65535, not {base_quota!r}")
            row["base_quota"] = base_quota
        for register in RECEIVER_QP_CONFIG:
            named = {field.name: row[field.name] for field in register.fields}
            self.registers.write_fields("RECEIVER", register.name, **named)
        self._command("RECEIVER", qp, apply=1)

    def parameters(self) -> dict[str, float | int]:
        """What all queue pairs share, in real units."""
        tick_ps = self.registers.identity.tick_ps
        return {
            name: to_real(field, self.registers.fields("RECEIVER", register)[field.name], tick_ps)
            for name, (register, field) in _parameters().items()
        }

    def set_parameters(self, /, **values: float) -> None:
        """Change some of them, by the names that `parameters` shows.

        Raises
        ------
        ValueError
            A name is unknown, or a number does not fit; nothing is written then.
        """
        known, words = _parameters(), dict[str, dict[str, int]]()
        for name, value in values.items():
            if name not in known:
                raise ValueError(f"parameter {name!r} must be one of {', '.join(known)}")
            register, field = known[name]
            word = words.setdefault(register, self.registers.fields("RECEIVER", register))
            word[field.name] = from_real(field, value, self.registers.identity.tick_ps)
        for register, word in words.items():
            self.registers.write_fields("RECEIVER", register, **word)

    def counters(self) -> dict[str, int]:
        """Events since reset."""
        return self.registers.snapshots.read(
            "RECEIVER", "COUNTERS", [name for name, _ in RECEIVER_EVENTS]
        )

    def _row(self, qp: int) -> dict[str, int]:
        if not 0 <= qp < self.registers.sizes.qps:
            raise ValueError(f"QP must be in 0..{self.registers.sizes.qps - 1}, not {qp!r}")
        return self._fetch("RECEIVER", qp, RECEIVER_QP_CONFIG)


def _parameters() -> dict[str, tuple[str, Field]]:
    """Presented name: register, field."""
    return {
        _name(field): (register.name, field)
        for register in (*RECEIVER_PARAMETERS, *RECEIVER_METER)
        for field in register.fields
    }


def _name(field: Field) -> str:
    return "score_us" if field.name == "ticks" else real_name(field)
