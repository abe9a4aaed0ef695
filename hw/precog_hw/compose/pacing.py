"""The pacer in a NIC: its requests, its rates, and where its grants go."""

from amaranth.hdl import Cat, Signal
from amaranth.lib import wiring

from precog_hw.adapters import pacer as pacer_adapter
from precog_hw.adapters import wire as wire_adapter
from precog_hw.pace.grants import Grants
from precog_hw.pace.wire_mode import WireMode
from precog_spec.config import NicConfig

from .parts import Parts
from .ports import wire_store

__all__ = ["grants", "wire_mode"]


def wire_mode(config: NicConfig) -> WireMode:
    """Wire mode of a NIC that has it."""
    return WireMode(wire_store(config), relaxed=config.relaxed, ipv6=config.ipv6)


def grants(parts: Parts) -> None:
    """A command is over when core and pacer have it; requests wait as samples do."""
    m, nic, core, window, wire = parts.m, parts.nic, parts.core, parts.window, parts.wire
    m.submodules.grants = pacer = Grants(parts.config)
    attached = pacer_adapter.attach(
        m, parts.bank, parts.tables, pacer, slots=parts.config.qps, pause=nic.pause
    )
    if parts.receiver is not None:
        wiring.connect(m, parts.receiver.o_boost, pacer.i_boost)
    command, taken = window.o_config, Signal()
    m.d.comb += [
        core.command.payload.eq(command.payload),
        core.command.valid.eq(command.valid & ~taken),
        command.ready.eq(taken & pacer.done),
        pacer.command.eq(command.payload),
        pacer.command_stb.eq(core.command_stb),
        pacer.decision.eq(nic.o_decision.payload),
        pacer.decision_stb.eq(nic.o_decision.valid & nic.o_decision.ready),
        pacer.now.eq(parts.now),
        nic.pace_log_stb.eq(pacer.log.valid),
        nic.pace_log.eq(pacer.log.payload),
    ]
    with m.If(core.command.valid & core.command.ready):
        m.d.sync += taken.eq(1)
    with m.Elif(command.ready):
        m.d.sync += taken.eq(0)
    ready = window.ready & attached
    if wire is not None:
        _to_packets(parts, pacer)
        asked = [(wire.o_request, pacer.i_request), (wire.o_ack, pacer.i_ack)]
    else:
        wiring.connect(m, pacer.o_grant, wiring.flipped(nic.o_grant))
        asked = [(getattr(nic, n), getattr(pacer, n)) for n in ("i_request", "i_ack")]
    for outside, inside in asked:
        m.d.comb += [
            inside.payload.eq(outside.payload),
            inside.valid.eq(outside.valid & ready),
            outside.ready.eq(inside.ready & ready),
        ]


def _to_packets(parts: Parts, pacer: Grants) -> None:
    """A grant lets a packet go, and the next one is asked for."""
    m, nic, bank, wire = parts.m, parts.nic, parts.bank, parts.wire
    assert wire is not None
    m.submodules.wire = wire
    wire_adapter.attach(m, bank, parts.tables, wire, slots=parts.config.qps)
    wiring.connect(m, pacer.o_grant, wire.i_grant)
    m.d.comb += [
        wire.refused.eq(pacer.refused),
        wire.window_events.eq(Cat(pacer.shuts, pacer.waits, pacer.expires)),
        pacer.expiry.eq(bank.wire_expiry_expiry),
        pacer.calm.eq(wire.calm),
        wire.pace_log_stb.eq(nic.pace_log_stb),
        wire.pace_log.eq(nic.pace_log),
        nic.wire_log.eq(wire.log),
        nic.wire_log_stb.eq(wire.log_stb),
    ]
