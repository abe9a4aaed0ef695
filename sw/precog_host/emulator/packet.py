"""The packet path of an emulated device: the golden card behind its register blocks."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from precog_models.measure.ack_ring import Ack
from precog_models.packet.card import Arrived, Card, CardConfig
from precog_models.packet.cnp import CnpConfig
from precog_models.packet.cps_state import CpsConfig
from precog_models.packet.cps_tx import Sent
from precog_models.packet.qp_table import WAYS, Key, Write
from precog_models.packet.trust import TrustConfig
from precog_spec.config import NicConfig
from precog_spec.contract import DECISION_FIELDS, Outcome
from precog_spec.frames.cps import SCORE_MAX, Mode, ShimFault
from precog_spec.frames.descriptor import Direction, Reason
from precog_spec.frames.headers import Ecn
from precog_spec.frames.qp_key import IPV4_MAPPED
from precog_spec.law_fields import LEVEL_ALONE, RING_PLACES, SENDERS_AT, EventKind
from precog_spec.registers.model import Register, resets
from precog_spec.registers.packet import (
    DESTINATION_CONFIG,
    DESTINATION_VALUES,
    ECHO_EVENTS,
    LOOKUP_CELL,
    OUTCOME_EVENTS,
    RX_CLASSES,
    TX_CLASSES,
    packet_events,
    packet_parameters,
    packet_qp_config,
)

from .counters import EmulatedClock, EmulatedCounters
from .register_file import RegisterFile, ignored
from .senders import EmulatedSenders

__all__ = ["EmulatedPacket"]

_WORD = 0xFFFF_FFFF
_NONE: NDArray[np.int64] = np.zeros((0, len(DECISION_FIELDS)), dtype=np.int64)


class EmulatedPacket:
    """Frames in, frames out; rows, tables and counters through the registers.

    Parameters
    ----------
    file : RegisterFile
    sizes : NicConfig
        Of a device with packets.
    tick_ps : int
        Length of a tick.
    decide : callable
        Takes RTT samples [n, 3].
    happen : callable
        Takes what a law may want to know: an `EventKind`, the slot, ticks, a value.
    acknowledge : callable
        Takes what a program may want to know of an acknowledgement: the slot, ticks, an `Ack`.
    passed : callable
        Hears how late it is, in ticks, before each packet.
    sourced : callable
        Hears of each row that is written: its slot and its `CarriedScore`.
    left : callable
        Hears of each frame to the wire: what became of it, its bytes as it came, and when in ticks.
    damaged : callable
        Hears of each packet from the wire with a wrong ICRC.

    Attributes
    ----------
    card : Card
    senders : EmulatedSenders or None
    decided : ndarray of int64, shape (n, 8)
        Decisions on the last frame: on a notification or a loss, a score, an acknowledgement, a
        sample; or on a level that the host believes.
    """

    def __init__(
        self,
        file: RegisterFile,
        sizes: NicConfig,
        tick_ps: int,
        decide: Callable[[NDArray[np.int64]], NDArray[np.int64]],
        happen: Callable[[EventKind, int, int, int], NDArray[np.int64]],
        acknowledge: Callable[[int, int, Ack], NDArray[np.int64]],
        passed: Callable[[int], None],
        sourced: Callable[[int, int], None],
        left: Callable[[Sent, int, int], None],
        damaged: Callable[[], None],
    ) -> None:
        self._file = file
        self._decide = decide
        self._happen = happen
        self._acknowledge = acknowledge
        self._passed = passed
        self._sourced = sourced
        self._left = left
        self._damaged = damaged
        self.decided = _NONE
        self._tick_ps = tick_ps
        config = CardConfig(
            tick_ps=tick_ps,
            ipv6=bool(sizes.ipv6),
            destinations=bool(sizes.destinations),
            cnps=bool(sizes.cnps),
            icrc=bool(sizes.icrc),
            senders=bool(sizes.senders),
            port=bool(sizes.port),
            places=RING_PLACES if sizes.law_cores else 0,
        )
        self.card = Card(sizes.qps, config)
        self.senders = (
            None
            if self.card.senders is None
            else EmulatedSenders(file, self.card.senders, sizes.qps, self._believed)
        )
        # Scores leave the receiver later than programs hear of the rest.
        self._apart = bool(sizes.receiver and sizes.law_cores)
        self._parameters = packet_parameters(sizes)
        self._row = packet_qp_config(sizes)
        self._rows = [resets(self._row) for _ in range(sizes.qps)]
        self._time = 0
        self._bad_shim = False
        self._errors = {"tx_errors": 0, "rx_errors": 0, "icrc_ok": 0, "icrc_bad": 0}
        file.written |= {
            "LOOKUP.COMMAND": self._lookup,
            "PACKET_QP.COMMAND": self._queue_pair,
            **{f"PACKET.{register.name}": self._configure for register in self._parameters},
        }
        if sizes.destinations:
            file.written["DESTINATION.COMMAND"] = self._destination
        counters: dict[str, EmulatedClock | EmulatedCounters] = {
            "PACKET.CLOCK": EmulatedClock(lambda: self._time),
            "PACKET_COUNTERS.TX": EmulatedCounters(TX_CLASSES, self._sent),
            "PACKET_COUNTERS.RX": EmulatedCounters(RX_CLASSES, self._received),
            "PACKET_COUNTERS.EVENTS": EmulatedCounters(packet_events(sizes), self._events),
        }
        file.tables |= {name: (table.read, ignored) for name, table in counters.items()}

    # --- packets ---------------------------------------------------------------------------------

    def transmit(self, frame: bytes, t: int, *, error: bool = False) -> Sent:
        """A frame to the wire at `t` ticks."""
        self._time = t
        self._passed(self._stamps(t)[0])
        sent = self.card.transmit(frame, *self._stamps(t), error=error)
        self._counted(t)
        self._errors["tx_errors"] += sent.descriptor.error
        self._left(sent, len(frame), self._stamps(t)[0])
        if sent.slot is not None and not sent.descriptor.error:
            self._happen(EventKind.BYTES, sent.slot, self._stamps(t)[0], sent.end)
        self.decided = _NONE
        if sent.slot is not None and sent.lost:
            self.decided = self._happen(EventKind.LOSS, sent.slot, self._stamps(t)[0], 0)
        return sent

    def receive(self, frame: bytes, t: int, *, error: bool = False) -> Arrived:
        """A frame from the wire at `t` ticks; its RTT sample is decided on."""
        self._time = t
        self._passed(self._stamps(t)[0])
        arrived = self.card.receive(frame, *self._stamps(t), error=error)
        self._counted(t)
        got = arrived.received
        self._errors["rx_errors"] += got.descriptor.error
        if arrived.icrc_checked:
            self._errors["icrc_ok" if arrived.icrc_ok else "icrc_bad"] += 1
            if not arrived.icrc_ok:
                self._damaged()
        self.decided = _NONE
        if got.slot is not None:
            self.decided = np.concatenate(self._tell(arrived, got.slot, self._stamps(t)[0]))
        return arrived

    def _tell(self, arrived: Arrived, slot: int, t: int) -> list[NDArray[np.int64]]:
        """Decisions on what came of a packet, in their order."""
        made = [_NONE]
        if arrived.notified:
            made.append(self._happen(EventKind.CNP, slot, t, 0))
        if arrived.lost:
            made.append(self._happen(EventKind.LOSS, slot, t, 0))
        word = self.level(slot) << SENDERS_AT
        score = []
        if arrived.score is not None:
            score = [(EventKind.SCORE, slot, t, arrived.score | word)]
        if arrived.senders is not None and (self._apart or not score):
            made.append(self._happen(EventKind.SCORE, slot, t, LEVEL_ALONE | word))
        if not self._apart:
            made += [self._happen(*event) for event in score]
        if arrived.ack is not None:
            made.append(self._acknowledge(slot, t, arrived.ack))
        if arrived.rtt is not None:
            made.append(self._decide(np.array([[slot, arrived.rtt, t]], dtype=np.int64)))
        if self._apart:
            made += [self._happen(*event) for event in score]
        return made

    def _believed(self, slot: int, level: int, t: int) -> None:
        """The host believes a level of the slot's receiver."""
        word = LEVEL_ALONE | level << SENDERS_AT
        self.decided = self._happen(EventKind.SCORE, slot, t, word)

    def level(self, slot: int) -> int:
        """Of the slot's receiver, in force; 0 on a card that has no count of senders."""
        return 0 if self.card.senders is None else self.card.senders.said(slot)

    def listen(self, slot: int, *, on: bool) -> None:
        """The slot's queue pair runs a program from now on, or none."""
        if self.card.collector.ring is not None:
            self.card.collector.ring.listen(slot, on=on)

    def sweep(self, t: int) -> None:
        """Nothing comes until `t` ticks: timed packets whose time-out has passed are given up."""
        self._time = t
        stamp, _ = self._stamps(t)
        for slot in range(len(self._rows)):
            self.card.sweep(slot, stamp)
        self._counted(t)

    def forget(self) -> None:
        """No queue pair has a timed packet, an echo or an arrival any more, nor does one send."""
        for slot in range(len(self._rows)):
            self.card.reset(slot)
        self._counted(self._time)

    def clear_statistics(self) -> None:
        """All destinations count from nothing."""
        for number in range(len(self.card.cps.destination_enable)):
            self.card.destinations.read(number, clear=True)

    def _counted(self, t: int) -> None:
        """The count of senders may be another."""
        if self.senders is not None:
            self.senders.passed(self._stamps(t)[0])

    def _stamps(self, t: int) -> tuple[int, int]:
        """Ticks and nanoseconds as the card has them."""
        return t & ((1 << 40) - 1), (t * self._tick_ps // 1000) & ((1 << 40) - 1)

    # --- registers -------------------------------------------------------------------------------

    def _fields(self, block: str, registers: tuple[Register, ...]) -> dict[str, int]:
        found: dict[str, int] = {}
        for register in registers:
            found |= self._file.get(f"{block}.{register.name}")
        return found

    def _show(self, block: str, registers: tuple[Register, ...], values: dict[str, int]) -> None:
        for register in registers:
            shown = {f.name: values[f.name] for f in register.fields}
            self._file.put(f"{block}.{register.name}", **shown)

    def _configure(self, _: int) -> None:
        """All parameters anew, but for a port and a frame limit that no card can work with."""
        value = self._fields("PACKET", self._parameters)
        choices = CpsConfig(
            drop_malformed=bool(value["drop_malformed"]),
            ack_enabled=bool(value.get("ack_enabled", 0)),
            ack_dscp=value.get("ack_dscp", 0),
            echo_enabled=bool(value.get("echo_enabled", 0)),
        )
        try:
            cps = replace(choices, shim_port=value["shim_port"], max_frame=value["max_frame"])
        except ValueError:
            if not self._bad_shim:
                self._file.put("PACKET.ERROR", shim=1)
            self._bad_shim = True
            kept = self.card.config.cps
            cps = replace(choices, shim_port=kept.shim_port, max_frame=kept.max_frame)
        else:
            self._bad_shim = False
        card = self.card
        cnp = _cnp_config(value) if card.config.cnps else card.config.cnp
        trust = TrustConfig(bool(value.get("icrc_gate", 1)), value["cnp_gap"])
        card.config = replace(
            card.config,
            cps=cps,
            cnp=cnp,
            trust=trust,
            timeout=value["timeout"],
            any_packet=bool(value["any_packet"]),
            corrected=bool(value["corrected"]),
            rtt_floor=value["rtt_floor"],
        )
        card.cps.config, card.notification.config, card.trust.config = cps, cnp, trust
        card.collector.timeout = value["timeout"]
        card.collector.any_packet = bool(value["any_packet"])
        card.collector.floor = value["rtt_floor"]

    def _lookup(self, value: int) -> None:
        asked = self._file.asked("LOOKUP.COMMAND", value)
        place = self._file.get("LOOKUP.PLACE")
        table = self.card.cps.table
        if not asked:
            return
        if place["row"] >= table.row_count or place["way"] >= WAYS:
            self._file.put("LOOKUP.ERROR", range=1)
            return
        cell = self._fields("LOOKUP", LOOKUP_CELL)
        if "apply" in asked:
            remote = sum(cell[f"remote_{n}"] << 32 * n for n in range(4))
            if not self.card.config.ipv6:
                remote = IPV4_MAPPED | (remote & _WORD)
            key = Key(Direction(cell["direction"]), remote, cell["qpn"]) if cell["valid"] else None
            table.write(Write(place["way"], place["row"], key, cell["slot"] % table.slots))
            return
        held = table.cell(place["way"], place["row"])
        shown = dict.fromkeys(cell, 0)
        remote = 0 if self.card.config.ipv6 else IPV4_MAPPED  # of a free cell
        if held is not None:
            key, slot = held
            shown |= {"qpn": key.qpn, "direction": key.direction, "slot": slot, "valid": 1}
            remote = key.remote
        shown |= {f"remote_{n}": remote >> 32 * n & _WORD for n in range(4)}
        self._show("LOOKUP", LOOKUP_CELL, shown)

    def _selected(self, block: str, rows: int) -> int | None:
        """Row of a command; an error bit and None if there is no such row."""
        index = self._file.get(f"{block}.SELECT")["index"]
        if index < rows:
            return index
        self._file.put(f"{block}.ERROR", range=1)
        return None

    def _queue_pair(self, value: int) -> None:
        asked = self._file.asked("PACKET_QP.COMMAND", value)
        slot = self._selected("PACKET_QP", len(self._rows)) if asked else None
        if slot is None:
            return
        if "apply" in asked:
            row = self._fields("PACKET_QP", self._row)
            self._rows[slot] = row
            kept, card = self.card.cps.slots[slot], self.card
            kept.mode = Mode(row["mode"]) if row["mode"] in set(Mode) else Mode.OFF
            kept.score = min(row["score"], SCORE_MAX) if row["score_valid"] else None
            kept.destination = row.get("destination", 0)
            if card.config.cnps:
                card.cps.table.remote_qp[slot] = row["remote_qp"] if row["remote_valid"] else None
            card.collector.mtu[slot] = 1 << row["mtu_log2"] if 8 <= row["mtu_log2"] <= 12 else 4096
            self._sourced(slot, row["score_source"])
        if "clear" in asked:
            self.card.reset(slot)
            self._counted(self._time)
        if "fetch" in asked:
            self._show("PACKET_QP", self._row, self._rows[slot])

    def _destination(self, value: int) -> None:
        asked = self._file.asked("DESTINATION.COMMAND", value)
        enables = self.card.cps.destination_enable
        number = self._selected("DESTINATION", len(enables)) if asked else None
        if number is None:
            return
        if "apply" in asked:
            enables[number] = bool(self._fields("DESTINATION", DESTINATION_CONFIG)["enable"])
        if asked & {"fetch", "clear"}:
            numbers = self.card.destinations.read(number, clear="clear" in asked)
            numbers["rtt_sum_low"] = numbers["rtt_sum"] & _WORD
            numbers["rtt_sum_high"] = numbers["rtt_sum"] >> 32
            self._show("DESTINATION", DESTINATION_VALUES, numbers)
        if "fetch" in asked:
            self._show("DESTINATION", DESTINATION_CONFIG, {"enable": int(enables[number])})

    # --- counters --------------------------------------------------------------------------------

    def _sent(self) -> dict[str, int]:
        counters = self.card.cps.counters
        reasons = [counters.passed_tx[reason] for reason in Reason]
        reasons[0] = counters.inserted
        return dict(zip(TX_CLASSES, [*reasons, counters.resv6_written], strict=True))

    def _received(self) -> dict[str, int]:
        counters = self.card.cps.counters
        faults = [counters.faults[fault] for fault in ShimFault if fault]
        reasons = [counters.passed_rx[reason] for reason in Reason]
        return dict(zip(RX_CLASSES, [*reasons, *faults], strict=True))

    def _events(self) -> dict[str, int]:
        cps, point = self.card.cps.counters, self.card.notification
        found = {
            name: getattr(cps, name)
            for name in (
                *("extracted", "dropped", "resv6_read", "resv6_faults", "clamped"),
                *ECHO_EVENTS,
            )
        }
        found |= {
            f"cnp_{name}": getattr(point, name) for name in ("sent", "limited", "unknown", "busy")
        }
        found |= {name: getattr(self.card.trust, name) for name in ("refused_icrc", "refused_cnp")}
        counts = self.card.collector.counts
        outcomes = zip(OUTCOME_EVENTS, Outcome, strict=True)
        return found | self._errors | {name: counts[bit] for name, bit in outcomes}


def _cnp_config(value: dict[str, int]) -> CnpConfig:
    """Registers of the notification point."""
    return CnpConfig(
        enabled=bool(value["enabled"]),
        interval_ticks=value["interval_ticks"],
        dscp=value["dscp"],
        ecn=Ecn(value["ecn"]),
        ttl=value["ttl"],
        mode_c=bool(value["mode_c"]),
    )
