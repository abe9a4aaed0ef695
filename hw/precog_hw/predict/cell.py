"""The element-wise pipe: from stored partial sums and an input to c and h, a group a cycle.

Equations (4)-(8) of the thesis; golden model `precog_models.predict.lstm.cell`.
"""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.near import near
from precog_spec.config import NicConfig
from precog_spec.contract import Fmt

from ..activity import ACTIVITY
from ..dsp import Multiplier
from .activation import Tanh, folded, table_latency
from .layouts import GATES, Sizes, load_layout, scrub_ports, slot_layout
from .memory import block_memory
from .pipeline import Delays
from .taps import Taps, tap
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

_SHIFT_SUM = 8  # a sum of a gate has 19 fraction bits, PRE 11
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


def cell_stages(config: NicConfig, *, fabric_tables: bool) -> tuple[int, int, int]:
    """Cycles from a slot to its gates, to its cell state and to the table's value of that."""
    table = table_latency(fabric=fabric_tables, block=config.relaxed)
    gates = 5 + table
    return gates, gates + 2, gates + 2 + table


class _Pipe:
    """The slots in flight, and what all stages share."""

    def __init__(self, m: Module, slot: data.View) -> None:
        self.stages = [slot]  # element n: the slot of n cycles ago
        self.delay = Delays(m)
        self.taps: Taps | None = None  # with ECC
        self.zero = Signal(reset_less=True)  # the slot of stage 2 is of a window's first step


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

    Latency: `latency` = 12 cycles from a group's last slot to its `row`; 14 with tables in block
    RAM, 16 with `fabric_tables`.
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
    x : In(ArrayLayout(signed(16), columns))
        The input of the slot that was given two cycles ago, in X's format, for each column.
    load : In(load_layout)
        Writes into the weight memories.
    scrub, scrubbed : In(scrub_layout), Out(answer_layout)
        With `config.ecc`: a word to be read in a cycle without a slot; the word, once.
    state : In(state_write_layout)
        Partial sums for later steps.
    early : Out(slot_layout)
        The slot that will be on `row` three cycles later.
    early_soon : Out(1)
        `early` will be valid in the next cycle.
    inject_en, inject : In(1), In(ArrayLayout(signed(16), columns))
        Hidden values to put on `h` one cycle later, for the head's further outputs.
    row : Out(slot_layout), h : Out(ArrayLayout(signed(16), columns))
        A group's new hidden values, in H's format; `h` is a choice behind the multipliers.
    kept_row, kept_h : Out(slot_layout), Out(ArrayLayout(signed(16), columns))
        The same a cycle later, in registers, without what was injected.
    activity : Out(ACTIVITY)
        The bits of this unit's parts (`precog_hw.activity`).
    """

    latency: int

    def __init__(self, config: NicConfig, *, fabric_tables: bool) -> None:
        self._config = config
        self._fabric_tables = fabric_tables
        self._block_tables = config.relaxed and not fabric_tables
        self._gates_at, _, self._tanh_at = cell_stages(config, fabric_tables=fabric_tables)
        self.latency = self._tanh_at + 1
        slot = slot_layout(config)
        hidden = data.ArrayLayout(signed(Fmt.H.width), config.columns)
        super().__init__(
            {
                "slot": In(slot),
                "soon": In(1),
                "flush": In(1),
                "x": In(data.ArrayLayout(signed(Fmt.X.width), config.columns)),
                "load": In(load_layout(config)),
                "state": In(state_write_layout(config)),
                "early": Out(slot),
                "early_soon": Out(1),
                "inject_en": In(1),
                "inject": In(hidden),
                "row": Out(slot),
                "h": Out(hidden),
                "kept_row": Out(slot),
                "kept_h": Out(hidden),
                "activity": Out(ACTIVITY),
            }
            | scrub_ports(config)
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        at = _Pipe(m, self.slot)
        self._shift_slots(m, at)
        at.taps = tap(m, self._config, self, ~self.soon, ahead=True)
        products = self._multiply(m, at)
        partials = self._partials(m, at)
        gates = self._gates(m, self._sum(m, at, products, partials))
        columns = self._config.columns
        for column in range(columns):
            self._element(m, at, column, gates[column::columns])
        return m

    def _hidden(self, m: Module, column: int, new: Value) -> None:
        """A new hidden value, or an injected one: the head multiplies it in the same cycle."""
        injects = near(m, f"injects_{column}", self.inject_en, dsp=self._config.dsp)
        injected = Signal(signed(Fmt.H.width), name=f"injected_{column}", reset_less=True)
        kept = Signal(signed(Fmt.H.width), name=f"h_{column}", reset_less=True)
        m.d.sync += [injected.eq(self.inject[column]), kept.eq(new)]
        m.d.comb += [
            self.h[column].eq(Mux(injects, injected, new)),
            self.kept_h[column].eq(kept),
        ]

    def _shift_slots(self, m: Module, at: _Pipe) -> None:
        """The slots of all stages, and the activity that follows from them."""
        for n in range(1, self.latency + 2):
            stage = Signal(slot_layout(self._config), name=f"slot_{n}")
            of = Signal(stage.shape(), name=f"slot_{n}_of", reset_less=True)
            valid = Signal(name=f"slot_{n}_valid")  # reset: nothing outlives a restart
            m.d.sync += [of.eq(at.stages[-1]), valid.eq(at.stages[-1].valid)]
            if n <= 2:
                m.d.sync += valid.eq(at.stages[-1].valid & ~self.flush)
            m.d.comb += [stage.eq(of), stage.valid.eq(valid)]
            at.stages.append(stage)
        m.d.comb += [
            self.early_soon.eq(at.stages[-6].valid),
            self.early.eq(at.stages[-5]),
            self.row.eq(at.stages[-2]),
            self.kept_row.eq(at.stages[-1]),
        ]
        # A part takes a slot from its first stage to its last one.
        for part, first, last in (
            ("inputs", 2, 3),
            ("gates", 5, self._gates_at),
            ("tanh", self._gates_at + 2, self._tanh_at),
        ):
            busy = Cat(stage.valid for stage in at.stages[first : last + 1]).any()
            m.d.comb += self.activity[part].eq(busy)

    def _multiply(self, m: Module, at: _Pipe) -> list[Value]:
        """Stages 0 to 3: the input times weights, shifted to 19 fraction bits of the product.

        What a memory gives and what the shift gives are registered: both end far away. The input
        has the multipliers' registers alone: a sample's cycles count from it.
        """
        config, sizes = self._config, Sizes(self._config)
        wx = add_input_weights(m, config, self.load, at.taps)
        shifts = add_shifts(m, config, self.load, at.taps)
        quad = self.slot.group[sizes.sub_bits :]
        products = []
        for gate in range(GATES):
            m.d.comb += [
                wx[gate].addr.eq(Cat(quad, self.slot.input, self.slot.set)),
                shifts[gate].addr.eq(Cat(quad, self.slot.set)),
            ]
            for column in range(config.columns):
                which = at.stages[1].group[: sizes.sub_bits]
                weight = Signal(8, name=f"wx_{gate}_{column}", reset_less=True)
                shift = Signal(3, name=f"shift_{gate}_{column}", reset_less=True)
                m.d.sync += [
                    weight.eq(pick_unit(wx[gate].data, 8, config, which, column)),
                    shift.eq(pick_unit(shifts[gate].data, 8, config, which, column)[4:7]),
                ]
                mult = Multiplier(15, Fmt.X.width, dsp=config.dsp, input_register=True)
                m.submodules[f"mult_x_{gate}_{column}"] = mult
                m.d.comb += [
                    mult.a.eq(Cat(Const(0, 7), weight).as_signed() >> shift),
                    mult.b.eq(self.x[column]),
                ]
                products.append(mult.p)
        return products

    def _partials(self, m: Module, at: _Pipe) -> list[Value]:
        """Stage 3: the stored partial sums of each column.

        Each column has a memory with its own addresses: they lie side by side across the device.
        """
        config, sizes = self._config, Sizes(self._config)
        partials = []
        for column in range(config.columns):
            memory = block_memory(GATES * Fmt.PRE.width, sizes.state_rows)
            m.submodules[f"state_p_{column}"] = memory
            write, stored = memory.write_port(), memory.read_port()
            m.d.comb += [
                write.en.eq(self.state[column].en),
                write.addr.eq(_state_addr(self.state[column])),
                write.data.eq(self.state[column].p.as_value()),
                stored.addr.eq(
                    near(m, f"addr_p_{column}", _state_addr(at.stages[1]), dsp=config.dsp)
                ),
            ]
            partials.append(stored.data)
        return partials

    def _sum(
        self, m: Module, at: _Pipe, products: list[Value], partials: list[Value]
    ) -> list[Signal]:
        """Stages 4 and 5: sums over inputs, from the partial sum or a window's bias on.

        What the tables look up is the sum `folded`: its sign is there before the cycle's end.
        """
        config, sizes = self._config, Sizes(self._config)
        biases = add_biases(m, config, self.load, at.taps, cycle=1)
        if at.taps is not None:
            m.d.comb += self.scrubbed.eq(at.taps.answer())
        m.d.sync += at.zero.eq(at.stages[1].step == 0)
        arguments: list[Signal] = []
        for gate in range(GATES):
            for half in range(2):
                m.d.comb += biases[gate][half].addr.eq(
                    Cat(at.stages[1].group[sizes.sub_bits :], at.stages[1].set)
                )
            words = Cat(biases[gate][0].data, biases[gate][1].data)
            for column in range(config.columns):
                row = gate * config.columns + column
                bias = pick_unit(words, 16, config, at.stages[3].group[: sizes.sub_bits], column)
                start = Signal(signed(16), name=f"start_{row}", reset_less=True)
                partial = partials[column].word_select(gate, 16)
                fresh = near(m, f"fresh_{row}", at.zero, dsp=config.dsp)
                m.d.sync += start.eq(Mux(fresh, bias, partial))
                # Stage 5: 19 fraction bits; the constant rounds to PRE's 11.
                total = Signal(signed(34), name=f"sum_{row}", reset_less=True)
                first = Cat(Const(1 << 7, 8), start).as_signed()
                begins = near(m, f"begins_{row}", at.stages[3].first, dsp=config.dsp)
                new = Signal.like(total, name=f"sum_{row}_new")
                argument = Signal(len(new) - _SHIFT_SUM, name=f"argument_{row}", reset_less=True)
                m.d.comb += new.eq(Mux(begins, first, total) + products[row])
                m.d.sync += [total.eq(new), argument.eq(folded(new[_SHIFT_SUM:]))]
                arguments.append(argument)
        return arguments

    def _gates(self, m: Module, arguments: list[Signal]) -> list[Value]:
        """Gates: i, f, o are sigmoids (the argument is re-read as half), g is a tanh."""
        config = self._config
        gates = []
        for gate, name in enumerate("ifgo"):
            for column in range(config.columns):
                table = self._table(26, Fmt.PRE.frac_bits + (name != "g"), sigmoid=name != "g")
                m.submodules[f"gate_{name}_{column}"] = table
                m.d.comb += table.arg.eq(arguments[gate * config.columns + column])
                gates.append(table.t)
        return gates

    def _table(self, bits: int, frac_bits: int, *, sigmoid: bool) -> Tanh:
        """A table as the configuration builds them."""
        return Tanh(
            bits,
            frac_bits,
            sigmoid=sigmoid,
            dsp=self._config.dsp,
            fabric=self._fabric_tables,
            block=self._block_tables,
        )

    def _element(self, m: Module, at: _Pipe, column: int, gates: list[Value]) -> None:
        """From one column's gates to its cell state and hidden value."""
        dsp = self._config.dsp
        i, f, g, o = gates
        c, rounded = self._cell_state(m, at, column)
        mult_fc = Multiplier(17, Fmt.C.width, dsp=dsp)
        mult_ig = Multiplier(17, Fmt.H.width, dsp=dsp)
        mult_oh = Multiplier(17, Fmt.H.width, dsp=dsp)
        m.submodules[f"mult_fc_{column}"] = mult_fc
        m.submodules[f"mult_ig_{column}"] = mult_ig
        m.submodules[f"mult_oh_{column}"] = mult_oh
        m.d.comb += [mult_fc.a.eq(f), mult_fc.b.eq(c), mult_ig.a.eq(i), mult_ig.b.eq(g)]
        s = Signal(signed(SUM_C_BITS), name=f"s_{column}", reset_less=True)
        new = Signal.like(s, name=f"s_{column}_new")
        argument = Signal(SUM_C_BITS - SHIFT_TANH, name=f"tanh_{column}_argument", reset_less=True)
        m.d.comb += new.eq((mult_fc.p << ALIGN_C) + mult_ig.p)
        m.d.sync += [s.eq(new), argument.eq(folded(new[SHIFT_TANH:]))]
        # |c| grows by less than one a step, so eight steps fit C without a limit.
        m.d.sync += rounded.eq((s[SHIFT_C - 1 :].as_signed() + 1) >> 1)
        table = self._table(SUM_C_BITS - SHIFT_TANH, 16, sigmoid=False)
        m.submodules[f"tanh_{column}"] = table
        m.d.comb += [
            table.arg.eq(argument),
            mult_oh.a.eq(at.delay(o, self._tanh_at - self._gates_at)),
            mult_oh.b.eq(table.t),
        ]
        self._hidden(m, column, mult_oh.p[16:32].as_signed())

    def _cell_state(self, m: Module, at: _Pipe, column: int) -> tuple[Value, Signal]:
        """A column's cell state, read just in time; the new one, written two stages later."""
        dsp, sizes, gates = self._config.dsp, Sizes(self._config), self._gates_at
        written = at.stages[gates + 2]
        new = Cat(written.group, (written.step + 1)[: sizes.step_bits], written.qp)
        memory = block_memory(Fmt.C.width, sizes.state_rows)
        m.submodules[f"state_c_{column}"] = memory
        write, stored = memory.write_port(), memory.read_port()
        keep = written.valid & written.done & ~written.final
        m.d.comb += [
            stored.addr.eq(near(m, f"addr_c_{column}", _state_addr(at.stages[gates - 3]), dsp=dsp)),
            write.en.eq(near(m, f"write_c_{column}", keep, dsp=dsp)),
            write.addr.eq(near(m, f"new_c_{column}", new, dsp=dsp)),
        ]
        c = Signal(signed(Fmt.C.width), name=f"c_{column}", reset_less=True)
        fresh = near(m, f"fresh_c_{column}", at.delay(at.zero, gates - 4), dsp=dsp)
        m.d.sync += c.eq(Mux(fresh, 0, stored.data))
        rounded = Signal(signed(Fmt.C.width), name=f"c_new_{column}", reset_less=True)
        m.d.comb += write.data.eq(rounded)
        return c, rounded


def _state_addr(stage: data.View) -> Value:
    """Row of a state memory."""
    return Cat(stage.group, stage.step, stage.qp)
