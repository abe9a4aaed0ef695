"""The model loader: no set becomes valid with a wrong CRC, and no live set is ever written.

The block is taken as it is but for its size: an image of 4 words instead of 512, whose last three
are the header, so that a load fits into the solver's horizon. The CRC unit itself is Amaranth's. To
reason about a live set, the run starts with one (set 0, mapped by slot 0), which would otherwise
take a load to get.
"""

from dataclasses import replace

from amaranth.hdl import Assert, Assume, Cover, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from .engine import Mode, Proof
from .mutate import Mutant, mutated
from .past import Past
from .peek import Opened

__all__ = ["MUTANTS", "PROOFS"]

_CHECKS = "precog_hw.predict.image_checks"
_STORE = "precog_hw.predict.model_store"
WORDS = 4
_SMALL = (
    (_CHECKS, "IMAGE_WORDS = 512", f"IMAGE_WORDS = {WORDS}"),
    (
        _STORE,
        "import HEADER_WORD, TAIL_ROW\n",
        "import HEADER_WORD, TAIL_ROW\nHEADER_WORD, TAIL_ROW = 1, 0\n",
    ),
)
_LIVE = (
    (
        _STORE,
        "ArrayLayout(_entry(config), config.sets))",
        "ArrayLayout(_entry(config), config.sets), init=[{'enable': 1, 'set': 0}])",
    ),
    (_STORE, "valid = Signal(config.sets)", "valid = Signal(config.sets, init=1)"),
)


def _store(*changes: tuple[str, str, str]) -> wiring.Component:
    """A store of two sets whose source has the changes, of a module each; the checks' come first,
    so that the store is executed with what they define."""
    from precog_spec.config import PRESETS

    config = replace(PRESETS["tiny"], sets=2)
    if changes:
        (module, old, new), *others = changes
        with mutated(Mutant("", module, old, new, "")):
            return _store(*others)
    from precog_hw.predict.model_store import ModelStore

    return ModelStore(config)


class LoaderHarness(wiring.Component):
    """What both harnesses share: free inputs.

    Parameters
    ----------
    live : bool
        Start with a live set.
    """

    begin_stb: In(1)
    begin_set: In(1)
    word_stb: In(1)
    word: In(32)
    commit_stb: In(1)
    commit_crc: In(32)
    map_stb: In(1)
    map_slot: In(1)
    map_enable: In(1)
    map_set: In(1)
    query_slot: In(1)
    query_set: In(1)
    in_use: In(2)

    def __init__(self, *, live: bool) -> None:
        super().__init__()
        self._live = live

    def _dut(self, m: Module) -> tuple[wiring.Component, Opened]:
        dut = _store(*_SMALL, *(_LIVE if self._live else ()))
        inner = Opened(dut)
        m.submodules.dut = inner.fragment
        for name in self.signature.members:
            m.d.comb += getattr(dut, name).eq(getattr(self, name))
        past = Past(m)
        for name in ("query_slot", "query_set"):  # arbitrary, but the same all the time
            value = getattr(self, name)
            m.d.comb += Assume(~past.known | (value == past(value, name)))
        return dut, inner


class LiveHarness(LoaderHarness):
    """Set 0 is live; anything may happen."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        dut, _ = self._dut(m)
        named = dut.query_slot_enable & (dut.query_slot_set == dut.load.set)
        m.d.comb += [
            Assert(~(dut.load.en & named), "a set that a slot names is never written"),
            Cover(dut.load.en),
        ]
        return m


class CrcHarness(LoaderHarness):
    """Nothing is valid at first; anything may happen."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        dut, inner = self._dut(m)
        past = Past(m)
        now_valid, good = inner["now_valid"], inner["good"]
        compared = inner["good_crc"] & inner["good_length"]
        good_was, restored_was = past(good, "good"), past(inner["was_valid"], "was_valid")
        compared_was = past(compared, "compared")
        rose = past.known & dut.query_valid & ~past(dut.query_valid, "query_valid")
        named = past(now_valid & (inner["number"] == self.query_set), "named")
        m.d.comb += Assert(~rose | named, "a set becomes valid only when a command ends")
        m.d.comb += [
            Assert(
                ~past.known | ~now_valid | good_was | restored_was,
                "a command makes valid what is good, or what was valid before",
            ),
            Assert(~past.known | ~good | compared_was, "good: the length and the CRC are right"),
            Cover(dut.query_valid),
        ]
        return m


PROOFS = (
    Proof(
        "loader.live",
        lambda: LiveHarness(live=True),
        Mode.BOUNDED,
        20,
        "whatever is begun, written, committed and mapped: a set that a slot names is not written",
        quick=False,
    ),
    Proof(
        "loader.live_cover",
        lambda: LiveHarness(live=True),
        Mode.COVER,
        24,
        "a write is reachable",
        quick=False,
    ),
    Proof(
        "loader.crc",
        lambda: CrcHarness(live=False),
        Mode.INDUCTION,
        18,
        "a set becomes valid only after a commit with the right length and CRC",
    ),
)
MUTANTS = (
    Mutant(
        "loader.live",
        _STORE,
        "stopped.eq(mapped | used)",
        "stopped.eq(0)",
        "a load may begin in a set that is in use",
    ),
    Mutant(
        "loader.crc",
        _CHECKS,
        "good.eq(good_length & good_crc & good_contract & good_header & good_tree)",
        "good.eq(good_length & good_contract & good_header & good_tree)",
        "a wrong CRC is reported, but the set is made valid",
    ),
    Mutant(
        "loader.crc",
        _CHECKS,
        "good.eq(good_length & good_crc & good_contract & good_header & good_tree)",
        "good.eq(good_crc & good_contract & good_header & good_tree)",
        "a short image is made valid",
    ),
)
