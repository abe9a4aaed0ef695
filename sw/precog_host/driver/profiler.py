"""The queue profiler of a device in real units: numbers of send queues, parameters of samples."""

from dataclasses import dataclass

from precog_spec.registers.profiler import PROFILER_EVENTS, PROFILER_PARAMETERS, PROFILER_VALUES

from ..registers import Registers
from ..transport import DeviceError
from ..units import from_real, real_name, to_real
from ..windows import Windows

__all__ = ["ProfilerDriver", "QueueStatus"]

_FIELDS = {
    field.name: (register, field) for register in PROFILER_PARAMETERS for field in register.fields
}


@dataclass(frozen=True)
class QueueStatus:
    """A queue pair's send queue, of one instant."""

    qp: int
    occupancy: int  #: bytes that arrived and did not depart
    inter_arrival_us: float  #: between the last two arrivals
    service_us: float  #: of the last departure, since it stood first
    size: int  #: bytes of the last arrival
    peak: int  #: bytes
    arrivals: int  #: 32 bits, wraps
    departures: int  #: as above
    bytes_in: int  #: 48 bits, wraps
    bytes_out: int  #: as above


class ProfilerDriver(Windows):
    """The queue profiler's side of a device.

    Parameters
    ----------
    registers : Registers
        Of a device with a queue profiler.

    Raises
    ------
    DeviceError
        The device has none.
    """

    def __init__(self, registers: Registers) -> None:
        if not registers.sizes.profile:
            raise DeviceError("device has no queue profiler: it was built without one (profile=0)")
        super().__init__(registers)

    def queue(self, qp: int, *, clear: bool = False) -> QueueStatus:
        """A queue pair's numbers; `clear` starts counts and peak again behind them.

        Raises
        ------
        ValueError
            The device has no such slot.
        """
        if not 0 <= qp < self.registers.sizes.qps:
            raise ValueError(f"QP must be in 0..{self.registers.sizes.qps - 1}, not {qp!r}")
        self._command("PROFILER", qp, **({"clear": 1} if clear else {"fetch": 1}))
        row = self._fields("PROFILER", PROFILER_VALUES)
        us = self.registers.identity.tick_ps / 1e6
        return QueueStatus(
            qp=qp,
            inter_arrival_us=row["inter_arrival"] * us,
            service_us=row["service"] * us,
            bytes_in=row["bytes_in_high"] << 32 | row["bytes_in_low"],
            bytes_out=row["bytes_out_high"] << 32 | row["bytes_out_low"],
            **{name: row[name] for name in ("occupancy", "size", "peak", "arrivals", "departures")},
        )

    def parameters(self) -> dict[str, float | int]:
        """When samples are taken and how they are scaled, with their units."""
        tick_ps = self.registers.identity.tick_ps
        raw = self._fields("PROFILER", PROFILER_PARAMETERS)
        return {
            real_name(field): to_real(field, raw[name], tick_ps)
            for name, (_, field) in _FIELDS.items()
        }

    def set_parameters(self, **values: float | None) -> None:
        """Change some of them, named as `parameters` does; what is None stays.

        Raises
        ------
        ValueError
            There is no such parameter, or a number does not fit; nothing is written then.
        """
        tick_ps = self.registers.identity.tick_ps
        known = {real_name(field): (register, field) for register, field in _FIELDS.values()}
        words = {}
        for name, value in values.items():
            if name not in known:
                raise ValueError(f"parameter {name!r} must be one of {', '.join(known)}")
            if value is not None:
                register, field = known[name]
                words[register.name] = from_real(field, value, tick_ps)
        for register_name, word in words.items():
            self.registers.write("PROFILER", register_name, word)

    def counters(self) -> dict[str, int]:
        """Events since reset."""
        return self.registers.snapshots.read(
            "PROFILER", "COUNTERS", [name for name, _ in PROFILER_EVENTS]
        )
