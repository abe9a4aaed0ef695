"""RTTpred = (1 + out) * S, thesis (12); golden model `precog_models.predict.rtt_head`."""

from amaranth.hdl import Cat, Module, Mux, Signal, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from precog_spec.contract import Fmt

from ..dsp import Multiplier

__all__ = ["RTT_HEAD_INPUT", "RttHead"]

RTT_HEAD_INPUT = data.StructLayout({"out": signed(Fmt.OUT.width), "srtt": Fmt.SRTT.width})

_HALF = Fmt.SRTT.width // 2


class RttHead(wiring.Component):
    """Predicted RTT from an output of the engine and the smoothed RTT.

    ::

        out ─► 1 + out ─┬► × S[31:16] ─┐
                        └► × S[15:0] ──┴► + ─► limit

    Latency: 4 cycles. Throughput: one in 5 cycles. Cost: 2 multipliers, about 150 LUTs.

    Members
    -------
    i : In(stream of RTT_HEAD_INPUT)
        Output in OUT's format, S in SRTT's.
    o : Out(stream of unsigned(32))
        The prediction in SRTT's format, rounded down and limited to it.

    Parameters
    ----------
    dsp : str
        ``"generic"`` or ``"ecp5"``.
    """

    latency = 4

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
        # One sample at a time: the operands stay put, so the multipliers' registers need not stop.
        steps = Signal(self.latency - 1)
        idle = ~steps.any() & ~self.o.valid
        take = Signal()
        m.d.comb += [self.i.ready.eq(idle), take.eq(self.i.valid & idle)]
        m.d.sync += steps.eq(Cat(take, steps))

        factor = Signal(signed(Fmt.OUT.width + 1), reset_less=True)  # 1 + out < 9
        srtt = Signal(Fmt.SRTT.width, reset_less=True)
        with m.If(take):
            m.d.sync += [
                factor.eq(self.i.payload.out + Fmt.OUT.one),
                srtt.eq(self.i.payload.srtt),
            ]
        products = []
        for name, half in (("low", srtt[:_HALF]), ("high", srtt[_HALF:])):
            mult = Multiplier(Fmt.OUT.width + 1, _HALF + 1, dsp=self._dsp)
            m.submodules[name] = mult
            m.d.comb += [mult.a.eq(factor), mult.b.eq(half)]
            products.append(mult.p)
        low, high = products
        total = Signal(signed(Fmt.OUT.width + 1 + Fmt.SRTT.width), reset_less=True)
        m.d.sync += total.eq(low + (high << _HALF))
        value = total[Fmt.OUT.frac_bits : -1]
        over = value[Fmt.SRTT.width :].any()
        limited = value[: Fmt.SRTT.width] | over.replicate(Fmt.SRTT.width)
        with m.If(steps[-1]):
            m.d.sync += [
                self.o.payload.eq(Mux(total < 0, 0, limited)),
                self.o.valid.eq(1),
            ]
        with m.Elif(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        return m
