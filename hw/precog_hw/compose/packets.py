"""The packet path in a NIC: its streams, the events that laws hear from it, the receiver."""

from itertools import accumulate, pairwise

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring

from precog_hw.adapters import receiver as receiver_adapter
from precog_hw.adapters import senders as senders_adapter
from precog_hw.adapters import wire as wire_adapter
from precog_hw.adapters.packet import attach
from precog_hw.measure.losses import Losses
from precog_hw.packet.card import Card
from precog_hw.packet.senders_told import SendersTold
from precog_hw.rate.ack_events import AckEvents
from precog_hw.rate.law_events import LawEvents
from precog_hw.rate.score_events import ScoreEvents, hears_levels
from precog_hw.stream.delay import DelayLine

from .parts import Parts
from .ports import COMMAND_LOG

__all__ = ["law_events", "log_commands", "missed", "packets"]


def packets(parts: Parts) -> stream.Interface:
    """The packet path; gives the samples. No packet comes before every table is empty."""
    m, nic, config, core = parts.m, parts.nic, parts.config, parts.core
    card, wire = parts.card, parts.wire
    assert card is not None
    ready = Signal()
    copy = wire.i_table if wire is not None else None
    emptied = attach(m, parts.bank, card, config, parts.tables, tick_ps=parts.tick_ps, copy=copy)
    if config.senders:
        senders_adapter.attach(m, parts.bank, parts.tables, card)
    if config.receiver:
        emptied &= _receives(parts)
    tx = card.i_tx
    if wire is not None:
        wiring.connect(m, wire.o, tx)
        tx = wire.i
        emptied &= wire.ready
        m.d.comb += [
            wire.shim_port.eq(card.registers.cps.shim_port),
            wire.acked_stb.eq(card.acked_stb),
            wire.acked.qp.eq(card.acked_slot),
            wire.acked.psn.eq(card.acked_psn),
        ]
    m.d.sync += ready.eq(emptied & parts.window.ready)
    for outside, inside in ((nic.i_tx, tx), (nic.i_rx, card.i_rx)):
        m.d.comb += [
            inside.payload.eq(outside.payload),
            inside.valid.eq(outside.valid & ready),
            outside.ready.eq(inside.ready & ready),
        ]
    for name in ("o_tx", "o_rx"):
        wiring.connect(m, getattr(card, name), wiring.flipped(getattr(nic, name)))
    m.d.comb += [
        nic.sample_stb.eq(core.i_sample.valid & core.i_sample.ready),
        nic.sample.eq(core.i_sample.payload),
    ]
    return card.o_sample


def missed(parts: Parts, samples: stream.Interface) -> Value:
    """When samples are taken; says which are not: no packet waits for a slow or stuck core."""
    m, core, ready = parts.m, parts.core, Signal(name="sample_ready")
    m.d.comb += ready.eq(core.i_sample.ready & parts.window.ready)
    if parts.card is None:
        m.d.comb += samples.ready.eq(ready)
        return Const(0)
    # One that the core drops in the same cycle is counted first.
    goes, told = samples.valid & ~ready, Signal(name="sample_missed")
    m.d.comb += samples.ready.eq(ready | ~told)
    m.d.sync += told.eq((goes & ~told) | (told & core.dropped))
    return told & ~core.dropped


def law_events(parts: Parts) -> Value:
    """As samples: not before all queue pairs are disabled.

    Says when an acknowledgement replaces one that waits.
    """
    merged: Value = Const(0)
    core, ready = parts.core, parts.window.ready
    source = parts.nic.i_event if parts.card is None else _packet_events(parts)
    joined = [(source, core.i_event)]
    if parts.config.law_cores:
        if parts.card is None:
            acks = parts.nic.i_law_ack
        else:
            made = _packet_acks(parts)
            acks, merged = made.o, made.merged
        joined.append((acks, core.i_law_ack))
    for outside, inside in joined:
        parts.m.d.comb += [
            inside.payload.eq(outside.payload),
            inside.valid.eq(outside.valid & ready),
            outside.ready.eq(inside.ready & ready),
        ]
    return merged


def log_commands(parts: Parts) -> None:
    """Each command of the core, for its golden model."""
    nic, core = parts.nic, parts.core
    command = core.command.payload
    done = core.command.valid & core.command.ready
    parts.m.d.comb += [
        nic.command_log_stb.eq(core.command_stb | (done & command.forget)),
        *(nic.command_log[name].eq(command[name]) for name in COMMAND_LOG.members),
    ]


