"""The MAC array: Wh . h of waiting hidden vectors, written back as the next step's partial sums.

Golden model `precog_models.predict.lstm.recur`. Nothing here is on the path from a sample to its
prediction: the array works for the windows to come.
"""

from amaranth.hdl import Cat, Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory, ReadPort
from amaranth.lib.wiring import In, Out

from precog_spec.config import NicConfig
from precog_spec.contract import HIDDEN, Fmt

from ..activity import ACTIVITY, hold
from .cell import state_write_layout
from .layouts import PASSES, Sizes, load_layout, pass_layout, scrub_ports, slot_layout
from .mac_drain import MacDrain
from .mac_lanes import MacLanes
from .pipeline import Delays
from .taps import Thief
from .weights import recurrent_address

__all__ = ["MacArray"]


class _Pass:
    """The walk of a pass through its hidden values, and what stage 0 gives the lanes."""

    def __init__(self, m: Module, config: NicConfig) -> None:
        sizes, descriptor = Sizes(config), pass_layout(config)
        beats = HIDDEN // sizes.ways
        self.delay = Delays(m)
        self.tail = Signal(range(PASSES))
        self.head = Signal(range(PASSES))
        self.waiting = Signal(range(PASSES + 1))
        self.take = Signal()  # the pass ends
        self.beat = Signal(range(beats))
        self.turn = Signal(range(max(sizes.turns, 2)))
        self.active = Signal()
        self.last_beat = Signal()
        self.gap = Signal()  # a word is to be read for the scrubber
        self.hidden = Signal(data.ArrayLayout(signed(Fmt.H.width), sizes.ways), reset_less=True)
        self.addr = Signal(sizes.turn_bits + len(self.beat) + config.set_bits, reset_less=True)
        self.first = Signal(reset_less=True)
        self.last = Signal()
        self.this_turn = Signal.like(self.turn, reset_less=True)
        self.this_pass = Signal(descriptor, reset_less=True)


