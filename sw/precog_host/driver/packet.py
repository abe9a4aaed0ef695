"""The packet path of a device in real units: queue pairs' keys, scores, destinations, counters."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

from precog_models.packet.cps_state import CpsConfig
from precog_models.packet.qp_table import WAYS, Key, QpTable, Write, keys_of
from precog_spec.contract import CarriedScore
from precog_spec.frames.cps import SCORE_MAX, Mode
from precog_spec.frames.descriptor import Direction
from precog_spec.frames.headers import PATH_MTUS
from precog_spec.frames.qp_key import IPV4_MAPPED, address_of, packed_address, parse_address
from precog_spec.registers.model import resets
from precog_spec.registers.packet import (
    DESTINATION_CONFIG,
    DESTINATION_VALUES,
    ECHO_EVENTS,
    ECHOES_COUNTED_FROM,
    ECHOES_FROM,
    LOOKUP_CELL,
    PACKET_PARAMETERS,
    PACKET_QP_CONFIG,
    RX_CLASSES,
    TX_CLASSES,
    packet_events,
    packet_parameters,
    packet_qp_config,
    part_of,
)

from ..registers import Registers
from ..transport import DeviceError
from ..windows import Windows

__all__ = ["Binding", "DestinationStatus", "PacketDriver"]

_WORD = 0xFFFF_FFFF
_SOURCES = {source.name.lower(): source for source in CarriedScore}


@dataclass(frozen=True)
class Binding:
    """What makes a packet one of a queue pair, and what its packets carry."""

    slot: int
    remote: IPv4Address | IPv6Address
    remote_qp: int
    local_qp: int
    mode: Mode
    destination: int
    score: int | None  #: the host's
    score_source: str  #: whose is sent: "host", or the predicted "queue", "rtt", "max" or "port"
    mtu: int  #: bytes


@dataclass(frozen=True)
class DestinationStatus:
    """A destination's numbers, of one instant."""

    destination: int
    enable: bool
    samples: int
    rtt_mean_us: float | None  #: None: no sample
    rtt_min_us: float | None
    rtt_max_us: float | None
    rtt_last_us: float | None
    losses: int
    marks: int
    score: int | None


