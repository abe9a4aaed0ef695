"""The element-wise pipe: from stored partial sums and an input to c and h, a group a cycle.

Equations (4)-(8) of the thesis; golden model `precog_models.predict.lstm.cell`.
"""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from precog_spec.config import NicConfig
from precog_spec.contract import Fmt

from ..activity import ACTIVITY
from ..dsp import Multiplier
from .activation import Tanh
from .layouts import GATES, Sizes, load_layout, scrub_ports, slot_layout
from .memory import block_memory
from .pipeline import Delays, near
from .taps import tap
from .weights import add_biases, add_input_weights, add_shifts, pick_unit

__all__ = [
    "ALIGN_C",
    "SHIFT_C",
    "SHIFT_TANH",
    "SUM_C_BITS",
    "CellPipe",
    "cell_stages",
    "state_write_layout",
]

SHIFT_C = 19  # s has 31 fraction bits, c 12
SHIFT_TANH = 15  # ... and the argument of the cell's tanh 16
ALIGN_C = 3
SUM_C_BITS = 36


def state_write_layout(config: NicConfig) -> data.ArrayLayout:
    """A write of one group's partial sums: what each column's memory is told.

    With few lanes, of one gate's.
    """
    sizes = Sizes(config)
    return data.ArrayLayout(
        data.StructLayout(
            {
                "en": 1,
                "qp": config.qp_bits,
                "step": sizes.step_bits,
                "group": sizes.group_bits,
                **({"gate": 2} if sizes.gates == 1 else {}),
                "p": data.ArrayLayout(signed(Fmt.PRE.width), sizes.gates),
            }
        ),
        config.columns,
    )


def cell_stages(*, fabric_tables: bool) -> tuple[int, int, int]:
    """Cycles from a slot to its gates, to its cell state and to the table's value of that."""
    table_latency = 4 if fabric_tables else 3
    gates = 5 + table_latency
    return gates, gates + 2, gates + 2 + table_latency


