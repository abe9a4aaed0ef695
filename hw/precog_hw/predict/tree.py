"""A queue pair's last profiles, and the decision tree that says what will become of its queue.

::

    i ─► history ─► [node: threshold, source] ─► value of that step ─► left or right ─► leaf ─┐
                            ▲ depth times ─────────────────────────────────┘                  │
                     memory of trees ◄─ loader, scrubber     o ◄─ 15 bins, the rest, tail ◄───┘

Golden model `precog_models.predict.tree`; `precog_spec.contract` has the layout of an image.
"""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from precog_spec.config import NicConfig
from precog_spec.contract import (
    MAX_INPUTS,
    MAX_OUTPUTS,
    PROBABILITY,
    PROFILE_INPUTS,
    TREE_DEPTH,
    TREE_LEAF_WORDS,
    TREE_SMALL_BITS,
    TREE_SOURCE_ROW,
    TREE_THRESHOLD_ROW,
    Fmt,
)

from .layouts import load_layout, scrub_ports
from .memory import block_memory
from .softmax import SOFTMAX_OUTPUT
from .taps import tap
from .weights import Words

__all__ = ["ANSWER", "TreePredictor", "tree_request_layout"]

ANSWER = data.StructLayout({"live": 1, **SOFTMAX_OUTPUT.members})

_INPUTS = len(PROFILE_INPUTS)
_AGE = MAX_INPUTS.bit_length() - 1  # where a source's age begins
_ROW = data.ArrayLayout(signed(Fmt.X.width), _INPUTS)
_QUESTION_CYCLES = 6
_OTHER_CYCLES = 13  # to the first question, through the leaf, to the offer


def tree_request_layout(config: NicConfig) -> data.StructLayout:
    """A profile, and the tree that is asked: without `live` none, but the profile is kept."""
    return data.StructLayout(
        {"qp": config.qp_bits, "set": config.set_bits, "live": 1, "depth": 3, "x": _ROW}
    )


