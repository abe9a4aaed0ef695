"""Two initiators on one register bus."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .axil import RegisterBus

__all__ = ["BusShare"]


class BusShare(wiring.Component):
    """Gives each access of two initiators to the bus, the host's first.

    Latency: an access begins 1 cycle later than it would, and after the one that is under way.
    Throughput: the bus's, less 1 cycle an access. Cost: a 2:1 multiplexer for the address, its
    flip-flops and 6 more.

    Parameters
    ----------
    address_bits : int
        Width of the byte address.

    Members
    -------
    host : In(RegisterBus)
    reader : In(RegisterBus)
        Reads only: its `write` and `data` are ignored.
    bus : Out(RegisterBus)
    """

    def __init__(self, address_bits: int) -> None:
        bus = RegisterBus(address_bits)
        super().__init__({"host": In(bus), "reader": In(bus), "bus": Out(bus)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        host, reader, bus = self.host, self.reader, self.bus
        waits, asks, reads, busy = Signal(2), Signal(2), Signal(), Signal()
        m.d.comb += [
            asks.eq(waits | Cat(host.stb, reader.stb)),
            bus.data.eq(host.data),
            bus.write.eq(host.write & ~reads),
            host.ack.eq(bus.ack & ~reads),
            reader.ack.eq(bus.ack & reads),
        ]
        for initiator in (host, reader):
            m.d.comb += [initiator.rdata.eq(bus.rdata), initiator.err.eq(bus.err)]
        m.d.sync += [waits.eq(asks), bus.stb.eq(0)]
        with m.If(bus.ack):
            m.d.sync += busy.eq(0)
        with m.If(~busy & asks.any()):
            m.d.sync += [
                busy.eq(1),
                bus.stb.eq(1),
                reads.eq(~asks[0]),
                bus.addr.eq(Mux(asks[0], host.addr, reader.addr)),
                waits.eq(asks & Mux(asks[0], 0b10, 0)),
            ]
        return m
