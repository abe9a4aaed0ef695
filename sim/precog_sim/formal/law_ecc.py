"""No event goes on with a damaged word of its program, wherever one bit of it or two are wrong.

Words of all widths are judged by the gateware's comparison, with check bits that are made here from
the code's columns, not by the gateware's encoder. `ProgramMemory` is the gateware as it is, with
two rows of few bits and free writes, of whose stored bits up to two are flipped.
`Threads` is it, too; decisions come, as in the core, for threads that run.
"""

from functools import partial, reduce
from operator import xor

from amaranth.hdl import Array, Assert, Assume, Cat, Cover, Module, Mux, Signal, Value, unsigned
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from precog_spec.engine.isa import THREADS
from precog_spec.secded import PAIR_BITS, check_bits, columns

from .engine import Mode, Proof
from .mutate import Mutant, reimported
from .past import Past
from .peek import Opened, free

__all__ = ["MUTANTS", "PROOFS"]

_CHECK_BITS = "precog_hw.predict.check_bits"
_MEMORY = "precog_hw.rate.engine.memory"
_THREADS = "precog_hw.rate.engine.threads"
_QP_BITS = 2


def _encoded(word: Value) -> Value:
    """Check bits of a word."""
    rows = range(check_bits(PAIR_BITS))
    covered = [[n for n in range(len(word)) if columns(PAIR_BITS)[n] >> r & 1] for r in rows]
    return Cat(reduce(xor, (word[n] for n in bits)) for bits in covered)


def _stored(m: Module, bits: int, first: Value, second: Value) -> tuple[Value, Value, Value, Value]:
    """A word of any value; its data and check bits as they are stored; the bits that are wrong.

    A place beyond the word flips nothing; the same one twice flips nothing, too.
    """
    word, flips = Signal(bits), Signal(64)
    stored = Signal(bits + check_bits(PAIR_BITS))
    m.d.comb += [
        word.eq(free(bits)),
        flips.eq((1 << first) ^ (1 << second)),
        stored.eq(Cat(word, _encoded(word)) ^ flips),
    ]
    return word, stored[:bits], stored[bits:], flips[: len(stored)]


class WordHarness(wiring.Component):
    """A word of any value with no wrong bit, one or two."""

    first: In(range(64))
    second: In(range(64))

    def __init__(self, bits: int) -> None:
        super().__init__()
        self._bits = bits

    def elaborate(self, platform: object) -> Module:
        m = Module()
        _, data, check, flips = _stored(m, self._bits, self.first, self.second)
        with reimported(_CHECK_BITS) as module:
            noticed = module.damaged(m, "dut", data, check)
        past = Past(m)
        wrong = past(flips.any(), "wrong")
        m.d.comb += [
            Assert(~past.known | (noticed == wrong), "what is wrong is noticed, and nothing else"),
            Cover(past.known & noticed),
        ]
        return m


class MemoryHarness(wiring.Component):
    """A memory of programs whose words are written with up to two wrong bits."""

    addr: In(1)
    at: In(1)
    writes: In(1)
    first: In(range(64))
    second: In(range(64))

    def __init__(self, bits: int) -> None:
        super().__init__()
        self._bits = bits

    def elaborate(self, platform: object) -> Module:
        m = Module()
        with reimported(_CHECK_BITS, _MEMORY) as module:
            word, data, check, flips = _stored(m, self._bits, self.first, self.second)
            write = module.Write(self.at, data, self.writes)
            ecc = module.Ecc(check, free(1), free(1))
            shape = unsigned(self._bits)
            dut = module.ProgramMemory(m, "dut", shape, 2, addr=self.addr, write=write, ecc=ecc)
        rows = [Signal(self._bits, name=f"row{n}") for n in range(2)]
        whole = Signal(init=1)  # no wrong bit was written
        for n, row in enumerate(rows):
            with m.If(self.writes & (self.at == n)):
                m.d.sync += row.eq(word)
        with m.If(self.writes & flips.any()):
            m.d.sync += whole.eq(0)
        # What should be read, and what is; whether it is damaged is known two cycles later.
        past = Past(m)
        true = past(past(past(Array(rows)[self.addr], "row_1"), "row_2"), "row_3")
        read = past(past(dut.data, "read_1"), "read_2")
        clash = past(past(past(self.writes & (self.at == self.addr), "c_1"), "c_2"), "c_3")
        known = Signal(2)
        m.d.sync += known.eq(Mux(known == 3, 3, known + 1))
        m.d.comb += [
            Assert((known != 3) | dut.damaged | (read == true), "no wrong word unnoticed"),
            Assert(~whole | (known != 3) | clash | ~dut.damaged, "and no whole one suspected"),
            Assert((known != 3) | ~clash | dut.damaged, "a word in the making is damaged"),
            Cover((known == 3) & dut.damaged & ~clash),
            Cover((known == 3) & ~dut.damaged & (read != 0)),
        ]
        return m