class CellPipe(wiring.Component):
    """Element-wise part of an LSTM step.

    ::

        slot ─► Wx, shift ─► Wx << (7 - shift) ─┐
         x ─────────────────────────────────────┴► × ─► Σ over inputs ─► σ, σ, tanh, σ ─► i f g o
                       P or b ──────────────────────────┘                                    │
        c ─────────────────────────────────────────────────────────────► f × c + i × g ◄────┤
                                                                        c' ◄──┴─► tanh ─► o × ─► h

    Shifting the weight instead of the sum gives every product the same 19 fraction bits, so that
    the stored partial sum and the rounding bit enter the accumulator as its start value.

    Latency: `latency` = 15 cycles from a group's last slot to its `row` (17 with `fabric_tables`).
    Throughput: one slot a cycle; a group needs as many slots as the model has inputs.
    Cost: ``columns`` x (4 input + 5 table + 3 state) multipliers; state memories of
    ``qps * steps * 16 * 80`` bits.

    Parameters
    ----------
    config : NicConfig
        What is built.
    fabric_tables : bool
        The tables multiply with adders instead of blocks.

    Members
    -------
    slot : In(slot_layout)
        What to do, one slot a cycle.
    soon : In(1)
        There may be a slot in the next cycle.
    flush : In(1)
        Kills `slot` and the slot before it.
    x : In(signed(16))
        The input of the slot that was given one cycle ago, in X's format.
    load : In(load_layout)
        Writes into the weight memories.
    scrub, scrubbed : In(scrub_layout), Out(answer_layout)
        With `config.ecc`: a word to be read in a cycle without a slot; the word, once.
    state : In(state_write_layout)
        Partial sums for later steps.
    early : Out(slot_layout)
        The slot that will be on `row` two cycles later.
    early_soon : Out(1)
        `early` will be valid in the next cycle.
    inject_en, inject : In(1), In(ArrayLayout(signed(16), columns))
        Hidden values to put on `row` one cycle later, for the head's further outputs.
    row : Out(slot_layout), h : Out(ArrayLayout(signed(16), columns))
        A group's new hidden values, in H's format.
    activity : Out(ACTIVITY)
        The bits of this unit's parts (`precog_hw.activity`).
    """

    latency: int

    def __init__(self, config: NicConfig, *, fabric_tables: bool) -> None:
        self._config = config
        self._fabric_tables = fabric_tables
        self._block_tables = config.relaxed and not fabric_tables
        self._gates_at, _, self._tanh_at = cell_stages(fabric_tables=fabric_tables)
        self.latency = self._tanh_at + 2
        slot = slot_layout(config)
        hidden = data.ArrayLayout(signed(Fmt.H.width), config.columns)
        super().__init__(
            {
                "slot": In(slot),
                "soon": In(1),
                "flush": In(1),
                "x": In(signed(Fmt.X.width)),
                "load": In(load_layout(config)),
                "state": In(state_write_layout(config)),
                "early": Out(slot),
                "early_soon": Out(1),
                "inject_en": In(1),
                "inject": In(hidden),
                "row": Out(slot),
                "h": Out(hidden),
                "activity": Out(ACTIVITY),
            }
            | scrub_ports(config)
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, sizes = self._config, Sizes(self._config)
        columns, sub, dsp = config.columns, sizes.sub_bits, config.dsp
        delay = Delays(m)

        stages = [self.slot]
        for n in range(1, self.latency + 1):
            stage = Signal(slot_layout(config), name=f"slot_{n}")
            of = Signal(stage.shape(), name=f"slot_{n}_of", reset_less=True)
            valid = Signal(name=f"slot_{n}_valid")  # reset: nothing outlives a restart
            m.d.sync += [of.eq(stages[-1]), valid.eq(stages[-1].valid)]
            if n <= 2:
                m.d.sync += valid.eq(stages[-1].valid & ~self.flush)
            m.d.comb += [stage.eq(of), stage.valid.eq(valid)]
            stages.append(stage)
        m.d.comb += [self.early.eq(stages[-3]), self.row.eq(stages[-1])]
        m.d.comb += self.early_soon.eq(stages[-4].valid)
        # A part takes a slot from its first stage to its last one.
        for part, first, last in (
            ("inputs", 2, 3),
            ("gates", 5, self._gates_at),
            ("tanh", self._gates_at + 2, self._tanh_at),
        ):
            busy = Cat(stage.valid for stage in stages[first : last + 1]).any()
            m.d.comb += self.activity[part].eq(busy)

        def state_addr(stage: data.View) -> Cat:
            return Cat(stage.group, stage.step, stage.qp)

        # Stages 0..3: weights, shifted to 19 fraction bits of the product. What a memory gives and
        # what the shift gives are registered: both end far away.
        taps = tap(m, config, self, ~self.soon, ahead=True)
        wx = add_input_weights(m, config, self.load, taps)
        shifts = add_shifts(m, config, self.load, taps)
        quad = self.slot.group[sub:]
        x = [near(m, f"x_{column}", self.x, dsp=dsp) for column in range(columns)]
        products = []
        for gate in range(GATES):
            m.d.comb += [
                wx[gate].addr.eq(Cat(quad, self.slot.input, self.slot.set)),
                shifts[gate].addr.eq(Cat(quad, self.slot.set)),
            ]
            for column in range(columns):
                which = stages[1].group[:sub]
                weight = Signal(8, name=f"wx_{gate}_{column}", reset_less=True)
                shift = Signal(3, name=f"shift_{gate}_{column}", reset_less=True)
                m.d.sync += [
                    weight.eq(pick_unit(wx[gate].data, 8, config, which, column)),
                    shift.eq(pick_unit(shifts[gate].data, 8, config, which, column)[4:7]),
                ]
                mult = Multiplier(15, Fmt.X.width, dsp=dsp, input_register=True)
                m.submodules[f"mult_x_{gate}_{column}"] = mult
                m.d.comb += [
                    mult.a.eq(Cat(Const(0, 7), weight).as_signed() >> shift),
                    mult.b.eq(x[column]),
                ]
                products.append(mult.p)

        # Stage 4: the stored partial sum, or the bias in a window's first step. Each column has a
        # memory, with addresses of its own: they lie side by side across the device.
        partials = []
        for column in range(columns):
            memory = block_memory(GATES * Fmt.PRE.width, sizes.state_rows)
            m.submodules[f"state_p_{column}"] = memory
            write, stored = memory.write_port(), memory.read_port()
            m.d.comb += [
                write.en.eq(self.state[column].en),
                write.addr.eq(state_addr(self.state[column])),
                write.data.eq(self.state[column].p.as_value()),
                stored.addr.eq(near(m, f"addr_p_{column}", state_addr(stages[1]), dsp=dsp)),
            ]
            partials.append(stored.data)
        biases = add_biases(m, config, self.load, taps, cycle=1)
        if taps is not None:
            m.d.comb += self.scrubbed.eq(taps.answer())
        zero = Signal(reset_less=True)
        m.d.sync += zero.eq(stages[1].step == 0)
        sums = []
        for gate in range(GATES):
            for half in range(2):
                m.d.comb += biases[gate][half].addr.eq(Cat(stages[1].group[sub:], stages[1].set))
            words = Cat(biases[gate][0].data, biases[gate][1].data)
            for column in range(columns):
                row = gate * columns + column
                bias = pick_unit(words, 16, config, stages[3].group[:sub], column)
                start = Signal(signed(16), name=f"start_{row}", reset_less=True)
                partial = partials[column].word_select(gate, 16)
                fresh = near(m, f"fresh_{row}", zero, dsp=dsp)
                m.d.sync += start.eq(Mux(fresh, bias, partial))
                # Stage 5: 19 fraction bits; the constant rounds to PRE's 11.
                total = Signal(signed(34), name=f"sum_{row}", reset_less=True)
                first = Cat(Const(1 << 7, 8), start).as_signed()
                begins = near(m, f"begins_{row}", stages[3].first, dsp=dsp)
                m.d.sync += total.eq(Mux(begins, first, total) + products[row])
                sums.append(total)

        # Gates: i, f, o are sigmoids (the argument is re-read as half), g is a tanh.
        gates = []
        for gate, name in enumerate("ifgo"):
            for column in range(columns):
                table = Tanh(
                    26,
                    Fmt.PRE.frac_bits + (name != "g"),
                    sigmoid=name != "g",
                    dsp=dsp,
                    fabric=self._fabric_tables,
                    block=self._block_tables,
                )
                m.submodules[f"gate_{name}_{column}"] = table
                m.d.comb += table.arg.eq(sums[gate * columns + column][8:].as_signed())
                gates.append(table.t)

        # Cell state: read just in time, rounded and written back two stages later.
        at = self._gates_at
        written = stages[at + 2]
        new = Cat(written.group, (written.step + 1)[: sizes.step_bits], written.qp)
        for column in range(columns):
            memory = block_memory(Fmt.C.width, sizes.state_rows)
            m.submodules[f"state_c_{column}"] = memory
            write, stored = memory.write_port(), memory.read_port()
            keep = written.valid & written.done & ~written.final
            m.d.comb += [
                stored.addr.eq(near(m, f"addr_c_{column}", state_addr(stages[at - 3]), dsp=dsp)),
                write.en.eq(near(m, f"write_c_{column}", keep, dsp=dsp)),
                write.addr.eq(near(m, f"new_c_{column}", new, dsp=dsp)),
            ]
            i, f, g, o = (gates[gate * columns + column] for gate in range(GATES))
            c = Signal(signed(Fmt.C.width), name=f"c_{column}", reset_less=True)
            fresh = near(m, f"fresh_c_{column}", delay(zero, at - 4), dsp=dsp)
            m.d.sync += c.eq(Mux(fresh, 0, stored.data))
            mult_fc = Multiplier(17, Fmt.C.width, dsp=dsp)
            mult_ig = Multiplier(17, Fmt.H.width, dsp=dsp)
            mult_oh = Multiplier(17, Fmt.H.width, dsp=dsp)
            m.submodules[f"mult_fc_{column}"] = mult_fc
            m.submodules[f"mult_ig_{column}"] = mult_ig
            m.submodules[f"mult_oh_{column}"] = mult_oh
            m.d.comb += [mult_fc.a.eq(f), mult_fc.b.eq(c), mult_ig.a.eq(i), mult_ig.b.eq(g)]
            s = Signal(signed(SUM_C_BITS), name=f"s_{column}", reset_less=True)
            m.d.sync += s.eq((mult_fc.p << ALIGN_C) + mult_ig.p)
            # |c| grows by less than one a step, so eight steps fit C without a limit.
            rounded = Signal(signed(Fmt.C.width), name=f"c_new_{column}", reset_less=True)
            m.d.sync += rounded.eq((s[SHIFT_C - 1 :].as_signed() + 1) >> 1)
            m.d.comb += write.data.eq(rounded)

            table = Tanh(
                SUM_C_BITS - SHIFT_TANH,
                16,
                sigmoid=False,
                dsp=dsp,
                fabric=self._fabric_tables,
                block=self._block_tables,
            )
            m.submodules[f"tanh_{column}"] = table
            m.d.comb += [
                table.arg.eq(s[SHIFT_TANH:].as_signed()),
                mult_oh.a.eq(delay(o, self._tanh_at - self._gates_at)),
                mult_oh.b.eq(table.t),
            ]
            h = Signal(signed(Fmt.H.width), name=f"h_{column}", reset_less=True)
            m.d.sync += h.eq(Mux(self.inject_en, self.inject[column], mult_oh.p[16:32].as_signed()))
            m.d.comb += self.h[column].eq(h)
        return m
