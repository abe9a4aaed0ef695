"""RTTpred = (1 + out) * S, thesis (12); golden model `precog_models.predict.rtt_head`."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from precog_spec.contract import Fmt

from ..dsp import Multiplier
from ..fixed import carry_save, widened

__all__ = ["RTT_HEAD_INPUT", "RttHead"]

RTT_HEAD_INPUT = data.StructLayout({"out": signed(Fmt.OUT.width), "srtt": Fmt.SRTT.width})

_HALF = Fmt.SRTT.width // 2


class RttHead(wiring.Component):
    """Predicted RTT from an output of the engine and the smoothed RTT.

    ::

        out ─┬► × S[31:16] ─┐
             └► × S[15:0] ──┴► + S ─► limit

    Latency: 2 cycles. Throughput: one in 3 cycles. Cost: 2 multipliers, about 250 LUTs.

    Members
    -------
    i : In(stream of RTT_HEAD_INPUT)
        Output in OUT's format, S in SRTT's.
    o : Out(stream of unsigned(32))
        The prediction in SRTT's format, rounded down and limited to it: two levels of logic after
        a register.

    Parameters
    ----------
    dsp : str
        ``"generic"`` or ``"ecp5"``.
    """

    latency = 2

    def __init__(self, *, dsp: str) -> None:
        self._dsp = dsp
        super().__init__(
            {
                "i": In(stream.Signature(RTT_HEAD_INPUT)),
                "o": Out(stream.Signature(Fmt.SRTT.width)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # One sample at a time: the multipliers' registers need not stop.
        taken = Signal()
        m.d.comb += self.i.ready.eq(~taken & ~self.o.valid)
        m.d.sync += taken.eq(self.i.valid & self.i.ready)

        # The multipliers need their inputs early: one plus the output is not formed before them.
        out, srtt = self.i.payload.out, self.i.payload.srtt
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
        with m.If(taken):
            m.d.sync += [total.eq(a + b), self.o.valid.eq(1)]
        with m.Elif(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        value = total[Fmt.OUT.frac_bits : -1]
        over = value[Fmt.SRTT.width :].any()
        limited = value[: Fmt.SRTT.width] | over.replicate(Fmt.SRTT.width)
        m.d.comb += self.o.payload.eq(Mux(total < 0, 0, limited))
        return m
