"""The receive path: packets from the wire, the score out of them, their ICRC looked at."""

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from precog_hw.stream.packet import packet_signature
from precog_hw.stream.queue import Queue
from precog_spec.contract import Fmt
from precog_spec.frames.cps import NS_BITS
from precog_spec.frames.descriptor import Direction, Reason

from .cps_rx import CpsReceive, received_layout
from .cps_slots import DESTINATIONS, CpsSlots, rx_row_layout
from .finish import Finish, finished_layout
from .icrc_check import ICRC_PACKET, IcrcCheck
from .layouts import CPS_CONFIG, PARSED
from .qp_lookup import KEY, QpLookup
from .qp_turns import QpTurns
from .stage import Stage

__all__ = ["RxPath"]


class RxPath(wiring.Component):
    """Stage, decision, the end of the frame, and the ICRC of what goes on.

    Latency: 139, 43, 36, 33 and 31 cycles at 8, 64, 128, 256 and 512 bits from a packet's first
    beat in to its first beat out: its headers, `Parser`, `CpsReceive`, two registers for the
    command, and four of `Editor`. Less for a packet that ends before its headers could.
    Throughput: one beat per cycle.

    Parameters
    ----------
    width : int
        Bits in a beat.
    slots : int
        QP slots.
    relaxed, ipv6 : bool
        As `Parser`.
    icrc : bool
        Whether ICRCs are checked.
    senders : bool
        Whether shims' levels are read.

    Members
    -------
    i, o : packet streams
    config : In(CPS_CONFIG)
    now, now_ns : In(40)
    key, key_stb, found, slot, found_stb
        The table's RX side, see `CpsReceive`.
    row_slot, row
        The slots' RX side, see `CpsReceive`.
    decided, decided_stb : Out
        One for each packet as soon as it is decided: counters.
    o_received : Out(stream.Signature(finished_layout(received_layout(slots), PARSED)))
        One for each packet at its end; `parsed` is as the packet came.
    icrc_done, icrc_checked, icrc_ok : Out(1)
        With `icrc`: one strobe for each packet that went on, see `IcrcCheck`.
    """

    CHECKED = ("icrc_done", "icrc_checked", "icrc_ok")

    i: stream.Interface
    o: stream.Interface
    o_received: stream.Interface

    def __init__(
        self,
        width: int,
        slots: int,
        *,
        relaxed: bool = False,
        ipv6: bool = True,
        icrc: bool = True,
        senders: bool = False,
    ) -> None:
        self._senders = senders
        self._relaxed, self._ipv6, self._checks = relaxed, ipv6, icrc
        self._width = width
        self._slots = slots
        received = received_layout(slots)
        super().__init__(
            {
                "i": In(packet_signature(width)),
                "o": Out(packet_signature(width)),
                "config": In(CPS_CONFIG),
                "now": In(Fmt.TIME.width),
                "now_ns": In(NS_BITS),
                "key": Out(KEY),
                "key_stb": Out(1),
                "found": In(1),
                "slot": In(range(slots)),
                **({"found_stb": In(1)} if relaxed else {}),
                "row_slot": Out(range(slots)),
                "row": In(rx_row_layout(DESTINATIONS)),
                "decided": Out(received),
                "decided_stb": Out(1),
                "o_received": Out(stream.Signature(finished_layout(received, PARSED))),
                **(dict.fromkeys(self.CHECKED, Out(1)) if icrc else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.stage = stage = Stage(
            self._width, Direction.RX, CpsReceive.LATENCY, relaxed=self._relaxed, ipv6=self._ipv6
        )
        m.submodules.decide = decide = CpsReceive(
            self._slots, relaxed=self._relaxed, senders=self._senders
        )
        m.submodules.finish = finish = Finish(
            received_layout(self._slots), stage.packets, parses=True, relaxed=self._relaxed
        )
        if self._checks:
            self._check(m, stage, decide)
        connect(m, flipped(self.i), stage.i)
        connect(m, stage.o, flipped(self.o))
        m.d.comb += (
            stage.finished.eq(finish.finished) if self._relaxed else stage.hold.eq(finish.hold)
        )
        connect(m, finish.o, flipped(self.o_received))
        got = decide.received
        m.d.comb += [
            stage.now.eq(self.now),
            stage.now_ns.eq(self.now_ns),
            stage.shim_port.eq(self.config.shim_port),
            *(decide.config[n].eq(self.config[n]) for n in CPS_CONFIG.members if n != "shim_port"),
            decide.config.shim_port.eq(stage.port),
            decide.parsed.eq(stage.parsed),
            decide.parsed_stb.eq(stage.parsed_stb),
            *(getattr(self, n).eq(getattr(decide, n)) for n in ("key", "key_stb", "row_slot")),
            *(getattr(decide, n).eq(getattr(self, n)) for n in ("found", "slot", "row")),
            *([decide.found_stb.eq(self.found_stb)] if self._relaxed else []),
            stage.edit.eq(decide.edit),
            stage.edit_stb.eq(decide.edit_stb),
            self.decided.eq(got),
            self.decided_stb.eq(decide.edit_stb),
            finish.decided.eq(got),
            finish.decided_stb.eq(decide.edit_stb),
            finish.parsed.eq(stage.parsed),
            finish.parsed_stb.eq(stage.parsed_stb),
            finish.tail.eq(stage.tail),
            finish.tail_stb.eq(stage.tail_stb),
        ]
        return m

    def _check(self, m: Module, stage: Stage, decide: CpsReceive) -> None:
        """What goes on is looked at on its way out; what to look for is known before."""
        m.submodules.checks = checks = Queue(ICRC_PACKET, 2 * stage.packets)
        m.submodules.icrc = icrc = IcrcCheck(self._width)
        connect(m, checks.o, icrc.i_packet)
        got = decide.received
        m.d.comb += [
            checks.i.valid.eq(decide.edit_stb & ~got.dropped),
            checks.i.payload.check.eq((got.reason == Reason.NONE) & ~got.shim),
            checks.i.payload.ipv6.eq(decide.edit.ipv6),
            checks.i.payload.tags.eq(decide.edit.tags),
            checks.i.payload.end.eq(got.end),
            icrc.beat.eq(stage.o.payload),
            icrc.taken.eq(stage.o.valid & stage.o.ready),
            self.icrc_done.eq(icrc.done),
            self.icrc_checked.eq(icrc.checked),
            self.icrc_ok.eq(icrc.ok),
        ]

    def ask(self, m: Module, lookup: QpLookup | QpTurns, slots: CpsSlots) -> None:
        """Connect the path to the RX side of the table and of the slots."""
        m.d.comb += [
            lookup.rx_stb.eq(self.key_stb),
            lookup.rx_key.eq(self.key),
            self.found.eq(lookup.rx_found),
            self.slot.eq(lookup.rx_slot),
            *([self.found_stb.eq(lookup.rx_done)] if self._relaxed else []),
            slots.rx_slot.eq(self.row_slot),
            self.row.eq(slots.rx_row),
        ]
