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

from precog_spec.config import NicConfig
from precog_spec.contract import MAX_STEPS

from .layouts import (
    EPOCH_BITS,
    GATES,
    JOBS,
    PASSES,
    X_VECTOR,
    Sizes,
    model_layout,
    pass_layout,
    slot_layout,
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
        Their inputs, taken `X_LEAD` = 3 cycles after a request's transfer at the earliest:
        its inputs must be valid by then.
    i_reset : In(stream of qp)
        Forget a QP's inputs, before the next request that is not yet started.
    o_slot : Out(slot_layout), o_flush : Out(1), o_x : Out(signed(16))
        To the element-wise pipe.
    soon : Out(1)
        A slot may be given in the next cycle.
    o_rsp : Out(stream of response_layout)
        In the order of the requests.
    mac_done, mac_pass : In(1), In(pass_layout)
        A hidden vector has gone through the MAC array.
    head_done, head_job : In(1), In(2)
        A job's outputs can be read from the next cycle on.
    in_use : Out(sets)
        Sets of the jobs that are not finished.
    busy : Out(1)
        A job is being started or its slots are being given.
    """

    def __init__(self, config: NicConfig) -> None:
        self._config = config
        super().__init__(
            {
                "i_req": In(stream.Signature(request_layout(config))),
                "i_x": In(stream.Signature(X_VECTOR)),
                "i_reset": In(stream.Signature(config.qp_bits)),
                "o_slot": Out(slot_layout(config)),
                "o_flush": Out(1),
                "o_x": Out(X_VECTOR.elem_shape),
                "soon": Out(1),
                "o_rsp": Out(stream.Signature(response_layout(config))),
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
        config, sizes = self._config, Sizes(self._config)
        request = request_layout(config)
        depth_bits = sizes.step_bits
        keep = config.steps - 1

        # The request that waits for its start. One without a model runs one step and one output
        # of whatever set: its place in the order costs no second path. (It waits for as much room
        # as that set's model would need.)
        req, req_valid = Signal(request), Signal()
        asked = {
            name: Mux(req.model.live, req.model[name], 0) for name in ("inputs", "steps", "outputs")
        }
        started = Signal()
        fresh, check, store = Signal(), Signal(), Signal()  # a job's first three cycles
        taken = Signal()
        m.d.comb += [
            self.i_req.ready.eq(~req_valid & ~fresh),
            taken.eq(self.i_req.valid & self.i_req.ready),
        ]
        with m.If(taken):
            m.d.sync += [req.eq(self.i_req.payload), req_valid.eq(1)]
        with m.Elif(started):
            m.d.sync += req_valid.eq(0)

        # Jobs in flight. One that has started is entered a cycle later.
        job = Signal(request)
        job_layout = data.StructLayout(
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
        jobs = Signal(data.ArrayLayout(job_layout, JOBS))
        alloc, oldest = Signal(range(JOBS)), Signal(range(JOBS))
        same_qp = Signal(JOBS)
        hazard = Signal()
        free = Signal()
        in_use = Signal(config.sets)
        m.d.comb += [
            hazard.eq(Cat(jobs[n].mac & same_qp[n] for n in range(JOBS)).any()),
            self.o_rsp.payload.job.eq(oldest),
        ]
        # Responses come from registers; the next one follows two cycles later.
        m.d.sync += [
            self.o_rsp.valid.eq(jobs[oldest].ready | (self.head_done & (self.head_job == oldest))),
            *(
                self.o_rsp.payload[name].eq(jobs[oldest][name])
                for name in ("qp", "live", "set", "outputs")
            ),
        ]
        # No job starts between a request's transfer and its own start, so it is compared once.
        with m.If(taken):
            m.d.sync += same_qp.eq(Cat(jobs[n].qp == self.i_req.payload.qp for n in range(JOBS)))
        m.d.sync += free.eq(~(jobs[alloc].mac | jobs[alloc].rsp))
        users = [(jobs[n].mac | jobs[n].rsp, jobs[n].set) for n in range(JOBS)]
        users += [(req_valid & req.model.live, req.model.set), (fresh, job.model.set)]
        m.d.comb += in_use.eq(reduce(or_, (Mux(uses, 1 << number, 0) for uses, number in users)))
        m.d.comb += self.in_use.eq(in_use)
        with m.If(self.o_rsp.valid & self.o_rsp.ready):
            m.d.sync += [jobs[oldest].rsp.eq(0), jobs[oldest].ready.eq(0), oldest.eq(oldest + 1)]
            m.d.sync += self.o_rsp.valid.eq(0)
        with m.If(self.head_done):
            m.d.sync += jobs[self.head_job].ready.eq(1)
        with m.If(self.mac_done & self.mac_pass.last):
            m.d.sync += jobs[self.mac_pass.job].mac.eq(0)

        # Room in the MAC array's queue, and the head that repeats for further outputs.
        level = Signal(range(PASSES + 1))
        claim = Signal(range(PASSES + 1))
        room = Signal()
        wanted = Mux(req_valid, req.model.steps, self.i_req.payload.model.steps)
        m.d.sync += [
            claim.eq(0),
            level.eq(level + claim - self.mac_done),
            # What is wanted is known late in the cycle.
            room.eq(Cat(level + n <= PASSES for n in range(MAX_STEPS)).bit_select(wanted, 1)),
        ]
        head_held = Signal()
        held = Signal(2)

        # Contexts: whose state a QP's rows hold, and how many inputs are kept where.
        tag_layout = data.StructLayout(
            {"valid": 1, "epoch": EPOCH_BITS, "next": depth_bits, "kept": range(keep + 1)}
        )
        m.submodules.tags = tags = block_memory(tag_layout, config.qps)
        put_tag, get_tag = tags.write_port(), tags.read_port()
        m.submodules.history = history = block_memory(X_VECTOR, config.qps << depth_bits)
        put_x, get_x = history.write_port(), history.read_port()

        # The job at work.
        number = Signal(2)
        step = Signal(depth_bits)
        group, place = Signal(sizes.group_bits), Signal(3)
        turn = Signal(3)  # the replay's sample, from 0; T - 1 is the new one
        tag = Signal(tag_layout)
        same = Signal(4)  # the tag is of this model: valid, and the epoch's bytes
        stateful, mismatch = Signal(), Signal()
        x_new, x_now = Signal(X_VECTOR), Signal(X_VECTOR)
        newest = Signal()  # turn == T - 1, or no replay
        model = job.model

        # What ends with this slot: the sum over the inputs, the pass, the sample's passes.
        done, last_group, last_step = Signal(), Signal(), Signal()
        with m.If(fresh):
            m.d.sync += [
                held.eq(number),
                head_held.eq(model.outputs != 0),
                jobs[number].qp.eq(job.qp),
                jobs[number].set.eq(model.set),
                jobs[number].live.eq(model.live),
                jobs[number].outputs.eq(model.outputs),
                jobs[number].mac.eq(model.steps != 0),
                jobs[number].rsp.eq(1),
            ]
        with m.Elif(self.head_done & (self.head_job == held)):
            m.d.sync += head_held.eq(0)

        running = Signal()
        phase = Signal(3)  # of a unit, with few lanes: four gates, then cycles for their products
        serial = sizes.gates == 1
        slot = self.o_slot
        m.d.comb += [
            slot.valid.eq(running),
            slot.qp.eq(job.qp),
            slot.set.eq(model.set),
            slot.job.eq(number),
            slot.step.eq(step),
            slot.group.eq(group),
            slot.input.eq(place),
            slot.first.eq(place == 0),
            slot.done.eq(done),
            slot.last_group.eq(last_group),
            slot.last_pass.eq(last_step & newest),
            slot.final.eq(step == model.steps),
            slot.outputs.eq(model.outputs),
        ]
        if serial:
            # Order o, i, f, g.
            m.d.comb += [
                slot.valid.eq(running & ~phase[2]),
                slot.gate.eq(phase - 1),
                slot.done.eq(done & (phase == GATES - 1)),
            ]

        # A replay reads the inputs that came before the new one.
        back, known = Signal(3), Signal()
        past = Signal(depth_bits)
        fetching = Signal()
        m.d.sync += [known.eq(back <= tag.kept), past.eq(tag.next - back), fetching.eq(0)]
        m.d.comb += [back.eq(model.steps - turn), get_x.addr.eq(Cat(past, job.qp))]

        # The tag read at the start is compared one cycle later, when the first slot is on its way.
        m.d.comb += [get_tag.addr.eq(req.qp), self.o_flush.eq(check & mismatch)]
        m.d.sync += [fresh.eq(started), check.eq(fresh), store.eq(check)]
        with m.If(fresh):
            m.d.sync += [
                tag.eq(get_tag.data),
                stateful.eq(model.steps != 0),
                same.eq(
                    Cat(
                        get_tag.data.epoch.word_select(n, 8) == model.epoch.word_select(n, 8)
                        for n in range(4)
                    )
                ),
            ]
        m.d.comb += [
            mismatch.eq(stateful & ~(tag.valid & same.all())),
            self.i_x.ready.eq(check),
        ]
        m.d.sync += Assert(~check | self.i_x.valid, "a request's inputs must be there in time")
        with m.If(check):
            m.d.sync += [x_new.eq(self.i_x.payload), x_now.eq(self.i_x.payload)]
            with m.If(~mismatch):
                m.d.sync += claim.eq(model.steps)
        with m.If(fetching):
            with m.If(newest):
                m.d.sync += x_now.eq(x_new)
            with m.Elif(known):
                m.d.sync += x_now.eq(get_x.data)
            with m.Else():
                m.d.sync += x_now.eq(X_VECTOR.const([0] * 8))
        place_1 = Signal.like(place)
        m.d.sync += place_1.eq(place)
        m.d.comb += self.o_x.eq(Mux(check, self.i_x.payload[0], x_now[place_1]))

        # The tag and the history are updated when the inputs are in; `sweep` clears all tags.
        sweep = Signal(range(config.qps + 1))
        sweeping = sweep != config.qps
        reset_now = Signal()
        m.d.comb += [
            put_x.en.eq(store),
            put_x.addr.eq(Cat(tag.next, job.qp)),
            put_x.data.eq(x_new),
            put_tag.en.eq(store | reset_now | sweeping),
            put_tag.addr.eq(Mux(store, job.qp, Mux(sweeping, sweep, self.i_reset.payload))),
        ]
        with m.If(store):
            m.d.comb += [
                put_tag.data.valid.eq(model.live),
                put_tag.data.epoch.eq(model.epoch),
                put_tag.data.next.eq(tag.next + 1),
                put_tag.data.kept.eq(Mux(tag.kept == keep, keep, tag.kept + 1)),
            ]
        with m.If(sweeping):
            m.d.sync += sweep.eq(sweep + 1)

        m.d.comb += self.busy.eq(req_valid | fresh | check | store | running | sweeping)

        ok = Signal()
        m.d.comb += ok.eq(req_valid & ~hazard & ~head_held & free & room)
        with m.FSM(name="sequence") as sequence:
            m.d.comb += self.soon.eq(started | running | sequence.ongoing("FETCH"))
            with m.State("CLEAR"), m.If(~sweeping):
                m.next = "IDLE"
            with m.State("IDLE"):
                m.d.sync += [
                    job.eq(req),
                    *(job.model[name].eq(value) for name, value in asked.items()),
                    number.eq(alloc),
                    step.eq(asked["steps"]),
                    group.eq(0),
                    place.eq(0),
                    done.eq(asked["inputs"] == 0),
                    *([phase.eq(0)] if serial else []),
                    last_group.eq(0),
                    last_step.eq(asked["steps"] == 0),
                    newest.eq(1),
                ]
                with m.If(self.i_reset.valid):
                    m.d.comb += [reset_now.eq(1), self.i_reset.ready.eq(1)]
                with m.Elif(ok):
                    m.d.comb += started.eq(1)
                    m.d.sync += [alloc.eq(alloc + 1), running.eq(1)]
                    m.next = "RUN"
            with m.State("RUN"):
                m.d.sync += [place.eq(place + 1), done.eq(place + 1 == model.inputs)]
                with m.If(done):
                    m.d.sync += [place.eq(0), done.eq(model.inputs == 0)]
                    if serial:
                        later = (phase + 1)[:3]
                        m.d.sync += [phase.eq(later), done.eq((model.inputs == 0) | later[2])]
                    with m.If(phase.all()) if serial else nullcontext():
                        m.d.sync += [
                            group.eq(group + 1),
                            last_group.eq(group == sizes.groups - 2),
                        ]
                        with m.If(last_group):
                            m.d.sync += [step.eq(step - 1), last_step.eq(step == 1)]
                            with m.If(last_step):
                                m.d.sync += running.eq(0)
                                with m.If(newest):
                                    m.next = "IDLE"
                                with m.Else():
                                    m.d.sync += [
                                        turn.eq(turn + 1),
                                        newest.eq(turn + 1 == model.steps),
                                    ]
                                    m.next = "WAIT"
                with m.If(check & mismatch):
                    m.d.sync += [running.eq(0), newest.eq(0), turn.eq(0)]
                    m.next = "WAIT"
            with m.State("WAIT"):
                m.d.sync += [
                    step.eq(turn),
                    group.eq(0),
                    place.eq(0),
                    done.eq(model.inputs == 0),
                    *([phase.eq(0)] if serial else []),
                    last_group.eq(0),
                    last_step.eq(turn == 0),
                ]
                with m.If(level == 0):
                    m.next = "READ"
            with m.State("READ"):
                m.d.sync += fetching.eq(1)
                m.next = "FETCH"
            with m.State("FETCH"):
                # Step 1 needs no stored state; a sample that is not the newest has turn + 1 passes.
                m.d.sync += claim.eq(Mux(newest, model.steps, turn + 1))
                m.d.sync += running.eq(1)
                m.next = "RUN"
        return m