def _packet_events(parts: Parts) -> stream.Interface:
    m, nic, core, card = parts.m, parts.nic, parts.core, parts.card
    assert card is not None
    m.submodules.events = events = LawEvents(parts.config)
    if parts.config.law_cores:
        m.submodules.losses = losses = Losses(parts.config.qps, relaxed=parts.config.relaxed)
        m.d.comb += [
            losses.commit_stb.eq(card.commit_stb),
            *(getattr(losses, name).eq(card.commit[name]) for name in ("kind", "slot", "t", "ack")),
            events.lost.eq(losses.lost_stb),
            events.lost_slot.eq(losses.lost_slot),
            events.lost_t.eq(losses.lost_t),
            events.heard.eq(card.cnp_heard),
            events.heard_slot.eq(card.cnp_slot),
            events.rate_ticks.eq(parts.bank.law_timer_timer),
        ]
    m.submodules.scores = scores = ScoreEvents(parts.config)
    m.d.comb += [
        events.now.eq(card.now),
        events.command_stb.eq(core.command.valid & core.command.ready),
        events.command.eq(parts.window.o_config.payload),
        events.score_ticks.eq(core.parameters.psched_score_ticks),
        scores.now.eq(card.now),
        scores.command_stb.eq(events.command_stb),
        scores.command.eq(events.command),
    ]
    if not parts.config.forecast:
        m.d.comb += [
            nic.law_event_stb.eq(core.i_event.valid & core.i_event.ready),
            nic.law_event.eq(core.i_event.payload),
        ]
    wiring.connect(m, events.o, scores.i)
    heard = card.score_heard, card.score_slot, card.score
    if parts.receiver is not None:  # the score leaves it with a command
        told = parts.receiver
        heard = told.score_stb, told.score.qp, told.score.value
        if hears_levels(parts.config):
            heard = _looked_up(m, card, *heard)
    elif parts.config.law_cores:  # behind a loss that the same packet means
        late = _delayed(m, Cat(heard))
        bounds = [0, *accumulate(len(value) for value in heard)]
        heard = tuple(late[start:end] for start, end in pairwise(bounds))
    if hears_levels(parts.config):
        stb, slot, score = heard
        heard = stb, Mux(card.told_stb, card.told.slot, slot), score  # a belief is no packet's
        m.d.comb += [
            scores.news.eq(card.told_stb),
            scores.level.eq(Mux(card.known_stb, card.told.level, 0)),
        ]
    names = ("heard", "heard_slot", "heard_score")
    m.d.comb += [getattr(scores, n).eq(value) for n, value in zip(names, heard, strict=True)]
    return scores.o


def _looked_up(
    m: Module, card: Card, stb: Value, slot: Value, score: Value
) -> tuple[Value, Value, Value]:
    """A score of the receiver, when the level in force of its queue pair is known.

    The look waits for a cycle without a shim, and is over before the receiver's next score.
    """
    waits, kept = Signal(name="look_waits"), Signal(len(score), name="looked_score")
    look = card.i_look
    m.submodules.looks = late = DelayLine(
        1 + len(slot) + len(score), SendersTold.CYCLES, registers=True
    )
    m.d.comb += [
        look.valid.eq(waits),
        late.i.eq(Cat(waits & look.ready, look.payload, kept)),
    ]
    with m.If(stb):
        m.d.sync += [waits.eq(1), look.payload.eq(slot), kept.eq(score)]
    with m.Elif(look.ready):
        m.d.sync += waits.eq(0)
    return late.o[0], late.o[1 : 1 + len(slot)], late.o[1 + len(slot) :]


def _delayed(m: Module, value: Value) -> Value:
    """As many cycles later as `Losses` and `SendersTold` take."""
    m.submodules.late_scores = late = DelayLine(len(value), Losses.LATENCY, registers=True)
    m.d.comb += late.i.eq(value)
    return late.o


def _packet_acks(parts: Parts) -> AckEvents:
    m, nic, core, card = parts.m, parts.nic, parts.core, parts.card
    assert card is not None
    m.submodules.acks = acks = AckEvents(parts.config)
    m.d.comb += [
        acks.commit_stb.eq(card.commit_stb),
        *(acks.commit[name].eq(card.commit[name]) for name in acks.commit.shape().members),
        acks.floor.eq(card.registers.rtt_floor),
        acks.command_stb.eq(core.command.valid & core.command.ready),
        acks.command.eq(parts.window.o_config.payload),
        nic.law_ack_stb.eq(core.i_law_ack.valid & core.i_law_ack.ready),
        nic.law_ack.eq(core.i_law_ack.payload),
    ]
    return acks


def _receives(parts: Parts) -> Value:
    """Connect the receiver to card, register bank and queues."""
    m, nic, card, receiver = parts.m, parts.nic, parts.card, parts.receiver
    assert card is not None
    assert receiver is not None
    m.submodules.receiver = receiver
    if parts.wire is not None:
        given, taken = receiver.o_quota, parts.wire.i_quota
        quota = wire_adapter.cells_of(given.payload.quota, taken.payload.quota)
        m.d.comb += [
            taken.valid.eq(given.valid),
            given.ready.eq(taken.ready),
            taken.payload.qp.eq(given.payload.qp),
            taken.payload.quota.eq(quota),
        ]
    else:
        wiring.connect(m, receiver.o_quota, wiring.flipped(nic.o_quota))
    m.d.comb += [
        receiver.now.eq(card.now),
        nic.receive_log_stb.eq(receiver.commit_stb),
        nic.receive_log.eq(receiver.commit),
    ]
    if not parts.config.grants:  # no queue pair has a priority
        m.d.comb += receiver.o_boost.ready.eq(1)
    return receiver_adapter.attach(
        m, parts.bank, parts.tables, card, receiver, slots=parts.config.qps
    )
