"""The processor: one accumulator, one multiplier, one instruction in three cycles."""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from precog_hw.dsp import Multiplier
from precog_spec.contract import Flag

from .isa import WORD_BITS, Kind, Op, wait_bits
from .program import OUTPUTS, PORTS, WAITS, Program

__all__ = ["Machine"]

_FACTOR_BITS = 18  # of the multiplier
_LOW_BITS = _FACTOR_BITS - 1  # of A that make its second product
_TOP = 31  # bit that `Op.NORM` brings the highest one to
_COUNT_BITS = 6
_PARTS = ("op", "kind", "at")  # of an instruction
_WAIT_BITS = wait_bits(WAITS)


class Machine(wiring.Component):
    """Runs a program, from its first instruction on.

    ::

        [program] ─► instruction ─► [memory] ─┐         ┌► [x] ─┐
                                      ports ──┴─► X ────┴───────┴► + ◄─► A ─► memory, outputs
                                                          A, A << 1, A << 17 ┘

    An instruction's first cycle reads its operand from memory, the second one takes it from there
    or a port, the last one changes the accumulator and reads the next instruction.

    Latency, throughput: `isa.Op` says what an instruction takes. Cost (preset
    ``ecp5-25``, its modules mapped one by one): one multiplier, a DP16KD for the program and four
    for up to 8 queue pairs, 2445 LUT4, 40 CCU2C, 630 flip-flops.

    Parameters
    ----------
    program : Program
    dsp : str
        `NicConfig.dsp`.

    Members
    -------
    qp : In(qp_bits)
        Whose row it works on.
    ports : In
        A value for each of `PORTS`, of up to `WORD_BITS` bits with their sign.
    waits : Out(len(WAITS))
        What the program waits for, one-hot.
    register : Out
        Address of the register that is waited for, in words.
    there : In(len(WAITS))
        It is there, in this cycle.
    flags : Out(len(Flag))
        Set since `begin` was waited for.
    values : Out
        A value for each of `OUTPUTS`, as last written.
    """

    def __init__(self, program: Program, *, dsp: str = "generic") -> None:
        self._program = program
        self._dsp = dsp
        word = signed(WORD_BITS)
        super().__init__(
            {
                "qp": In(program.words.qp_bits),
                "ports": In(data.StructLayout(dict.fromkeys(PORTS, word))),
                "waits": Out(len(WAITS)),
                "register": Out(program.address_bits - _WAIT_BITS),
                "there": In(len(WAITS)),
                "flags": Out(len(Flag)),
                "values": Out(data.StructLayout(dict.fromkeys(OUTPUTS, word))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        running, last = Signal(), Signal()  # the instruction's cycles begin after the first fetch
        read, changes = Signal(), Signal()  # it is in its second cycle, and in a later one
        fetched = self._fetch(m, running, last)
        op, kind, at = self._kept(m, fetched)
        a, index, shift = Signal(signed(WORD_BITS)), Signal(8), Signal(_COUNT_BITS - 1)
        x = self._operand(m, fetched, kind, at, a, index, read, last & (op == Op.ST))

        # The cycle that changes something, and those that an instruction has more.
        count = Signal(_COUNT_BITS)
        waits = changes & (op == Op.WAIT)
        shifts = (op == Op.SHL) | (op == Op.SHR) | (op == Op.SHLN)
        norm = changes & (op == Op.NORM)
        more = Signal()
        m.d.comb += [
            self.waits.eq(Mux(waits, 1 << at[:_WAIT_BITS], 0)),
            self.register.eq(at[_WAIT_BITS:]),
            last.eq(changes & ~more),
        ]
        with m.Switch(op):
            with m.Case(Op.WAIT):
                m.d.comb += more.eq(~(self.waits & self.there).any())
            with m.Case(Op.NORM):
                m.d.comb += more.eq(~a[_TOP])
            with m.Case(Op.MUL, Op.SHL, Op.SHR, Op.SHLN):
                m.d.comb += more.eq(count[1:].any())
        m.d.sync += [
            running.eq(1),
            read.eq(running & ~read & ~changes),
            changes.eq(read | (changes & ~last)),
        ]
        with m.If(changes):
            m.d.sync += count.eq(count - 1)
        with m.Else():
            m.d.sync += count.eq(Mux(op == Op.MUL, 3, Mux(op == Op.SHLN, shift, at)))
        with m.If(norm & more):
            m.d.sync += shift.eq(shift + 1)
        with m.Elif((op == Op.NORM) & read):
            m.d.sync += shift.eq(0)

        product = self._product(m, a, x, changes & (count == 3))
        self._accumulate(m, a, x, product, op, changes, count, shifts, norm & more)
        with m.If(last & (op == Op.IDX)):
            m.d.sync += index.eq(a[:8])
        with m.If(last & (op == Op.FLAG)):
            m.d.sync += self.flags.eq(self.flags | (1 << at[: (len(Flag) - 1).bit_length()]))
        with m.If(self.waits[WAITS.index("begin")]):
            m.d.sync += self.flags.eq(0)
        for n, name in enumerate(OUTPUTS):
            with m.If(last & (op == Op.OUT) & (at == n)):
                m.d.sync += self.values[name].eq(a)
        with m.If(running & last):
            m.d.comb += self._jumps.eq(
                (op == Op.JMP) | ((op == Op.JN) & a[-1]) | ((op == Op.JNN) & ~a[-1])
            )
        return m

    def _kept(self, m: Module, fetched: tuple[Value, ...]) -> list[Signal]:
        """The instruction from its second cycle on: what a memory gives, it gives late."""
        kept = [Signal(len(part), name=name) for part, name in zip(fetched, _PARTS, strict=True)]
        m.d.sync += [after.eq(part) for after, part in zip(kept, fetched, strict=True)]
        return kept

    def _fetch(self, m: Module, running: Signal, last: Signal) -> tuple[Value, Value, Value]:
        """The program; the next instruction is read in the last cycle of one."""
        words = self._program
        bits = words.address_bits
        code = words.instructions
        m.submodules.program = memory = Memory(
            shape=bits + 6, depth=len(code), init=code, attrs={"ram_style": "block"}
        )
        read = memory.read_port()
        self._jumps = Signal(name="jumps")
        here, place = Signal(range(len(code))), Signal(range(len(code)))
        m.d.comb += [
            place.eq(Mux(self._jumps, read.data, here + 1)),
            read.en.eq(last | ~running),
            read.addr.eq(Mux(running, place, 0)),
        ]
        with m.If(last):
            m.d.sync += here.eq(place)
        return read.data[bits + 2 :], read.data[bits : bits + 2], read.data[:bits]

    def _operand(
        self,
        m: Module,
        fetched: tuple[Value, Value, Value],
        kind: Value,
        at: Value,
        a: Signal,
        index: Signal,
        take: Signal,
        write: Value,
    ) -> Value:
        """The word or the port, as it is when it is taken."""
        words = self._program
        m.submodules.memory = memory = Memory(
            shape=signed(WORD_BITS),
            depth=words.words.depth,
            init=words.memory,
            attrs={"ram_style": "block", "no_rw_check": 1},
        )
        read, store = memory.read_port(), memory.write_port()
        own, place = Signal(len(at)), Signal(len(at))
        _, early_kind, early_at = fetched
        with m.Switch(early_kind):
            with m.Case(Kind.ROW):
                m.d.comb += own.eq(self.qp << words.words.row_shift)
            with m.Case(Kind.TABLE):
                m.d.comb += own.eq(index)
        # A word that is written is read in a later instruction.
        m.d.comb += [
            place.eq(early_at | own),
            read.addr.eq(place),
            read.en.eq(~write),
            store.addr.eq(place),
            store.data.eq(a),
            store.en.eq(write),
        ]
        ports = Array(self.ports[name] for name in PORTS)
        number = at[: (len(PORTS) - 1).bit_length()]
        x = Signal(signed(WORD_BITS))
        with m.If(take):
            m.d.sync += x.eq(Mux(kind == Kind.PORT, ports[number], read.data))
        return x

    def _product(self, m: Module, a: Signal, x: Value, high: Value) -> Value:
        """Of A's higher part, then of its lower one, and the operand; a cycle later."""
        m.submodules.multiplier = multiplier = Multiplier(_FACTOR_BITS, _FACTOR_BITS, dsp=self._dsp)
        upper = a[_LOW_BITS : _LOW_BITS + _FACTOR_BITS].as_signed()
        m.d.comb += [
            multiplier.a.eq(Mux(high, upper, Cat(a[:_LOW_BITS], Const(0, 1)).as_signed())),
            multiplier.b.eq(x),
        ]
        return multiplier.p

    def _accumulate(
        self,
        m: Module,
        a: Signal,
        x: Value,
        product: Value,
        op: Value,
        changes: Signal,
        count: Signal,
        shifts: Value,
        norm: Value,
    ) -> None:
        """A's next value: one adder, whose inputs are chosen before it."""
        left, right = Signal(signed(WORD_BITS)), Signal(signed(WORD_BITS))
        minus, writes = Signal(), Signal()
        with m.Switch(op):
            with m.Case(Op.LD):
                m.d.comb += [right.eq(x), writes.eq(1)]
            with m.Case(Op.ADD):
                m.d.comb += [left.eq(a), right.eq(x), writes.eq(1)]
            with m.Case(Op.SUB):
                m.d.comb += [left.eq(a), right.eq(~x), minus.eq(1), writes.eq(1)]
            with m.Case(Op.MUL):
                m.d.comb += [right.eq(product), writes.eq(count != 3)]
                with m.If(count == 1):
                    m.d.comb += left.eq(a << _LOW_BITS)
            with m.Case(Op.SHL, Op.SHLN, Op.NORM):
                m.d.comb += left.eq(a << 1)
        with m.If(shifts):
            m.d.comb += writes.eq(count != 0)
        with m.If(norm):
            m.d.comb += writes.eq(1)
        # One sum: what a difference adds comes from below.
        total = (Cat(Const(1, 1), left).as_signed() + Cat(minus, right).as_signed()) >> 1
        with m.If(changes & writes):
            m.d.sync += a.eq(Mux(op == Op.SHR, a >> 1, total))
