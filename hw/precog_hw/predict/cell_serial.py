"""The element-wise part of few lanes: one multiplier for each kind of product, gate after gate.

Equations (4)-(8) of the thesis; golden model `precog_models.predict.lstm.cell`.
"""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from precog_spec.config import NicConfig
from precog_spec.contract import Fmt

from ..activity import ACTIVITY
from ..dsp import Multiplier
from .activation import Tanh, folded
from .cell import ALIGN_C, SHIFT_C, SHIFT_TANH, SUM_C_BITS, state_write_layout
from .layouts import GATES, Sizes, load_layout, scrub_ports, slot_layout
from .memory import block_memory
from .taps import tap
from .weights import add_biases, add_input_weights, add_shifts, pick_unit

__all__ = ["SerialCell"]

_I, _F, _G, _O = range(GATES)  # as an image has them
_ARG_BITS = 31  # the longest argument, of g, with the cell's fraction bits
_ARG_FRAC = 16
_SUM, _T, _P = 4, 7, 8  # stages of a gate's sum, of its t, of the product with that
_TANH, _ROW = 11, 12  # of the cell's tanh, counted from its unit's last slot; of its h


class SerialCell(wiring.Component):
    """Element-wise part of an LSTM step, as `CellPipe`, with a slot for each gate of each input.

    ::

        slot ─► Wx << (7 - shift) ─► × ─► Σ over inputs ─┬─► table ─► t ─┬─► i, o
         x ──────────────────────────┘     P or b        │               ▼
                                          c' ─► tanh ────┘   f × c, i × g, o × tanh ─► c', h

    The slots of a unit come in the order o, i, f, g, and `REST` cycles after them none. So the
    table is free when c' of a unit is there, `_P` cycles after its last slot, and what its t is
    multiplied by is at hand: c with f, i with g, o with the tanh. What a slot says of its unit is
    read from `slot` until `REST` cycles after the last one, and then from a copy.

    Latency: `latency` = 12 cycles from a unit's last slot to its `row`.
    Throughput: a unit in ``4 * I + REST`` cycles.
    Cost: 3 multipliers; 4 block RAMs with few queue pairs. For clocks up to some 70 MHz on ECP5: a
    sum and the table's address in a cycle.

    Parameters
    ----------
    config : NicConfig
        What is built; 4 or 8 lanes.

    Members
    -------
    slot : In(slot_layout)
        What to do, one slot a cycle; all but `valid`, `gate`, `input`, `first` and `done` stay as
        they are for `REST` cycles after a unit's last one.
    soon : In(1)
        There may be a slot in the next cycle.
    x : In(ArrayLayout(signed(16), 1))
        The input of the slot that was given one cycle ago, in X's format.
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
    inject_en, inject : In(1), In(ArrayLayout(signed(16), 1))
        Hidden values to put on `row` one cycle later, for the head's further outputs.
    row : Out(slot_layout), h : Out(ArrayLayout(signed(16), 1))
        A unit's new hidden value, in H's format.
    activity : Out(ACTIVITY)
        All 0: its parts work as long as it does.
    """

    REST = 4
    latency = _ROW

    def __init__(self, config: NicConfig) -> None:
        self._config = config
        slot = slot_layout(config)
        hidden = data.ArrayLayout(signed(Fmt.H.width), 1)
        super().__init__(
            {
                "slot": In(slot),
                "soon": In(1),
                "x": In(data.ArrayLayout(signed(Fmt.X.width), config.columns)),
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
        slot = self.slot
        # A slot that is flushed is of o or i, which come again before they are used: only what a
        # unit's last one does must not outlive a restart.
        valid, done, gate, first = [slot.valid], [slot.valid & slot.done], [slot.gate], [slot.first]
        for chain, name, last in (
            (valid, "valid", _T),
            (done, "done", _ROW),
            (gate, "gate", _T),
            (first, "first", _SUM - 1),
        ):
            for n in range(1, last + 1):
                stage = Signal(
                    len(chain[0]), name=f"{name}_{n}", reset_less=name in ("gate", "first")
                )
                m.d.sync += stage.eq(chain[-1])
                chain.append(stage)
        unit = Signal(slot_layout(self._config), reset_less=True)
        with m.If(done[self.REST]):
            m.d.sync += unit.eq(slot)
        for out, at in ((self.early, _ROW - 3), (self.row, _ROW)):
            m.d.comb += [out.eq(unit), out.valid.eq(done[at]), out.done.eq(done[at])]
        m.d.comb += self.early_soon.eq(done[_ROW - 4])

        total = self._sum(m, gate, first[_SUM - 1])

        # One table, for all arguments with the same fraction bits: what is put behind an argument
        # is its sign, which the table takes for zeros.
        m.submodules.table = table = Tanh(
            _ARG_BITS,
            _ARG_FRAC,
            sigmoid=None,
            dsp=self._config.dsp,
            block=True,
        )
        s = Signal(signed(SUM_C_BITS))
        sign = total[-1]
        half = (_ARG_FRAC - Fmt.PRE.frac_bits - 1) * [sign]
        ends, is_g = done[_P], gate[_SUM] == _G
        own = Mux(is_g, Cat(half, sign, total[8:]), Cat(half, total[8:], sign))
        m.d.comb += [
            table.arg.eq(folded(Mux(ends, s[SHIFT_TANH:].as_signed(), own.as_signed()))),
            table.sigmoid.eq(~(ends | is_g)),
        ]
        self._products(m, valid, done, gate, unit, table.t, s)
        return m

    def _state_addr(self, stage: data.View) -> Cat:
        return Cat(stage.group, stage.step, stage.qp)

    def _sum(self, m: Module, gate: list[Signal], begins: Signal) -> Signal:
        """Stages 0 to 4: the weighted inputs and the stored partial sum, or the bias."""
        config, sizes, slot = self._config, Sizes(self._config), self.slot
        sub = sizes.sub_bits
        quad, inside = slot.group[sub:], slot.group[:sub]
        taps = tap(m, config, self, ~self.soon, ahead=True)
        (wx,) = add_input_weights(m, config, self.load, taps)
        (shifts,) = add_shifts(m, config, self.load, taps)
        ((biases,),) = add_biases(m, config, self.load, taps, cycle=1)
        if taps is not None:
            m.d.comb += self.scrubbed.eq(taps.answer())
        mult = Multiplier(15, Fmt.X.width, dsp=config.dsp, input_register=True)
        m.submodules.mult_input = mult
        weight = pick_unit(wx.data, 8, config, inside, 0)
        shift = pick_unit(shifts.data, 8, config, inside, 0)[4:7]
        m.d.comb += [
            wx.addr.eq(Cat(quad, slot.gate, slot.input, slot.set)),
            shifts.addr.eq(Cat(quad, slot.gate, slot.set)),
            mult.a.eq(Cat(Const(0, 7), weight).as_signed() >> shift),
            mult.b.eq(self.x[0]),
            biases.addr.eq(Cat(slot.group[sub - 1 :], gate[1], slot.set)),
        ]
        m.submodules.state_p = memory = block_memory(Fmt.PRE.width, sizes.state_rows * GATES)
        write, stored = memory.write_port(), memory.read_port()
        m.d.comb += [
            write.en.eq(self.state[0].en),
            write.addr.eq(Cat(self.state[0].gate, self._state_addr(self.state[0]))),
            write.data.eq(self.state[0].p.as_value()),
            stored.addr.eq(Cat(gate[2], self._state_addr(slot))),
        ]
        bias = pick_unit(biases.data, 16, config, slot.group[: sub - 1], 0)
        start = Mux(slot.step == 0, bias, stored.data)
        # 19 fraction bits; the constant rounds to PRE's 11.
        total = Signal(signed(34), reset_less=True)
        m.d.sync += total.eq(Mux(begins, Cat(Const(1 << 7, 8), start).as_signed(), total) + mult.p)
        return total

    def _products(
        self,
        m: Module,
        valid: list[Signal],
        done: list[Signal],
        gate: list[Signal],
        unit: data.View,
        t: Signal,
        s: Signal,
    ) -> None:
        """From `_T` on: c', and h."""
        config, sizes, slot = self._config, Sizes(self._config), self.slot
        # The last cycle in which `slot` is f's unit's is two before f's t; c stays.
        wants = valid[_T - 2] & (gate[_T - 2] == _F)
        m.submodules.state_c = memory = block_memory(Fmt.C.width, sizes.state_rows)
        write, stored = memory.write_port(), memory.read_port()
        fresh = Signal(reset_less=True)
        with m.If(wants):
            m.d.sync += fresh.eq(slot.step == 0)
        kept = {}
        for which, name in ((_I, "i"), (_O, "o")):
            kept[which] = Signal(16, name=name, reset_less=True)
            with m.If(valid[_T] & (gate[_T] == which)):
                m.d.sync += kept[which].eq(t)
        m.submodules.mult_state = mult = Multiplier(17, 17, dsp=config.dsp)
        of_f, was_f = Signal(), Signal()
        c = Mux(fresh, 0, stored.data).as_signed()
        fc = Signal(signed(SUM_C_BITS - ALIGN_C), reset_less=True)
        m.d.sync += was_f.eq(of_f)
        with m.If(was_f):
            m.d.sync += fc.eq(mult.p)
        rounded = Signal(signed(Fmt.C.width))
        m.d.comb += [
            stored.en.eq(wants),
            stored.addr.eq(self._state_addr(slot)),
            of_f.eq(valid[_T] & (gate[_T] == _F)),
            mult.a.eq(Cat(t, t[-1] & ~of_f).as_signed()),
            mult.b.eq(Mux(of_f, c, Mux(done[_TANH], kept[_O], kept[_I]))),
            s.eq((fc << ALIGN_C) + mult.p),
            # |c| grows by less than one a step, so eight steps fit C without a limit.
            rounded.eq((s[SHIFT_C - 1 :].as_signed() + 1) >> 1),
            write.en.eq(done[_P] & ~unit.final),
            write.addr.eq(Cat(unit.group, (unit.step + 1)[: sizes.step_bits], unit.qp)),
            write.data.eq(rounded),
        ]
        injects, injected = Signal(), Signal(signed(Fmt.H.width), reset_less=True)
        m.d.sync += [injects.eq(self.inject_en), injected.eq(self.inject[0])]
        m.d.comb += self.h[0].eq(Mux(injects, injected, mult.p[16:32].as_signed()))
