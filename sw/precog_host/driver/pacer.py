"""The pacer of a device in real units: connections, overhead, pauses, counters."""

from dataclasses import dataclass

from precog_spec.frames.headers import PATH_MTUS
from precog_spec.registers.pacer import PACER_CONFIG, PACER_EVENTS, pacer_parameters

from ..registers import Registers
from ..transport import DeviceError
from ..windows import Windows

__all__ = ["Connection", "PacerDriver"]


@dataclass(frozen=True)
class Connection:
    """How a queue pair's packets are granted."""

    qp: int
    priority: int  #: 7 goes first
    mtu: int  #: bytes
    psn: int  #: of the connection's first packet
    windows: bool  #: its requests keep to its law's window; always but in wire mode


class PacerDriver(Windows):
    """Grants' side of a device.

    Parameters
    ----------
    registers : Registers
        Of a device with grants.

    Raises
    ------
    DeviceError
        The device has no pacer.
    """

    def __init__(self, registers: Registers) -> None:
        if not registers.sizes.grants:
            raise DeviceError("device has no pacer: it was built without one (grants=0)")
        super().__init__(registers)
        self._parameters = pacer_parameters(wire=bool(registers.sizes.wire))

    def connection(self, qp: int) -> Connection:
        """A queue pair's connection.

        Raises
        ------
        ValueError
            The device has no such slot.
        """
        row = self._row(qp)
        exact = 1 << row["mtu_log2"]
        mtu = exact if exact in PATH_MTUS else max(PATH_MTUS)  # as the device takes it
        windows = bool(row["windows"]) or not self.registers.sizes.wire
        return Connection(qp, row["priority"], mtu, row["psn"], windows)

    def begin(
        self,
        qp: int,
        *,
        priority: int | None = None,
        mtu: int | None = None,
        psn: int | None = None,
        windows: bool | None = None,
    ) -> None:
        """Begin a connection: nothing is asked for, nothing in flight. What is None stays.

        Parameters
        ----------
        qp : int
        priority : int
            0..7; 7 goes first.
        mtu : int
            Path MTU, bytes.
        psn : int
            Of the first packet; wire mode learns it.
        windows : bool
            Wire mode: requests of reliable services keep to the window of the queue pair's law, in
            MTUs of this connection; answers have a queue of their own.

        Raises
        ------
        ValueError
            A number does not fit, or the device has no wire mode and `windows` is not None; nothing
            is written then.
        """
        planned = self.planned(qp, priority=priority, mtu=mtu, psn=psn, windows=windows)
        self.apply(qp, planned)

    def planned(
        self,
        qp: int,
        *,
        priority: int | None,
        mtu: int | None,
        psn: int | None,
        windows: bool | None = None,
    ) -> dict[str, int]:
        """The row that `begin` would write, checked; nothing is changed."""
        row = self._row(qp)
        if windows is not None:
            if not self.registers.sizes.wire:
                raise ValueError(
                    f"windows must not be given, not {windows!r}: packets do not wait in the "
                    "device (wire=0), and its grants always keep to windows"
                )
            row["windows"] = int(windows)
        for name, value in (("priority", priority), ("psn", psn)):
            if value is None:
                continue
            top = max(f.max for r in PACER_CONFIG for f in r.fields if f.name == name)
            if not 0 <= value <= top:
                raise ValueError(f"{name} must be in 0..{top}, not {value!r}")
            row[name] = value
        if mtu is not None:
            if mtu not in PATH_MTUS:
                raise ValueError(f"mtu must be one of {PATH_MTUS}, not {mtu!r}")
            row["mtu_log2"] = mtu.bit_length() - 1
        return row

    def apply(self, qp: int, row: dict[str, int]) -> None:
        """Write what `planned` returned.

        Raises
        ------
        DeviceError
            The device refused.
        """
        for register in PACER_CONFIG:
            named = {field.name: row[field.name] for field in register.fields}
            self.registers.write_fields("PACER", register.name, **named)
        self._command("PACER", qp, apply=1)

    def parameters(self) -> dict[str, int]:
        """What all queue pairs share: bytes of overhead, priorities that the host pauses."""
        return self._fields("PACER", self._parameters)

    def set_parameters(self, *, overhead: int | None = None, pause: int | None = None) -> None:
        """Change some of them.

        Raises
        ------
        ValueError
            A number does not fit; nothing is written then.
        """
        wanted = {"overhead": overhead, "pause": pause}
        words = {}
        for register in self._parameters:
            (field,) = register.fields
            value = wanted[field.name]
            if value is None:
                continue
            if not 0 <= value <= field.max:
                raise ValueError(f"{field.name} must be in 0..{field.max}, not {value!r}")
            words[register.name] = value
        for name, word in words.items():
            self.registers.write("PACER", name, word)

    def counters(self) -> dict[str, int]:
        """Events since reset."""
        return self.registers.snapshots.read(
            "PACER", "COUNTERS", [name for name, _ in PACER_EVENTS]
        )

    def _row(self, qp: int) -> dict[str, int]:
        if not 0 <= qp < self.registers.sizes.qps:
            raise ValueError(f"QP must be in 0..{self.registers.sizes.qps - 1}, not {qp!r}")
        return self._fetch("PACER", qp, PACER_CONFIG)
