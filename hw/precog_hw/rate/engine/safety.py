"""The safety layer: what leaves the engine, whatever its programs say, and the safe law.

The golden model is `precog_models.rate.engine.unit`.
"""

from amaranth.hdl import Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.rate.law_layouts import BOUNDS, beyond, within
from precog_spec.contract import Fmt
from precog_spec.engine.events import Kind
from precog_spec.engine.image_fields import SAFE_FALL, SAFE_RISE

__all__ = ["SAID", "Safety"]

_RATE = Fmt.RATE.width
_WINDOW = Fmt.WINDOW.width

#: Which law decides, and the program's answer.
SAID = data.StructLayout(
    {
        "safe": unsigned(1),  # the slot has no program: the safe law
        "trapped": unsigned(1),  # neither: rate and window are held
        "rated": unsigned(1),
        "windowed": unsigned(1),  # a window was stored
        "windows": unsigned(1),  # the program has windows
        "rate": unsigned(_RATE),
        "window": unsigned(_WINDOW),
    }
)


class Safety(wiring.Component):
    """Rate and window in force after an event.

    Latency: 3 cycles, in which all inputs stay the same. Throughput: an event in 4 cycles.

    Members
    -------
    said : In(SAID)
    kind : In(3)
        Of the event.
    above : In(1)
        Its RTT is above the threshold: nothing rises.
    rate, window : In(32)
        In force before; the rate is within its bounds.
    bounds : In(BOUNDS)
    mtu : In(16)
        Least window.
    o_rate, o_window : Out(32)
    """

    said: In(SAID)
    kind: In(3)
    above: In(1)
    rate: In(_RATE)
    window: In(_WINDOW)
    bounds: In(BOUNDS)
    mtu: In(16)
    o_rate: Out(_RATE)
    o_window: Out(_WINDOW)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        said, bounds = self.said, self.bounds
        wanted, window = Signal(_RATE + 1), Signal(_WINDOW)
        m.d.sync += [wanted.eq(self.rate), window.eq(self.window)]
        with m.If(said.safe):
            m.d.sync += [wanted.eq(self._safe()), window.eq(0)]
        with m.Elif(~said.trapped):
            least = Mux(said.window < self.mtu, self.mtu, said.window)
            m.d.sync += wanted.eq(Mux(said.rated, said.rate, self.rate))
            with m.If(~said.windows):
                m.d.sync += window.eq(0)
            with m.Elif(said.windowed):
                m.d.sync += window.eq(least)
        inside = Signal(_RATE)
        out = Signal(2)
        m.d.sync += [out.eq(beyond(wanted, bounds)), inside.eq(within(wanted, bounds, out))]
        # Where the wanted rate is above the present one, which is in bounds, it is not below it
        # within them. No window is the largest one.
        holds_rate, holds_window = Signal(), Signal()
        wider = (self.window != 0) & ((window == 0) | (window > self.window))
        m.d.sync += [
            holds_rate.eq(self.above & (wanted > self.rate)),
            holds_window.eq(self.above & wider),
        ]
        m.d.comb += [
            self.o_rate.eq(Mux(holds_rate, self.rate, inside)),
            self.o_window.eq(Mux(holds_window, self.window, window)),
        ]
        return m

    def _safe(self) -> Value:
        """Rate of the safe law."""
        timed = (self.kind == Kind.ACK) | (self.kind == Kind.SAMPLE)
        cuts = (self.kind == Kind.CNP) | (self.kind == Kind.LOSS)
        up = self.rate + (self.bounds.max_rate >> SAFE_RISE)
        down = (self.rate - (self.rate >> SAFE_FALL))[:_RATE]
        half = (self.rate - (self.rate >> 1))[:_RATE]
        return Mux(self.above, down, Mux(timed, up, Mux(cuts, half, self.rate)))
