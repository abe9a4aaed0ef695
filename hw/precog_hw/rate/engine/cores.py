"""Several cores of the law engine that look like one."""

from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.stream.queue import Queue

from .core import Core
from .layouts import CODE_WRITE, ENTRY_WRITE, SLOT_WRITE, event_layout, result_layout, row_layout
from .programs import program_ports
from .threads import TURN_BITS

__all__ = ["Cores"]

_RESULTS = 8  # of a core, at least as many as it has threads


class Cores(wiring.Component):
    """Events go to the core that the low bits of their queue pair name; results come one by one.

    ::

             ┌─► [one event] ─► core 0 ─► [8 results] ─┐
        i ───┼─► ...                                   ├─► o
             └─► [one event] ─► core n ─► [8 results] ─┘

    A core keeps the rows of its own queue pairs. All have the same programs, each a copy: the
    scrubber reads and writes those of one core.

    Latency: of `Core`, one cycle more to a core, and from it as many as there are cores, at most,
    and one. Throughput: an event a cycle, until a core has two that it has not begun.

    Parameters
    ----------
    qps : int
        Queue pairs, a power of two.
    cores : int
        A power of two, at most `qps`. A core has at most eight events at once.
    dsp : str
        As `Multiplier` has it.
    ecc : bool
        Programs have check bits.

    Members
    -------
    copies : In(cores)
        With `ecc`: cores that programs are written to.
    others
        As of `Core`; the scrubber's answer comes a cycle later, a suspect two.

    Raises
    ------
    ValueError
        `qps` or `cores` is no power of two, or there are more cores than queue pairs.
    """

    def __init__(self, qps: int, cores: int, dsp: str = "generic", *, ecc: bool = False) -> None:
        if cores < 1 or cores & (cores - 1) or cores > qps:
            raise ValueError(f"cores must be a power of two in 1..{qps}, not {cores!r}")
        self._cores = [Core(qps // cores, dsp, ecc=ecc) for _ in range(cores)]
        self._ecc = ecc
        self._bits = (cores - 1).bit_length()
        qp_bits = max((qps - 1).bit_length(), 1)
        super().__init__(
            {
                **({"copies": In(cores)} if ecc else {}),
                **program_ports(cores, ecc=ecc),
                "i": In(stream.Signature(event_layout(qp_bits))),
                "o": Out(result_layout(qp_bits, ecc=ecc)),
                "o_stb": Out(1),
                "budget": In(TURN_BITS, init=(1 << TURN_BITS) - 1),
                "code": In(CODE_WRITE),
                "code_stb": In(1),
                "slot": In(SLOT_WRITE),
                "slot_stb": In(1),
                "entry": In(ENTRY_WRITE),
                "entry_stb": In(1),
                "i_row": In(stream.Signature(row_layout(qp_bits))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        to, of_row = self.i.payload.qp[: self._bits], self.i_row.payload.qp[: self._bits]
        ready, row_ready, results = [], [], []
        for n, core in enumerate(self._cores):
            m.submodules[f"core{n}"] = core
            held, there = Signal.like(core.i.payload, name=f"held{n}"), Signal(name=f"there{n}")
            takes = self.i.valid & (to == n) & ~there
            with m.If(takes):
                m.d.sync += [
                    *(held[name].eq(self.i.payload[name]) for name in ("slot", "id", "words")),
                    held.qp.eq(self.i.payload.qp >> self._bits),
                    there.eq(1),
                ]
            with m.Elif(core.i.ready):
                m.d.sync += there.eq(0)
            m.submodules[f"results{n}"] = result = Queue(self.o.shape(), _RESULTS)
            results.append(result)
            ready.append(~there)
            row_ready.append(core.i_row.ready)
            row = core.i_row.payload
            m.d.comb += [
                core.i.valid.eq(there),
                core.i.payload.eq(held),
                core.i_row.valid.eq(self.i_row.valid & (of_row == n)),
                core.budget.eq(self.budget),
                row.place.eq(self.i_row.payload.place),
                row.word.eq(self.i_row.payload.word),
                row.qp.eq(self.i_row.payload.qp >> self._bits),
                result.i.valid.eq(core.o_stb),
                *self._named(result.i.payload, core.o, n),
            ]
            for name in ("code", "slot", "entry"):
                stb = getattr(self, f"{name}_stb")
                written = stb & self.copies[n] if self._ecc else stb
                m.d.comb += getattr(core, name).eq(getattr(self, name))
                m.d.comb += getattr(core, f"{name}_stb").eq(written)
        m.d.comb += [
            self.i.ready.eq(Array(ready)[to]),
            self.i_row.ready.eq(Array(row_ready)[of_row]),
        ]
        self._gather(m, results)
        if self._ecc:
            self._scrub(m)
        return m

    def _scrub(self, m: Module) -> None:
        """The scrubber's way to each core, and what cores suspect: of several the first one."""
        asked = self.scrub.place
        answers, suspect = [], self.suspect
        m.d.sync += suspect.valid.eq(0)
        for n, core in enumerate(self._cores):
            m.d.comb += [
                core.check.eq(self.check),
                core.scrub.valid.eq(self.scrub.valid & (asked.core == n)),
                core.scrub.place.at.eq(asked.at),
                core.scrub.place.bank.eq(asked.bank),
            ]
            answers.append(core.scrubbed.as_value())
        for n, core in reversed(list(enumerate(self._cores))):
            found = core.suspect
            with m.If(found.valid):
                m.d.sync += [
                    suspect.valid.eq(1),
                    suspect.place.at.eq(found.place.at),
                    suspect.place.bank.eq(found.place.bank),
                    suspect.place.core.eq(n),
                ]
        m.d.sync += self.scrubbed.as_value().eq(reduce(or_, answers))

    def _named(self, told: data.View, said: data.View, n: int) -> list[Any]:
        """A core's result, of the queue pair as it is called outside."""
        return [
            *(told[name].eq(said[name]) for name, _ in told.shape() if name != "qp"),
            told.qp.eq(Cat(Const(n, self._bits), said.qp)),
        ]

    def _gather(self, m: Module, results: list[Queue]) -> None:
        """One result a cycle, of the cores in turns."""
        turn = Signal(self._bits)
        valid = Array(result.o.valid for result in results)
        m.d.sync += turn.eq(turn + 1)
        m.d.comb += [
            self.o_stb.eq(valid[turn]),
            self.o.eq(Array(result.o.payload for result in results)[turn]),
        ]
        for n, result in enumerate(results):
            m.d.comb += result.o.ready.eq(turn == n)