class PacketDriver(Windows):
    """Packets' side of a device.

    Parameters
    ----------
    registers : Registers
        Of a device with packets.

    Raises
    ------
    DeviceError
        The device has no packet path.
    """

    def __init__(self, registers: Registers) -> None:
        if not registers.sizes.width:
            raise DeviceError("device has no packet path: it was built without one (width 0)")
        super().__init__(registers)
        self.slots = registers.sizes.qps
        self._parameters = packet_parameters(registers.sizes)
        self._row = packet_qp_config(registers.sizes)
        self._table: QpTable | None = None

    # --- parameters ------------------------------------------------------------------------------

    def parameters(self) -> dict[str, int]:
        """Parameters of all queue pairs by the name of their field."""
        return {
            name: value
            for register in self._parameters
            for name, value in self.registers.fields("PACKET", register.name).items()
        }

    def set_parameters(self, /, **values: int) -> None:
        """Set some parameters.

        Raises
        ------
        ValueError
            A name is unknown or a value is not one that the device can work with; nothing is
            written then.
        DeviceError
            The device was built without the part that a parameter is for, or before it was there;
            nothing is written then.
        """
        known = self.parameters()
        elsewhere = {field.name for register in PACKET_PARAMETERS for field in register.fields}
        for name in sorted(values.keys() & (elsewhere - known.keys())):
            raise DeviceError(
                f"device has no parameter {name}: it was built with {part_of(name)}=0"
            )
        unknown = sorted(values.keys() - known.keys())
        if unknown:
            names = ", ".join(known)
            raise ValueError(f"packet parameter {unknown[0]!r} must be one of {names}")
        why = self.registers.outdated("PACKET", ECHOES_FROM, "does")
        if why and values.get("echo_enabled"):  # it would take the bit and do nothing
            raise DeviceError(f"device echoes no marks: {why}")
        wanted = known | values
        CpsConfig(wanted["shim_port"], wanted["max_frame"], bool(wanted["drop_malformed"]))
        words = {}
        for register in self._parameters:
            if values.keys() & {field.name for field in register.fields}:
                word = 0
                for field in register.fields:
                    word = field.put(word, wanted[field.name])
                words[register.name] = word
        for name, word in words.items():
            self.registers.write("PACKET", name, word)

    def ticks(self) -> int:
        """The card's time."""
        low = self.registers.entry("PACKET", "CLOCK", 0, "LOW")["low"]
        return self.registers.entry("PACKET", "CLOCK", 0, "HIGH")["high"] << 32 | low

    # --- queue pairs -----------------------------------------------------------------------------

    def bind(
        self,
        slot: int,
        remote: str | IPv4Address | IPv6Address,
        *,
        remote_qp: int,
        local_qp: int,
        mode: Mode = Mode.S,
        destination: int = 0,
        score: int | None = None,
        score_source: str = "host",
        mtu: int = 1024,
    ) -> None:
        """Give a slot to a connection. Keys that are in the way move, and none is ever missing.

        Parameters
        ----------
        slot : int
            A slot that is not in use.
        remote : str or address
            The peer.
        remote_qp, local_qp : int
            DestQP of packets to it, and from it.
        mode : Mode
            How packets carry the score.
        destination : int
            Index that queue pairs to one destination share; 0 on a device without destinations.
        score : int, optional
            0..100, the host's; none if not given.
        score_source : str
            Whose score packets carry: host, queue (the newest of its queue model), rtt (of its
            model of RTTs), max (the larger of both) or port (the newest of the queue before the
            device's own port, `PortDriver`). Of a model that has not answered yet, is
            not there, or whose score is too old (`ForecastDriver`), they carry none.
        mtu : int
            Path MTU, bytes.

        Raises
        ------
        ValueError
            A number does not fit, the slot is in use, or a key belongs to another slot.
        DeviceError
            The device refused, has no forecasts for such a source, no destinations, or knows no
            IPv6.
        """
        peer = parse_address(remote)
        wanted = Binding(
            slot, peer, remote_qp, local_qp, mode, destination, score, score_source, mtu
        )
        row = self._planned_row(wanted)
        address = packed_address(peer)
        with self._changing(slot, *keys_of(address, remote_qp, local_qp)) as table:
            writes = table.add(slot, address, remote_qp, local_qp)
            # The row first: a packet that finds its slot finds what the slot is to do.
            self._apply_row(slot, row, clear=True)
            self._write_cells(writes)

    def check_bindings(self, wanted: Iterable[Binding]) -> None:
        """Refuse what `bind` could not bind, one after the other; nothing is written.

        Raises
        ------
        ValueError, DeviceError
            As `bind`, of the first that is refused.
        """
        table = deepcopy(self.table())
        for one in wanted:
            self._planned_row(one)
            table.add(one.slot, packed_address(one.remote), one.remote_qp, one.local_qp)

    def _planned_row(self, wanted: Binding) -> dict[str, int]:
        """The row of a binding, checked."""
        if wanted.destination:
            self._check_destinations()
        self._check(wanted.destination, wanted.score, wanted.mtu)
        self._check_slot(wanted.slot)
        if wanted.mode not in set(Mode):
            raise ValueError(f"mode must be off, s or r, not {wanted.mode!r}")
        source = self._source(wanted.score_source)
        mapped = packed_address(wanted.remote) >> 32 == IPV4_MAPPED >> 32
        if not (mapped or self.registers.sizes.ipv6):
            raise DeviceError(
                f"remote must be an IPv4 address, not {wanted.remote}: the device was built "
                "without IPv6 (ipv6=0)"
            )
        return {
            "mode": int(wanted.mode),
            "destination": wanted.destination,
            "score": wanted.score or 0,
            "score_valid": int(wanted.score is not None),
            "score_source": source,
            "remote_qp": wanted.remote_qp,
            "remote_valid": 1,
            "mtu_log2": wanted.mtu.bit_length() - 1,
        }

    def unbind(self, slot: int) -> None:
        """Take a slot from its connection: packets of it pass unchanged from now on.

        Raises
        ------
        ValueError
            The slot does not exist.
        """
        self._check_slot(slot)
        with self._changing(slot) as table:
            self._write_cells(table.remove(slot))
            self._apply_row(slot, resets(self._row), clear=True)

    def bindings(self) -> list[Binding]:
        """All slots that have both keys, as other programs have left them."""
        table = self._table_now()
        keys: dict[int, dict[Direction, Key]] = {}
        for key, slot in table.entries():
            keys.setdefault(slot, {})[key.direction] = key
        found = []
        for slot, pair in sorted(keys.items()):
            if len(pair) < len(Direction):
                continue  # another program is at work on it
            row = self._fetch("PACKET_QP", slot, self._row)
            found.append(
                Binding(
                    slot=slot,
                    remote=address_of(pair[Direction.TX].remote),
                    remote_qp=pair[Direction.TX].qpn,
                    local_qp=pair[Direction.RX].qpn,
                    # The device runs a code that is no mode as off.
                    mode=Mode(row["mode"]) if row["mode"] in set(Mode) else Mode.OFF,
                    destination=row.get("destination", 0),
                    score=row["score"] if row["score_valid"] else None,
                    score_source=CarriedScore(row["score_source"]).name.lower(),
                    mtu=1 << row["mtu_log2"],
                )
            )
        return found

    def used(self) -> set[int]:
        """Slots that have keys, as other programs have left them: one key if interrupted."""
        return {slot for _, slot in self._table_now().entries()}

    def set_score(self, slot: int, score: int | None, *, source: str | None = None) -> None:
        """The host's score of a queue pair, and whose its packets carry; None: whose it was.

        A predicted score begins anew.

        Raises
        ------
        ValueError
            The slot or the source does not exist, or the score is not 0..100.
        DeviceError
            The device has no forecasts for such a source.
        """
        self._check_slot(slot)
        self._check(0, score, PATH_MTUS[0])
        carried = {"score": score or 0, "score_valid": int(score is not None)}
        if source is not None:
            carried["score_source"] = self._source(source)
        row = self._fetch("PACKET_QP", slot, self._row)
        self._apply_row(slot, row | carried)

    def table(self) -> QpTable:
        """The QP table, read from the device when it is first asked for.

        What other programs have written since shows in `bindings` and `used`, which look.
        """
        if self._table is None:
            table = QpTable(self.slots)
            for way in range(WAYS):
                for row in range(table.row_count):
                    cell = self._fetch_cell(way, row)
                    if cell is not None:
                        table.write(Write(way, row, *cell))
            for key, slot in table.entries():
                if key.direction is Direction.TX:
                    table.remote_qp[slot] = key.qpn
            self._table = table
        return self._table

    def _table_now(self) -> QpTable:
        """As `table`, read anew if other programs have changed it."""
        if self._table is not None and not self._is_as_read(self._table):
            self._table = None
        return self.table()

    @contextmanager
    def _changing(self, slot: int, *keys: Key) -> Iterator[QpTable]:
        """The QP table, to be changed here and in the device; after a fault it is read anew.

        It is also read anew if other programs have changed what a change of `slot` meets.
        """
        table = self.table()
        cells = table.cells()
        ways = [set(enumerate(table.rows(key))) for key in keys]
        if any(one <= cells.keys() for one in ways):  # keys move, anywhere
            table = self._table_now()
        else:
            places = set().union(*ways)
            places |= {place for place, (_, owner) in cells.items() if owner == slot}
            row = self._fetch("PACKET_QP", slot, self._row)
            used = any(owner == slot for _, owner in cells.values())
            if bool(row.get("remote_valid", used)) != used or any(
                self._fetch_cell(*place) != cells.get(place) for place in places
            ):
                self._table = None
                table = self.table()
        self._table = None
        yield table
        self._table = table

    def _is_as_read(self, table: QpTable) -> bool:
        """Whether the device still has the table's keys, and no slot of another program.

        A key is looked at where it was, and each slot's row says whether the slot is in use. That
        is much less than the whole table, which has three cells a slot or more.
        """
        if not any("remote_valid" in (f.name for f in word.fields) for word in self._row):
            return False
        cells = table.cells()
        used = {slot for _, slot in cells.values()}
        return all(
            bool(self._fetch("PACKET_QP", slot, self._row)["remote_valid"]) == (slot in used)
            for slot in range(self.slots)
        ) and all(self._fetch_cell(*place) == cell for place, cell in cells.items())

    def _fetch_cell(self, way: int, row: int) -> tuple[Key, int] | None:
        registers = self.registers
        registers.write_fields("LOOKUP", "PLACE", way=way, row=row)
        self._do("LOOKUP", fetch=1)
        cell = self._fields("LOOKUP", LOOKUP_CELL)
        if not cell["valid"]:
            return None
        remote = sum(cell[f"remote_{n}"] << 32 * n for n in range(4))
        return Key(Direction(cell["direction"]), remote, cell["qpn"]), cell["slot"]

    def _write_cells(self, writes: Iterable[Write]) -> None:
        for write in writes:
            cell = {"slot": write.slot, "valid": int(write.key is not None)}
            if write.key is not None:
                cell |= {"qpn": write.key.qpn, "direction": int(write.key.direction)}
                cell |= {f"remote_{n}": write.key.remote >> 32 * n & _WORD for n in range(4)}
            for register in LOOKUP_CELL:
                named = {f.name: cell.get(f.name, 0) for f in register.fields}
                self.registers.write_fields("LOOKUP", register.name, **named)
            self.registers.write_fields("LOOKUP", "PLACE", way=write.way, row=write.row)
            self._do("LOOKUP", apply=1)

    def _apply_row(self, slot: int, row: dict[str, int], *, clear: bool = False) -> None:
        for register in self._row:
            named = {field.name: row[field.name] for field in register.fields}
            self.registers.write_fields("PACKET_QP", register.name, **named)
        self._command("PACKET_QP", slot, apply=1, clear=int(clear))

    # --- destinations and counters ---------------------------------------------------------------

    def enable_destination(self, destination: int, *, enable: bool = True) -> None:
        """Whether a destination is trusted with scores.

        Packets to it may carry them, those from it are heard, and their shims taken out.

        Raises
        ------
        ValueError
            There is no such destination.
        DeviceError
            The device was built without destinations.
        """
        self._check_destinations()
        self._check(destination, None, PATH_MTUS[0])
        self.registers.write_fields("DESTINATION", "ENABLE", enable=int(enable))
        self._command("DESTINATION", destination, apply=1)

    def destination(self, destination: int, *, clear: bool = False) -> DestinationStatus:
        """A destination's numbers; `clear` starts them again without losing an event.

        Raises
        ------
        ValueError, DeviceError
            As `enable_destination`.
        """
        self._check_destinations()
        self._check(destination, None, PATH_MTUS[0])
        self._command("DESTINATION", destination, fetch=1, clear=int(clear))
        value = self._fields("DESTINATION", (*DESTINATION_CONFIG, *DESTINATION_VALUES))
        samples = value["samples"]
        total = value["rtt_sum_high"] << 32 | value["rtt_sum_low"]

        def us(ticks: float) -> float | None:
            return ticks * self.registers.identity.tick_ps / 1e6 if samples else None

        return DestinationStatus(
            destination=destination,
            enable=bool(value["enable"]),
            samples=samples,
            rtt_mean_us=us(total / max(1, samples)),
            rtt_min_us=us(value["rtt_min"]),
            rtt_max_us=us(value["rtt_max"]),
            rtt_last_us=us(value["rtt_last"]),
            losses=value["losses"],
            marks=value["marks"],
            score=value["score"] if value["score_valid"] else None,
        )

    def counters(self) -> dict[str, dict[str, int]]:
        """Packets to the wire and from it by what became of them, and events.

        Gateware from before it counted echoes has no counters of them.
        """
        events = packet_events(self.registers.sizes)
        if self.registers.version("PACKET_COUNTERS")[1] < ECHOES_COUNTED_FROM:
            events = tuple(name for name in events if name not in ECHO_EVENTS)
        tables = (("TX", TX_CLASSES), ("RX", RX_CLASSES), ("EVENTS", events))
        snapshots = self.registers.snapshots
        with snapshots.one_instant():
            return {
                table.lower(): snapshots.read("PACKET_COUNTERS", table, names)
                for table, names in tables
            }

    def _source(self, name: str) -> int:
        if name not in _SOURCES:
            raise ValueError(f"score source must be one of {', '.join(_SOURCES)}, not {name!r}")
        source = _SOURCES[name]
        if source != CarriedScore.HOST and not self.registers.sizes.forecast:
            raise DeviceError(
                f"score source must be host, not {name}: device was built without forecasts"
            )
        if source == CarriedScore.PORT and not self.registers.sizes.port:
            raise DeviceError(
                "score source must be host, queue, rtt or max, not port: device was built without "
                "(port=0)"
            )
        return source

    def _check_destinations(self) -> None:
        if not self.registers.sizes.destinations:
            raise DeviceError("device has no destinations: it was built without (destinations=0)")

    def _check_slot(self, slot: int) -> None:
        if not 0 <= slot < self.slots:
            raise ValueError(f"slot must be in 0..{self.slots - 1}, not {slot!r}")

    def _check(self, destination: int, score: int | None, mtu: int) -> None:
        top = (1 << PACKET_QP_CONFIG[0].field("destination").bits) - 1
        if not 0 <= destination <= top:
            raise ValueError(f"destination must be in 0..{top}, not {destination!r}")
        if score is not None and not 0 <= score <= SCORE_MAX:
            raise ValueError(f"score must be in 0..{SCORE_MAX}, not {score!r}")
        if mtu not in PATH_MTUS:
            raise ValueError(f"mtu must be one of {PATH_MTUS}, not {mtu!r}")
