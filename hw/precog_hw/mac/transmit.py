"""Frames to GMII: preamble, padding, FCS and gap."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.crc.catalog import CRC32_ETHERNET
from amaranth.lib.wiring import In, Out

from precog_spec.frames.headers import MIN_FRAME
from precog_spec.frames.line import FCS_BYTES, GAP_BYTES, PREAMBLE

from .layouts import GMII_TX, OCTET

__all__ = ["Transmitter"]


class Transmitter(wiring.Component):
    """Gateware of `precog_models.mac.line_bytes`: a frame's bytes to the line.

    A frame that is marked as damaged leaves with an inverted FCS, so that its receiver
    drops it. One whose next byte is not there in time is ended in the same way; the rest of it is
    taken and forgotten.

    Latency: 11 cycles from a frame's first byte to the same on the line. Throughput: a byte per
    cycle; 12 cycles between two frames. Cost: about 90 flip-flops.

    Members
    -------
    i : In(stream.Signature(OCTET))
        Frames without FCS.
    o : Out(GMII_TX)
    underrun : Out(1)
        Strobe: a byte was not there in time.
    """

    def __init__(self) -> None:
        super().__init__({"i": In(stream.Signature(OCTET)), "o": Out(GMII_TX), "underrun": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.crc = crc = CRC32_ETHERNET(data_width=8).create()
        count = Signal(range(MIN_FRAME + 1))  # bytes sent of this frame or state; wraps
        wrong = Signal()  # the FCS is inverted
        rest = Signal()  # bytes of a frame that was ended are still to come
        enough = Signal()  # with the next byte the frame is as long as it must be
        # A register: what is behind `ready` is as far from the state as a byte's position is.
        takes = Signal()
        octet = self.i.payload
        m.d.comb += self.i.ready.eq(takes)
        # The line's next byte is a register: its choice and the CRC of it take more than a cycle
        # of 125 MHz.
        chosen = Signal(GMII_TX)
        counted = Signal()  # the FCS has it
        check = Signal()  # it is the FCS' byte `which`, not `chosen.data`
        which = Signal(range(FCS_BYTES))
        fcs = crc.crc.word_select(which, 8) ^ wrong.replicate(8)
        m.d.comb += [crc.data.eq(chosen.data), crc.valid.eq(counted)]
        m.d.sync += [
            self.o.valid.eq(chosen.valid),
            self.o.data.eq(Mux(check, fcs, chosen.data)),
            chosen.valid.eq(0),
            counted.eq(0),
            check.eq(0),
            which.eq(count),
        ]

        def put(value: object) -> None:
            m.d.sync += [chosen.data.eq(value), chosen.valid.eq(1), count.eq(count + 1)]
            with m.If(count == MIN_FRAME - 2):
                m.d.sync += enough.eq(1)

        def begin() -> None:
            m.d.sync += [count.eq(0), enough.eq(0)]

        def put_counted(value: object) -> None:
            put(value)
            m.d.sync += counted.eq(1)

        with m.FSM(name="transmit"):
            with m.State("IDLE"):
                m.d.comb += crc.start.eq(1)
                begin()
                m.d.sync += wrong.eq(0)
                with m.If(rest):
                    more = ~(self.i.valid & octet.last)
                    m.d.sync += [rest.eq(more), takes.eq(more)]
                with m.Elif(self.i.valid):
                    m.next = "PREAMBLE"
            with m.State("PREAMBLE"):
                put(Mux(count == len(PREAMBLE) - 1, PREAMBLE[-1], PREAMBLE[0]))
                with m.If(count == len(PREAMBLE) - 1):
                    begin()
                    m.d.sync += takes.eq(1)
                    m.next = "DATA"
            with m.State("DATA"):
                put_counted(octet.data)
                with m.If(~self.i.valid):
                    m.d.comb += self.underrun.eq(1)
                    m.d.sync += [wrong.eq(1), rest.eq(1)]
                with m.If(~self.i.valid | octet.last):
                    m.d.sync += takes.eq(0)
                    with m.If(self.i.valid):
                        m.d.sync += wrong.eq(octet.error)
                    m.next = "PAD"
                    with m.If(enough):
                        begin()
                        m.next = "FCS"
            with m.State("PAD"):
                put_counted(0)
                with m.If(enough):
                    begin()
                    m.next = "FCS"
            with m.State("FCS"):
                put(0)
                m.d.sync += check.eq(1)
                with m.If(count == FCS_BYTES - 1):
                    begin()
                    m.next = "GAP"
            with m.State("GAP"):  # a cycle of it is IDLE's
                m.d.sync += count.eq(count + 1)
                with m.If(count == GAP_BYTES - 2):
                    m.d.sync += takes.eq(rest)
                    m.next = "IDLE"
        return m