class MacArray(wiring.Component):
    """Multiply-accumulate lanes with a queue of hidden vectors before them.

    ::

        row, h ─► queue ─► h_j ─┬► group 0: lanes ─► Σ ─┐
                                └► group 1 (a cycle later) ─► Σ ─┤─► shift ─► + b ─► limit ─► state
                                       ...                       ┘

    Groups of units are skewed by a cycle each, so that their sums leave one a cycle and h travels
    through registers instead of fanning out.

    Latency: about `pass_cycles` + ``units / columns`` + 13 from a complete vector to `done`.
    Throughput: a vector in `pass_cycles` (16 at 64 lanes, 64 at 16, 256 at 4, 8 at 128).
    Cost: ``lanes`` multipliers, ``lanes`` x 28-bit accumulators, 1 (4 lanes) to 32 block RAMs.

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
    scrub, scrubbed : In(scrub_layout), Out(answer_layout)
        With `config.ecc`: a word to be read; the word, once. A cycle between two vectors is left
        free for it.
    state : Out(state_write_layout)
        The next step's partial sums.
    done : Out(1), done_pass : Out(pass_layout)
        A vector's last group has been written.
    activity : Out(ACTIVITY)
        The bits of this unit and its parts (`precog_hw.activity`).
    """

    def __init__(self, config: NicConfig) -> None:
        self._config = config
        sizes = Sizes(config)
        self._lanes = MacLanes(config)
        self._drain = MacDrain(config)
        self.pass_cycles = HIDDEN // sizes.ways * sizes.turns
        super().__init__(
            {
                "row": In(slot_layout(config)),
                "h": In(data.ArrayLayout(signed(Fmt.H.width), config.columns)),
                "load": In(load_layout(config)),
                "state": Out(state_write_layout(config)),
                "done": Out(1),
                "done_pass": Out(pass_layout(config)),
                "activity": Out(ACTIVITY),
            }
            | scrub_ports(config)
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        at = _Pass(m, self._config)
        get, get_pass = self._queue(m, at)
        self._walk(m, at)
        self._address(m, at, get, get_pass)
        m.submodules.lanes = self._lanes
        m.submodules.drain = self._drain
        if self._config.ecc:
            self._scrub(m, at)
        self._connect(m, at)
        self._count_activity(m, at)
        return m

    def _queue(self, m: Module, at: _Pass) -> tuple[ReadPort, ReadPort]:
        """A row of hidden values for each group, and a descriptor for each pass."""
        config, sizes = self._config, Sizes(self._config)
        m.submodules.queue = queue = Memory(
            shape=config.columns * Fmt.H.width, depth=PASSES * sizes.groups, init=[]
        )
        m.submodules.passes = passes = Memory(shape=pass_layout(config), depth=PASSES, init=[])
        put, get = queue.write_port(), queue.read_port(domain="comb")
        put_pass, get_pass = passes.write_port(), passes.read_port(domain="comb")
        row_en = Signal()
        pass_en = Signal()
        m.d.comb += [
            row_en.eq(self.row.valid & self.row.done & ~self.row.final),
            pass_en.eq(row_en & self.row.last_group),
            put.en.eq(row_en),
            put.addr.eq(Cat(self.row.group, at.tail)),
            put.data.eq(self.h.as_value()),
            put_pass.en.eq(pass_en),
            put_pass.addr.eq(at.tail),
            put_pass.data.qp.eq(self.row.qp),
            put_pass.data.set.eq(self.row.set),
            put_pass.data.step.eq(self.row.step + 1),
            put_pass.data.job.eq(self.row.job),
            put_pass.data.last.eq(self.row.last_pass),
        ]
        m.d.sync += [at.tail.eq(at.tail + pass_en), at.waiting.eq(at.waiting + pass_en - at.take)]
        return get, get_pass

    def _walk(self, m: Module, at: _Pass) -> None:
        """Walk over a pass: `turns` times over the hidden values."""
        sizes = Sizes(self._config)
        beats = HIDDEN // sizes.ways
        last_turn = Signal()
        m.d.sync += at.last_beat.eq(at.active & (at.beat == beats - 2))
        m.d.comb += [
            last_turn.eq(at.turn == sizes.turns - 1),
            at.take.eq(at.last_beat & last_turn),
        ]
        with m.If(at.active):
            m.d.sync += at.beat.eq(at.beat + 1)
            with m.If(at.last_beat):
                m.d.sync += at.turn.eq(Mux(last_turn, 0, at.turn + 1))
        with m.If(at.take):
            m.d.sync += [at.head.eq(at.head + 1), at.active.eq((at.waiting > 1) & ~at.gap)]
        with m.Elif(~at.active):
            m.d.sync += at.active.eq(at.waiting != 0)

    def _address(self, m: Module, at: _Pass, get: ReadPort, get_pass: ReadPort) -> None:
        """A row of the queue; then stage 0: the hidden values and the weights' address."""
        config, sizes = self._config, Sizes(self._config)
        row = Signal(config.columns * Fmt.H.width, reset_less=True)
        m.d.sync += row.eq(get.data)
        beat_0, turn_0 = at.delay(at.beat, 1), at.delay(at.turn, 1)
        pass_0 = Signal(get_pass.data.shape(), reset_less=True)
        lane_bits = (config.columns // sizes.ways).bit_length() - 1
        m.d.comb += [
            get.addr.eq(Cat(at.beat[lane_bits:], at.head)),
            get_pass.addr.eq(at.head),
        ]
        m.d.sync += [
            pass_0.eq(get_pass.data),
            at.hidden.eq(row.word_select(beat_0[:lane_bits], sizes.ways * Fmt.H.width)),
            at.addr.eq(Cat(turn_0[: sizes.turn_bits], beat_0, pass_0.set)),
            at.first.eq(beat_0 == 0),
            at.last.eq(at.delay(at.last_beat, 1, reset=True)),
            at.this_turn.eq(turn_0),
            at.this_pass.eq(pass_0),
        ]

    def _scrub(self, m: Module, at: _Pass) -> None:
        """A word for the scrubber is read between two passes."""
        config, lanes, drain = self._config, self._lanes, self._drain
        thief = Thief(m, self.scrub, ~at.delay(at.active, 1, reset=True))
        place = thief.place
        with m.If(thief.stolen):
            m.d.sync += at.addr.eq(recurrent_address(config, place.row, place.word, place.set))
        m.d.comb += [
            lanes.place.eq(place),
            lanes.stolen.eq(at.delay(thief.stolen, 1, reset=True)),
            drain.scrub.eq(self.scrub),
            at.gap.eq(thief.wants | drain.wants),
            self.scrubbed.eq(lanes.scrubbed.as_value() | drain.scrubbed.as_value()),
        ]

    def _connect(self, m: Module, at: _Pass) -> None:
        """Lanes and drain, which gets each sum when the lanes have it."""
        lanes, drain = self._lanes, self._drain
        sums_at = lanes.latency - 2
        m.d.comb += [
            lanes.hidden.eq(at.hidden),
            lanes.addr.eq(at.addr),
            lanes.first.eq(at.first),
            lanes.load.eq(self.load),
            drain.sums.eq(lanes.sums),
            drain.begin.eq(at.delay(at.last, sums_at, reset=True)),
            drain.begin_pass.eq(at.delay(at.this_pass, sums_at)),
            drain.begin_turn.eq(at.delay(at.this_turn, sums_at)),
            drain.load.eq(self.load),
            self.state.eq(drain.state),
            self.done.eq(drain.done),
            self.done_pass.eq(drain.done_pass),
        ]

    def _count_activity(self, m: Module, at: _Pass) -> None:
        """The bits of this unit and its parts, each for as long as the part needs its clock."""
        config, sizes = self._config, Sizes(self._config)
        lanes, drain = self._lanes, self._drain
        loading = hold(m, "load", self.load.en, 2)
        multiplying = hold(m, "lanes", at.active, 3 + lanes.latency + sizes.units // config.columns)
        draining = hold(m, "drain", drain.begin, drain.latency)
        queued = hold(m, "mac", self.row.valid | at.active | (at.waiting != 0), 8)
        m.d.comb += [
            # The times of its parts are counted here.
            self.activity.mac.eq(queued | multiplying | draining),
            self.activity.lanes.eq(multiplying | loading),
            self.activity.drain.eq(draining | loading),
        ]
