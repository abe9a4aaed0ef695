"""Between the packet taps of one Corundum port and the NIC that sits there.

::

    s_tx ─► tag into `user` ─► o_tx ── NIC ── i_tx ─► tag out of it, CNPs get theirs ─► m_tx
    m_rx ◄─ time stamp from its row ◄── i_rx ── NIC ── o_rx ◄─ row's number into `user` ◄─┬─ s_rx
      ▲                                                      time stamp into its row ◄────┤
      └──────────────────────── until the NIC takes packets ◄────────────────────────────┘
"""

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from precog_hw.packet.stage import Stage
from precog_hw.stream.packet import beat_layout, packet_signature
from precog_spec.contract import Fmt

__all__ = ["RX_SIDE", "TX_SIDE", "AppPort", "AppStream"]

TX_SIDE: int = Fmt.TIME.width  # bits of a transmitted packet's tag: as wide as the time in `user`
RX_SIDE = 96  # a PTP time stamp

#: Rows of time stamps. At most `Stage.PACKETS` packets have begun and got no command; those that
#: have are in the editor, whose parts hold 2 commands and 13 beats.
_ROWS = 2 * Stage.PACKETS
_HOST = 1  # `user.tag` of what the host sends; a CNP's is 0


class AppStream(wiring.Signature):
    """Corundum's packet stream; `tuser` is the flag of a bad frame, and `side` bits above it."""

    def __init__(self, width: int, side: int) -> None:
        super().__init__(
            {
                "tdata": Out(width),
                "tkeep": Out(width // 8),
                "tlast": Out(1),
                "tuser": Out(1 + side),
                "tvalid": Out(1),
                "tready": In(1),
            }
        )


class AppPort(wiring.Component):
    """Wires, and the side information of Corundum's packets that has no place in `USER`.

    A transmitted packet's tag takes the place of the time in `user`, which nothing reads there. A
    CNP leaves with all ones for a tag, so that its completion can be told from the host's; Corundum
    gives small numbers. A received packet's time stamp waits in a table, as it stood on the
    packet's first beat.

    After reset the NIC takes no packets for some thousand cycles. Nothing stops packets from
    the wire, so until then they bypass it, unchanged; the first that goes through it begins after
    the end of the last that did not. Transmitted packets wait.

    Latency: none. Throughput: one beat per cycle. Cost: 64 rows of 96 bits of LUT RAM, some 20
    flip-flops, and a multiplexer of a beat's width.

    Parameters
    ----------
    width : int
        Bits in a beat.

    Members
    -------
    s_tx, s_rx : In(AppStream)
        From Corundum; 40 and 96 bits at the side.
    m_tx, m_rx : Out(AppStream)
        To Corundum.
    o_tx, i_tx, o_rx, i_rx : packet streams
        To the NIC's `i_tx`, from its `o_tx`, to its `i_rx`, from its `o_rx`.

    Raises
    ------
    ValueError
        `width` is not one of `WIDTHS`.
    """

    o_tx: stream.Interface
    i_tx: stream.Interface
    o_rx: stream.Interface
    i_rx: stream.Interface

    def __init__(self, width: int) -> None:
        beat_layout(width)
        packets = packet_signature(width)
        super().__init__(
            {
                "s_tx": In(AppStream(width, TX_SIDE)),
                "m_tx": Out(AppStream(width, TX_SIDE)),
                "s_rx": In(AppStream(width, RX_SIDE)),
                "m_rx": Out(AppStream(width, RX_SIDE)),
                **{"o_tx": Out(packets), "i_tx": In(packets)},
                **{"o_rx": Out(packets), "i_rx": In(packets)},
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for source, beat in ((self.s_tx, self.o_tx.payload), (self.s_rx, self.o_rx.payload)):
            m.d.comb += [
                beat.data.eq(source.tdata),
                beat.keep.eq(source.tkeep),
                beat.last.eq(source.tlast),
                beat.user.error.eq(source.tuser[0]),
            ]
        self._transmit(m)
        self._receive(m)
        return m

    def _transmit(self, m: Module) -> None:
        into, out, left = self.o_tx.payload, self.m_tx, self.i_tx.payload
        own = left.user.tag != _HOST
        m.d.comb += [
            into.user.time.eq(self.s_tx.tuser[1:]),
            into.user.tag.eq(_HOST),
            self.o_tx.valid.eq(self.s_tx.tvalid),
            self.s_tx.tready.eq(self.o_tx.ready),
            out.tdata.eq(left.data),
            out.tkeep.eq(left.keep),
            out.tlast.eq(left.last),
            out.tuser.eq(Cat(left.user.error, left.user.time | own.replicate(TX_SIDE))),
            out.tvalid.eq(self.i_tx.valid),
            self.i_tx.ready.eq(out.tready),
        ]

    def _receive(self, m: Module) -> None:
        into, out, left = self.o_rx, self.m_rx, self.i_rx.payload
        m.submodules.stamps = stamps = Memory(
            shape=unsigned(RX_SIDE), depth=_ROWS, init=[], attrs={"ram_style": "distributed"}
        )
        write, read = stamps.write_port(), stamps.read_port(domain="comb")
        first = Signal(init=1)  # the next beat begins a packet
        inside = Signal()  # packets go through the NIC
        number = Signal(range(_ROWS))
        taken = Signal()
        m.d.comb += [
            taken.eq(self.s_rx.tvalid & self.s_rx.tready),
            into.payload.user.tag.eq(number),
            into.valid.eq(self.s_rx.tvalid & inside),
            self.s_rx.tready.eq(Mux(inside, into.ready, out.tready)),
            write.addr.eq(number),
            write.data.eq(self.s_rx.tuser[1:]),
            write.en.eq(taken & first),
            read.addr.eq(left.user.tag),
            self.i_rx.ready.eq(out.tready & inside),
        ]
        with m.If(taken):
            m.d.sync += first.eq(self.s_rx.tlast)
        with m.If(taken & self.s_rx.tlast):
            m.d.sync += number.eq(number + 1)
        # An offer that was not taken must stay, so the way changes between packets only.
        with m.If(into.ready & Mux(self.s_rx.tvalid, taken & self.s_rx.tlast, first)):
            m.d.sync += inside.eq(1)
        with m.If(inside):
            m.d.comb += [
                out.tdata.eq(left.data),
                out.tkeep.eq(left.keep),
                out.tlast.eq(left.last),
                out.tuser.eq(Cat(left.user.error, read.data)),
                out.tvalid.eq(self.i_rx.valid),
            ]
        with m.Else():
            m.d.comb += [
                *(getattr(out, name).eq(getattr(self.s_rx, name)) for name in _FORWARD),
            ]


_FORWARD = ("tdata", "tkeep", "tlast", "tuser", "tvalid")
