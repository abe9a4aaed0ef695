"""Accesses through a bridge: an AXI4-Lite master and the bridge's own registers.

`precog_models.bridge.window` is the golden model, `precog_spec.frames.bridge` the layout.
"""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from precog_hw.csr.axil import AxiLite
from precog_spec.frames.bridge import BRIDGE_ID, RESPONSES, WINDOW_BASE, Window

__all__ = ["BUS_TIMEOUT_CYCLES", "BridgeAccess"]

BUS_TIMEOUT_CYCLES = 65_536
_ADDRESS_BITS = 34  # of a 32-bit word address, in bytes
_FAULT_KINDS, _FAULT_BITS = 4, 8
_DECERR = RESPONSES.index("DECERR")


class BridgeAccess(wiring.Component):
    """One access at a time, to the bus or to the window.

    A bus that does not answer holds nothing up: after `bus_timeout_cycles` the access ends as
    DECERR, and so does, without reaching the bus, each one until the late answer has come (AXI
    allows no request to be taken back).

    Latency: the window answers 1 cycle after `stb`, the bus 1 cycle after its response.
    Throughput: one access at a time. Cost: about 260 flip-flops.

    Parameters
    ----------
    address_bits : int
        Of the bus.
    bus_timeout_cycles : int

    Members
    -------
    stb : In(1)
        For one cycle, not before `ack` of the last one; the four members below hold until `ack`.
    write : In(1)
    address : In(34)
        Byte address.
    data : In(32)
        To be written.
    ack : Out(1)
        For one cycle; `result` is valid.
    result : Out(32)
        What was read.
    faults : In(4)
        For one cycle each: count one.
    crc : In(32)
        What `Window.CRC` reads.
    is_crc : Out(1)
        `address` is that of `Window.CRC`.
    axil : Out(AxiLite(address_bits))

    Raises
    ------
    ValueError
        `address_bits` or `bus_timeout_cycles` is out of range.
    """

    def __init__(
        self, address_bits: int = 16, *, bus_timeout_cycles: int = BUS_TIMEOUT_CYCLES
    ) -> None:
        if not 3 <= address_bits <= 31:
            raise ValueError(f"address_bits must be in 3..31, not {address_bits!r}")
        if bus_timeout_cycles < 2:
            raise ValueError(f"bus_timeout_cycles must be 2 or more, not {bus_timeout_cycles!r}")
        self._address_bits = address_bits
        self._timeout = bus_timeout_cycles
        super().__init__(
            {
                "stb": In(1),
                "write": In(1),
                "address": In(_ADDRESS_BITS),
                "data": In(32),
                "ack": Out(1),
                "result": Out(32),
                "faults": In(_FAULT_KINDS),
                "crc": In(32),
                "is_crc": Out(1),
                "axil": Out(AxiLite(address_bits)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        axil = self.axil
        counts = [Signal(_FAULT_BITS, name=f"faults_{n}") for n in range(_FAULT_KINDS)]
        for n, count in enumerate(counts):
            m.d.sync += count.eq(count + self.faults[n])

        done, response, wrote = Signal(16), Signal(2), Signal()
        last_address, last_data = Signal(32), Signal(32)

        def note(code: int | Signal, data: object) -> None:
            """The access ends, and counts."""
            m.d.sync += [
                self.ack.eq(1),
                done.eq(done + 1),
                response.eq(code),
                wrote.eq(self.write),
                last_address.eq(self.address),
                last_data.eq(Mux(self.write, self.data, data)),
                self.result.eq(data),
            ]

        outstanding = Signal()  # the bus owes an answer
        left = Signal(range(self._timeout), init=self._timeout - 1)
        answered = Mux(self.write, axil.bvalid, axil.rvalid)
        reaches = self.address[self._address_bits :] == 0
        in_window = self.address[8:] == Const(WINDOW_BASE >> 8, _ADDRESS_BITS - 8)
        m.d.comb += [
            axil.bready.eq(1),
            axil.rready.eq(1),
            self.is_crc.eq(self.address == Window.CRC.address),
        ]
        for valid, ready in (
            (axil.awvalid, axil.awready),
            (axil.wvalid, axil.wready),
            (axil.arvalid, axil.arready),
        ):
            with m.If(ready):
                m.d.sync += valid.eq(0)
        with m.If(axil.bvalid | axil.rvalid):
            m.d.sync += outstanding.eq(0)
        m.d.sync += self.ack.eq(0)

        with m.FSM(name="access"):
            with m.State("IDLE"), m.If(self.stb):
                with m.If(in_window):
                    m.next = "WINDOW"
                with m.Elif(reaches & ~outstanding):
                    m.d.sync += [
                        outstanding.eq(1),
                        left.eq(left.init),
                        axil.awvalid.eq(self.write),
                        axil.wvalid.eq(self.write),
                        axil.arvalid.eq(~self.write),
                        axil.awaddr.eq(self.address),
                        axil.araddr.eq(self.address),
                        axil.wdata.eq(self.data),
                        axil.wstrb.eq(0xF),
                    ]
                    m.next = "BUS"
                with m.Else():
                    note(_DECERR, Const(0, 32))
            with m.State("BUS"):
                m.d.sync += left.eq(left - 1)
                with m.If(answered):
                    note(Mux(self.write, axil.bresp, axil.rresp), axil.rdata)
                    m.next = "IDLE"
                with m.Elif(left == 0):
                    note(_DECERR, Const(0, 32))
                    m.next = "IDLE"
            with m.State("WINDOW"):
                m.d.sync += self.ack.eq(1)
                with m.Switch(self.address[2:8]):
                    for register, value in (
                        (Window.ID, Const(BRIDGE_ID, 32)),
                        (Window.FAULTS, Cat(*counts)),
                        (Window.ADDRESS, last_address),
                        (Window.DATA, last_data),
                        (Window.STATUS, Cat(done, response, wrote)),
                        (Window.CRC, self.crc),
                    ):
                        with m.Case(register):
                            m.d.sync += self.result.eq(value)
                    with m.Default():
                        m.d.sync += self.result.eq(0)
                m.next = "IDLE"
        return m
