"""The MAC array: Wh . h of waiting hidden vectors, written back as the next step's partial sums.

Golden model `precog_models.predict.lstm.recur`. Nothing here is on the path from a sample to its
prediction: the array works for the windows to come.
"""

from amaranth.hdl import Cat, Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
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
        gap = Signal()  # a word is to be read for the scrubber
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
            m.d.sync += [head.eq(head + 1), active.eq((waiting > 1) & ~gap)]
        with m.Elif(~active):
            m.d.sync += active.eq(waiting != 0)

        # A row of the queue; then stage 0: the hidden values and the weights' address.
        row = Signal(columns * Fmt.H.width, reset_less=True)
        m.d.sync += row.eq(get.data)
        beat_0, turn_0 = delay(beat, 1), delay(turn, 1)
        pass_0 = Signal(descriptor, reset_less=True)
        lane_bits = (columns // ways).bit_length() - 1
        turn_bits = sizes.turn_bits
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

        m.submodules.lanes = lanes = self._lanes
        m.submodules.drain = drain = self._drain
        if config.ecc:
            thief = Thief(m, self.scrub, ~delay(active, 1, reset=True))
            place = thief.place
            with m.If(thief.stolen):
                m.d.sync += addr.eq(recurrent_address(config, place.row, place.word, place.set))
            m.d.comb += [
                lanes.place.eq(place),
                lanes.stolen.eq(delay(thief.stolen, 1, reset=True)),
                drain.scrub.eq(self.scrub),
                gap.eq(thief.wants | drain.wants),
                self.scrubbed.eq(lanes.scrubbed.as_value() | drain.scrubbed.as_value()),
            ]
        at = lanes.latency - 2
        m.d.comb += [
            lanes.hidden.eq(hidden),
            lanes.addr.eq(addr),
            lanes.first.eq(first),
            lanes.load.eq(self.load),
            drain.sums.eq(lanes.sums),
            drain.begin.eq(delay(last, at, reset=True)),
            drain.begin_pass.eq(delay(this_pass, at)),
            drain.begin_turn.eq(delay(this_turn, at)),
            drain.load.eq(self.load),
            self.state.eq(drain.state),
            self.done.eq(drain.done),
            self.done_pass.eq(drain.done_pass),
        ]
        loading = hold(m, "load", self.load.en, 2)
        multiplying = hold(m, "lanes", active, 3 + lanes.latency + groups)
        draining = hold(m, "drain", drain.begin, drain.latency)
        queued = hold(m, "mac", self.row.valid | active | (waiting != 0), 8)
        m.d.comb += [
            # The times of its parts are counted here.
            self.activity.mac.eq(queued | multiplying | draining),
            self.activity.lanes.eq(multiplying | loading),
            self.activity.drain.eq(draining | loading),
        ]
        return m
