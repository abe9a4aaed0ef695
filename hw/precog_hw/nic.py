"""The NIC: register bank, core and, where there is one, the packet path. One page.

::

    s_axil ─► front end ─► bank ─┬─ parameters ─────────────────► core (micro: reads the registers)
                                 ├─ model loader, slot map ─────► core
                                 ├─ QP window ─ commands ───────► core
                                 │      ▲ last decisions           │
                                 └─ counters ◄──── events ─────────┤
    i_sample, i_event ─────────────────────────────► core ─────────┴─► o_decision
       or
    i_tx, i_rx ─► card ─► samples, acknowledgements ─► core
    o_tx, o_rx ◄──┘ ▲       with wire: i_tx ─► [wire mode] ─► card, grants inside
          bank ─────┴ windows, counters, time (`precog_hw.adapters.packet`, `senders`)
    i_profile ─────────────────────────────────────► core ─────────► o_forecast, scores ─► card
          bank ─── window, tables, counters (`precog_hw.adapters.forecast`) ─┘
    i_request, i_ack ──────────► grants ◄── decisions, commands
    o_grant ◄──────────────────────┘ ▲
          bank ──────────────────────┴ window, counters (`precog_hw.adapters.pacer`)
    i_queue, or the log of grants or packets ─► profiler ─► samples of the queues
    card ─► bytes that senders announce ────────────┘   (`precog_hw.adapters.port`)
          bank ─────────────────────────┴ window, counters (`precog_hw.adapters.profiler`)
    scores ─► receiver ─► commands to the laws, priorities of grants, o_quota
    decisions, programs, receiver, forecasts ─► [trace FIFO] ─► bank (`precog_hw.adapters.trace`)
    core's scrubber ◄─► bank (`precog_hw.adapters.ecc`)
    resets of parts ◄── bank, in each part's host; the core's in `precog_hw.adapters.reset`
"""

from amaranth.hdl import Cat, Const, Module, Signal, Value, ValueLike
from amaranth.lib import wiring

from precog_hw.adapters import ecc as ecc_adapter
from precog_hw.adapters import interrupt as interrupt_adapter
from precog_hw.adapters import law as law_adapter
from precog_hw.adapters import mac as mac_adapter
from precog_hw.adapters import reset as reset_adapter
from precog_hw.adapters import trace as trace_adapter
from precog_hw.adapters import trials as trials_adapter
from precog_hw.compose import host, pacing, packets, queues
from precog_hw.compose.parts import Parts
from precog_hw.compose.ports import COMMAND_LOG, nic_map, nic_ports
from precog_hw.compose.wakes import wakes
from precog_hw.core import Core
from precog_hw.csr.axil import AxiLiteFrontEnd
from precog_hw.csr.bank import RegisterBank
from precog_hw.csr.bus_share import BusShare
from precog_hw.csr.counter_table import CounterTables
from precog_hw.csr.qp import QpWindow
from precog_hw.csr.watchdog import Watchdog
from precog_hw.micro.core import MicroCore
from precog_hw.packet.card import Card
from precog_hw.packet.card_options import CardOptions
from precog_hw.rate.receiver import Receiver
from precog_spec.config import NicConfig
from precog_spec.registers.wire import WIRE_EVENTS

__all__ = ["COMMAND_LOG", "PrecogNic", "nic_map"]