class ThreadsHarness(wiring.Component):
    """`Threads`, one of which needs a damaged word."""

    def __init__(self) -> None:
        super().__init__({})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        with reimported(_THREADS) as module:
            dut = module.Threads(_QP_BITS)
            inner = Opened(dut)
        m.submodules.dut = inner.fragment
        for name, member in dut.signature.members.items():
            if member.flow is wiring.In:
                value = Value.cast(getattr(dut, name))
                m.d.comb += value.eq(free(len(value)))
        states = [inner[f"state{n}"] for n in range(THREADS)]
        change = Signal.like(dut.decision.thread)
        changes = Signal()
        m.d.sync += [change.eq(dut.decision.thread), changes.eq(dut.decision_stb)]
        # In the core a thread's decisions are eight cycles apart, and only a thread that runs has
        # any; one that begins an event was free.
        runs = Array(Value.cast(state) == 1 for state in states)
        is_free = Array(Value.cast(state) == 0 for state in states)
        of = dut.decision.thread
        m.d.comb += [
            Assume(~dut.decision_stb | (runs[of] & ~(changes & (change == of)))),
            Assume(~dut.retired_stb | dut.ended.bit_select(dut.retired, 1)),
            Assume(~dut.start_stb | is_free[dut.start_thread]),
            Assume(~dut.start.damaged | (Value.cast(dut.start.status) != 0)),
            Assume(~dut.start.damaged | ~dut.start_heard),
        ]
        told, hit = Signal(), Signal(THREADS)
        m.d.sync += told.eq(dut.decision_stb & dut.damaged)
        m.d.comb += Cover(hit.any() & dut.retired_stb)
        for n, state in enumerate(states):
            about = dut.abouts[n]
            starts = dut.start_stb & (dut.start_thread == n)
            with m.If(told & (change == n)):
                m.d.sync += hit[n].eq(1)
            with m.Elif(starts):
                m.d.sync += hit[n].eq(dut.start.damaged)
            held = about.damaged & (Value.cast(about.status) != 0)
            m.d.comb += [
                Assert(~hit[n] | held, "its event has not ended well"),
                Assert(~hit[n] | (Value.cast(state) != 1), "and runs no more"),
                Assert(~(told & (change == n)) | (Value.cast(state) == 1)),
            ]
        held_change = inner["change"] if inner.every("change") else None
        if held_change is not None:
            fields = dict(module._CHANGE)
            at = {name: field.offset for name, field in fields.items()}
            value = Value.cast(held_change)
            m.d.comb += [
                Assert(value[at["stb"]] == changes),
                Assert(~changes | (value[at["thread"] : at["thread"] + 3] == change)),
                Assert(~told | (value[at["damaged"]] & value[at["ends"]])),
                Assert(~told | (value[at["status"] : at["status"] + 2] != 0)),
                Assert(~changes | runs[change]),
            ]
        return m


PROOFS = (
    *(
        Proof(
            f"law.noticed.{bits}",
            partial(WordHarness, bits),
            Mode.BOUNDED,
            3,
            f"one wrong bit or two of any {what} are noticed, wherever they are",
        )
        for bits, what in ((32, "instruction"), (48, "word of slot memory"), (11, "entry"))
    ),
    Proof(
        "law.memory",
        partial(MemoryHarness, 3),
        Mode.BOUNDED,
        8,
        "no word that was stored wrongly, or is being written, is taken for a whole one",
    ),
    Proof(
        "law.damaged",
        ThreadsHarness,
        Mode.INDUCTION,
        4,
        "an event that needs a damaged word ends, and not well: nothing of it is stored",
    ),
)
MUTANTS = (
    Mutant(
        "law.noticed.32",
        _CHECK_BITS,
        "return Cat(syndrome).any()",
        "return Cat(syndrome).xor()",
        "double errors pass",
        quick=True,
    ),
    Mutant(
        "law.noticed.32",
        _CHECK_BITS,
        "[*_covered(word, r), check[r]]",
        "_covered(word, r) if r == 7 else [*_covered(word, r), check[r]]",
        "one check bit is not compared",
    ),
    Mutant(
        "law.memory",
        _MEMORY,
        "clash.eq(write.stb & (write.addr == addr))",
        "clash.eq(0)",
        "a word that is written as it is read counts as whole",
    ),
    Mutant(
        "law.memory",
        _MEMORY,
        "raw = delayed(m, read.data, 1,",
        "raw = delayed(m, read.data, 2,",
        "another instruction's word is judged",
    ),
    Mutant(
        "law.damaged",
        _THREADS,
        "with m.If(decision.illegal | self.damaged):",
        "with m.If(decision.illegal):",
        "a damaged instruction is executed",
        quick=True,
    ),
    Mutant(
        "law.damaged",
        _THREADS,
        "abouts[n].damaged.eq(change.damaged),",
        "",
        "a damaged word counts as a trap, and disables the slot",
    ),
)
