"""Whether a tree that is being loaded is one; golden model `precog_models.predict.tree_model`.

::

    words of rows 0..27 ─► sum of a leaf's small probabilities ─┐
    bytes of row 30 ─► inputs, largest age ─────────────────────┴─► good, depth
    header ─► depth, steps ─────────────────────────────────────┘
"""

from functools import reduce
from operator import or_

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from precog_spec.config import NicConfig
from precog_spec.contract import (
    MAX_INPUTS,
    PROBABILITY,
    PROFILE_INPUTS,
    TREE_LEAF_WORDS,
    TREE_SMALL_BITS,
    TREE_SOURCE_ROW,
    TREE_THRESHOLD_ROW,
)

from .layouts import image_word_layout

__all__ = ["TreeCheck"]

_AGE = MAX_INPUTS.bit_length() - 1  # where a source byte's age begins
_SUM_BITS = 19  # of seven words' parts, 2 * 16383 and 15 * 4096 each at most


class TreeCheck(wiring.Component):
    """Sums the leaves and looks at the nodes of an image as its words come.

    Latency: `fault` is of all words so far 3 cycles after the last one. Throughput: a word a cycle.
    Cost: about 150 LUTs, 80 flip-flops.

    Parameters
    ----------
    config : NicConfig

    Members
    -------
    i : In(image_word_layout)
        Words of an image, in their order from the first one on.
    steps : In(8)
        Steps that the image's header names.
    fault : Out(1)
        A leaf does not sum to 1, or a node looks at an input or a step that there is not.
    """

    def __init__(self, config: NicConfig) -> None:
        super().__init__(
            {"i": In(image_word_layout(config)), "steps": In(8), "fault": Out(1)},
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i, word = self.i, self.i.data.as_value()
        first = (i.row == 0) & (i.word == 0)
        wrong, oldest = Signal(), Signal(3)

        # Leaves: the place in a leaf is counted, their rows being no multiple of it.
        at, place = Signal(range(TREE_LEAF_WORDS)), Signal(range(TREE_LEAF_WORDS))
        part, part_stb = Signal(_SUM_BITS, reset_less=True), Signal()
        begins, ends = Signal(), Signal()
        total = Signal(_SUM_BITS, reset_less=True)
        whole, whole_stb = Signal(_SUM_BITS), Signal()
        m.d.comb += place.eq(Mux(first, 0, at))
        nibble = word[2 * TREE_SMALL_BITS :]
        weight = Signal(16)
        with m.Switch(place):
            for n in range(4):
                with m.Case(n + 1):
                    m.d.comb += weight.eq(nibble << 4 * n)
        with m.If(i.en):
            m.d.sync += at.eq(Mux(place == TREE_LEAF_WORDS - 1, 0, place + 1))
        m.d.sync += [
            part.eq(word[:TREE_SMALL_BITS] + word[TREE_SMALL_BITS : 2 * TREE_SMALL_BITS] + weight),
            part_stb.eq(i.en & (i.row < TREE_THRESHOLD_ROW)),
            begins.eq(place == 0),
            ends.eq(place == TREE_LEAF_WORDS - 1),
            whole_stb.eq(part_stb & ends),
        ]
        m.d.comb += whole.eq(Mux(begins, 0, total) + part)
        with m.If(part_stb):
            m.d.sync += total.eq(whole)
        over = whole_stb & (total > PROBABILITY.one)

        # Nodes.
        sources = [word[8 * n : 8 * n + 8] for n in range(4)]
        limit = len(PROFILE_INPUTS)
        no_such = reduce(or_, ((s[:_AGE] >= limit) | (s[_AGE + 3 :] != 0) for s in sources))
        is_source = i.en & (i.row == TREE_SOURCE_ROW)
        ages = [s[_AGE : _AGE + 3] for s in sources]
        pairs = [Mux(a > b, a, b) for a, b in (ages[:2], ages[2:])]
        eldest, eldest_stb, stray = Signal(3, reset_less=True), Signal(), Signal()
        m.d.sync += [
            eldest.eq(Mux(pairs[0] > pairs[1], *pairs)),
            eldest_stb.eq(is_source),
            stray.eq(is_source & no_such),
        ]
        with m.If(eldest_stb & (eldest > oldest)):
            m.d.sync += oldest.eq(eldest)
        with m.If(over | stray):
            m.d.sync += wrong.eq(1)
        with m.If(i.en & first):
            m.d.sync += [wrong.eq(0), oldest.eq(0)]
        m.d.comb += self.fault.eq(wrong | (oldest >= self.steps))
        return m
