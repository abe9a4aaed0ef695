"""What the engine does when: samples in, slots of the element-wise pipe out.

A window's last step is done first, from the state that earlier samples left behind; then one step
of each coming window, the longest first, so that each reads its state before it is overwritten.
A context that holds another model's state is rebuilt by feeding the kept inputs again.
"""

from contextlib import nullcontext
from functools import reduce
from operator import or_

from amaranth.hdl import Assert, Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.near import near
from precog_spec.config import NicConfig
from precog_spec.contract import MAX_STEPS

from .layouts import (
    GATES,
    JOBS,
    PASSES,
    X_VECTOR,
    Sizes,
    model_layout,
    pass_layout,
    slot_layout,
    tag_layout,
)
from .memory import block_memory

__all__ = ["Sequencer", "request_layout", "response_layout"]


def request_layout(config: NicConfig) -> data.StructLayout:
    """A sample of a QP, and the model that its window shall run through."""
    return data.StructLayout({"qp": config.qp_bits, "model": model_layout(config)})


def response_layout(config: NicConfig) -> data.StructLayout:
    """A job that is finished, or will be."""
    return data.StructLayout(
        {"qp": config.qp_bits, "live": 1, "set": config.set_bits, "outputs": 4, "job": 2}
    )


class _Work:
    """Signals that the parts of the sequencer share."""

    def __init__(self, config: NicConfig) -> None:
        sizes = Sizes(config)
        request = request_layout(config)
        # The request that waits for its start.
        self.req = Signal(request)
        self.req_valid = Signal()
        self.taken = Signal()
        self.started = Signal()
        # A job's first cycles.
        self.fresh = Signal()
        self.check = Signal()
        self.store = Signal()
        self.keep = Signal()  # its inputs have come

        # Jobs in flight.
        self.jobs = Signal(data.ArrayLayout(_job_layout(config), JOBS))
        self.alloc = Signal(range(JOBS))
        self.hazard = Signal()  # the queue pair's last job still writes its state
        self.free = Signal()
        self.level = Signal(range(PASSES + 1))  # of the MAC array's queue
        self.claim = Signal(range(PASSES + 1))
        self.room = Signal()
        self.head_held = Signal()
        self.held = Signal(2)

        # The job at work.
        self.job = Signal(request)
        self.number = Signal(2)
        self.step = Signal(sizes.step_bits)
        self.group = Signal(sizes.group_bits)
        self.place = Signal(3)
        self.phase = Signal(3)  # of a unit, with few lanes: four gates, then their products
        self.turn = Signal(3)  # the replay's sample, from 0; T - 1 is the new one
        self.newest = Signal()  # turn == T - 1, or no replay
        # What ends with this slot: the sum over the inputs, the pass, the sample's passes.
        self.done = Signal()
        self.last_group = Signal()
        self.last_step = Signal()
        self.running = Signal()

        # Its context.
        self.tag = Signal(tag_layout(config))
        self.mismatch = Signal()
        self.x_new = Signal(X_VECTOR)
        self.fetching = Signal()
        self.sweep = Signal(range(config.qps + 1))  # clears all tags
        self.sweeping = self.sweep != config.qps
        self.reset_now = Signal()


def _job_layout(config: NicConfig) -> data.StructLayout:
    """A job in flight."""
    return data.StructLayout(
        {
            "qp": config.qp_bits,
            "set": config.set_bits,
            "live": 1,
            "outputs": 4,
            "mac": 1,  # its run-ahead is not finished
            "rsp": 1,  # its response has not been taken
            "ready": 1,  # its response is complete
        }
    )


