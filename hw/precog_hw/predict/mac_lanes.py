"""The MAC array's lanes: weights, products and sums."""

from amaranth.hdl import Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from precog_models.contract import ACC_BITS, HIDDEN, Fmt

from ..config import NicConfig
from ..dsp import Multiplier
from .layouts import GATES, Sizes, load_layout
from .pipeline import Delays
from .weights import add_recurrent_weights

__all__ = ["MacLanes"]


class MacLanes(wiring.Component):
    """A multiplier and an accumulator for each (gate, unit) at work.

    Latency: a beat is in the sums of group 0 `latency` cycles after it came, in those of each
    further group a cycle later. Throughput: a beat a cycle.
    Cost: ``lanes`` multipliers, ``lanes`` x 28-bit accumulators, 16 or 32 block RAMs.

    Parameters
    ----------
    config : NicConfig
        What is built.

    Members
    -------
    hidden : In(ArrayLayout(signed(16), ways))
        Hidden values, one for each way.
    addr : In
        Where their weights are: {set, beat, turn}.
    first : In(1)
        The sums start anew with this beat.
    load : In(load_layout)
        Writes into the weight memories.
    sums : Out(ArrayLayout(signed(28), 4 * units))
        Gate-major.
    """

    latency: int

    def __init__(self, config: NicConfig) -> None:
        self._config = config
        sizes = Sizes(config)
        self.latency = 4 + (sizes.ways == 2)
        turn_bits = sizes.turns.bit_length() - 1
        beat_bits = (HIDDEN // sizes.ways).bit_length() - 1
        super().__init__(
            {
                "hidden": In(data.ArrayLayout(signed(Fmt.H.width), sizes.ways)),
                "addr": In(turn_bits + beat_bits + config.set_bits),
                "first": In(1),
                "load": In(load_layout(config)),
                "sums": Out(data.ArrayLayout(signed(ACC_BITS), GATES * sizes.units)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, sizes = self._config, Sizes(self._config)
        delay = Delays(m)
        # Stages 1 to 3 (4 with two ways): product; then the sum.
        weight = add_recurrent_weights(m, config, self.load)
        hidden_1 = delay(self.hidden, 1)
        for gate in range(GATES):
            for unit in range(sizes.units):
                skew = unit // config.columns
                word_skew = unit // 4 * 4 // config.columns
                products = []
                for way in range(sizes.ways):
                    port = weight(way, gate, unit // 4)
                    m.d.comb += port.addr.eq(delay(self.addr, word_skew))
                    byte = delay(port.data, skew - word_skew)[unit % 4 * 8 :][:8]
                    mult = Multiplier(8, Fmt.H.width, dsp=config.dsp, input_register=True)
                    m.submodules[f"mac_{way}_{gate}_{unit}"] = mult
                    m.d.comb += [
                        mult.a.eq(byte.as_signed()),
                        mult.b.eq(delay(hidden_1, skew)[way]),
                    ]
                    products.append(mult.p)
                if sizes.ways == 2:
                    pair = Signal(signed(25), name=f"pair_{gate}_{unit}", reset_less=True)
                    m.d.sync += pair.eq(products[0] + products[1])
                    products = [pair]
                total = Signal(signed(ACC_BITS), name=f"acc_{gate}_{unit}", reset_less=True)
                restart = delay(self.first, self.latency - 1 + skew)
                m.d.sync += total.eq(Mux(restart, 0, total) + products[0])
                m.d.comb += self.sums[gate * sizes.units + unit].eq(total)
        return m
