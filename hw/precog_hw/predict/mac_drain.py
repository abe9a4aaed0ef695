"""The MAC array's end: sums become stored partial sums, a group of units a cycle."""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.near import near
from precog_spec.config import NicConfig
from precog_spec.contract import ACC_BITS

from .cell import state_write_layout
from .layouts import GATES, Sizes, load_layout, pass_layout, scrub_ports
from .pipeline import Delays
from .taps import Taps, Thief
from .weights import add_biases, add_shifts, pick_unit

__all__ = ["MacDrain"]


class MacDrain(wiring.Component):
    """Shift, bias and limit: golden model `precog_models.predict.lstm.recur`.

    Latency: `latency` cycles from `begin` to the last group's `done`. Throughput: a group a cycle.
    Cost: ``4 * columns`` shifters, 12 block RAMs; with few lanes one and two.

    Parameters
    ----------
    config : NicConfig
        What is built.

    Members
    -------
    begin : In(1), begin_pass : In(pass_layout), begin_turn : In
        The first group's sums are complete two cycles later, each further group's a cycle after.
    sums : In(ArrayLayout(signed(28), lanes / ways))
        Gate-major.
    load : In(load_layout)
        Writes into the weight memories.
    scrub, scrubbed, wants : In(scrub_layout), Out(answer_layout), Out(1)
        With `config.ecc`: a word to be read in an idle cycle; the word, once; it still waits.
    state : Out(state_write_layout)
        The next step's partial sums.
    done : Out(1), done_pass : Out(pass_layout)
        A vector's last group has been written.
    """

    latency: int

    def __init__(self, config: NicConfig) -> None:
        self._config = config
        sizes = Sizes(config)
        self.latency = sizes.units // config.columns + 6
        super().__init__(
            {
                "begin": In(1),
                "begin_pass": In(pass_layout(config)),
                "begin_turn": In(range(max(sizes.turns, 2))),
                "sums": In(data.ArrayLayout(signed(ACC_BITS), sizes.gates * sizes.units)),
                "load": In(load_layout(config)),
                "state": Out(state_write_layout(config)),
                "done": Out(1),
                "done_pass": Out(pass_layout(config)),
            }
            | ({"wants": Out(1), **scrub_ports(config)} if config.ecc else {})
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, sizes = self._config, Sizes(self._config)
        columns = config.columns
        delay = Delays(m)
        groups = sizes.units // columns  # at work in one turn
        unit_bits = sizes.unit_turn_bits

        draining = Signal()
        taps = None
        if config.ecc:
            thief = Thief(m, self.scrub, ~draining)
            taps = Taps(m, thief.place, thief.stolen, copy=1)
            m.d.comb += self.wants.eq(thief.wants)
        group = Signal(range(max(groups, 2)))
        drained = Signal(pass_layout(config), reset_less=True)
        drained_turn = Signal.like(self.begin_turn, reset_less=True)
        with m.If(self.begin):
            m.d.sync += [
                draining.eq(1),
                group.eq(0),
                drained.eq(self.begin_pass),
                drained_turn.eq(self.begin_turn),
            ]
        with m.Elif(draining):
            m.d.sync += [draining.eq(group != groups - 1), group.eq(group + 1)]
        whole = Signal(max(sizes.group_bits, 1))
        group_bits = groups.bit_length() - 1
        m.d.comb += whole.eq(Cat(group[:group_bits], drained_turn[:unit_bits]))
        which_gate = drained_turn[unit_bits : sizes.turn_bits]  # empty if all are at work

        # `draining` is one cycle before the first group's sum is complete.
        shifts = add_shifts(m, config, self.load, taps)
        biases = add_biases(m, config, self.load, taps, cycle=0)
        if taps is not None:
            m.d.comb += self.scrubbed.eq(taps.answer())
        sub = sizes.sub_bits
        whole_1, whole_2 = delay(whole, 1), delay(whole, 2)
        for gate in range(sizes.gates):
            m.d.comb += shifts[gate].addr.eq(Cat(whole[sub:], which_gate, drained.set))
            half_bits = 2 - len(biases[gate])  # of a memory with both halves
            for half in biases[gate]:
                m.d.comb += half.addr.eq(Cat(whole[sub - half_bits :], which_gate, drained.set))
            words = Cat(half.data for half in biases[gate])
            for column in range(columns):
                row = gate * columns + column
                chosen = Signal(signed(ACC_BITS), name=f"chosen_{row}", reset_less=True)
                choices = [
                    self.sums[gate * sizes.units + g * columns + column] for g in range(groups)
                ]
                if groups > 1:
                    which = near(m, f"which_{row}", group, dsp=config.dsp)
                    m.d.sync += chosen.eq(Array(choices)[which])
                else:
                    m.d.sync += chosen.eq(choices[0])
                byte = pick_unit(shifts[gate].data, 8, config, whole_1[:sub], column)
                shift = Signal(3, name=f"shift_{row}", reset_less=True)
                shifted = Signal(signed(ACC_BITS - 3), name=f"shifted_{row}", reset_less=True)
                bias = Signal(signed(16), name=f"bias_{row}", reset_less=True)
                total = Signal(signed(ACC_BITS - 2), name=f"total_{row}", reset_less=True)
                m.d.sync += [
                    shift.eq(byte),
                    shifted.eq(chosen[3:].as_signed() >> shift),
                    bias.eq(pick_unit(words, 16, config, whole_2[: sub - half_bits], column)),
                    # Half an LSB and the bias in one sum: ((a + 1) >> 1) + b = (a + 1 + 2b) >> 1.
                    total.eq(shifted + Cat(Const(1, 1), bias).as_signed()),
                ]
                fits = Signal(name=f"fits_{row}", reset_less=True)
                value = Signal(signed(17), name=f"value_{row}", reset_less=True)
                limit = Cat((~value[-1]).replicate(15), value[-1])
                partial = Signal(signed(16), name=f"partial_{row}", reset_less=True)
                m.d.sync += [
                    fits.eq(total[16:].all() | ~total[16:].any()),
                    value.eq(Cat(total[1:17], total[-1]).as_signed()),
                    partial.eq(Mux(fits, value[:16], limit).as_signed()),
                ]
                m.d.comb += self.state[column].p[gate].eq(partial)

        drained_5, whole_5 = delay(drained, 5), delay(whole, 5)
        writing = delay(draining, 5, reset=True)
        gates_5 = [delay(drained_turn, 5)[unit_bits:]] if sizes.gates == 1 else []
        for column in range(columns):
            state = self.state[column]
            where = Cat(writing, drained_5.qp, drained_5.step, whole_5, *gates_5)
            named = ("en", "qp", "step", "group", "gate")[: 4 + len(gates_5)]
            m.d.comb += Cat(state[name] for name in named).eq(
                near(m, f"where_{column}", where, dsp=config.dsp)
            )
        ends = writing & (whole_5 == sizes.groups - 1)
        for gate_5 in gates_5:
            ends &= gate_5 == GATES - 1
        m.d.sync += [
            self.done.eq(ends),
            self.done_pass.eq(drained_5),
        ]
        return m
