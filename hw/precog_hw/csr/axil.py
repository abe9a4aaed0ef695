"""AXI4-Lite in front of a register bus (AMBA AXI and ACE, issue H, chapter B1).

Data are 32 bits wide. An access is refused with SLVERR, and changes nothing, when

* the address is not in the map or not a multiple of 4;
* a write does not carry all four byte strobes: a register is written as a whole, so that a value
  that software reads back is always one that it wrote.

Latency: an answer follows the last of its channels' handshakes after 3 cycles plus the bank's.
Throughput: one read and one write may be outstanding; the bank sees one access at a time, and a
read and a write that wait together alternate.
"""

from enum import IntEnum

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["AxiLite", "AxiLiteFrontEnd", "RegisterBus", "Resp"]


class Resp(IntEnum):
    """Response codes that this slave gives."""

    OKAY = 0
    SLVERR = 2


class AxiLite(wiring.Signature):
    """AXI4-Lite as the master sees it; `prot` is ignored.

    Parameters
    ----------
    address_bits : int
        Width of the byte address.
    """

    def __init__(self, address_bits: int) -> None:
        super().__init__(
            {
                "awaddr": Out(address_bits),
                "awprot": Out(3),
                "awvalid": Out(1),
                "awready": In(1),
                "wdata": Out(32),
                "wstrb": Out(4),
                "wvalid": Out(1),
                "wready": In(1),
                "bresp": In(2),
                "bvalid": In(1),
                "bready": Out(1),
                "araddr": Out(address_bits),
                "arprot": Out(3),
                "arvalid": Out(1),
                "arready": In(1),
                "rdata": In(32),
                "rresp": In(2),
                "rvalid": In(1),
                "rready": Out(1),
            }
        )


class RegisterBus(wiring.Signature):
    """One access at a time, as the initiator sees it.

    `stb` is high for one cycle; `write`, `addr` (in words) and `data` hold until `ack`, which is
    high for one cycle, later than `stb`, together with `err` and `rdata`.

    Parameters
    ----------
    address_bits : int
        Width of the byte address.
    """

    def __init__(self, address_bits: int) -> None:
        super().__init__(
            {
                "stb": Out(1),
                "write": Out(1),
                "addr": Out(address_bits - 2),
                "data": Out(32),
                "ack": In(1),
                "err": In(1),
                "rdata": In(32),
            }
        )


class AxiLiteFrontEnd(wiring.Component):
    """AXI4-Lite slave that turns accesses into register-bus accesses.

    Latency: `stb` comes 2 cycles after the handshake that completes a request, the response 1
    cycle after `ack`. Throughput: one access every 5 cycles and the bank's latency.
    Cost: about 150 flip-flops (address, data and response of each direction).

    Parameters
    ----------
    address_bits : int
        Width of the byte address, 3 or more.

    Members
    -------
    axil : In(AxiLite)
    bus : Out(RegisterBus)

    Raises
    ------
    ValueError
        `address_bits` is too small.

    Usage
    -----
    ::

        m.submodules.front = front = AxiLiteFrontEnd(address_bits=12)
        m.d.sync += [
            front.bus.ack.eq(front.bus.stb),
            front.bus.rdata.eq(front.bus.addr),  # each register reads as its number
            front.bus.err.eq(front.bus.write),  # and none can be written
        ]
    """

    def __init__(self, address_bits: int) -> None:
        if address_bits < 3:
            raise ValueError(f"address_bits must be at least 3, not {address_bits!r}")
        super().__init__({"axil": In(AxiLite(address_bits)), "bus": Out(RegisterBus(address_bits))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        axil, bus = self.axil, self.bus

        aw_full = Signal()
        w_full = Signal()
        ar_full = Signal()
        awaddr = Signal.like(axil.awaddr)
        araddr = Signal.like(axil.araddr)
        strobes = Signal(4)
        m.d.comb += [axil.awready.eq(~aw_full), axil.wready.eq(~w_full), axil.arready.eq(~ar_full)]
        with m.If(axil.awvalid & axil.awready):
            m.d.sync += [aw_full.eq(1), awaddr.eq(axil.awaddr)]
        with m.If(axil.wvalid & axil.wready):
            m.d.sync += [w_full.eq(1), bus.data.eq(axil.wdata), strobes.eq(axil.wstrb)]
        with m.If(axil.arvalid & axil.arready):
            m.d.sync += [ar_full.eq(1), araddr.eq(axil.araddr)]

        # A request stays in its registers until the response is taken, so a direction that waits
        # for its master never blocks the other one.
        write_waits = aw_full & w_full & ~axil.bvalid
        read_waits = ar_full & ~axil.rvalid
        with m.If(axil.bvalid & axil.bready):
            m.d.sync += [axil.bvalid.eq(0), aw_full.eq(0), w_full.eq(0)]
        with m.If(axil.rvalid & axil.rready):
            m.d.sync += [axil.rvalid.eq(0), ar_full.eq(0)]

        address = Signal.like(awaddr)
        m.d.comb += address.eq(Mux(bus.write, awaddr, araddr))
        m.d.comb += bus.addr.eq(address[2:])

        def respond(resp: Resp) -> None:
            with m.If(bus.write):
                m.d.sync += [axil.bvalid.eq(1), axil.bresp.eq(resp)]
            with m.Else():
                m.d.sync += [axil.rvalid.eq(1), axil.rresp.eq(resp)]

        with m.FSM(name="access"):
            with m.State("IDLE"):
                with m.If(write_waits & (~read_waits | ~bus.write)):
                    m.d.sync += bus.write.eq(1)
                    m.next = "CHECK"
                with m.Elif(read_waits):
                    m.d.sync += bus.write.eq(0)
                    m.next = "CHECK"
            with m.State("CHECK"):
                with m.If(address[:2].any() | (bus.write & ~strobes.all())):
                    respond(Resp.SLVERR)
                    m.d.sync += axil.rdata.eq(Mux(bus.write, axil.rdata, 0))
                    m.next = "IDLE"
                with m.Else():
                    m.d.comb += bus.stb.eq(1)
                    m.next = "WAIT"
            with m.State("WAIT"), m.If(bus.ack):
                with m.If(bus.err):
                    respond(Resp.SLVERR)
                with m.Else():
                    respond(Resp.OKAY)
                with m.If(~bus.write):
                    m.d.sync += axil.rdata.eq(Mux(bus.err, 0, bus.rdata))
                m.next = "IDLE"
        return m
