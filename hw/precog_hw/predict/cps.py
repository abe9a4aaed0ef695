"""The Congestion Prediction Score; golden model `precog_models.predict.cps`.

`ScoreTable` turns a position into a score through a table that the host loads, one for each kind of
model; `RttPosition` finds the position of a predicted RTT.
"""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from precog_spec.contract import CALIBRATION_KNOTS, PROBABILITY, Fmt

__all__ = ["KNOT_WRITE", "POSITION", "PREDICTION", "SCORE_BITS", "RttPosition", "ScoreTable"]

SCORE_BITS = 7
_KNOT_BITS = (CALIBRATION_KNOTS - 1).bit_length()
_STEP_BITS = PROBABILITY.frac_bits - (_KNOT_BITS - 1)
_WIDTH = PROBABILITY.width

#: Whose table (`contract.HeadKind`), and where in it.
POSITION = data.StructLayout({"table": 1, "position": _WIDTH})
KNOT_WRITE = data.StructLayout({"en": 1, "table": 1, "knot": _KNOT_BITS, "value": _WIDTH})
PREDICTION = data.StructLayout({"predicted": Fmt.SRTT.width, "base": Fmt.RTT.width})


class ScoreTable(wiring.Component):
    """Score 0..100 at a position, by interpolation between its two neighbouring knots.

    Latency: `LATENCY` cycles, 16. Throughput: one in 17 cycles. Cost: 1 block RAM, no multiplier.
    After power-up both tables change nothing.

    Members
    -------
    i : In(stream of POSITION)
        A position, 0..32768.
    o : Out(stream of unsigned(7))
        Its score.
    put : In(KNOT_WRITE)
        Write a knot; a value above 1 counts as 1.
    query_table, query_knot : In(1), In(7); query : Out(16)
        Read port of the tables: the knot's value, some cycles later, and later still under load.
    """

    LATENCY = 16

    i: In(stream.Signature(POSITION))
    o: Out(stream.Signature(SCORE_BITS))
    put: In(KNOT_WRITE)
    query_table: In(1)
    query_knot: In(_KNOT_BITS)
    query: Out(_WIDTH)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        identity = [min(n << _STEP_BITS, PROBABILITY.one) for n in range(1 << _KNOT_BITS)]
        m.submodules.knots = knots = Memory(
            shape=_WIDTH, depth=2 << _KNOT_BITS, init=identity + identity
        )
        write, read = knots.write_port(), knots.read_port()
        put = self.put
        m.d.comb += [
            write.en.eq(put.en),
            write.addr.eq(Cat(put.knot, put.table)),
            write.data.eq(Mux(put.value > PROBABILITY.one, PROBABILITY.one, put.value)),
        ]

        asked = Signal(POSITION, reset_less=True)
        at = Signal(_KNOT_BITS)
        digits = Signal(_STEP_BITS, reset_less=True)  # of the place between the knots, highest next
        left = Signal(range(_STEP_BITS), reset_less=True)
        low = Signal(_WIDTH, reset_less=True)
        rise = Signal(signed(_WIDTH + 1), reset_less=True)
        product = Signal(signed(_WIDTH + 1 + _STEP_BITS), reset_less=True)
        value = Signal(_WIDTH, reset_less=True)
        thrice = Signal(_WIDTH + 2, reset_less=True)
        idle = Signal()
        with m.If(idle):
            m.d.sync += self.query.eq(read.data)
        m.d.comb += [
            at.eq(asked.position >> _STEP_BITS),
            read.addr.eq(Cat(self.query_knot, self.query_table)),
        ]
        m.d.sync += idle.eq(0)
        with m.FSM(name="score"):
            with m.State("IDLE"):
                m.d.comb += self.i.ready.eq(1)
                m.d.sync += [asked.eq(self.i.payload), idle.eq(1)]
                with m.If(self.i.valid):
                    m.next = "LOW"
            with m.State("LOW"):
                m.d.comb += read.addr.eq(Cat(at, asked.table))
                m.next = "HIGH"
            with m.State("HIGH"):
                # At 1 there is no knot above, and no way to go towards it.
                m.d.comb += read.addr.eq(Cat((at + 1)[:_KNOT_BITS], asked.table))
                m.d.sync += low.eq(read.data)
                m.next = "RISE"
            with m.State("RISE"):
                m.d.sync += [
                    rise.eq(read.data - low),
                    product.eq(0),
                    digits.eq(asked.position),
                    left.eq(_STEP_BITS - 1),
                ]
                m.next = "MULTIPLY"
            with m.State("MULTIPLY"):
                m.d.sync += [
                    product.eq((product << 1) + Mux(digits[-1], rise, 0)),
                    digits.eq(digits << 1),
                    left.eq(left - 1),
                ]
                with m.If(left == 0):
                    m.next = "VALUE"
            with m.State("VALUE"):
                rounded = (product + (1 << (_STEP_BITS - 1))) >> _STEP_BITS
                m.d.sync += value.eq(low + rounded)
                m.next = "THRICE"
            with m.State("THRICE"):
                m.d.sync += thrice.eq(value + (value << 1))
                m.next = "PERCENT"
            with m.State("PERCENT"):
                half = 1 << (PROBABILITY.frac_bits - 1)
                percent = (thrice << 5) + Cat(Const(0, 2), value) + half  # 100 = 3 * 32 + 4
                m.d.sync += self.o.payload.eq(percent >> PROBABILITY.frac_bits)
                m.next = "DONE"
            with m.State("DONE"):
                m.d.comb += self.o.valid.eq(1)
                with m.If(self.o.ready):
                    m.next = "IDLE"
        return m


