"""A serial line: 8 data bits, no parity, 1 stop bit, least significant bit first.

Latency: a byte is there half a bit after its last data bit has ended, 3 cycles later for the
synchronizer. Throughput: a byte every 10 bits.
"""

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out

__all__ = ["DIVISOR_BITS", "LEAST_DIVISOR", "SerialReceiver", "SerialTransmitter"]

DIVISOR_BITS = 16
LEAST_DIVISOR = 4  # clock cycles of a bit: the middle of one must be found
_DATA_BITS = 8


class SerialReceiver(wiring.Component):
    """Bytes of a line.

    A start bit that is gone in its middle was none. After a byte without a stop bit the receiver
    waits until the line is idle.

    Cost: about 40 flip-flops.

    Members
    -------
    rx : In(1)
        The line, of any clock.
    divisor : In(16)
        Clock cycles of a bit, `LEAST_DIVISOR` or more.
    stb : Out(1)
        `data` is a byte.
    data : Out(8)
    framing_error : Out(1)
        For one cycle: a byte had no stop bit.
    idle : Out(1)
        The line is high and no byte is on it.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "rx": In(1, init=1),
                "divisor": In(DIVISOR_BITS),
                "stb": Out(1),
                "data": Out(_DATA_BITS),
                "framing_error": Out(1),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        rx = Signal(init=1)
        m.submodules.synchronizer = FFSynchronizer(self.rx, rx, init=1)
        left = Signal(DIVISOR_BITS)  # cycles to the next sample, less one
        bits = Signal(range(_DATA_BITS))
        now = left == 0
        m.d.sync += left.eq(left - 1)

        with m.FSM(name="receiver"):
            with m.State("IDLE"):
                m.d.comb += self.idle.eq(rx)
                m.d.sync += left.eq((self.divisor >> 1) - 1)
                with m.If(~rx):
                    m.next = "START"
            with m.State("START"), m.If(now):
                m.d.sync += [left.eq(self.divisor - 1), bits.eq(0)]
                with m.If(rx):
                    m.next = "IDLE"
                with m.Else():
                    m.next = "DATA"
            with m.State("DATA"), m.If(now):
                m.d.sync += [
                    left.eq(self.divisor - 1),
                    bits.eq(bits + 1),
                    self.data.eq(Cat(self.data[1:], rx)),
                ]
                with m.If(bits == _DATA_BITS - 1):
                    m.next = "STOP"
            with m.State("STOP"), m.If(now):
                m.d.comb += [self.stb.eq(rx), self.framing_error.eq(~rx)]
                m.next = "RELEASE"
            with m.State("RELEASE"), m.If(rx):
                m.next = "IDLE"
        return m


class SerialTransmitter(wiring.Component):
    """Bytes onto a line, which is high in between.

    Cost: about 40 flip-flops.

    Members
    -------
    i : In(stream.Signature(8))
    divisor : In(16)
        Clock cycles of a bit.
    tx : Out(1)
    """

    i: stream.Interface

    def __init__(self) -> None:
        super().__init__(
            {
                "i": In(stream.Signature(_DATA_BITS)),
                "divisor": In(DIVISOR_BITS),
                "tx": Out(1, init=1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        rest = Signal(_DATA_BITS + 1)  # what follows the bit on the line, the stop bit last
        bits = Signal(range(_DATA_BITS + 3))  # of them, and the one on the line
        left = Signal(DIVISOR_BITS)
        ends = (bits == 0) | (left == 0)
        m.d.comb += self.i.ready.eq((bits == 0) | ((bits == 1) & (left == 0)))
        m.d.sync += left.eq(left - 1)
        with m.If(self.i.ready & self.i.valid):
            m.d.sync += [
                self.tx.eq(0),
                rest.eq(Cat(self.i.payload, Const(1, 1))),
                bits.eq(_DATA_BITS + 2),
                left.eq(self.divisor - 1),
            ]
        with m.Elif(ends & (bits != 0)):
            m.d.sync += [
                self.tx.eq(rest[0]),
                rest.eq(Cat(rest[1:], Const(1, 1))),
                bits.eq(bits - 1),
                left.eq(self.divisor - 1),
            ]
        return m
