"""Powers of 1 - g for DCQCN's alpha: a table that makes itself when g changes."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from precog_hw.rate.fractions import SCALE_CALL
from precog_spec.law_fields import DECAY_BITS, DECAY_LEVELS, FRACTION

__all__ = ["DecayTable"]

_ONE = FRACTION.one
_DIGITS = 1 << DECAY_BITS


class DecayTable(wiring.Component):
    """(1-g)**(digit * 16**level), as `precog_models.rate.fractions.decay_table`.

    Latency: 1 cycle from `level` and `digit` to `power`; from `make` to `made` 1 cycle, and 720
    more if g is not the one that the table is of.
    Cost: 64 words of 25 bits, 100 flip-flops.

    Members
    -------
    g : In(24)
        To be held from `make` to `made`.
    make : In(1)
        See that the table is of `g`.
    made : Out(1)
        Strobe: it is.
    level : In(2)
    digit : In(4)
    power : Out(25)
    scale : Out(SCALE_CALL)
    """

    g: In(FRACTION.frac_bits)
    make: In(1)
    made: Out(1)
    level: In(range(DECAY_LEVELS))
    digit: In(DECAY_BITS)
    power: Out(FRACTION.width)
    scale: Out(SCALE_CALL)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.powers = powers = Memory(
            shape=FRACTION.width, depth=_DIGITS << 2, init=[], attrs={"ram_style": "distributed"}
        )
        write, read = powers.write_port(), powers.read_port()
        at = Signal(DECAY_BITS + 2)  # digit and level that are next
        current, base = Signal(FRACTION.width), Signal(FRACTION.width)
        of, any_g = Signal.like(self.g), Signal()
        last = at[:DECAY_BITS].all()
        m.d.comb += [
            read.addr.eq(Cat(self.digit, self.level)),
            self.power.eq(read.data),
            write.addr.eq(at),
            write.data.eq(current),
            self.scale.value.eq(current),
            self.scale.factor.eq(base),
        ]
        with m.FSM(name="decay"):
            with m.State("IDLE"), m.If(self.make):
                m.next = "MADE"
                with m.If(~any_g | (of != self.g)):
                    m.d.sync += [
                        of.eq(self.g),
                        any_g.eq(1),
                        at.eq(0),
                        current.eq(_ONE),
                        base.eq(_ONE - self.g),
                    ]
                    m.next = "WRITE"
            with m.State("WRITE"):
                m.d.comb += [write.en.eq(1), self.scale.stb.eq(1)]
                m.next = "WAIT"
            with m.State("WAIT"), m.If(self.scale.done):
                m.d.sync += [at.eq(at + 1), current.eq(Mux(last, _ONE, self.scale.p))]
                with m.If(last):
                    m.d.sync += base.eq(self.scale.p)
                m.next = "WRITE"
                with m.If(at == DECAY_LEVELS * _DIGITS - 1):
                    m.next = "MADE"
            with m.State("MADE"):
                m.d.comb += self.made.eq(1)
                m.next = "IDLE"
        return m