class RttPosition(wiring.Component):
    """Queueing delay of a predicted RTT over a budget, limited to 2, by long division.

    Latency: `LATENCY` cycles, 17. Throughput: one in 18 cycles. Cost: about 150 LUTs.

    Members
    -------
    i : In(stream of PREDICTION)
        Predicted RTT in SRTT's format, base RTT in ticks.
    budget : In(24)
        Ticks; 0 counts as 1. To be changed between predictions.
    o : Out(stream of unsigned(16))
        Position, 16384 at the budget.
    """

    LATENCY = 17

    i: In(stream.Signature(PREDICTION))
    budget: In(Fmt.RTT.width)
    o: Out(stream.Signature(_WIDTH))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # The quotient's integer part is 0, or the result is at its limit: as many bits of the
        # delay as the limit leaves are the first remainder, the others follow one by one.
        follow = Fmt.SRTT.frac_bits + 1
        divisor = Signal(Fmt.RTT.width, reset_less=True)
        delay = Signal(Fmt.SRTT.width, reset_less=True)
        rest = Signal(Fmt.RTT.width, reset_less=True)
        step = Signal(range(PROBABILITY.frac_bits + 1))
        queueing = Signal(signed(Fmt.SRTT.width + 1))
        m.d.comb += queueing.eq(
            self.i.payload.predicted - Cat(Const(0, Fmt.SRTT.frac_bits), self.i.payload.base)
        )
        trial = Signal(Fmt.RTT.width + 1)
        m.d.comb += trial.eq(Cat(delay[follow - 1], rest))
        fits = trial >= divisor
        with m.FSM(name="division"):
            with m.State("IDLE"):
                m.d.comb += self.i.ready.eq(1)
                m.d.sync += [
                    delay.eq(Mux(queueing < 0, 0, queueing[: Fmt.SRTT.width])),
                    divisor.eq(Mux(self.budget == 0, 1, self.budget)),
                    step.eq(0),
                ]
                with m.If(self.i.valid):
                    m.next = "LIMIT"
            with m.State("LIMIT"):
                m.d.sync += [rest.eq(delay[follow:]), self.o.payload.eq(PROBABILITY.one)]
                m.next = "DIVIDE"
                with m.If(delay[follow:] >= divisor):
                    m.next = "LIMITED"
            with m.State("LIMITED"):
                m.d.sync += step.eq(step + 1)
                with m.If(step == PROBABILITY.frac_bits - 1):
                    m.next = "DONE"
            with m.State("DIVIDE"):
                m.d.sync += [
                    step.eq(step + 1),
                    delay.eq(delay << 1),
                    rest.eq(Mux(fits, trial - divisor, trial)),
                    self.o.payload.eq(Cat(fits, self.o.payload[: PROBABILITY.frac_bits - 1])),
                ]
                with m.If(step == PROBABILITY.frac_bits - 1):
                    m.next = "DONE"
            with m.State("DONE"):
                m.d.comb += self.o.valid.eq(1)
                with m.If(self.o.ready):
                    m.next = "IDLE"
        return m
