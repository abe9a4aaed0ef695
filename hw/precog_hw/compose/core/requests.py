"""Requests to the predictor: the queue pair, its model, and the use of the answer."""

from amaranth.hdl import Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.memory import Memory

from precog_hw.rate.layouts import MODEL
from precog_spec.contract import Fmt

from .forecasts import answers
from .parts import FLYING, Parts

__all__ = ["advice", "features", "requests"]


def requests(parts: Parts, asks: Value) -> None:
    """A sample's request: enable and model are known one cycle after the feature's start.

    A profile `asks` the predictor in cycles in which no sample does.
    """
    m, feature, predictor = parts.m, parts.feature, parts.predictor
    row = _row(parts)
    begun, exists = Signal(), Signal()
    m.d.sync += begun.eq(feature.i.valid & feature.i.ready)
    sample, dropped = parts.samples.o.payload, parts.core.dropped
    with m.If(feature.i.ready):
        m.d.sync += exists.eq(sample.qp < parts.config.qps)
    m.d.comb += [
        dropped.eq(begun & ~(exists & row.enable)),
        feature.cancel.eq(dropped),
    ]
    if parts.raws is not None:
        raw = parts.raws.i
        with m.If(feature.i.ready):
            m.d.sync += [raw.payload.rtt.eq(sample.rtt), raw.payload.t.eq(sample.t)]
        m.d.comb += [
            raw.valid.eq(begun & ~dropped),
            raw.payload.psched.eq(row.psched),
        ]

    room = Signal()
    m.d.sync += room.eq((parts.srtts.level < FLYING) & (parts.measured.level < FLYING))
    m.d.comb += [
        predictor.i_req.valid.eq((feature.o_lead.valid & room) | asks),
        predictor.i_req.payload.qp.eq(feature.o_lead.payload),
        predictor.i_req.payload.slot.eq(row.model_slot),
        predictor.i_req.payload.enable.eq(row.model_enable),
        feature.o_lead.ready.eq(predictor.i_req.ready & room),
    ]
    if parts.forecaster is not None:
        with m.If(asks):
            m.d.comb += predictor.i_req.payload.eq(parts.forecaster.o_req.payload)


def _row(parts: Parts) -> data.View:
    """The configuration of the sample's queue pair, a cycle after the feature's start."""
    m, config, command = parts.m, parts.config, parts.core.command
    entry = data.StructLayout(
        {
            "enable": 1,
            "psched": 1,
            "model_enable": 1,
            "model_slot": config.set_bits,
        }
    )
    m.submodules.entries = entries = Memory(shape=entry, depth=config.qps, init=[])
    write, read = entries.write_port(), entries.read_port()
    configured = command.payload.config
    slot = configured.model_slot
    m.d.comb += [
        write.en.eq(command.valid & command.ready & command.payload.apply),
        write.addr.eq(command.payload.qp),
        write.data.enable.eq(configured.enable),
        write.data.psched.eq(configured.psched),
        write.data.model_enable.eq(configured.model_enable & (slot < config.sets)),
        write.data.model_slot.eq(slot),
        read.addr.eq(parts.samples.o.payload.qp),
        read.en.eq(parts.feature.i.ready),
    ]
    return read.data


def features(parts: Parts) -> None:
    """The feature goes to the predictor, and S_t and the sample around it.

    Their queues have room for each sample whose request has been made.
    """
    m, feature, predictor = parts.m, parts.feature, parts.predictor
    srtts, measured = parts.srtts.i, parts.measured.i
    made = Signal()
    if parts.forecaster is None:
        m.d.comb += [
            predictor.i_x.valid.eq(feature.o.valid),
            predictor.i_x.payload[0].eq(feature.o.payload.k),
            feature.o.ready.eq(predictor.i_x.ready),
        ]
    m.d.comb += [
        made.eq(feature.o.valid & feature.o.ready),
        srtts.valid.eq(made),
        srtts.payload.eq(feature.o.payload.srtt),
        measured.valid.eq(made),
    ]
    m.d.comb += [
        measured.payload[name].eq(feature.o.payload[name]) for name in ("qp", "rtt", "srtt", "base")
    ]
    if parts.config.trials:
        m.d.comb += measured.payload.t.eq(feature.o.payload.t)


def advice(parts: Parts) -> None:
    """The predictor's answer and the sample's S_t become a predicted RTT, or none.

    The prediction passes a register on its way to the rate unit, whose comparisons are long.
    """
    m, predictor, srtts, head, rate = (
        parts.m,
        parts.predictor,
        parts.srtts,
        parts.head,
        parts.rate,
    )
    answer = predictor.o_rsp
    given, ready = answers(parts, head.i.ready & srtts.o.valid)
    both = given & srtts.o.valid
    live = Signal()
    waits, of_model = Signal(), Signal()
    rtt = Signal(Fmt.SRTT.width, reset_less=True)
    m.d.comb += [
        head.i.valid.eq(both),
        # Without a model nothing is multiplied.
        head.soon.eq(predictor.soon),
        head.sure.eq(predictor.sure | ~answer.payload.live),
        head.i.payload.eq(srtts.o.payload),
        answer.ready.eq(ready),
        srtts.o.ready.eq(head.i.ready & given),
        head.o.ready.eq(~waits),
        rate.i_advice.valid.eq(waits),
        rate.i_advice.payload.rtt_pred.eq(rtt),
        rate.i_advice.payload.valid.eq(of_model),
    ]
    with m.If(both & head.i.ready):
        m.d.sync += live.eq(answer.payload.live)
    with m.If(~waits):
        m.d.sync += [waits.eq(head.o.valid), rtt.eq(head.o.payload), of_model.eq(live)]
    with m.Elif(rate.i_advice.ready):
        m.d.sync += waits.eq(0)
    if parts.config.trace:
        model, its = Signal(MODEL), Signal(MODEL)
        m.d.comb += rate.model.eq(Mux(of_model, its.as_value(), 0))
        with m.If(both & head.i.ready):
            m.d.sync += [model.set.eq(answer.payload.set), model.version.eq(predictor.version)]
        with m.If(~waits):
            m.d.sync += its.eq(model)
