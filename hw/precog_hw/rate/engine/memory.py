"""Memories of programs in a core: the pipeline reads them, the loader writes them.

With ECC a word has 8 check bits (`precog_spec.secded`). There is no corrector behind the memory: a
word that is read is only compared with its check bits, two cycles later, and an event that needs a
damaged one ends. The scrubber reads and corrects words at the port that writes them, so that it
takes no cycle from the pipeline.

::

    pipeline ─► port A ─► data ─► [register] ─► syndrome ─► damaged
    loader, scrubber ─► port B ─► answer
"""

from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Mux, Shape, Signal, Value
from amaranth.lib import data
from amaranth.lib.memory import Memory

from precog_hw.predict.check_bits import damaged
from precog_hw.predict.layouts import program_answer_layout
from precog_spec.secded import PAIR_BITS, check_bits

from .execute import BLOCK_RAM
from .units import delayed

__all__ = ["DAMAGED_LATENCY", "Ecc", "ProgramMemory", "Write"]

#: Cycles from an address until it is known whether its word is damaged.
DAMAGED_LATENCY = 3
_CHECK = check_bits(PAIR_BITS)


@dataclass
class Write:
    """A write of the loader's, or the scrubber's."""

    addr: Value
    data: Value
    stb: Value


@dataclass
class Ecc:
    """Check bits of a write; the scrubber's request, if it is of this memory, and its address."""

    check: Value
    asks: Value
    addr: Value


class ProgramMemory:
    """A memory of programs.

    Parameters
    ----------
    m : Module
        Gets the memory.
    name : str
    shape : Shape
        Of a word.
    depth : int
    addr : Value
        The pipeline's.
    write : Write
    ecc : Ecc or None

    Attributes
    ----------
    data : Value
        The pipeline's word, a cycle after its address.
    damaged : Value
        `DAMAGED_LATENCY` cycles after the address: one bit or two of the word are wrong, or it was
        written in the cycle in which it was read. 0 without ECC.
    answer : Value or None
        With ECC: `program_answer_layout` of the scrubber's word, a cycle after a request.
    """

    def __init__(
        self,
        m: Module,
        name: str,
        shape: Shape,
        depth: int,
        *,
        addr: Value,
        write: Write,
        ecc: Ecc | None,
    ) -> None:
        width = shape.width
        stored = width if ecc is None else width + _CHECK
        m.submodules[name] = memory = Memory(shape=stored, depth=depth, init=[], attrs=BLOCK_RAM)
        read, load = memory.read_port(), memory.write_port()
        m.d.comb += [
            read.addr.eq(addr),
            load.addr.eq(write.addr),
            load.data.eq(write.data),
            load.en.eq(write.stb),
        ]
        word = read.data[:width]
        self.data: Value = word.as_signed() if shape.signed else word
        self.damaged: Value = Const(0)
        self.answer: data.View | None = None
        if ecc is None:
            return
        tap = memory.read_port()
        m.d.comb += [
            # One address for both: a port of a block RAM can read or write.
            load.addr.eq(Mux(write.stb, write.addr, ecc.addr)),
            tap.addr.eq(load.addr),
            tap.en.eq(~write.stb),
            load.data.eq(Cat(write.data, ecc.check)),
        ]
        self.answer = answer = Signal(program_answer_layout(), name=f"{name}_answer")
        told = Signal(name=f"{name}_told")
        m.d.sync += told.eq(ecc.asks & ~write.stb)
        with m.If(told):
            m.d.comb += [
                answer.valid.eq(1),
                answer.data.eq(tap.data[:width]),
                answer.check.eq(tap.data[width:]),
            ]
        # A block RAM says anything of a word that is written through its other port.
        clash = Signal(name=f"{name}_clash")
        m.d.sync += clash.eq(write.stb & (write.addr == addr))
        raw = delayed(m, read.data, 1, f"{name}_raw")
        self.damaged = damaged(m, name, raw[:width], raw[width:]) | delayed(
            m, clash, DAMAGED_LATENCY - 1, f"{name}_clashed"
        )
