"""Either direction of the packet path alone, with the tables that it asks: blocks to export."""

from typing import Any

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from precog_hw.stream.packet import packet_signature
from precog_spec.contract import Fmt
from precog_spec.frames.cps import NS_BITS
from precog_spec.frames.headers import PSN_BITS

from .cps_rx import received_layout
from .cps_slots import DESTINATIONS, CpsSlots, slot_config_layout
from .cps_tx import sent_layout
from .finish import finished_layout
from .layouts import CPS_CONFIG, PARSED
from .qp_lookup import cell_layout, table_access_layout
from .qp_turns import qp_lookup
from .rx_path import RxPath
from .tx_path import TxPath

__all__ = ["CpsRx", "CpsTx"]


class _Direction(wiring.Component):
    """One direction with its own QP table and slots.

    Parameters
    ----------
    width : int
        Bits in a beat.
    slots : int
        QP slots, a power of two, 2 or more.
    own : dict
        Members of this direction alone.
    relaxed : bool
        As `Parser`.

    Members
    -------
    i, o : packet streams
    registers : In(CPS_CONFIG)
    now, now_ns : In(40)
        The card's time in ticks and in nanoseconds.
    i_table : In(stream.Signature(table_access_layout(slots)))
        Host: cells of the QP table.
    table_stb, table_cell : Out(1), Out(cell_layout(slots))
        What an access to the table reads.
    row_stb, row_slot, row_config : In
        Host: a slot's configuration.
    enable_stb, enable_destination, enable : In
        Host: a destination's enable.

    Raises
    ------
    ValueError
        `width` is not one of `WIDTHS`, or `slots` is not a power of two.
    """

    def __init__(self, width: int, slots: int, own: dict[str, Any], *, relaxed: bool) -> None:
        self._width, self._slots, self._relaxed = width, slots, relaxed
        super().__init__(
            {
                "i": In(packet_signature(width)),
                "o": Out(packet_signature(width)),
                "registers": In(CPS_CONFIG),
                "now": In(Fmt.TIME.width),
                "now_ns": In(NS_BITS),
                "i_table": In(stream.Signature(table_access_layout(slots))),
                "table_stb": Out(1),
                "table_cell": Out(cell_layout(slots)),
                "row_stb": In(1),
                "row_slot": In(range(slots)),
                "row_config": In(slot_config_layout(DESTINATIONS)),
                "enable_stb": In(1),
                "enable_destination": In(range(DESTINATIONS)),
                "enable": In(1),
                **own,
            }
        )

    def _host(self, m: Module, path: TxPath | RxPath) -> CpsSlots:
        """Path, tables, registers, time, and the host's writes of cells and rows."""
        m.submodules.path = path
        m.submodules.lookup = lookup = qp_lookup(self._slots, relaxed=self._relaxed)
        m.submodules.slots = slots = CpsSlots(self._slots, DESTINATIONS, relaxed=self._relaxed)
        connect(m, flipped(self.i), path.i)
        connect(m, path.o, flipped(self.o))
        connect(m, flipped(self.i_table), lookup.i_access)
        path.ask(m, lookup, slots)
        m.d.comb += [
            self.table_stb.eq(lookup.read_stb),
            self.table_cell.eq(lookup.read_cell),
            path.config.eq(self.registers),
            path.now.eq(self.now),
            path.now_ns.eq(self.now_ns),
            slots.config_stb.eq(self.row_stb),
            slots.config_slot.eq(self.row_slot),
            slots.config.eq(self.row_config),
            slots.enable_stb.eq(self.enable_stb),
            slots.enable_destination.eq(self.enable_destination),
            slots.enable.eq(self.enable),
        ]
        return slots


class CpsTx(_Direction):
    """`TxPath` with its own QP table and slots: scores go into packets to the wire.

    Without a `CpsRx` `echo_stb` and `arrival_stb` are tied to 0: packets then carry no
    echo, and acknowledges no turnaround. Marks come to the card alone: `echo_enabled` does nothing.

    Latency: as `TxPath`. Throughput: one beat per cycle but for the bytes put in. Cost: the sum of
    its parts, without the table's RX port.

    Members
    -------
    Those of `_Direction`, packets from the transport and to the MAC, and

    i_reset : In(stream.Signature(range(slots)))
        Host: forget a slot's echo and arrivals.
    echo_stb, echo_slot, echo : In
        A score (0..100) came from the slot's peer.
    arrival_stb, arrival_slot, arrival_psn, arrival_ns : In
        A packet that asks for an answer came, at a time in nanoseconds.
    o_sent : Out(stream.Signature(finished_layout(sent_layout(slots))))
        What became of each packet, at its end; not taken, it holds the packets.
    """

    def __init__(self, width: int, slots: int, *, relaxed: bool = False) -> None:
        super().__init__(
            width,
            slots,
            {
                "i_reset": In(stream.Signature(range(slots))),
                "echo_stb": In(1),
                "echo_slot": In(range(slots)),
                "echo": In(7),
                "arrival_stb": In(1),
                "arrival_slot": In(range(slots)),
                "arrival_psn": In(PSN_BITS),
                "arrival_ns": In(NS_BITS),
                "o_sent": Out(stream.Signature(finished_layout(sent_layout(slots)))),
            },
            relaxed=relaxed,
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        path = TxPath(self._width, self._slots, relaxed=self._relaxed, ack_dscp=True)
        slots = self._host(m, path)
        connect(m, flipped(self.i_reset), slots.i_reset)
        connect(m, path.o_sent, flipped(self.o_sent))
        if self._relaxed:
            m.d.comb += slots.arriving.eq(self.echo_stb | self.arrival_stb)
        m.d.comb += [
            *(
                getattr(slots, name).eq(getattr(self, name))
                for name in ("echo_stb", "echo_slot", "echo")
            ),
            *(
                getattr(slots, f"arrival_{name}").eq(getattr(self, f"arrival_{name}"))
                for name in ("stb", "slot", "psn", "ns")
            ),
        ]
        return m


class CpsRx(_Direction):
    """`RxPath` with its own QP table and slots: scores come out of packets from the wire.

    Latency: as `RxPath`. Throughput: one beat per cycle. Cost: the sum of its parts, without the
    table's TX port and most of the slots.

    Members
    -------
    Those of `_Direction`, packets from the MAC and to the transport, and

    o_received : Out(stream.Signature(finished_layout(received_layout(slots), PARSED)))
        What was found in each packet, at its end; not taken, it holds the packets.
    icrc_done, icrc_checked, icrc_ok : Out(1)
        One strobe for each packet that went on, see `IcrcCheck`.
    """

    def __init__(self, width: int, slots: int, *, relaxed: bool = False) -> None:
        super().__init__(
            width,
            slots,
            {
                "o_received": Out(
                    stream.Signature(finished_layout(received_layout(slots), PARSED))
                ),
                "icrc_done": Out(1),
                "icrc_checked": Out(1),
                "icrc_ok": Out(1),
            },
            relaxed=relaxed,
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        path = RxPath(self._width, self._slots, relaxed=self._relaxed)
        self._host(m, path)
        connect(m, path.o_received, flipped(self.o_received))
        m.d.comb += [
            self.icrc_done.eq(path.icrc_done),
            self.icrc_checked.eq(path.icrc_checked),
            self.icrc_ok.eq(path.icrc_ok),
        ]
        return m
