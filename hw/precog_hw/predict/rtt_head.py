"""RTTpred = (1 + out) * S, thesis (12); golden model `precog_models.predict.rtt_head`."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from precog_spec.contract import Fmt

from ..dsp import Multiplier
from ..fixed import carry_save, widened

__all__ = ["RttHead"]

_HALF = Fmt.SRTT.width // 2


class RttHead(wiring.Component):
    """Predicted RTT from an output of the engine and the smoothed RTT.

    ::

        soon ─┬► × S[31:16] ─┐
              └► × S[15:0] ──┴► + S ─► limit

    Latency: 1 cycle, 2 from `soon`. Throughput: one in 2 cycles. Cost: 2 multipliers, about 250
    LUTs.

    Members
    -------
    soon : In(signed(16))
        An output in OUT's format, a cycle before it is offered.
    sure : In(1)
        It was the output offered now; otherwise `i` waits.
    i : In(stream of unsigned(32))
        S in SRTT's format. It must have been there in the cycle before, too.
    o : Out(stream of unsigned(32))
        The prediction in SRTT's format, rounded down and limited to it: two levels of logic after
        a register.

    Parameters
    ----------
    dsp : str
        ``"generic"`` or ``"ecp5"``.
    """

    latency = 1

    def __init__(self, *, dsp: str) -> None:
        self._dsp = dsp
        super().__init__(
            {
                "soon": In(signed(Fmt.OUT.width)),
                "sure": In(1),
                "i": In(stream.Signature(Fmt.SRTT.width)),
                "o": Out(stream.Signature(Fmt.SRTT.width)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # The multipliers' registers need not stop: `soon` and S stay while a sample waits.
        m.d.comb += self.i.ready.eq(self.sure & ~self.o.valid)

        # The multipliers need their inputs early: one plus the output is not formed before them.
        out, srtt = self.soon, self.i.payload
        kept = Signal.like(srtt, reset_less=True)
        m.d.sync += kept.eq(srtt)
        products = []
        for name, half in (("low", srtt[:_HALF]), ("high", srtt[_HALF:])):
            mult = Multiplier(Fmt.OUT.width, _HALF + 1, dsp=self._dsp)
            m.submodules[name] = mult
            m.d.comb += [mult.a.eq(out), mult.b.eq(half)]
            products.append(mult.p)
        total = Signal(signed(Fmt.OUT.width + 1 + Fmt.SRTT.width), reset_less=True)
        low, high = products
        terms = (
            low,
            Cat(Const(0, _HALF), high),
            Cat(Const(0, Fmt.OUT.frac_bits), kept, Const(0, 1)),
        )
        a, b = carry_save(*(widened(term, len(total)) for term in terms))
        with m.If(~self.o.valid):
            m.d.sync += [total.eq(a + b), self.o.valid.eq(self.i.valid & self.sure)]
        with m.Elif(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        value = total[Fmt.OUT.frac_bits : -1]
        over = value[Fmt.SRTT.width :].any()
        limited = value[: Fmt.SRTT.width] | over.replicate(Fmt.SRTT.width)
        m.d.comb += self.o.payload.eq(Mux(total < 0, 0, limited))
        return m
