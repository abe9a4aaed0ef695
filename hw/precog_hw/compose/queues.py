"""What watches send queues in a NIC, and what forecasts them."""

from amaranth.lib import stream, wiring

from precog_hw.adapters import forecast as forecast_adapter
from precog_hw.adapters import port as port_adapter
from precog_hw.adapters import profiler as profiler_adapter
from precog_hw.measure.profiler_serial import profiler as make_profiler
from precog_hw.predict.carried import CarriedScores

from .parts import Parts

__all__ = ["forecasts", "profiles"]


def profiles(parts: Parts) -> stream.Interface:
    """The queue profiler; gives its samples. No event waits but after reset."""
    m, nic, config, ready = parts.m, parts.nic, parts.config, parts.window.ready
    profiler = make_profiler(config.qps, dsp=config.dsp, relaxed=config.relaxed, shared=config.port)
    m.submodules.profiler = profiler
    profiler_adapter.attach(m, parts.bank, parts.tables, profiler, slots=config.qps)
    m.d.comb += profiler.now.eq(parts.now)
    event = profiler.i
    if parts.card is not None and config.port:
        event = port_adapter.attach(m, parts.bank, parts.card, profiler, slots=config.qps)
    if parts.wire is not None:
        profiler_adapter.follow_packets(m, event, parts.wire, parts.now)
        m.d.comb += [
            nic.queue_log_stb.eq(profiler.commit_stb),
            nic.queue_log.eq(profiler.commit),
        ]
    elif config.grants:
        profiler_adapter.follow(m, event, nic.pace_log, nic.pace_log_stb)
    else:
        m.d.comb += [
            event.payload.eq(nic.i_queue.payload),
            event.valid.eq(nic.i_queue.valid & ready),
            nic.i_queue.ready.eq(event.ready & ready),
        ]
    return profiler.o


def forecasts(parts: Parts, taken: stream.Interface | None) -> None:
    """Profiles, `taken` here or outside, wait as samples do.

    Scores go to the laws, inside of the core, and to the card.
    """
    m, nic, config, core = parts.m, parts.nic, parts.config, parts.core
    carried = None
    if parts.card is not None:
        m.submodules.carried = carried = CarriedScores(config)
        command = parts.window.o_config.payload
        forecast_adapter.carry(m, parts.bank, core, carried, parts.card, command=command)
        m.d.comb += [
            nic.carried_log_stb.eq(carried.commit_stb),
            nic.carried_log.eq(carried.commit),
        ]
    attached = forecast_adapter.attach(m, parts.bank, parts.tables, core, carried, slots=config.qps)
    ready = parts.window.ready & attached
    source, payload = taken, core.i_profile.payload
    if source is None:
        source = nic.i_profile
        m.d.comb += payload.eq(source.payload)
    else:
        m.d.comb += [payload[name].eq(source.payload[name]) for name in ("qp", "t")]
        m.d.comb += [payload[f"x{n}"].eq(x) for n, x in enumerate(source.payload.x)]
    m.d.comb += [
        core.i_profile.valid.eq(source.valid & ready),
        source.ready.eq(core.i_profile.ready & ready),
        nic.law_event_stb.eq(core.event_stb),
        nic.law_event.eq(core.event),
    ]
    wiring.connect(m, core.o_forecast, wiring.flipped(nic.o_forecast))
