"""Extraction's trust: a stranger's shim stays, and a peer that is not enabled is not heard.

`CpsReceive` is the gateware as it is; packets, and what the table and the slots answer, are free in
every cycle. By induction over its delay lines, hence for ever.
"""

from amaranth.hdl import Assert, Cover, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from precog_spec.frames.cps import Mode as ScoreMode
from precog_spec.frames.cps import ShimFault

from .engine import Mode, Proof
from .mutate import Mutant, reimported
from .packets import late

__all__ = ["MUTANTS", "PROOFS"]

_RX = "precog_hw.packet.cps_rx"
SLOTS = 4
DEPTH = 45  # cycles: more than all delay lines hold


class ExtractionHarness(wiring.Component):
    """`CpsReceive` with free packets and free answers."""

    def __init__(self) -> None:
        from precog_hw.packet.cps_slots import DESTINATIONS, rx_row_layout
        from precog_hw.packet.layouts import PARSED

        super().__init__(
            {
                "parsed": In(PARSED),
                "parsed_stb": In(1),
                "found": In(1),
                "row": In(rx_row_layout(DESTINATIONS)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        from precog_hw.packet.checksum import LATENCY
        from precog_hw.packet.cps_slots import CpsSlots
        from precog_hw.packet.layouts import Edit

        m = Module()
        with reimported(_RX) as module:
            dut = module.CpsReceive(SLOTS)
        m.submodules.dut = dut
        m.d.comb += [
            dut.parsed.eq(self.parsed),
            dut.parsed_stb.eq(self.parsed_stb),
            dut.found.eq(self.found),
            dut.row.eq(self.row),
        ]
        answered = 1 + LATENCY  # cycles from a row to its edit
        known = late(m, self.found, answered + CpsSlots.RX_LATENCY, "found")
        enabled = known & late(m, self.row.enable, answered, "enable")
        takes = enabled & late(m, self.row.mode == ScoreMode.S, answered, "takes_shims")
        edit, got = dut.edit, dut.received
        rewrites = edit.lengths | edit.checksum | edit.reserved | (edit.edit == Edit.REMOVE)
        m.d.comb += [
            Assert((edit.edit != Edit.REMOVE) | takes, "a shim goes only where it is expected"),
            Assert(~edit.lengths | (edit.edit == Edit.REMOVE), "lengths change with a shim alone"),
            Assert(~rewrites | enabled, "nothing is rewritten of a stranger"),
            Assert(~got.score.valid | enabled, "nor is his score heard"),
            Assert(~got.turnaround_valid | takes, "nor the time that he says"),
            Assert(~got.known | known),
            Assert(got.extracted == (edit.edit == Edit.REMOVE)),
            Assert((got.fault != ShimFault.UNTRUSTED) | (got.shim & ~got.known)),
            Cover(edit.edit == Edit.REMOVE),
            Cover(got.fault == ShimFault.UNTRUSTED),
        ]
        return m


PROOFS = (
    Proof(
        "extraction.trust",
        ExtractionHarness,
        Mode.INDUCTION,
        DEPTH,
        "for ever, any packets, any answers: only packets of known queue pairs to enabled "
        "destinations are rewritten or heard, and shims go only in mode S",
        quick=False,
    ),
    Proof(
        "extraction.cover",
        ExtractionHarness,
        Mode.COVER,
        DEPTH,
        "a shim is taken out, and one is left where it is",
        quick=False,
    ),
)
MUTANTS = (
    Mutant(
        "extraction.trust",
        _RX,
        "before.extracted & enabled & (self.row.mode == Mode.S)",
        "before.extracted & before.known & (self.row.mode == Mode.S)",
        "the shim of a peer that is not enabled is taken out",
    ),
    Mutant(
        "extraction.trust",
        _RX,
        "before.extracted & enabled & (self.row.mode == Mode.S)",
        "before.extracted & enabled",
        "a queue pair that asked for no shims has them taken out",
    ),
    Mutant(
        "extraction.trust",
        _RX,
        "before.extracted & enabled & (self.row.mode == Mode.S)",
        "before.extracted",
        "a stranger's packet becomes one to port 4791",
    ),
    Mutant(
        "extraction.trust",
        _RX,
        "marked = enabled & ~refused",
        "marked = before.known & ~refused",
        "a peer that is not enabled is heard by its CNPs",
    ),
)
