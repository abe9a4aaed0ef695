"""The MAC array's lanes: weights, products and sums."""

from amaranth.hdl import Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.near import near
from precog_spec.config import NicConfig
from precog_spec.contract import ACC_BITS, HIDDEN, Fmt

from ..dsp import Multiplier
from .layouts import Sizes, answer_layout, load_layout, place_layout
from .pipeline import Delays
from .taps import Taps
from .weights import add_recurrent_weights

__all__ = ["MacLanes"]


class MacLanes(wiring.Component):
    """A multiplier and an accumulator for each (gate, unit) at work.

    Latency: a beat is in the sums of group 0 `latency` cycles after it came, in those of each
    further group a cycle later. Throughput: a beat a cycle.
    Cost: ``lanes`` multipliers, ``lanes`` x 28-bit accumulators, 1 (4 lanes) to 32 block RAMs.

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
    place, stolen, scrubbed : In(place_layout), In(1), Out(answer_layout)
        With `config.ecc`: `addr` is that of `place`; the word, once.
    sums : Out(ArrayLayout(signed(28), lanes / ways))
        Gate-major.
    """

    latency: int

    def __init__(self, config: NicConfig) -> None:
        self._config = config
        sizes = Sizes(config)
        self.latency = 5 + (sizes.ways == 2)
        beat_bits = (HIDDEN // sizes.ways).bit_length() - 1
        super().__init__(
            {
                "hidden": In(data.ArrayLayout(signed(Fmt.H.width), sizes.ways)),
                "addr": In(sizes.turn_bits + beat_bits + config.set_bits),
                "first": In(1),
                "load": In(load_layout(config)),
                "sums": Out(data.ArrayLayout(signed(ACC_BITS), sizes.gates * sizes.units)),
            }
            | (
                {
                    "place": In(place_layout(config)),
                    "stolen": In(1),
                    "scrubbed": Out(answer_layout()),
                }
                if config.ecc
                else {}
            )
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, sizes = self._config, Sizes(self._config)
        delay = Delays(m)
        # Stages 1 to 4 (5 with two ways): weight, product; then the sum. A block of weights serves
        # units in all columns, which lie across the device: registers on both sides halve the way.
        # So do those of the hidden values and of the sums' start, one for each reader.
        taps = Taps(m, self.place, self.stolen) if config.ecc else None
        weight = add_recurrent_weights(m, config, self.load, taps)
        if taps is not None:
            m.d.comb += self.scrubbed.eq(taps.answer())
        columns, dsp = config.columns, config.dsp
        hidden = {
            (group, column): near(
                m,
                f"hidden_{group}_{column}",
                delay(self.hidden, 1 + group).as_value(),
                dsp=dsp,
            )
            for group in range(sizes.units // columns)
            for column in range(columns)
        }
        for gate in range(sizes.gates):
            for unit in range(sizes.units):
                skew, column = divmod(unit, columns)
                word_skew = unit // 4 * 4 // columns
                products = []
                for way in range(sizes.ways):
                    port = weight(way, gate, unit // 4)
                    m.d.comb += port.addr.eq(delay(self.addr, word_skew))
                    byte = delay(port.data, skew - word_skew)[unit % 4 * 8 :][:8]
                    own = Signal(signed(8), name=f"weight_{way}_{gate}_{unit}", reset_less=True)
                    m.d.sync += own.eq(byte.as_signed())
                    mult = Multiplier(8, Fmt.H.width, dsp=dsp, input_register=True)
                    m.submodules[f"mac_{way}_{gate}_{unit}"] = mult
                    m.d.comb += [
                        mult.a.eq(own),
                        mult.b.eq(hidden[skew, column].word_select(way, Fmt.H.width).as_signed()),
                    ]
                    products.append(mult.p)
                if sizes.ways == 2:
                    pair = Signal(signed(25), name=f"pair_{gate}_{unit}", reset_less=True)
                    m.d.sync += pair.eq(products[0] + products[1])
                    products = [pair]
                total = Signal(signed(ACC_BITS), name=f"acc_{gate}_{unit}", reset_less=True)
                restart = near(
                    m, f"restart_{gate}_{unit}", delay(self.first, self.latency - 2 + skew), dsp=dsp
                )
                m.d.sync += total.eq(Mux(restart, 0, total) + products[0])
                m.d.comb += self.sums[gate * sizes.units + unit].eq(total)
        return m
