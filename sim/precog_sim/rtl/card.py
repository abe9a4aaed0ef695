"""`RtlCard`: the Verilated packet path, one packet at a time or at full speed."""

from collections.abc import Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from amaranth.lib import data

from precog_hw.csr.layouts import SAMPLE
from precog_hw.measure.destinations import DESTINATION, destination_read_layout
from precog_hw.packet.card import Card
from precog_hw.packet.card_options import CardOptions
from precog_hw.packet.cnp_limiter import remote_qp_layout
from precog_hw.packet.cps_rx import received_layout
from precog_hw.packet.cps_slots import DESTINATIONS, slot_config_layout
from precog_hw.packet.cps_tx import sent_layout
from precog_hw.packet.layouts import CARD_CONFIG
from precog_hw.packet.qp_lookup import table_access_layout
from precog_hw.packet.senders_told import told_layout
from precog_models.packet.card import CardConfig
from precog_models.packet.cps_state import CpsConfig
from precog_models.packet.qp_table import QpTable
from precog_models.packet.senders import SendersConfig
from precog_spec.frames.cps import Mode

from .library import RtlError
from .packet_block import PacketBlock, Run, Wire, packet_library

__all__ = ["RtlCard", "Taken"]

_MONITORS = {
    "sent_stb": ["sent"],
    "received_stb": ["received"],
    "icrc_done": ["icrc_checked", "icrc_ok"],
    "o_sample_valid": ["o_sample_payload"],
    "told_stb": ["told"],
}
_OF_PARTS = {"icrc_done": "icrc", "told_stb": "senders"}  # monitors and their part
_PARTS = ("ipv6", "destinations", "cnps", "icrc", "senders")  # of a `CardConfig`
_SWEEP_CYCLES = 64  # of the collector, for each slot
_SETTLE = 200  # cycles from a packet's end to the last of its effects, with room


class Taken(NamedTuple):
    """What became of frames of one direction."""

    frames: list[Wire]
    run: Run


@cache
def _library(width: int, slots: int, tick_ps: int, parts: tuple[bool, ...], relaxed: bool) -> Path:
    """Elaborating takes seconds, so a process does it once."""
    built = dict(zip(_PARTS, parts, strict=True))
    card = Card(CardOptions(width, slots, tick_ps=tick_ps, relaxed=relaxed, **built))
    label = f"card, {width} bits, {slots} slots"
    # To Verilator a vector of the relaxed form looks like a loop.
    return packet_library(card, label=label, once=not relaxed)


