"""Designs for the MAC's tests in cocotb: what comes over RGMII goes back."""

from amaranth.hdl import DomainRenamer, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from precog_hw.boards.ecp5_rgmii import RgmiiReceiver, RgmiiTransmitter
from precog_hw.mac.port import MacPort
from precog_spec.registers.mac import MAC_EVENTS

__all__ = ["CELLS", "MOST_BYTES", "PortLoop"]

MOST_BYTES = 1200

#: What the vendor's cells do; without their delays, for which the test shifts clocks.
CELLS = """
module DELAYG(input A, output Z);
  parameter DEL_MODE = "USER_DEFINED";
  parameter integer DEL_VALUE = 0;
  assign Z = A;
endmodule

module ODDRX1F(input SCLK, input RST, input D0, input D1, output Q);
  reg rise, fall, later;
  always @(posedge SCLK) begin rise <= D0; fall <= D1; end
  always @(negedge SCLK) later <= fall;
  assign Q = SCLK ? rise : later;
endmodule

module IDDRX1F(input SCLK, input RST, input D, output reg Q0, output reg Q1);
  reg rise, fall;
  always @(negedge SCLK) fall <= D;
  always @(posedge SCLK) begin rise <= D; Q0 <= rise; Q1 <= fall; end
endmodule
"""


class PortLoop(wiring.Component):
    """A port whose received frames are sent."""

    rx_ctl: In(1)
    rx_data: In(4)
    tx_clock: Out(1)
    tx_ctl: Out(1)
    tx_data: Out(4)
    events: Out(len(MAC_EVENTS))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        receiver, transmitter = RgmiiReceiver(2000), RgmiiTransmitter(0)
        m.submodules.receiver = DomainRenamer("rx")(receiver)
        m.submodules.transmitter = DomainRenamer("tx")(transmitter)
        m.submodules.port = port = MacPort(
            64, rx_domain="rx", tx_domain="tx", most_bytes=MOST_BYTES
        )
        wiring.connect(m, port.o, port.i)
        m.d.comb += [
            receiver.ctl.eq(self.rx_ctl),
            receiver.data.eq(self.rx_data),
            port.gmii_rx.eq(receiver.o),
            transmitter.i.eq(port.gmii_tx),
            self.tx_clock.eq(transmitter.clock),
            self.tx_ctl.eq(transmitter.ctl),
            self.tx_data.eq(transmitter.data),
            self.events.eq(port.events),
        ]
        return m