class PrecogNic(wiring.Component):
    """A Precog core behind AXI4-Lite registers.

    Latency and throughput of samples: the core's; a sample waits while the QP window disables all
    queue pairs after reset, some `qps` x 16 cycles. Packets: `TxPath` and `RxPath`; they wait as
    long after reset, until nothing of before is left in any table. Registers: `AxiLiteFrontEnd`
    and `RegisterBank`. Cost: the core, the card, and about 3000 flip-flops of registers and
    counters, with packets 6500; `Grants`, which gives them as `precog_hw.pace.grants` has it.

    Parameters
    ----------
    config : NicConfig
    tick_ps : int
        Length of the tick that `rtt` and `t` count, in picoseconds: what the register says. With
        packets it is the clock's period, 4 or more.

    Members
    -------
    s_axil : In(AxiLite)
        Registers, `nic_map`.
    i_sample : In(stream.Signature(SAMPLE))
        Completed RTT samples. Not with packets: then they come from these.
    i_event : In(stream.Signature(LAW_EVENT))
        Events for programs and PSCHED. Not with packets; with `config.laws`.
    i_tx, o_tx, i_rx, o_rx : packet streams
        With packets: `precog_hw.packet.card.Card`.
    sample_stb, sample, law_event_stb, law_event : Out
        With packets: each sample and each event as the core takes it.
    command_log_stb, command_log : Out(1), Out(COMMAND_LOG)
        With packets: each command of the core as it takes effect, for its golden model.
    i_law_ack : In(stream.Signature(LAW_ACK))
        Acknowledgements, for laws that are programs; with `config.law_cores`. Not with packets:
        then they come from these.
    law_ack_stb, law_ack : Out(1), Out(LAW_ACK)
        With both: each acknowledgement as the core takes it.
    o_decision : Out(stream.Signature(DECISION))
        One decision for each sample of an enabled queue pair, in order; those of events between.
    i_profile : In(stream.Signature(PROFILE)), o_forecast : Out(stream.Signature(FORECAST))
        With `config.forecast`: `Core`'s; with `config.profile`, too, the profiles come from there.
        Then there are `law_event_stb` and `law_event` without packets, too.
    carried_log_stb, carried_log : Out
        With `config.forecast` and packets: each event of the predicted scores that packets carry,
        as it takes effect, for its golden model.
    i_request, i_ack, o_grant : streams of `precog_hw.pace.layouts`
        With `config.grants` and without `config.wire`: bytes that a queue pair asks for, what its
        peer acknowledged, and what it may send.
    pause : In(8)
        With `config.grants`: PFC, priorities that get no grants.
    pace_log_stb, pace_log : Out
        As above: each event of the pacer as it takes effect, for its golden model.
    wire_log_stb, wire_log : Out
        With `config.wire`: each event of the packets that wait, for their golden model.
    queue_log_stb, queue_log : Out
        With `config.wire` and `config.profile`: each event of the profiler as it takes effect, for
        its golden model.
    now : In(40)
        With `config.grants` or `config.profile`, but not with packets: ticks, of which the samples'
        stamps are taken; grows by at most 1 per cycle.
    i_queue : In(stream.Signature(queue_event_layout(qps)))
        With `config.profile`, but not with grants: what happens to send queues.
    o_quota : Out(stream.Signature(quota_layout(qp_bits)))
        With `config.receiver` and without `config.wire`: cells that a queue pair may hold from now
        on; of each the last one.
    receive_log_stb, receive_log : Out
        As above: each event of the receiver as it takes effect, for its golden model.
    mac_events : In(macs * len(MAC_EVENTS))
        With `config.macs`: `MacPort.events` of each port.
    irq : Out(1)
        The interrupt, a level: `precog_spec.registers.interrupt` has its causes.
    active : Out(ACTIVITY)
        Which units have work (`precog_hw.activity`), with `config.activity` only.

    Usage
    -----
    ::

        config = NicConfig(qps=4, sets=2, lanes=16, columns=1, steps=1)
        m.submodules.nic = nic = PrecogNic(config, tick_ps=4000)
        m.d.comb += [
            nic.i_sample.payload.qp.eq(row),
            nic.i_sample.payload.rtt.eq(word),
            nic.i_sample.valid.eq(word_stb),  # held until nic.i_sample.ready
            nic.o_decision.ready.eq(1),
        ]
    """

    def __init__(self, config: NicConfig, *, tick_ps: int = 1000) -> None:
        self._config = config
        self.regmap = nic_map(config, tick_ps=tick_ps)
        self._tick_ps = tick_ps
        super().__init__(nic_ports(config, self.regmap.address_bits))

    def elaborate(self, platform: object) -> Module:
        m, config = Module(), self._config
        m.submodules.front = front = AxiLiteFrontEnd(self.regmap.address_bits)
        m.submodules.bank = bank = RegisterBank(self.regmap)
        m.submodules.core = core = MicroCore(config) if config.micro else Core(config)
        m.submodules.window = window = QpWindow(config)
        tables = CounterTables(m, bank, relaxed=config.relaxed)
        m.submodules.watchdog = watchdog = Watchdog()
        wiring.connect(m, wiring.flipped(self.s_axil), front.axil)
        bus: wiring.PureInterface = front.bus
        if config.micro:
            m.submodules.share = share = BusShare(self.regmap.address_bits)
            wiring.connect(m, front.bus, share.host)
            wiring.connect(m, core.registers, share.reader)
            bus = share.bus
        self._access(m, bus, bank.bus)
        wiring.connect(m, core.o_decision, wiring.flipped(self.o_decision))
        card = None
        if config.width:
            m.submodules.card = card = self._card()
        timed = config.grants or config.profile
        parts = Parts(
            *(m, self, config, self._tick_ps, bank, tables, core, window, card),
            wire=pacing.wire_mode(config) if config.wire else None,
            receiver=Receiver(config) if config.receiver else None,
            now=card.now if card is not None else self.now if timed else None,
        )

        # Samples and events in, decisions out.
        if config.grants:
            pacing.grants(parts)
        else:
            wiring.connect(m, window.o_config, core.command)
        profiles = queues.profiles(parts) if config.profile else None
        if config.forecast:
            queues.forecasts(parts, profiles)
        elif profiles is not None:
            m.d.comb += profiles.ready.eq(1)
        samples = self.i_sample if card is None else packets.packets(parts)
        merged = packets.law_events(parts) if config.laws else Const(0)
        decided = self.o_decision.valid & self.o_decision.ready
        missed = packets.missed(parts, samples)
        m.d.comb += [
            core.restart_waits.eq(window.forgetting),
            core.i_sample.payload.eq(samples.payload),
            core.i_sample.valid.eq(samples.valid & window.ready),
            window.decision.eq(self.o_decision.payload),
            window.decision_stb.eq(decided),
        ]

        # The host.
        causes: dict[str, ValueLike] = {}
        if config.trace:
            told = trace_adapter.decision_record(self.o_decision.payload, core.made_of)
            sources = [(decided, told)]
            if config.law_cores:
                sources.append(trace_adapter.program_source(decided, self.o_decision.payload, core))
            if config.receiver:
                sources.append(
                    trace_adapter.receiver_source(self.receive_log_stb, self.receive_log)
                )
            if config.forecast:
                sources.append(trace_adapter.forecast_source(core))
            causes["trace"] = trace_adapter.attach(m, bank, tables, sources)
        host.parameters(parts, self.regmap)
        host.models(parts)
        if config.trials:
            trials_adapter.attach(m, bank, core)
        if config.ecc:
            ecc_adapter.attach(m, bank, tables, core, config)
            causes["ecc"] = core.ecc_events.uncorrectable
        if config.law_cores:
            law_adapter.attach(m, bank, tables, core, merged)
            causes["trap"] = core.law_fail_stb
        host.queue_pairs(parts)
        if config.macs:
            mac_adapter.attach(m, tables, self.mac_events)
        load_error = core.load_error | core.map_error
        if config.law_cores:
            load_error |= core.law_load_error | core.law_map_error
        causes |= {"load": load_error, "dropped": core.dropped}
        causes["watchdog"] = self._watches(m, bank, core, watchdog)
        if card is not None:
            packets.log_commands(parts)
        if card is not None and config.icrc:
            causes["icrc"] = card.icrc_done & card.icrc_checked & ~card.icrc_ok
        if parts.wire is not None:
            happened = zip(WIRE_EVENTS, parts.wire.events, strict=True)
            causes["waiting"] = Cat(e for (n, _), e in happened if n.startswith("dropped")).any()
        m.d.comb += self.irq.eq(interrupt_adapter.attach(m, bank, causes))
        counters = host.count(parts, decided, missed, load_error)
        resetting = reset_adapter.attach(m, bank, window)
        if config.activity:
            wakes(parts, counters, causes, resetting)
        return m

    def _access(self, m: Module, source: wiring.PureInterface, bus: wiring.PureInterface) -> None:
        """Accesses of `source`; counters in block RAM have an address before its strobe."""
        if not self._config.relaxed:
            wiring.connect(m, source, bus)
            return
        m.d.sync += bus.stb.eq(source.stb)
        m.d.comb += [getattr(bus, n).eq(getattr(source, n)) for n in ("write", "addr", "data")]
        m.d.comb += [getattr(source, n).eq(getattr(bus, n)) for n in ("ack", "err", "rdata")]

    def _card(self) -> Card:
        config = self._config
        options = CardOptions(
            config.width,
            config.qps,
            tick_ps=self._tick_ps,
            predicted=bool(config.forecast),
            relaxed=config.relaxed,
            ipv6=bool(config.ipv6),
            destinations=bool(config.destinations),
            cnps=bool(config.cnps),
            icrc=bool(config.icrc),
            senders=bool(config.senders),
            port=bool(config.port),
            acks=bool(config.law_cores),
        )
        return Card(options)

    def _watches(self, m: Module, bank: RegisterBank, core: Core, watchdog: Watchdog) -> Value:
        """The watchdog holds advice back; once for each period that ends without a kick."""
        was = Signal(name="was_expired")
        m.d.comb += [
            watchdog.period.eq(bank.watchdog_period_period),
            watchdog.kick.eq(bank.watchdog_command_kick),
            bank.watchdog_state_expired.eq(watchdog.expired),
            core.hold.eq(watchdog.expired),
        ]
        m.d.sync += was.eq(watchdog.expired)
        return watchdog.expired & ~was
