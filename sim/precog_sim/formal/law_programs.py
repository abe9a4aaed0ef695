"""No program writes programs: a core's own code, slot memory and entries are the loader's alone.

`Core` is the gateware as it is, with free events, rows, programs and scrubber.
"""

from amaranth.hdl import Assert, Cat, Cover, Module, Value
from amaranth.lib import wiring

from .engine import Mode, Proof
from .mutate import Mutant, reimported
from .peek import Opened, free

__all__ = ["MUTANTS", "PROOFS"]

_MEMORY = "precog_hw.rate.engine.memory"
_PROGRAMS = "precog_hw.rate.engine.programs"
_DISPATCHER = "precog_hw.rate.engine.dispatcher"
_CORE = "precog_hw.rate.engine.core"


class ProgramsHarness(wiring.Component):
    """A core with check bits, for one queue pair."""

    def __init__(self) -> None:
        super().__init__({})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        with reimported(_MEMORY, _PROGRAMS, _DISPATCHER, _CORE) as module:
            dut = module.Core(1, ecc=True)
            inner = Opened(dut)
        m.submodules.dut = inner.fragment
        for _, member, port in dut.signature.flatten(dut):
            if member.flow is wiring.In:
                value = Value.cast(port)
                m.d.comb += value.eq(free(len(value)))
        code, slot, entry = dut.code, dut.slot, dut.entry
        told = (
            ("instruction", dut.code_stb, Cat(code.place, code.slot), code.word),
            ("word of slot memory", dut.slot_stb, Cat(slot.place, slot.slot), slot.word),
            ("entry", dut.entry_stb, Cat(entry.kind, entry.slot), Cat(entry.place, entry.heard)),
        )
        ports = {
            name: [*inner.every(f"load__{name}"), *inner.every(f"dispatcher.load__{name}")]
            for name in ("en", "addr", "data")
        }
        for n, (what, stb, place, word) in enumerate(told):
            en, addr, stored = (ports[name][n] for name in ("en", "addr", "data"))
            m.d.comb += [
                Assert(en == stb, f"an {what} is written when the loader says so, and never else"),
                Assert(~en | (addr == place), "where the loader says"),
                Assert(~en | (stored == Cat(word, dut.check)), "and as it says"),
                Cover(en),
            ]
        return m


PROOFS = (
    Proof(
        "law.programs",
        ProgramsHarness,
        Mode.INDUCTION,
        1,
        "whatever programs do, each word of each slot is written by the loader alone",
    ),
)
MUTANTS = (
    Mutant(
        "law.programs",
        _PROGRAMS,
        "write.slot), write.word, stb),\n            ecc=self._asked(0,",
        "self._core.i.payload.slot), write.word, stb),\n            ecc=self._asked(0,",
        "the slot of the next event gets an instruction",
    ),
    Mutant(
        "law.programs",
        _PROGRAMS,
        "write.word, stb),\n            ecc=self._asked(PROGRAM_SLOT,",
        "write.word, stb | self._core.i.valid),\n            ecc=self._asked(PROGRAM_SLOT,",
        "an event that waits writes slot memory",
    ),
    Mutant(
        "law.programs",
        _MEMORY,
        "load.addr.eq(Mux(write.stb, write.addr, ecc.addr)),",
        "load.addr.eq(Mux(ecc.asks, ecc.addr, write.addr)),",
        "a word goes where the scrubber reads",
    ),
    Mutant(
        "law.programs",
        _DISPATCHER,
        "Cat(self.entry.kind, self.entry.slot),",
        "Cat(self.entry.kind, event.slot),",
        "an event's slot gets the entry",
    ),
)
