"""The MAC array: Wh . h of waiting hidden vectors, written back as the next step's partial sums.

Golden model `precog_models.predict.lstm.recur`. Nothing here is on the path from a sample to its
prediction: the array works for the windows to come.
"""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from precog_models.contract import ACC_BITS, HIDDEN, Fmt

from ..config import NicConfig
from ..dsp import Multiplier
from .cell import state_write_layout
from .layouts import (
    GATES,
    PASSES,
    Sizes,
    load_layout,
    pass_layout,
    slot_layout,
)
from .pipeline import Delays
from .weights import add_biases, add_recurrent_weights, add_shifts, pick_unit

__all__ = ["MacArray"]


class MacArray(wiring.Component):
    """Multiply-accumulate lanes with a queue of hidden vectors before them.

    ::

        row, h ─► queue ─► h_j ─┬► group 0: lanes ─► Σ ─┐
                                └► group 1 (a cycle later) ─► Σ ─┤─► shift ─► + b ─► limit ─► state
                                       ...                       ┘

    Groups of units are skewed by a cycle each, so that their sums leave one a cycle and h travels
    through registers instead of fanning out.

    Latency: about `pass_cycles` + ``units / columns`` + 12 from a complete vector to `done`.
    Throughput: a vector in `pass_cycles` (16 at 64 lanes, 64 at 16, 8 at 128).
    Cost: ``lanes`` multipliers, ``lanes`` x 28-bit accumulators, 16 or 32 block RAMs.

    Parameters
    ----------
    config : NicConfig
        What is built.

    Members
    -------
    row : In(slot_layout), h : In(ArrayLayout(signed(16), columns))
        Hidden values from the element-wise pipe; the queue must have room (the sequencer counts).
    load : In(load_layout)
        Writes into the weight memories.
    state : Out(state_write_layout)
        The next step's partial sums.
    done : Out(1), done_pass : Out(pass_layout)
        A vector's last group has been written.
    busy : Out(1)
        A vector waits or is being worked on; low some cycles before the last sums are written.
    """

    def __init__(self, config: NicConfig) -> None:
        self._config = config
        sizes = Sizes(config)
        self.pass_cycles = HIDDEN // sizes.ways * sizes.turns
        super().__init__(
            {
                "row": In(slot_layout(config)),
                "h": In(data.ArrayLayout(signed(Fmt.H.width), config.columns)),
                "load": In(load_layout(config)),
                "state": Out(state_write_layout(config)),
                "done": Out(1),
                "done_pass": Out(pass_layout(config)),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, sizes = self._config, Sizes(self._config)
        columns, ways = config.columns, sizes.ways
        delay = Delays(m)
        descriptor = pass_layout(config)
        groups = sizes.units // columns  # at work in one turn

        # The queue: a row for each group, and a descriptor for each pass.
        m.submodules.queue = queue = Memory(
            shape=columns * Fmt.H.width, depth=PASSES * sizes.groups, init=[]
        )
        m.submodules.passes = passes = Memory(shape=descriptor, depth=PASSES, init=[])
        put, get = queue.write_port(), queue.read_port(domain="comb")
        put_pass, get_pass = passes.write_port(), passes.read_port(domain="comb")
        tail, head = Signal(range(PASSES)), Signal(range(PASSES))
        waiting = Signal(range(PASSES + 1))
        take = Signal()
        row_en = Signal()
        pass_en = Signal()
        m.d.comb += [
            row_en.eq(self.row.valid & self.row.done & ~self.row.final),
            pass_en.eq(row_en & self.row.last_group),
            put.en.eq(row_en),
            put.addr.eq(Cat(self.row.group, tail)),
            put.data.eq(self.h.as_value()),
            put_pass.en.eq(pass_en),
            put_pass.addr.eq(tail),
            put_pass.data.qp.eq(self.row.qp),
            put_pass.data.set.eq(self.row.set),
            put_pass.data.step.eq(self.row.step + 1),
            put_pass.data.job.eq(self.row.job),
            put_pass.data.last.eq(self.row.last_pass),
        ]
        m.d.sync += [tail.eq(tail + pass_en), waiting.eq(waiting + pass_en - take)]

        # Walk over a pass: `turns` times over the hidden values.
        beats = HIDDEN // ways
        beat = Signal(range(beats))
        turn = Signal(range(max(sizes.turns, 2)))
        active = Signal()
        last_beat, last_turn = Signal(), Signal()
        m.d.sync += last_beat.eq(active & (beat == beats - 2))
        m.d.comb += [
            last_turn.eq(turn == sizes.turns - 1),
            take.eq(last_beat & last_turn),
        ]
        with m.If(active):
            m.d.sync += beat.eq(beat + 1)
            with m.If(last_beat):
                m.d.sync += turn.eq(Mux(last_turn, 0, turn + 1))
        with m.If(take):
            m.d.sync += [head.eq(head + 1), active.eq(waiting > 1)]
        with m.Elif(~active):
            m.d.sync += active.eq(waiting != 0)

        m.d.comb += self.busy.eq(active | (waiting != 0))

        # A row of the queue; then stage 0: the hidden values and the weights' address.
        row = Signal(columns * Fmt.H.width, reset_less=True)
        m.d.sync += row.eq(get.data)
        beat_0, turn_0 = delay(beat, 1), delay(turn, 1)
        pass_0 = Signal(descriptor, reset_less=True)
        lane_bits = (columns // ways).bit_length() - 1
        turn_bits = sizes.turns.bit_length() - 1
        m.d.comb += [
            get.addr.eq(Cat(beat[lane_bits:], head)),
            get_pass.addr.eq(head),
        ]
        hidden = Signal(data.ArrayLayout(signed(Fmt.H.width), ways), reset_less=True)
        addr = Signal(turn_bits + len(beat) + config.set_bits, reset_less=True)
        first, last = Signal(reset_less=True), Signal()
        this_turn = Signal.like(turn, reset_less=True)
        this_pass = Signal(descriptor, reset_less=True)
        m.d.sync += [
            pass_0.eq(get_pass.data),
            hidden.eq(row.word_select(beat_0[:lane_bits], ways * Fmt.H.width)),
            addr.eq(Cat(turn_0[:turn_bits], beat_0, pass_0.set)),
            first.eq(beat_0 == 0),
            last.eq(delay(last_beat, 1, reset=True)),
            this_turn.eq(turn_0),
            this_pass.eq(pass_0),
        ]

        # Stages 1 to 3 (4 with two ways): product; then the sum.
        weight = add_recurrent_weights(m, config, self.load)
        product_at = 3 + (ways == 2)
        sum_at = product_at + 1
        hidden_1 = delay(hidden, 1)
        sums: dict[tuple[int, int], Signal] = {}
        for gate in range(GATES):
            for unit in range(sizes.units):
                skew = unit // columns
                word_skew = unit // 4 * 4 // columns
                products = []
                for way in range(ways):
                    port = weight(way, gate, unit // 4)
                    m.d.comb += port.addr.eq(delay(addr, word_skew))
                    byte = delay(port.data, skew - word_skew)[unit % 4 * 8 :][:8]
                    mult = Multiplier(8, Fmt.H.width, dsp=config.dsp, input_register=True)
                    m.submodules[f"mac_{way}_{gate}_{unit}"] = mult
                    m.d.comb += [
                        mult.a.eq(byte.as_signed()),
                        mult.b.eq(delay(hidden_1, skew)[way]),
                    ]
                    products.append(mult.p)
                if ways == 2:
                    pair = Signal(signed(25), name=f"pair_{gate}_{unit}", reset_less=True)
                    m.d.sync += pair.eq(products[0] + products[1])
                    products = [pair]
                total = Signal(signed(ACC_BITS), name=f"acc_{gate}_{unit}", reset_less=True)
                restart = delay(first, product_at + skew)
                m.d.sync += total.eq(Mux(restart, 0, total) + products[0])
                sums[gate, unit] = total

        # The drain: one group a cycle from stage `sum_at` on.
        draining = Signal()
        group = Signal(range(max(groups, 2)))
        drained = Signal(descriptor, reset_less=True)
        drained_turn = Signal.like(turn, reset_less=True)
        begin = delay(last, sum_at - 2, reset=True)
        begin_pass, begin_turn = delay(this_pass, sum_at - 2), delay(this_turn, sum_at - 2)
        with m.If(begin):
            m.d.sync += [
                draining.eq(1),
                group.eq(0),
                drained.eq(begin_pass),
                drained_turn.eq(begin_turn),
            ]
        with m.Elif(draining):
            m.d.sync += [draining.eq(group != groups - 1), group.eq(group + 1)]
        whole = Signal(max(sizes.group_bits, 1))
        group_bits = groups.bit_length() - 1
        m.d.comb += whole.eq(Cat(group[:group_bits], drained_turn[:turn_bits]))

        # `draining` is one cycle before the first group's sum is complete.
        shifts, biases = add_shifts(m, config, self.load), add_biases(m, config, self.load)
        sub = sizes.sub_bits
        group_1, whole_1, whole_2 = delay(group, 1), delay(whole, 1), delay(whole, 2)
        set_1 = delay(drained, 1).set
        write = Signal(state_write_layout(config))
        for gate in range(GATES):
            m.d.comb += shifts[gate].addr.eq(Cat(whole[sub:], drained.set))
            for half in range(2):
                m.d.comb += biases[gate][half].addr.eq(Cat(whole_1[sub:], set_1))
            words = Cat(biases[gate][0].data, biases[gate][1].data)
            for column in range(columns):
                row = gate * columns + column
                chosen = Signal(signed(ACC_BITS), name=f"chosen_{row}", reset_less=True)
                choices = [sums[gate, g * columns + column] for g in range(groups)]
                m.d.sync += chosen.eq(Array(choices)[group_1] if groups > 1 else choices[0])
                byte = pick_unit(shifts[gate].data, 8, config, whole_1[:sub], column)
                shift = Signal(3, name=f"shift_{row}", reset_less=True)
                shifted = Signal(signed(ACC_BITS - 3), name=f"shifted_{row}", reset_less=True)
                bias = Signal(signed(16), name=f"bias_{row}", reset_less=True)
                total = Signal(signed(ACC_BITS - 2), name=f"total_{row}", reset_less=True)
                m.d.sync += [
                    shift.eq(byte),
                    shifted.eq(chosen[3:].as_signed() >> shift),
                    bias.eq(pick_unit(words, 16, config, whole_2[:sub], column)),
                    # Half an LSB and the bias in one sum: ((a + 1) >> 1) + b = (a + 1 + 2b) >> 1.
                    total.eq(shifted + Cat(Const(1, 1), bias).as_signed()),
                ]
                fits = Signal(name=f"fits_{row}", reset_less=True)
                value = Signal(signed(17), name=f"value_{row}", reset_less=True)
                limit = Cat((~value[-1]).replicate(15), value[-1])
                m.d.sync += [
                    fits.eq(total[16:].all() | ~total[16:].any()),
                    value.eq(Cat(total[1:17], total[-1]).as_signed()),
                    write.p[row].eq(Mux(fits, value[:16], limit).as_signed()),
                ]

        drained_5, whole_5 = delay(drained, 5), delay(whole, 5)
        writing = delay(draining, 5, reset=True)
        m.d.sync += [
            write.en.eq(writing),
            write.qp.eq(drained_5.qp),
            write.step.eq(drained_5.step),
            write.group.eq(whole_5),
            self.done.eq(writing & (whole_5 == sizes.groups - 1)),
            self.done_pass.eq(drained_5),
        ]
        m.d.comb += self.state.eq(write)
        return m