class TreePredictor(wiring.Component):
    """Distributions of profiles, one at a time.

    Latency: from a request's transfer to its answer's offer `latency` cycles: 6 for each question
    and 13, 49 at depth 6; 2 without a tree. Throughput: one in that time and one cycle.
    Cost: no multiplier; about 1,100 LUTs and 600 flip-flops; per set one block RAM of 512 x 36, and
    64 bits for each step of each queue pair.

    Parameters
    ----------
    config : NicConfig
        With `tree`.

    Members
    -------
    i : In(stream of tree_request_layout)
    threshold : In(4)
        First bin of the tail; must hold from an input's transfer to its result.
    o : Out(stream of ANSWER)
        Probabilities in PROBABILITY's format, 32768 in all, and the sum of those from `threshold`
        on; without `live` they mean nothing.
    clear_stb, clear_qp : In
        Forget a queue pair's profiles; not while one of its is worked on.
    in_use : Out(sets)
        The tree that is being read.
    load : In(load_layout)
        Writes into the memory of trees.
    scrub, scrubbed : In(scrub_layout), Out(answer_layout)
        With `config.ecc`: a word to be read in a cycle between two requests, and the word.
    """

    def __init__(self, config: NicConfig) -> None:
        self._config = config
        super().__init__(
            {
                "i": In(stream.Signature(tree_request_layout(config))),
                "threshold": In(4),
                "o": Out(stream.Signature(ANSWER)),
                "clear_stb": In(1),
                "clear_qp": In(config.qp_bits),
                "in_use": Out(config.sets),
                "load": In(load_layout(config)),
            }
            | scrub_ports(config)
        )

    @staticmethod
    def latency(depth: int) -> int:
        """Cycles from a request's transfer to its answer's offer."""
        return _QUESTION_CYCLES * depth + _OTHER_CYCLES

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        about = Signal(tree_request_layout(config))
        idle, reading = Signal(), Signal()
        m.d.comb += self.in_use.eq(Mux(reading, 1 << about.set, 0))
        taps = tap(m, config, self, idle & ~self.i.valid, copy=2)
        address = Signal(9)  # {row, word} of the tree's image
        words = Words(
            m,
            config,
            "trees",
            config.sets << 9,
            lambda row, word, number: (Const(1), Cat(word, row, number)),
            self.load,
            taps,
            cycle=0,
        )
        m.d.comb += words.addr.eq(Cat(address, about.set))
        if taps is not None:
            m.d.comb += self.scrubbed.eq(taps.answer())

        node, leaf = Signal(TREE_DEPTH), Signal(TREE_DEPTH)
        level, yes = Signal(3), Signal()
        threshold = Signal(signed(Fmt.X.width), reset_less=True)
        source = Signal(8, reset_less=True)
        value = self._history(m, about, source)
        at, taking, ends = Signal(3), Signal(), Signal(2)  # a word of the leaf; what is done
        # A register after the memory: what a word's bits are is decided by its own nibble.
        word, word_at = Signal(32, reset_less=True), Signal(3, reset_less=True)
        word_there = Signal()
        m.d.sync += [word.eq(words.data), word_at.eq(at), word_there.eq(taking), taking.eq(0)]
        self._take(m, word, word_there, word_at, ends)
        with m.FSM(name="walk"):
            with m.State("IDLE"):
                m.d.comb += [idle.eq(1), self.i.ready.eq(1)]
                m.d.sync += [about.eq(self.i.payload), node.eq(0), leaf.eq(0), level.eq(0)]
                with m.If(self.i.valid):
                    m.d.sync += reading.eq(self.i.payload.live)
                    m.next = "KEEP"
            with m.State("KEEP"):  # the profile is being written
                m.next = "OFFER"
                with m.If(about.live):
                    m.next = "THRESHOLD"
            with m.State("THRESHOLD"):
                m.d.comb += address.eq(Cat(node[1:], Const(TREE_THRESHOLD_ROW >> 1, 4)))
                m.next = "SOURCE"
            with m.State("SOURCE"):
                m.d.comb += address.eq(Cat(node[2:], Const(TREE_SOURCE_ROW, 5)))
                m.d.sync += threshold.eq(words.data.word_select(node[0], 16))
                m.next = "STEP"
            with m.State("STEP"):
                m.d.sync += source.eq(words.data.word_select(node[:2], 8))
                m.next = "READ"
            with m.State("READ"):
                m.next = "COMPARE"
            with m.State("COMPARE"):
                m.d.sync += [yes.eq(value >= threshold), level.eq(level + 1), at.eq(0)]
                m.next = "NEXT"
            with m.State("NEXT"):
                m.d.sync += [node.eq((node << 1) + 1 + yes), leaf.eq(Cat(yes, leaf))]
                m.next = "THRESHOLD"
                with m.If(level == about.depth):
                    m.next = "LEAF"
            with m.State("LEAF"):
                m.d.comb += address.eq((leaf << 3) - leaf + at)
                m.d.sync += [taking.eq(1), at.eq(at + 1)]
                with m.If(at == TREE_LEAF_WORDS - 1):
                    m.next = "TAKEN"
            with m.State("TAKEN"):
                m.d.sync += reading.eq(0)
                m.next = "SEVENTH"
            with m.State("SEVENTH"):
                m.next = "LAST"
            with m.State("LAST"):
                m.d.comb += ends[0].eq(1)
                m.next = "TOP"
            with m.State("TOP"):
                m.d.comb += ends[1].eq(1)
                m.next = "OFFER"
            with m.State("OFFER"):
                m.d.comb += self.o.valid.eq(1)
                with m.If(self.o.ready):
                    m.next = "IDLE"
        m.d.comb += self.o.payload.live.eq(about.live)
        return m

    def _history(self, m: Module, about: data.View, source: Value) -> Value:
        """The profiles; gives the value that `source` names, a cycle after it is there."""
        config = self._config
        step_bits = max(1, (config.steps - 1).bit_length())
        m.submodules.history = history = block_memory(_ROW, config.qps << step_bits)
        mark = data.StructLayout({"newest": step_bits, "count": 4})
        m.submodules.marks = marks = Memory(
            shape=mark, depth=config.qps, init=[], attrs={"ram_style": "distributed"}
        )
        put, get = history.write_port(), history.read_port()
        put_mark, get_mark = marks.write_port(), marks.read_port(domain="comb")
        keep, mark_now, following = Signal(), Signal(mark), Signal(mark)
        was = get_mark.data
        m.d.sync += keep.eq(self.i.valid & self.i.ready)
        m.d.comb += [
            get_mark.addr.eq(about.qp),
            following.newest.eq(was.newest + 1),
            following.count.eq(Mux(was.count == config.steps, was.count, was.count + 1)),
            put.en.eq(keep),
            put.addr.eq(Cat(following.newest, about.qp)),
            put.data.eq(about.x),
            put_mark.en.eq(keep | self.clear_stb),
            put_mark.addr.eq(Mux(keep, about.qp, self.clear_qp)),
            put_mark.data.eq(Mux(keep, following.as_value(), 0)),
        ]
        with m.If(keep):
            m.d.sync += mark_now.eq(following)
        age, column = source[_AGE : _AGE + 3], source[:2]
        there, value = Signal(), Signal(signed(Fmt.X.width))
        m.d.sync += there.eq(age < mark_now.count)
        m.d.comb += [
            get.addr.eq(Cat((mark_now.newest - age)[:step_bits], about.qp)),
            value.eq(Mux(there, Array(get.data[n] for n in range(_INPUTS))[column], 0)),
        ]
        return value

    def _take(self, m: Module, word: Value, taking: Value, at: Value, ends: Value) -> None:
        """A leaf's words become its distribution.

        `at` is the number of the word plus 1; the `ends` are for the bin without a field, and for
        the most likely one.
        """
        bins = [
            Signal(PROBABILITY.width, name=f"p_{n}", reset_less=True) for n in range(MAX_OUTPUTS)
        ]
        kept, top = Signal(4, reset_less=True), Signal(4)
        last = Signal(PROBABILITY.width, reset_less=True)
        rest = Signal(PROBABILITY.width, reset_less=True)
        over = Signal(PROBABILITY.width, reset_less=True)
        nibble = word[2 * TREE_SMALL_BITS :]
        m.d.comb += [
            top.eq(Mux(taking & (at == 1), nibble, kept)),
            *(self.o.payload.p[n].eq(p) for n, p in enumerate(bins)),
            self.o.payload.tail.eq(over),
        ]
        with m.If(taking):
            m.d.sync += kept.eq(top)
        with m.If(taking & (at <= 5)):  # what word 0 shifts in is shifted out again
            m.d.sync += last.eq(Cat(last[4:], nibble))
        # What goes into two bins in this cycle; 0 into none.
        one = [Signal(PROBABILITY.width, name=f"value_{n}") for n in range(2)]
        where = [Signal(4, name=f"bin_{n}") for n in range(2)]
        with m.If(ends[0]):
            m.d.comb += [one[0].eq(last), where[0].eq(~top), where[1].eq(~top)]
        with m.Elif(ends[1]):
            m.d.comb += [one[0].eq(rest), where[0].eq(top), where[1].eq(top)]
        with m.Else():
            m.d.comb += [
                one[0].eq(word[:TREE_SMALL_BITS]),
                where[0].eq(top ^ Cat(1, (at - 1)[:3])),
                one[1].eq(word[TREE_SMALL_BITS : 2 * TREE_SMALL_BITS]),
                where[1].eq(top ^ Cat(0, at)),
            ]
        begins = taking & (at == 1)
        counts = [Mux(where[n] >= self.threshold, one[n], 0) for n in range(2)]
        with m.If(taking | ends.any()):
            m.d.sync += [
                rest.eq(Mux(begins, PROBABILITY.one, rest) - one[0] - one[1]),
                over.eq(Mux(begins, 0, over) + counts[0] + counts[1]),
            ]
            for n, p in enumerate(bins):
                with m.If(where[0] == n):
                    m.d.sync += p.eq(one[0])
                with m.Elif(where[1] == n):
                    m.d.sync += p.eq(one[1])