class Sequencer(wiring.Component):
    """Admission, contexts, history of inputs and order of passes.

    Latency: the first slot is given 2 cycles after a request's transfer, if nothing stands in its
    way; the response becomes valid one cycle after `head_done`.
    Throughput: ``T * 16 / columns * I + 2`` cycles a sample, if the MAC array keeps up; with few
    lanes ``T * 64 * (I + 1) + 2``. A sample of a QP waits until the run-ahead of its last one is
    done.
    Cost: about 900 LUTs, ``qps * steps`` x 128 bits of history, ``qps`` x 40 bits of tags.

    Parameters
    ----------
    config : NicConfig
        What is built.

    Members
    -------
    i_req : In(stream of request_layout)
        Samples.
    i_x : In(stream of X_VECTOR)
        Their inputs, taken `x_lead` cycles after a request's transfer at the earliest: its inputs
        must be valid by then.
    i_reset : In(stream of qp)
        Forget a QP's inputs, before the next request that is not yet started.
    o_slot : Out(slot_layout), o_flush : Out(1), o_x : Out(ArrayLayout(signed(16), columns))
        To the element-wise pipe; the input, for each column, is that of `Sizes.input_stage`.
    soon : Out(1)
        A slot may be given in the next cycle.
    o_rsp : Out(stream of response_layout)
        In the order of the requests.
    live : Out(1)
        `o_rsp.payload.live` of the next cycle.
    mac_done, mac_pass : In(1), In(pass_layout)
        A hidden vector has gone through the MAC array.
    head_done, head_job : In(1), In(2)
        A job's outputs can be read from the next cycle on.
    in_use : Out(sets)
        Sets of the jobs that are not finished.
    busy : Out(1)
        A job is being started or its slots are being given.
    """

    x_lead: int

    def __init__(self, config: NicConfig) -> None:
        self._config = config
        self.x_lead = 2 + Sizes(config).input_stage  # the first slot is given after 2 cycles
        super().__init__(
            {
                "i_req": In(stream.Signature(request_layout(config))),
                "i_x": In(stream.Signature(X_VECTOR)),
                "i_reset": In(stream.Signature(config.qp_bits)),
                "o_slot": Out(slot_layout(config)),
                "o_flush": Out(1),
                "o_x": Out(data.ArrayLayout(X_VECTOR.elem_shape, config.columns)),
                "soon": Out(1),
                "o_rsp": Out(stream.Signature(response_layout(config))),
                "live": Out(1),
                "mac_done": In(1),
                "mac_pass": In(pass_layout(config)),
                "head_done": In(1),
                "head_job": In(2),
                "in_use": Out(config.sets),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        w = _Work(self._config)
        self._take(m, w)
        self._in_flight(m, w)
        self._room(m, w)
        self._enter(m, w)
        self._slot(m, w)
        self._context(m, w, self._inputs(m, w))
        m.d.comb += self.busy.eq(
            w.req_valid | w.fresh | w.check | w.store | w.keep | w.running | w.sweeping
        )
        self._sequence(m, w)
        return m

    def _take(self, m: Module, w: _Work) -> None:
        """The next request waits for its start."""
        m.d.comb += [
            # The next one comes no sooner than this one's inputs, which are taken after `check`.
            self.i_req.ready.eq(~w.req_valid & ~w.fresh & ~w.check),
            w.taken.eq(self.i_req.valid & self.i_req.ready),
        ]
        with m.If(w.taken):
            m.d.sync += [w.req.eq(self.i_req.payload), w.req_valid.eq(1)]
        with m.Elif(w.started):
            m.d.sync += w.req_valid.eq(0)

    def _in_flight(self, m: Module, w: _Work) -> None:
        """Jobs in flight: responses in their order, hazards, sets in use."""
        config = self._config
        # Jobs in flight. One that has started is entered a cycle later.
        oldest = Signal(range(JOBS))
        same_qp = Signal(JOBS)
        in_use = Signal(config.sets)
        m.d.comb += [
            w.hazard.eq(Cat(w.jobs[n].mac & same_qp[n] for n in range(JOBS)).any()),
            self.o_rsp.payload.job.eq(oldest),
            self.live.eq(w.jobs[oldest].live),
        ]
        # Responses come from registers; the next one follows two cycles later.
        m.d.sync += [
            self.o_rsp.valid.eq(
                w.jobs[oldest].ready | (self.head_done & (self.head_job == oldest))
            ),
            *(
                self.o_rsp.payload[name].eq(w.jobs[oldest][name])
                for name in ("qp", "live", "set", "outputs")
            ),
        ]
        # No job starts between a request's transfer and its own start, so it is compared once.
        with m.If(w.taken):
            m.d.sync += same_qp.eq(Cat(w.jobs[n].qp == self.i_req.payload.qp for n in range(JOBS)))
        m.d.sync += w.free.eq(~(w.jobs[w.alloc].mac | w.jobs[w.alloc].rsp))
        users = [(w.jobs[n].mac | w.jobs[n].rsp, w.jobs[n].set) for n in range(JOBS)]
        users += [(w.req_valid & w.req.model.live, w.req.model.set), (w.fresh, w.job.model.set)]
        m.d.comb += in_use.eq(reduce(or_, (Mux(uses, 1 << used, 0) for uses, used in users)))
        m.d.comb += self.in_use.eq(in_use)
        with m.If(self.o_rsp.valid & self.o_rsp.ready):
            m.d.sync += [
                w.jobs[oldest].rsp.eq(0),
                w.jobs[oldest].ready.eq(0),
                oldest.eq(oldest + 1),
            ]
            m.d.sync += self.o_rsp.valid.eq(0)
        with m.If(self.head_done):
            m.d.sync += w.jobs[self.head_job].ready.eq(1)
        with m.If(self.mac_done & self.mac_pass.last):
            m.d.sync += w.jobs[self.mac_pass.job].mac.eq(0)

    def _room(self, m: Module, w: _Work) -> None:
        """Room in the MAC array's queue for all passes of the next job."""
        # Room in the MAC array's queue, and the head that repeats for further outputs.
        wanted = Mux(w.req_valid, w.req.model.steps, self.i_req.payload.model.steps)
        m.d.sync += [
            w.claim.eq(0),
            w.level.eq(w.level + w.claim - self.mac_done),
            # What is wanted is known late in the cycle.
            w.room.eq(Cat(w.level <= PASSES - n for n in range(MAX_STEPS)).bit_select(wanted, 1)),
        ]

    def _enter(self, m: Module, w: _Work) -> None:
        """A job that has started is entered, and holds the head while it has further outputs."""
        model = w.job.model
        with m.If(w.fresh):
            m.d.sync += [
                w.held.eq(w.number),
                w.head_held.eq(model.outputs != 0),
                w.jobs[w.number].qp.eq(w.job.qp),
                w.jobs[w.number].set.eq(model.set),
                w.jobs[w.number].live.eq(model.live),
                w.jobs[w.number].outputs.eq(model.outputs),
                w.jobs[w.number].mac.eq(model.steps != 0),
                w.jobs[w.number].rsp.eq(1),
            ]
        with m.Elif(self.head_done & (self.head_job == w.held)):
            m.d.sync += w.head_held.eq(0)

    def _slot(self, m: Module, w: _Work) -> None:
        """The slot for the element-wise pipe."""
        model = w.job.model
        slot = self.o_slot
        m.d.comb += [
            slot.valid.eq(w.running),
            slot.qp.eq(w.job.qp),
            slot.set.eq(model.set),
            slot.job.eq(w.number),
            slot.step.eq(w.step),
            slot.group.eq(w.group),
            slot.input.eq(w.place),
            slot.first.eq(w.place == 0),
            slot.done.eq(w.done),
            slot.last_group.eq(w.last_group),
            slot.last_pass.eq(w.last_step & w.newest),
            slot.final.eq(w.step == model.steps),
            slot.outputs.eq(model.outputs),
        ]
        if Sizes(self._config).gates == 1:
            # Order o, i, f, g.
            m.d.comb += [
                slot.valid.eq(w.running & ~w.phase[2]),
                slot.gate.eq(w.phase - 1),
                slot.done.eq(w.done & (w.phase == GATES - 1)),
            ]

    def _inputs(self, m: Module, w: _Work) -> data.View:
        """A job's inputs: taken as the pipe needs the first one, and kept for later slots.

        Returns
        -------
        now : X_VECTOR
            A register, to be loaded with the inputs of a replay.
        """
        serial = Sizes(self._config).gates == 1
        takes = w.check if serial else w.store
        now = Signal(X_VECTOR, name="x_now")
        place_1 = Signal.like(w.place)
        m.d.sync += [place_1.eq(w.place), w.keep.eq(takes)]
        m.d.comb += self.i_x.ready.eq(takes)
        m.d.sync += Assert(~takes | self.i_x.valid, "a request's inputs must be there in time")
        with m.If(takes):
            m.d.sync += [w.x_new.eq(self.i_x.payload), now.eq(self.i_x.payload)]
        if serial:
            m.d.comb += self.o_x[0].eq(Mux(takes, self.i_x.payload[0], now[place_1]))
            return now
        # Chosen a cycle ahead: before the multipliers there is only a choice of two.
        ahead = Signal(X_VECTOR)
        m.d.comb += ahead.eq(Mux(takes, self.i_x.payload.as_value(), now.as_value()))
        # Columns lie side by side across the device: each chooses for itself.
        dsp = self._config.dsp
        for column in range(self._config.columns):
            own = near(m, f"takes_{column}", w.check, dsp=dsp)
            chosen = near(m, f"chosen_{column}", ahead[place_1], dsp=dsp)
            m.d.comb += self.o_x[column].eq(Mux(own, self.i_x.payload[0], chosen))
        return now

    def _context(self, m: Module, w: _Work, x_now: data.View) -> None:
        """Tags and kept inputs: read at a job's start, compared, updated; all tags are cleared."""
        config = self._config
        model = w.job.model
        keep = config.steps - 1
        depth_bits = Sizes(config).step_bits
        # Contexts: whose state a QP's rows hold, and how many inputs are kept where.
        m.submodules.tags = tags = block_memory(tag_layout(config), config.qps)
        put_tag, get_tag = tags.write_port(), tags.read_port()
        m.submodules.history = history = block_memory(
            X_VECTOR, config.qps << Sizes(config).step_bits
        )
        put_x, get_x = history.write_port(), history.read_port()
        same = Signal(4)  # the tag is of this model: valid, and the epoch's bytes
        stateful = Signal()

        # A replay reads the inputs that came before the new one.
        back, known = Signal(3), Signal()
        past = Signal(depth_bits)
        m.d.sync += [known.eq(back <= w.tag.kept), past.eq(w.tag.next - back), w.fetching.eq(0)]
        m.d.comb += [back.eq(model.steps - w.turn), get_x.addr.eq(Cat(past, w.job.qp))]

        # The tag read at the start is compared one cycle later, when the first slot is on its way.
        m.d.comb += [get_tag.addr.eq(w.req.qp), self.o_flush.eq(w.check & w.mismatch)]
        m.d.sync += [w.fresh.eq(w.started), w.check.eq(w.fresh), w.store.eq(w.check)]
        with m.If(w.fresh):
            m.d.sync += [
                w.tag.eq(get_tag.data),
                stateful.eq(model.steps != 0),
                same.eq(
                    Cat(
                        get_tag.data.epoch.word_select(n, 8) == model.epoch.word_select(n, 8)
                        for n in range(4)
                    )
                ),
            ]
        m.d.comb += w.mismatch.eq(stateful & ~(w.tag.valid & same.all()))
        with m.If(w.check & ~w.mismatch):
            m.d.sync += w.claim.eq(model.steps)
        with m.If(w.fetching):
            with m.If(w.newest):
                m.d.sync += x_now.eq(w.x_new)
            with m.Elif(known):
                m.d.sync += x_now.eq(get_x.data)
            with m.Else():
                m.d.sync += x_now.eq(X_VECTOR.const([0] * 8))

        # The history is updated when the inputs are in; `sweep` clears all tags.
        m.d.comb += [
            put_x.en.eq(w.keep),
            put_x.addr.eq(Cat(w.tag.next, w.job.qp)),
            put_x.data.eq(w.x_new),
            put_tag.en.eq(w.store | w.reset_now | w.sweeping),
            put_tag.addr.eq(Mux(w.store, w.job.qp, Mux(w.sweeping, w.sweep, self.i_reset.payload))),
        ]
        with m.If(w.store):
            m.d.comb += [
                put_tag.data.valid.eq(model.live),
                put_tag.data.epoch.eq(model.epoch),
                put_tag.data.next.eq(w.tag.next + 1),
                put_tag.data.kept.eq(Mux(w.tag.kept == keep, keep, w.tag.kept + 1)),
            ]
        with m.If(w.sweeping):
            m.d.sync += w.sweep.eq(w.sweep + 1)

    def _sequence(self, m: Module, w: _Work) -> None:
        """Start of jobs, and the order of their slots."""
        model = w.job.model
        sizes = Sizes(self._config)
        serial = sizes.gates == 1
        # A request without a model runs one step and one output of any set: its place in the order
        # costs no second path. It waits for as much room as that set's model would need.
        asked = {
            name: Mux(w.req.model.live, w.req.model[name], 0)
            for name in ("inputs", "steps", "outputs")
        }
        ok = Signal()
        m.d.comb += ok.eq(w.req_valid & ~w.hazard & ~w.head_held & w.free & w.room)
        with m.FSM(name="sequence") as sequence:
            m.d.comb += self.soon.eq(w.started | w.running | sequence.ongoing("FETCH"))
            with m.State("CLEAR"), m.If(~w.sweeping):
                m.next = "IDLE"
            with m.State("IDLE"):
                m.d.sync += [
                    w.job.eq(w.req),
                    *(w.job.model[name].eq(value) for name, value in asked.items()),
                    w.number.eq(w.alloc),
                    w.step.eq(asked["steps"]),
                    w.group.eq(0),
                    w.place.eq(0),
                    w.done.eq(asked["inputs"] == 0),
                    *([w.phase.eq(0)] if serial else []),
                    w.last_group.eq(0),
                    w.last_step.eq(asked["steps"] == 0),
                    w.newest.eq(1),
                ]
                with m.If(self.i_reset.valid):
                    m.d.comb += [w.reset_now.eq(1), self.i_reset.ready.eq(1)]
                with m.Elif(ok):
                    m.d.comb += w.started.eq(1)
                    m.d.sync += [w.alloc.eq(w.alloc + 1), w.running.eq(1)]
                    m.next = "RUN"
            with m.State("RUN"):
                m.d.sync += [w.place.eq(w.place + 1), w.done.eq(w.place + 1 == model.inputs)]
                with m.If(w.done):
                    m.d.sync += [w.place.eq(0), w.done.eq(model.inputs == 0)]
                    if serial:
                        later = (w.phase + 1)[:3]
                        m.d.sync += [w.phase.eq(later), w.done.eq((model.inputs == 0) | later[2])]
                    with m.If(w.phase.all()) if serial else nullcontext():
                        m.d.sync += [
                            w.group.eq(w.group + 1),
                            w.last_group.eq(w.group == sizes.groups - 2),
                        ]
                        with m.If(w.last_group):
                            m.d.sync += [w.step.eq(w.step - 1), w.last_step.eq(w.step == 1)]
                            with m.If(w.last_step):
                                m.d.sync += w.running.eq(0)
                                with m.If(w.newest):
                                    m.next = "IDLE"
                                with m.Else():
                                    m.d.sync += [
                                        w.turn.eq(w.turn + 1),
                                        w.newest.eq(w.turn + 1 == model.steps),
                                    ]
                                    m.next = "WAIT"
                # The context holds another model's state: stop, and replay the kept inputs, the
                # oldest first. WAIT lets the MAC array's queue drain; READ and FETCH get an input.
                with m.If(w.check & w.mismatch):
                    m.d.sync += [w.running.eq(0), w.newest.eq(0), w.turn.eq(0)]
                    m.next = "WAIT"
            with m.State("WAIT"):
                m.d.sync += [
                    w.step.eq(w.turn),
                    w.group.eq(0),
                    w.place.eq(0),
                    w.done.eq(model.inputs == 0),
                    *([w.phase.eq(0)] if serial else []),
                    w.last_group.eq(0),
                    w.last_step.eq(w.turn == 0),
                ]
                with m.If(w.level == 0):
                    m.next = "READ"
            with m.State("READ"):
                m.d.sync += w.fetching.eq(1)
                m.next = "FETCH"
            with m.State("FETCH"):
                # Step 1 needs no stored state; a sample that is not the newest has turn + 1 passes.
                m.d.sync += w.claim.eq(Mux(w.newest, model.steps, w.turn + 1))
                m.d.sync += w.running.eq(1)
                m.next = "RUN"
