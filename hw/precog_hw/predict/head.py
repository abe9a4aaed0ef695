"""The linear head: output 0 while the hidden values pass by, further outputs from a copy of them.

Golden model `precog_models.predict.lstm.head`.
"""

from typing import NamedTuple

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory, ReadPort
from amaranth.lib.wiring import In, Out

from precog_hw.near import near
from precog_spec.config import NicConfig
from precog_spec.contract import HIDDEN, MAX_OUTPUTS, Fmt

from ..dsp import Multiplier
from ..fixed import carry_save, widened
from .layouts import JOBS, OUTPUTS, Sizes, load_layout, scrub_ports, slot_layout
from .pipeline import Delays
from .taps import tap
from .weights import add_head_biases, add_head_shifts, add_head_weights, pick_unit

__all__ = ["LinearHead"]

_DROP = 10  # fraction bits of a sum below those of an output: 3, and a shift of at most 7
_SUM_BITS = 35  # 16 products of 31 bits, and the bias shifted left by 10


class _Further(NamedTuple):
    """Outputs after the first: whether there are any, the output, the group, the final slot."""

    on: Signal
    output: Signal
    group: Signal
    copied: data.View


class LinearHead(wiring.Component):
    """Outputs of a model from the window's last hidden vector.

    Shifting the weight instead of the sum puts an output at the same bits of every sum. An RTT's
    prediction takes them from the sum's register, in the cycle in which they are limited. An output
    that was limited, or could not be taken then, comes back into that register.

    Latency: `latency` cycles from the vector's last group on `row` to a readable output 0; each
    further output takes ``16 / columns`` cycles, and waits for the run-ahead to pass.
    Throughput: one output in ``16 / columns`` cycles.
    Cost: ``columns`` multipliers, 4 block RAMs, 64 LUT RAMs.

    Parameters
    ----------
    config : NicConfig
        What is built.

    Members
    -------
    early : In(slot_layout)
        The slot that will be on `row` three cycles later.
    early_soon : In(1)
        `early` will be valid in the next cycle.
    row : In(slot_layout), h : In(ArrayLayout(signed(16), columns))
        Hidden values from the element-wise pipe.
    inject_en, inject : Out(1), Out(ArrayLayout(signed(16), columns))
        Hidden values to be put on `h` one cycle later. Between a sample with several outputs and
        its `done`, no other final slot may be `early`.
    load : In(load_layout)
        Writes into the weight memories.
    scrub, scrubbed : In(scrub_layout), Out(answer_layout)
        With `config.ecc`: a word to be read in a cycle without a row; the word, once.
    busy : Out(1)
        Further outputs are being worked on.
    done, done_job : Out(1), Out(2)
        All outputs of a job can be read from the next cycle on.
    job : In(2), live : In(1), out : Out(OUTPUTS)
        Read port: the outputs of a job, those beyond the model's being old ones. Output 0 comes a
        cycle after its `job`, and is 0 unless the job has a model and is `live`.
    soon, sure : Out(signed(16)), Out(1)
        Output 0, without its limit and straight from a register; the last cycle's `soon` was the
        output 0 of the job that `waits`. If it is not sure when the job begins to wait, it becomes
        so, two cycles later at the earliest.
    waits : In(1)
        The outputs of `job` are wanted, and can be read.
    """

    latency: int

    def __init__(self, config: NicConfig) -> None:
        self._config = config
        # The sum takes two terms; more are added up before it.
        self._tree = max(0, config.columns.bit_length() - 2)
        self.latency = self._tree + 3
        slot = slot_layout(config)
        hidden = data.ArrayLayout(signed(Fmt.H.width), config.columns)
        super().__init__(
            {
                "early": In(slot),
                "early_soon": In(1),
                "row": In(slot),
                "h": In(hidden),
                "inject_en": Out(1),
                "inject": Out(hidden),
                "load": In(load_layout(config)),
                "busy": Out(1),
                "done": Out(1),
                "done_job": Out(2),
                "job": In(2),
                "live": In(1),
                "waits": In(1),
                "out": Out(OUTPUTS),
                "soon": Out(signed(Fmt.OUT.width)),
                "sure": Out(1),
            }
            | scrub_ports(config)
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, sizes = self._config, Sizes(self._config)
        delay = Delays(m)
        final = self.row.valid & self.row.done & self.row.final
        get = self._copy(m, final)
        go, begin, more = self._further(m, final)
        beat = self._beat(m, go, more)
        # Said a cycle ahead: some of these memories are LUT RAM.
        taps = tap(m, config, self, ~(more.on | begin | self.early_soon), ahead=True)
        weights = add_head_weights(m, config, self.load, taps)
        biases = add_head_biases(m, config, self.load, taps)
        shifts = add_head_shifts(m, config, self.load, taps)
        if taps is not None:
            m.d.comb += self.scrubbed.eq(taps.answer())
        m.d.comb += [
            weights.addr.eq(Cat(beat.group[sizes.sub_bits :], beat.output, beat.set)),
            biases.addr.eq(Cat(beat.output[1:], beat.set)),
            shifts.addr.eq(Cat(beat.output[3:], beat.set)),
        ]

        # Stage 2: the hidden values of a further output.
        m.d.comb += [
            self.inject_en.eq(delay(go, 2, reset=True)),
            get.addr.eq(delay(more.group, 2)),
            self.inject.as_value().eq(get.data),
        ]

        # Stages 2 to 4: products. The sum starts with the bias and half an LSB.
        beat_1 = delay(beat, 1)
        shift = shifts.data.word_select(beat_1.output[:3], 4)[:3]
        products = self._products(m, weights.data, shift, beat_1)
        bias = delay(biases.data.word_select(beat_1.output[0], 16), 3 + self._tree)
        start = Cat(Const(1 << (_DROP - 1), _DROP), bias).as_signed()
        terms = self._tree_sum(m, products)
        at = 4 + self._tree
        total = Signal(signed(_SUM_BITS), reset_less=True)
        adding = delay(beat, at)
        # An output that waits comes back, unless a sum has begun.
        begun, is_back = Signal(), Signal()
        en = beat.en
        adds = delay(en, at, reset=True)
        back = self.waits & ~begun & ~adds
        bits = total[_DROP : _DROP + Fmt.OUT.width]
        with m.If(adds):
            m.d.sync += [
                total.eq(_sum(Mux(adding.first, start, total), terms)),
                begun.eq(~adding.last),
            ]
        with m.Elif(back):
            m.d.sync += bits.eq(self.out[0])

        result = delay(beat, at + 1)
        store = delay(en, at + 1, reset=True) & result.last
        fits = self._store(m, total, result, store)
        new = store & (result.output == 0) & (result.job == self.job) & fits
        m.d.comb += self.soon.eq(bits.as_signed())
        m.d.sync += [is_back.eq(back), self.sure.eq(new | (is_back & self.waits))]
        m.d.comb += [self.done.eq(store & result.end), self.done_job.eq(result.job)]
        return m

    def _copy(self, m: Module, final: Value) -> ReadPort:
        """A copy of the vector, for the outputs after the first; its read port."""
        columns = self._config.columns
        m.submodules.copy = copy = Memory(
            shape=columns * Fmt.H.width, depth=HIDDEN // columns, init=[]
        )
        put, get = copy.write_port(), copy.read_port(domain="comb")
        m.d.comb += [
            put.en.eq(final),
            put.addr.eq(self.row.group),
            put.data.eq(self.h.as_value()),
        ]
        return get

    def _further(self, m: Module, final: Value) -> tuple[Signal, Signal, _Further]:
        """Further outputs: one is taken up in this cycle, they begin; where they are."""
        sizes = Sizes(self._config)
        again = Signal()
        m.d.comb += self.busy.eq(again)
        output = Signal(range(MAX_OUTPUTS))
        group = Signal(sizes.group_bits)
        copied = Signal(slot_layout(self._config), reset_less=True)
        last_group = group == sizes.groups - 1
        # The windows to come send their hidden values down the same path, and go first.
        go = Signal()
        m.d.comb += go.eq(again & ~(self.early.valid & self.early.done))
        with m.If(go):
            m.d.sync += group.eq(group + 1)
            with m.If(last_group):
                m.d.sync += [output.eq(output + 1), again.eq(output != copied.outputs)]
        begin = Signal()
        m.d.sync += begin.eq(final & self.row.last_group & (self.row.outputs != 0))
        with m.If(final):
            m.d.sync += copied.eq(self.row)
        with m.If(begin):
            m.d.sync += [again.eq(1), output.eq(1), group.eq(0)]
        return go, begin, _Further(again, output, group, copied)

    def _beat(self, m: Module, go: Signal, more: _Further) -> data.View:
        """Stage 0, three cycles before `row`: what the memories are to read."""
        sizes = Sizes(self._config)
        beat = Signal(
            data.StructLayout(
                {
                    "en": 1,
                    "set": self._config.set_bits,
                    "job": 2,
                    "output": 4,
                    "group": sizes.group_bits,
                    "first": 1,
                    "last": 1,
                    "end": 1,
                }
            )
        )
        early, again = self.early, more.on
        m.d.comb += [
            beat.en.eq(go | (early.valid & early.done & early.final)),
            beat.set.eq(Mux(again, more.copied.set, early.set)),
            beat.job.eq(Mux(again, more.copied.job, early.job)),
            beat.output.eq(Mux(again, more.output, 0)),
            beat.group.eq(Mux(again, more.group, early.group)),
            beat.first.eq(beat.group == 0),
            beat.last.eq(beat.group == sizes.groups - 1),
            beat.end.eq(
                beat.last & (beat.output == Mux(again, more.copied.outputs, early.outputs))
            ),
        ]
        return beat

    def _products(self, m: Module, word: Value, shift: Value, beat: data.View) -> list[Signal]:
        """A product of each column, three cycles later, with the fraction bits of the sum."""
        config = self._config
        products = []
        for column in range(config.columns):
            unit = pick_unit(word, 8, config, beat.group[: Sizes(config).sub_bits], column)
            weight = Signal(8, name=f"wl_{column}", reset_less=True)
            shifted = Signal(signed(15), name=f"wl_{column}_shifted", reset_less=True)
            by = near(m, f"shift_{column}", shift, dsp=config.dsp)
            m.d.sync += [
                weight.eq(unit),
                shifted.eq(Cat(Const(0, 7), weight).as_signed() >> by),
            ]
            m.submodules[f"mult_{column}"] = mult = Multiplier(15, Fmt.H.width, dsp=config.dsp)
            m.d.comb += [mult.a.eq(shifted), mult.b.eq(self.h[column])]
            products.append(mult.p)
        return products

    def _tree_sum(self, m: Module, terms: list[Signal]) -> list[Signal]:
        """Two terms of their sum, or one: a cycle later for each level of the tree."""
        while len(terms) > 2:
            pairs: list[Signal] = []
            for a, b in zip(terms[0::2], terms[1::2], strict=True):
                pair = Signal(signed(len(a) + 1), name=f"pair_{len(terms)}_{len(pairs)}")
                m.d.sync += pair.eq(a + b)
                pairs.append(pair)
            terms = pairs
        return terms

    def _store(self, m: Module, total: Signal, result: data.View, store: Value) -> Value:
        """Keeps an output until its job is read.

        Returns
        -------
        Value
            It is within its limits.
        """
        sign, above = total[-1], total[_DROP + 15 :]
        bits = total[_DROP : _DROP + 16]
        fits = above.all() | ~above.any()
        output = Mux(fits, bits, Cat((~sign).replicate(15), sign))
        for n in range(MAX_OUTPUTS):
            memory = Memory(shape=Fmt.OUT.width, depth=JOBS, init=[])
            m.submodules[f"out_{n}"] = memory
            write, read = memory.write_port(), memory.read_port(domain="comb")
            m.d.comb += [
                write.en.eq(store & (result.output == n)),
                write.addr.eq(result.job),
                write.data.eq(output),
                read.addr.eq(self.job),
            ]
            if n:
                m.d.comb += self.out[n].eq(read.data.as_signed())
                continue
            # It need not go through the memory first.
            first = Signal(signed(Fmt.OUT.width))
            comes = write.en & (result.job == self.job)
            m.d.sync += first.eq(Mux(comes, output, read.data))
            with m.If(~self.live):
                m.d.sync += first.eq(0)
            m.d.comb += self.out[0].eq(first)
        return fits


def _sum(start: Value, terms: list[Signal]) -> Value:
    """`start` and one or two terms in one carry chain, before which three bits become two."""
    if len(terms) == 1:
        return start + terms[0]
    first, second = (widened(term, _SUM_BITS) for term in terms)
    a, b = carry_save(start, first, second)
    return a + b
