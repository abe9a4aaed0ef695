"""Packets that wait in a device for their grants: who has how many, what holds or drops them."""

from precog_spec.registers.wire import WIRE_EVENTS, WIRE_ROW

from ..registers import Registers
from ..transport import DeviceError
from ..windows import Windows

__all__ = ["WireDriver"]

#: Parameters and their registers; those of one bit say yes or no.
_PARAMETERS = {
    "hold": "CONTROL",
    "acks_pass": "CONTROL",
    "quota": "QUOTA",
    "limit": "LIMIT",
    "expiry": "EXPIRY",
}


class WireDriver(Windows):
    """Wire mode's side of a device.

    Parameters
    ----------
    registers : Registers
        Of a device with wire mode.

    Raises
    ------
    DeviceError
        Packets do not wait in the device.
    """

    def __init__(self, registers: Registers) -> None:
        if not registers.sizes.wire:
            raise DeviceError("packets do not wait in the device: it was built without (wire=0)")
        super().__init__(registers)

    def row(self, qp: int) -> dict[str, int]:
        """What a queue pair has there: `packets`, cells `own` and `borrowed`, bytes, `drops`.

        Of one with windows in both of its queues, that of answers too.

        Raises
        ------
        ValueError
            The device has no such slot.
        """
        if not 0 <= qp < self.registers.sizes.qps:
            raise ValueError(f"QP must be in 0..{self.registers.sizes.qps - 1}, not {qp!r}")
        qps = self.registers.sizes.qps
        requests, answers = (self._fetch("WIRE", n, WIRE_ROW) for n in (qp, qp + qps))
        return {name: value + answers[name] for name, value in requests.items()}

    def memory(self) -> dict[str, int]:
        """Cells in all, bytes of each, cells that are `free` and beyond quotas (`shared`)."""
        return self.registers.fields("WIRE", "MEMORY") | self.registers.fields("WIRE", "USE")

    def parameters(self) -> dict[str, int]:
        """What all queue pairs share; cells, ticks, or 1 for yes."""
        return {
            name: self.registers.fields("WIRE", register)[name]
            for name, register in _PARAMETERS.items()
        }

    def set_parameters(
        self,
        *,
        hold: bool | None = None,
        acks_pass: bool | None = None,
        quota: int | None = None,
        limit: int | None = None,
        expiry: int | None = None,
    ) -> None:
        """Change some of them. What is None stays.

        Parameters
        ----------
        hold : bool
            What has no room holds the input; else it is dropped.
        acks_pass : bool
            Acknowledgements pass by: for queue pairs that answer no READ.
        quota : int
            Cells that a queue pair may hold, 1 or more; not with a receiver, which has one for
            each.
        limit : int
            Cells that all together may hold beyond their quotas.
        expiry : int
            Ticks after which a window that is shut opens without an acknowledgement, 1 or more; it
            may take twice as long.

        Raises
        ------
        ValueError
            A number does not fit, or the device has a quota for each queue pair; nothing is
            written then.
        """
        cells = self.registers.sizes.wire
        if quota is not None and self.registers.sizes.receiver:
            raise ValueError(
                "quota must be given for each QP, as base_quota of its receiver: "
                f"precog qp receiver set <slot> --quota {quota}"
            )
        for name, value, least, most, unit in (
            ("quota", quota, 1, cells, "cells"),
            ("limit", limit, 0, cells, "cells"),
            ("expiry", expiry, 1, (1 << 32) - 1, "ticks"),
        ):
            if value is not None and not least <= value <= most:
                raise ValueError(f"{name} must be in {least}..{most} {unit}, not {value!r}")
        control = {
            name: int(value)
            for name, value in (("hold", hold), ("acks_pass", acks_pass))
            if value is not None
        }
        if control:
            now = self.registers.fields("WIRE", "CONTROL")
            self.registers.write_fields("WIRE", "CONTROL", **(now | control))
        for name, value in (("quota", quota), ("limit", limit), ("expiry", expiry)):
            if value is not None:
                self.registers.write_fields("WIRE", _PARAMETERS[name], **{name: value})

    def counters(self) -> dict[str, int]:
        """Events since reset."""
        return self.registers.snapshots.read("WIRE", "COUNTERS", [name for name, _ in WIRE_EVENTS])