class RtlCard:
    """A card of RTL.

    Parameters
    ----------
    width : int
        Bits in a beat.
    slots : int
        Queue pairs, a power of two, 2 or more.
    config : CardConfig
    relaxed : bool
        As `Parser`.
    """

    def __init__(
        self, width: int, slots: int, config: CardConfig, *, relaxed: bool = False
    ) -> None:
        self.width = width
        self.slots = slots
        self.table = QpTable(slots)
        self.config = config
        parts = tuple(getattr(config, name) for name in _PARTS)
        self.block = PacketBlock(_library(width, slots, config.tick_ps, parts, relaxed))
        cnp = config.cnp
        values = {
            "cps": asdict(config.cps),
            "cnp": {
                "enabled": cnp.enabled,
                "interval_ticks": cnp.interval_ticks,
                "dscp": cnp.dscp,
                "ecn": cnp.ecn,
                "ttl": cnp.ttl,
                "mode_c": cnp.mode_c,
            },
            "trust": {
                "icrc_gate": config.trust.icrc_gate,
                "cnp_gap": config.trust.cnp_gap,
            },
            "timeout": config.timeout,
            "any_packet": config.any_packet,
            "corrected": config.corrected,
            "rtt_floor": config.rtt_floor,
            "senders": asdict(SendersConfig()),
        }
        self._registers = values
        self.block.poke(registers=CARD_CONFIG.const(values).as_bits(), o_sample_ready=1)

    def configure(self, group: str, config: CpsConfig | SendersConfig) -> None:
        """Registers of the CPS stages ("cps") or of the count of senders ("senders")."""
        self._registers[group] = asdict(config)
        self.block.poke(registers=CARD_CONFIG.const(self._registers).as_bits())

    def told(self, run: Run) -> list[tuple[int, int]]:
        """Slots whose laws hear of a level in a run, and the level."""
        return [(r["slot"], r["level"]) for r in _records(told_layout(self.slots), run, "told_stb")]

    def count(self) -> int:
        """Queue pairs that send to the card."""
        return int(self.block.peek("count"))

    def own(self) -> int:
        """The card's own flows."""
        return int(self.block.peek("own_count"))

    def reset(self, slot: int) -> None:
        """Forget a slot."""
        self._send("i_reset", slot)

    def close(self) -> None:
        """Free the instance."""
        self.block.close()

    def add(self, slot: int, remote: int, remote_qp: int, local_qp: int) -> None:
        """Give a slot its two keys, as `QpTable.add`."""
        layout = table_access_layout(self.slots)
        for write in self.table.add(slot, remote, remote_qp, local_qp):
            cell = {"slot": write.slot, "valid": write.key is not None, "key": {}}
            if write.key is not None:
                cell["key"] = {
                    "direction": write.key.direction,
                    "remote": write.key.remote,
                    "qpn": write.key.qpn,
                }
            made = layout.const({"way": write.way, "row": write.row, "cell": cell})
            self._send("i_table", made.as_bits())
        if not self.config.cnps:
            return
        made = remote_qp_layout(self.slots).const(
            {"slot": slot, "remote_qp": {"valid": 1, "qpn": remote_qp}}
        )
        self.block.pulse("remote_stb", remote=made.as_bits())

    def row(self, slot: int, mode: Mode, score: int | None, destination: int = 0) -> None:
        """A slot's configuration."""
        made = slot_config_layout(DESTINATIONS).const(
            {
                "mode": mode,
                "destination": destination,
                "score": {"value": score or 0, "valid": score is not None},
            }
        )
        self.block.pulse("row_stb", row_slot=slot, row_config=made.as_bits())

    def enable(self, destination: int, *, enable: bool) -> None:
        """Whether a destination is trusted with scores."""
        self.block.pulse("enable_stb", enable_destination=destination, enable=int(enable))

    def mtu(self, slot: int, size: int) -> None:
        """A slot's path MTU, bytes."""
        self.block.pulse("mtu_stb", mtu_slot=slot, mtu_log2=size.bit_length() - 1)

    def sweep(self, t: int) -> None:
        """Wait at `t` until the collector has looked at every slot."""
        self.block.poke(now=t)
        self.block.tick(_SWEEP_CYCLES * self.slots + _SETTLE)

    def transmit(self, frames: Sequence[Wire], t: int, now_ns: int, **speed: Any) -> Taken:
        """Frames to the wire; time stands still, or runs with ``clock=1``."""
        return self._run("tx", frames, t, now_ns, **speed)

    def receive(self, frames: Sequence[Wire], t: int, now_ns: int, **speed: Any) -> Taken:
        """Frames from the wire."""
        return self._run("rx", frames, t, now_ns, **speed)

    def destination(self, number: int, t: int) -> dict[str, int]:
        """A destination's numbers at `t`, when every slot has been swept."""
        self.sweep(t)
        asked = destination_read_layout(DESTINATIONS).const({"destination": number})
        self._send("i_destination", asked.as_bits())
        for _ in range(_SETTLE):
            if self.block.peek("destination_done"):
                return _flat(DESTINATION, self.block.peek("destination_values"))
            self.block.tick()
        raise RtlError(f"destination {number} must be read within {_SETTLE} cycles")

    def sent(self, run: Run) -> list[dict[str, int]]:
        """`sent_layout` of each packet."""
        config = self.config
        layout = sent_layout(self.slots, announced=config.senders, echoes=config.cnps)
        return _records(layout, run, "sent_stb")

    def received(self, run: Run) -> list[dict[str, int]]:
        """`received_layout` of each packet."""
        return _records(received_layout(self.slots), run, "received_stb")

    def samples(self, run: Run) -> list[dict[str, int]]:
        """RTT samples."""
        return _records(SAMPLE, run, "o_sample_valid")

    def _run(
        self,
        side: str,
        frames: Sequence[Wire],
        t: int,
        now_ns: int,
        *,
        clock: int = 0,
        seed: int = 1,
        idle: float = 0.0,
        stall: float = 0.0,
    ) -> Taken:
        self.block.poke(now=t, now_ns=now_ns)
        run = self.block.run(
            {f"s_axis_{side}": frames},
            ["m_axis_tx", "m_axis_rx"],
            monitors={name: _MONITORS[name] for name in _MONITORS if self._has(name)},
            clocks={"now": clock, "now_ns": clock},
            seed=seed,
            idle=idle,
            stall=stall,
            settle=_SETTLE,
        )
        return Taken(run.sinks[f"m_axis_{side}"].frames, run)

    def _has(self, monitor: str) -> bool:
        return monitor not in _OF_PARTS or getattr(self.config, _OF_PARTS[monitor])

    def _send(self, stream: str, payload: int) -> None:
        """One payload into a plain stream.

        Raises
        ------
        RtlError
            It is not taken.
        """
        self.block.poke(**{f"{stream}_payload": payload, f"{stream}_valid": 1})
        for _ in range(1000):
            ready = self.block.peek(f"{stream}_ready")
            self.block.tick()
            if ready:
                self.block.poke(**{f"{stream}_valid": 0})
                return
        raise RtlError(f"{stream} must be taken, not refused for 1000 cycles")


def _records(layout: data.StructLayout, run: Run, strobe: str) -> list[dict[str, int]]:
    """A monitor's values by field name; nested fields with dots."""
    return [_flat(layout, bits) for _, (bits,) in run.events[strobe]]


def _flat(layout: data.StructLayout, bits: int, prefix: str = "") -> dict[str, int]:
    found: dict[str, int] = {}
    for name, field in layout:
        value = bits >> field.offset & ((1 << field.width) - 1)
        if isinstance(field.shape, data.StructLayout):
            found |= _flat(field.shape, value, f"{prefix}{name}.")
        else:
            found[prefix + name] = value
    return found
