"""What a packet that arrived leaves: an echo, an arrival, and the collector's T1 and T3."""

from amaranth.hdl import Module, Signal

from precog_hw.measure.layouts import answer_layout
from precog_hw.measure.rtt_collector import RttCollector
from precog_spec.frames.cps import TICKS_FACTOR_BITS, ticks_factor
from precog_spec.frames.opcodes import CNP, RELIABLE_REQUESTS, SOLICITED_ALWAYS

from .card_ports import CardPorts
from .cps_slots import CpsSlots
from .layouts import BECN_AT
from .trust import Trust

__all__ = ["attach_arrivals"]


def attach_arrivals(
    m: Module,
    card: CardPorts,
    trust: Trust,
    slots: CpsSlots,
    collector: RttCollector,
) -> Signal:
    """A packet arrived: echo, T1, T3 and the mark. T2 - T1 becomes ticks in one more cycle.

    Returns the cycle in which it is taken.
    """
    options = card.options
    received = trust.o.payload
    got, error, parsed = received.decided, received.error, received.parsed
    descriptor = parsed.descriptor
    answer = Signal(answer_layout(options.slots, senders=options.senders, acks=options.acks))
    answered = Signal()
    taken, counts = Signal(), Signal()
    factor = ticks_factor(options.tick_ps)
    asks = descriptor.opcode.matches(*SOLICITED_ALWAYS) | (
        descriptor.ack_req & descriptor.opcode.matches(*RELIABLE_REQUESTS)
    )
    m.d.comb += [
        trust.o.ready.eq(collector.i_rx.ready | ~answered),
        taken.eq(trust.o.valid & trust.o.ready),
        card.rx_error.eq(taken & error),
        counts.eq(taken & received.acts),
        card.cnp_heard.eq(counts & (descriptor.opcode == CNP)),
        card.cnp_slot.eq(got.slot),
        collector.i_rx.valid.eq(answered),
        collector.i_rx.payload.eq(answer),
        card.score_heard.eq(collector.commit.score.valid),
        card.score_slot.eq(collector.commit.slot),
        card.score.eq(collector.commit.score.value),
        slots.echo_stb.eq(counts & got.score.valid),
        slots.echo_slot.eq(got.slot),
        slots.echo.eq(got.score.value),
        *((slots.arriving.eq(trust.o.valid),) if options.relaxed else ()),
        slots.arrival_stb.eq(counts & asks),
        slots.arrival_slot.eq(got.slot),
        slots.arrival_psn.eq(descriptor.psn),
        slots.arrival_ns.eq(parsed.ns),
    ]
    with m.If(collector.i_rx.ready | ~answered):
        m.d.sync += [
            answered.eq(counts),
            answer.slot.eq(got.slot),
            *(answer[name].eq(descriptor[name]) for name in ("opcode", "psn", "syndrome")),
            answer.t.eq(parsed.time),
            answer.turnaround.eq((got.turnaround * factor) >> TICKS_FACTOR_BITS),
            answer.turnaround_valid.eq(got.turnaround_valid & card.registers.corrected),
            answer.score.eq(got.score),
        ]
        if options.acks:
            m.d.sync += answer.mark.eq(parsed.headers.resv[BECN_AT])
        if options.senders:
            m.d.sync += [
                answer.senders.value.eq(got.senders),
                answer.senders.valid.eq(got.extracted),
            ]
    return taken
