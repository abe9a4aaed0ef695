"""GMII to frames: preamble, FCS and length."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.crc.catalog import CRC32_ETHERNET
from amaranth.lib.wiring import In, Out

from precog_spec.frames.headers import MIN_FRAME
from precog_spec.frames.line import FCS_BYTES, MOST_BYTES, PREAMBLE

from .layouts import GMII_RX, OCTET

__all__ = ["Receiver"]


class Receiver(wiring.Component):
    """Gateware of `precog_models.mac.arrivals`: a line's bytes to frames without FCS.

    Latency: a byte comes out 6 cycles after it was on the line, so that the last one can say what
    the FCS was. Throughput: a byte per cycle; it cannot be held. Cost: about 110 flip-flops.

    Parameters
    ----------
    most_bytes : int
        Of a frame, without FCS; one that is longer ends, damaged, with the byte after.

    Members
    -------
    i : In(GMII_RX)
    stb : Out(1)
        `octet` is a byte of a frame.
    octet : Out(OCTET)
    good, runt, oversize, damaged : Out(1)
        Strobes, one for each frame, with or after its last byte.

    Raises
    ------
    ValueError
        `most_bytes` is not in 60..16383.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        if not MIN_FRAME <= most_bytes < 1 << 14:
            raise ValueError(f"most_bytes must be in {MIN_FRAME}..16383, not {most_bytes!r}")
        self._most = most_bytes
        super().__init__(
            {
                "i": In(GMII_RX),
                "stb": Out(1),
                "octet": Out(OCTET),
                **{name: Out(1) for name in ("good", "runt", "oversize", "damaged")},
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.crc = crc = CRC32_ETHERNET(data_width=8).create()
        line = Signal(GMII_RX, init={"valid": 1})  # after a reset nothing begins before a gap
        starts, leads = Signal(), Signal()  # its byte is the delimiter, one of the preamble
        # A frame's first byte sets these, or they are read with a strobe alone: the reset, which
        # must reach all that it clears within 8 ns, leaves them alone.
        octet = Signal(OCTET, reset_less=True)
        held = Signal(8 * (FCS_BYTES + 1), reset_less=True)  # last byte, and what may be the FCS
        count = Signal(range(self._most + FCS_BYTES + 2), reset_less=True)
        failed = Signal(reset_less=True)
        full = Signal(reset_less=True)  # of `held`; by `count`, as these are of the frame
        short, long = Signal(reset_less=True), Signal(reset_less=True)
        strobes = [self.stb, self.good, self.runt, self.oversize, self.damaged]
        m.d.sync += [
            line.eq(self.i),
            starts.eq(self.i.data == PREAMBLE[-1]),
            leads.eq(self.i.data == PREAMBLE[0]),
            *(strobe.eq(0) for strobe in strobes),
        ]
        m.d.comb += [crc.data.eq(line.data), self.octet.eq(octet)]
        m.d.sync += octet.data.eq(held[-8:])

        def begin() -> None:
            """The first byte of a burst."""
            with m.If(starts):
                m.d.comb += crc.start.eq(1)
                m.d.sync += [count.eq(0), failed.eq(0), full.eq(0), short.eq(1), long.eq(0)]
                m.next = "DATA"
            with m.Elif(leads):
                m.next = "PREAMBLE"
            with m.Else():
                m.next = "SKIP"

        with m.FSM(name="receive", init="SKIP"):
            with m.State("IDLE"), m.If(line.valid):
                begin()
            with m.State("PREAMBLE"):
                with m.If(line.valid):
                    begin()
                with m.Else():
                    m.next = "IDLE"
            with m.State("DATA"):
                wrong = failed | ~crc.match_detected
                m.d.sync += [octet.last.eq(0), octet.error.eq(short | wrong | long)]
                with m.If(long):
                    m.d.sync += [self.stb.eq(1), octet.last.eq(1), self.oversize.eq(1)]
                    m.next = "IDLE"
                    with m.If(line.valid):
                        m.next = "SKIP"
                with m.Elif(line.valid):
                    m.d.comb += crc.valid.eq(1)
                    m.d.sync += [
                        held.eq(Cat(line.data, held)),
                        count.eq(count + 1),
                        full.eq(count >= FCS_BYTES),
                        short.eq(count < MIN_FRAME + FCS_BYTES - 1),
                        long.eq(count >= self._most + FCS_BYTES),
                        failed.eq(failed | line.error),
                        self.stb.eq(full),
                    ]
                with m.Else():
                    m.d.sync += [
                        self.stb.eq(full),
                        octet.last.eq(1),
                        self.runt.eq(short),
                        self.damaged.eq(~short & wrong),
                        self.good.eq(~short & ~wrong),
                    ]
                    m.next = "IDLE"
            with m.State("SKIP"), m.If(~line.valid):
                m.next = "IDLE"
        return m
