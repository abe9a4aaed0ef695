"""The NIC: register bank, core and, where there is one, the packet path. One page.

::

    s_axil ─► front end ─► bank ─┬─ parameters ─────────────────► core
                                 ├─ model loader, slot map ─────► core
                                 ├─ QP window ─ commands ───────► core
                                 │      ▲ last decisions           │
                                 └─ counters ◄──── events ─────────┤
    i_sample, i_event ─────────────────────────────► core ─────────┴─► o_decision
       or
    i_tx, i_rx ─► card ─► samples ─────────────────► core
    o_tx, o_rx ◄──┘ ▲       with wire: i_tx ─► [wire mode] ─► card, grants inside
          bank ─────┴ windows, counters, time (`precog_hw.csr.packet_host`)
    i_profile ─────────────────────────────────────► core ─────────► o_forecast, scores ─► card
          bank ─── window, tables, counters (`precog_hw.csr.forecast_host`) ─┘
    i_request, i_ack ──────────► grants ◄── decisions, commands
    o_grant ◄──────────────────────┘ ▲
          bank ──────────────────────┴ window, counters (`precog_hw.csr.pacer_host`)
    i_queue, or the log of grants or packets ─► profiler ─► samples of the queues
          bank ─────────────────────────┴ window, counters (`precog_hw.csr.profiler_host`)
    scores ─► receiver ─► commands to the laws, priorities of grants, o_quota
    decisions, receiver ─► [trace FIFO] ─► bank (`precog_hw.csr.trace_host`)
    core's scrubber ◄─► bank (`precog_hw.csr.ecc_host`)
    resets of parts ◄── bank, in each part's host; the core's in `precog_hw.csr.reset_host`
"""

from amaranth.hdl import Cat, Const, Module, Signal, Value, ValueLike
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.activity import ACTIVITY, UNITS, hold
from precog_hw.config import NicConfig
from precog_hw.core import Core
from precog_hw.csr import (
    ecc_host,
    forecast_host,
    interrupt_host,
    mac_host,
    pacer_host,
    profiler_host,
    receiver_host,
    reset_host,
    trace_host,
    wire_host,
)
from precog_hw.csr.axil import AxiLite, AxiLiteFrontEnd
from precog_hw.csr.bank import RegisterBank, port
from precog_hw.csr.counters import Counters
from precog_hw.csr.layouts import DECISION, SAMPLE
from precog_hw.csr.packet_host import attach
from precog_hw.csr.qp_window import QpWindow
from precog_hw.csr.watchdog import Watchdog
from precog_hw.csr.window_ports import connect_window
from precog_hw.measure.profiler import Profiler
from precog_hw.measure.queue_layouts import queue_event_layout
from precog_hw.pace.grants import Grants
from precog_hw.pace.layouts import ack_layout, grant_layout, log_layout, request_layout
from precog_hw.pace.wire_mode import WireMode
from precog_hw.pace.wire_path import queues
from precog_hw.packet.card import MIN_TICK_PS, Card
from precog_hw.predict.carried import CARRIED_COMMIT, CarriedScores
from precog_hw.predict.forecast import FORECAST, PROFILE
from precog_hw.rate.law_events import LawEvents
from precog_hw.rate.law_layouts import LAW_EVENT
from precog_hw.rate.receiver import Receiver
from precog_hw.rate.receiver_layouts import COMMIT, quota_layout
from precog_hw.rate.score_events import ScoreEvents
from precog_hw.regmap.mac import MAC_EVENTS
from precog_hw.regmap.model import RegisterMap
from precog_hw.regmap.precog import (
    COUNTERS,
    QP_CONFIG,
    QP_STATUS,
    Identity,
    build_map,
)
from precog_hw.regmap.wire import CELL_BYTES, WIRE_EVENTS
from precog_hw.store.layouts import StoreConfig
from precog_hw.store.layouts import commit_layout as store_log_layout
from precog_hw.stream.packet import packet_signature
from precog_models.contract import (
    CONTRACT_HASH,
    MAX_INPUTS,
    MAX_OUTPUTS,
    PRIORITIES,
    Flag,
    Fmt,
)

__all__ = ["COMMAND_LOG", "PrecogNic", "nic_map", "wire_store"]

#: A command of the core: which queue pair, and what it does.
COMMAND_LOG = data.StructLayout({"qp": 16, "apply": 1, "clear": 1, "forget": 1})


def nic_map(config: NicConfig, *, tick_ps: int = 1000) -> RegisterMap:
    """The register map of the NIC that `config` describes.

    Raises
    ------
    ValueError
        `tick_ps` does not fit its register, or is shorter than the packet path's clock may be.
    """
    if config.width and tick_ps < MIN_TICK_PS:
        raise ValueError(f"tick_ps must be {MIN_TICK_PS} or more with packets, not {tick_ps!r}")
    identity = Identity(CONTRACT_HASH, tick_ps, MAX_INPUTS, MAX_OUTPUTS)
    return build_map(config.map_sizes, identity)


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
        Events for the laws that react to more than samples. Not with packets; with `config.laws`.
    i_tx, o_tx, i_rx, o_rx : packet streams
        With packets: `precog_hw.packet.card.Card`.
    sample_stb, sample, law_event_stb, law_event : Out
        With packets: each sample and each event as the core takes it.
    command_log_stb, command_log : Out(1), Out(COMMAND_LOG)
        With packets: each command of the core as it takes effect, for its golden model.
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
        Likewise: each event of the pacer as it takes effect, for its golden model.
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
        Likewise: each event of the receiver as it takes effect, for its golden model.
    mac_events : In(macs * len(MAC_EVENTS))
        With `config.macs`: `MacPort.events` of each port.
    irq : Out(1)
        The interrupt, a level: `precog_hw.regmap.interrupt` has its causes.
    active : Out(ACTIVITY)
        Which units have work (`precog_hw.activity`), with `config.activity` only.
    """

    def __init__(self, config: NicConfig, *, tick_ps: int = 1000) -> None:
        self._config = config
        self.regmap = nic_map(config, tick_ps=tick_ps)
        self._tick_ps = tick_ps
        if config.receiver:
            self._receiver = Receiver(config)
        if config.wire:
            self._wire = WireMode(wire_store(config))
        super().__init__(
            {
                "s_axil": In(AxiLite(self.regmap.address_bits)),
                "o_decision": Out(stream.Signature(DECISION)),
                "irq": Out(1),
            }
            | (_packets(config) if config.width else _samples(config.laws))
            | (_grants(config) if config.grants else {})
            | (_queues(config) if config.profile else {})
            | (_forecasts(config) if config.forecast else {})
            | (_receiver(config) if config.receiver else {})
            | (_wire(config) if config.wire else {})
            | ({"mac_events": In(config.macs * len(MAC_EVENTS))} if config.macs else {})
            | ({"active": Out(ACTIVITY)} if config.activity else {})
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.front = front = AxiLiteFrontEnd(self.regmap.address_bits)
        m.submodules.bank = bank = RegisterBank(self.regmap)
        m.submodules.core = core = Core(self._config)
        m.submodules.window = window = QpWindow(self._config)
        m.submodules.counters = counters = Counters(len(COUNTERS))
        m.submodules.watchdog = watchdog = Watchdog()

        wiring.connect(m, wiring.flipped(self.s_axil), front.axil)
        wiring.connect(m, front.bus, bank.bus)
        wiring.connect(m, core.o_decision, wiring.flipped(self.o_decision))
        card = None
        if self._config.width:
            predicted = bool(self._config.forecast)
            m.submodules.card = card = Card(
                self._config.width,
                self._config.qps,
                tick_ps=self._tick_ps,
                predicted=predicted,
                relaxed=self._config.relaxed,
                ipv6=bool(self._config.ipv6),
            )
        timed = self._config.grants or self._config.profile
        now = card.now if card is not None else self.now if timed else None
        if self._config.grants:
            self._grants(m, bank, core, window, now)
        else:
            wiring.connect(m, window.o_config, core.command)
        profiles = self._profile(m, bank, window, now) if self._config.profile else None
        if self._config.forecast:
            self._forecasts(m, bank, core, window, profiles, card)
        elif profiles is not None:
            m.d.comb += profiles.ready.eq(1)
        samples = self.i_sample if card is None else self._card(m, bank, core, card, window)
        if self._config.laws:
            self._events(m, core, window, card)
        m.d.comb += [
            core.i_sample.payload.eq(samples.payload),
            core.i_sample.valid.eq(samples.valid & window.ready),
            samples.ready.eq(core.i_sample.ready & window.ready),
        ]
        decided = self.o_decision.valid & self.o_decision.ready
        m.d.comb += [window.decision.eq(self.o_decision.payload), window.decision_stb.eq(decided)]

        m.d.comb += [
            watchdog.period.eq(bank.watchdog_period_period),
            watchdog.kick.eq(bank.watchdog_command_kick),
            bank.watchdog_state_expired.eq(watchdog.expired),
            core.hold.eq(watchdog.expired),
        ]
        causes: dict[str, ValueLike] = {}
        if self._config.trace:
            told = trace_host.decision_record(self.o_decision.payload, core.made_of)
            sources = [(decided, told)]
            if self._config.receiver:
                sources.append(trace_host.receiver_source(self.receive_log_stb, self.receive_log))
            causes["trace"] = trace_host.attach(m, bank, sources)
        self._parameters(m, bank, core)
        self._models(m, bank, core)
        if self._config.ecc:
            ecc_host.attach(m, bank, core, sets=self._config.sets)
            causes["ecc"] = core.ecc_events.uncorrectable
        self._queue_pairs(m, bank, window)

        flags = self.o_decision.payload.flags
        load_error = core.load_error | core.map_error
        if card is not None:
            self._log_commands(m, core)
        if self._config.macs:
            mac_host.attach(m, bank, self.mac_events)
        events = {
            "samples": core.i_sample.valid & core.i_sample.ready,
            "decisions": decided,
            "predictions": decided & flags[Flag.PREDICTED],
            "fallbacks": decided & flags[Flag.NO_MODEL],
            "advice_clamped": decided & flags[Flag.ADVICE_CLAMPED],
            "delta_clamped": decided & flags[Flag.DELTA_CLAMPED],
            "rate_clamped": decided & flags[Flag.RATE_CLAMPED],
            "target_moves": decided & flags[Flag.TARGET_MOVED],
            "dropped": core.dropped,
            "load_errors": load_error,
            "events": core.i_event.valid & core.i_event.ready if self._config.laws else 0,
            "ignored": core.event_ignored if self._config.laws else 0,
            "unskilled": decided & flags[Flag.UNSKILLED],
            "late": decided & flags[Flag.LATE],
            "held": decided & flags[Flag.HELD],
            "scored": decided & flags[Flag.SCORED],
            "congested": decided & flags[Flag.CONGESTED],
        }
        causes |= {"load": load_error, "dropped": core.dropped}
        causes["watchdog"] = self._expires(m, watchdog)
        if card is not None:
            causes["icrc"] = card.icrc_done & card.icrc_checked & ~card.icrc_ok
        if self._config.wire:
            happened = zip(WIRE_EVENTS, self._wire.events, strict=True)
            causes["waiting"] = Cat(e for (n, _), e in happened if n.startswith("dropped")).any()
        m.d.comb += [
            self.irq.eq(interrupt_host.attach(m, bank, causes)),
            counters.events.eq(Cat(events[name] for name, _ in COUNTERS)),
            counters.index.eq(bank.counters_counters_index),
            counters.read.eq(bank.counters_counters_low_read),
            counters.clear.eq(bank.reset_command_counters),
            bank.counters_counters_low_low.eq(counters.low),
            bank.counters_counters_high_high.eq(counters.high),
        ]
        resetting = reset_host.attach(m, bank, window)
        if self._config.activity:
            # What the host does reaches every unit: parameters, commands, models.
            axil = self.s_axil
            host = axil.awvalid | axil.wvalid | axil.arvalid | axil.bvalid | axil.rvalid
            awake = Signal()
            counted, caused = counters.events.any(), Cat(*causes.values()).any()
            if self._config.ecc:
                found = core.ecc_events
                counted |= found.as_value().any()
                caused |= found.corrected | found.uncorrectable | found.injected | found.refused
            # Whose registers beside the parts move at any time.
            others = Const(bool(timed or self._config.forecast))
            m.d.comb += [
                awake.eq(hold(m, "host", host | window.busy | resetting | core.activity.store, 16)),
                self.active.eq(core.activity.as_value() | awake.replicate(len(UNITS))),
                self.active.nic.eq(hold(m, "nic", awake | caused | others, 4)),
                self.active.csr.eq(hold(m, "csr", awake | caused, 4)),
                self.active.results.eq(hold(m, "results", awake | counted, 4)),
            ]
        return m

    def _log_commands(self, m: Module, core: Core) -> None:
        command = core.command.payload
        done = core.command.valid & core.command.ready
        m.d.comb += [
            self.command_log_stb.eq(core.command_stb | (done & command.forget)),
            *(self.command_log[name].eq(command[name]) for name in COMMAND_LOG.members),
        ]

    def _expires(self, m: Module, watchdog: Watchdog) -> Value:
        """Once for each period that ends without a kick."""
        was = Signal(name="was_expired")
        m.d.sync += was.eq(watchdog.expired)
        return watchdog.expired & ~was

    def _card(
        self, m: Module, bank: RegisterBank, core: Core, card: Card, window: QpWindow
    ) -> stream.Interface:
        """The packet path; gives the samples. No packet comes before every table is empty."""
        config = self._config
        ready = Signal()
        copy = self._wire.i_table if config.wire else None
        sizes = {"slots": config.qps, "tick_ps": self._tick_ps}
        emptied = attach(m, bank, card, **sizes, copy=copy, ipv6=bool(config.ipv6))
        if config.receiver:
            emptied &= self._receives(m, bank, card)
        tx = card.i_tx
        if config.wire:
            wiring.connect(m, self._wire.o, tx)
            tx = self._wire.i
            emptied &= self._wire.ready
            m.d.comb += [
                self._wire.shim_port.eq(card.registers.cps.shim_port),
                self._wire.acked_stb.eq(card.acked_stb),
                self._wire.acked.qp.eq(card.acked_slot),
                self._wire.acked.psn.eq(card.acked_psn),
            ]
        m.d.sync += ready.eq(emptied & window.ready)
        for outside, inside in ((self.i_tx, tx), (self.i_rx, card.i_rx)):
            m.d.comb += [
                inside.payload.eq(outside.payload),
                inside.valid.eq(outside.valid & ready),
                outside.ready.eq(inside.ready & ready),
            ]
        for name in ("o_tx", "o_rx"):
            wiring.connect(m, getattr(card, name), wiring.flipped(getattr(self, name)))
        m.d.comb += [
            self.sample_stb.eq(core.i_sample.valid & core.i_sample.ready),
            self.sample.eq(core.i_sample.payload),
        ]
        return card.o_sample

    def _events(self, m: Module, core: Core, window: QpWindow, card: Card | None) -> None:
        """As samples: not before all queue pairs are disabled."""
        source = self.i_event if card is None else self._packet_events(m, core, window, card)
        m.d.comb += [
            core.i_event.payload.eq(source.payload),
            core.i_event.valid.eq(source.valid & window.ready),
            source.ready.eq(core.i_event.ready & window.ready),
        ]

    def _packet_events(
        self, m: Module, core: Core, window: QpWindow, card: Card
    ) -> stream.Interface:
        m.submodules.events = events = LawEvents(self._config)
        m.submodules.scores = scores = ScoreEvents(self._config)
        m.d.comb += [
            *(events.heard.eq(card.cnp_heard), events.heard_slot.eq(card.cnp_slot)),
            *(events.sent.eq(card.frame_sent), events.sent_slot.eq(card.frame_slot)),
            events.sent_bytes.eq(card.frame_bytes),
            events.now.eq(card.now),
            events.byte_count.eq(core.parameters.dcqcn_byte_count),
            events.rate_ticks.eq(core.parameters.dcqcn_rate_ticks),
            events.command_stb.eq(core.command.valid & core.command.ready),
            events.command.eq(window.o_config.payload),
            events.cut_ticks.eq(core.parameters.dcqcn_cut_ticks),
            events.score_ticks.eq(core.parameters.psched_score_ticks),
            scores.now.eq(card.now),
            *(scores.command_stb.eq(events.command_stb), scores.command.eq(events.command)),
        ]
        if not self._config.forecast:
            m.d.comb += [
                self.law_event_stb.eq(core.i_event.valid & core.i_event.ready),
                self.law_event.eq(core.i_event.payload),
            ]
        wiring.connect(m, events.o, scores.i)
        heard = card.score_heard, card.score_slot, card.score
        if self._config.receiver:  # the score leaves it with a command
            told = self._receiver
            heard = told.score_stb, told.score.qp, told.score.value
        names = ("heard", "heard_slot", "heard_score")
        m.d.comb += [getattr(scores, n).eq(value) for n, value in zip(names, heard, strict=True)]
        return scores.o

    def _forecasts(
        self,
        m: Module,
        bank: RegisterBank,
        core: Core,
        window: QpWindow,
        profiles: stream.Interface | None,
        card: Card | None,
    ) -> None:
        """Profiles wait as samples do; scores go to the laws, inside of the core, and the card."""
        carried = None
        if card is not None:
            m.submodules.carried = carried = CarriedScores(self._config)
            command = window.o_config.payload
            forecast_host.carry(m, bank, core, carried, card, command=command)
            m.d.comb += [
                *(self.carried_log_stb.eq(carried.commit_stb), self.carried_log.eq(carried.commit)),
            ]
        attached = forecast_host.attach(m, bank, core, carried, slots=self._config.qps)
        ready = window.ready & attached
        source, payload = profiles, core.i_profile.payload
        if source is None:
            source = self.i_profile
            m.d.comb += payload.eq(source.payload)
        else:
            m.d.comb += [payload[name].eq(source.payload[name]) for name in ("qp", "t")]
            m.d.comb += [payload[f"x{n}"].eq(x) for n, x in enumerate(source.payload.x)]
        m.d.comb += [
            core.i_profile.valid.eq(source.valid & ready),
            source.ready.eq(core.i_profile.ready & ready),
            self.law_event_stb.eq(core.event_stb),
            self.law_event.eq(core.event),
        ]
        wiring.connect(m, core.o_forecast, wiring.flipped(self.o_forecast))

    def _receives(self, m: Module, bank: RegisterBank, card: Card) -> Value:
        """The receiver between card, bank and whoever holds the queues."""
        m.submodules.receiver = receiver = self._receiver
        if self._config.wire:
            given, taken = receiver.o_quota, self._wire.i_quota
            quota = wire_host.cells_of(given.payload.quota, taken.payload.quota)
            m.d.comb += [
                *(taken.valid.eq(given.valid), given.ready.eq(taken.ready)),
                *(taken.payload.qp.eq(given.payload.qp), taken.payload.quota.eq(quota)),
            ]
        else:
            wiring.connect(m, receiver.o_quota, wiring.flipped(self.o_quota))
        m.d.comb += [
            receiver.now.eq(card.now),
            *(self.receive_log_stb.eq(receiver.commit_stb), self.receive_log.eq(receiver.commit)),
        ]
        if not self._config.grants:  # nobody has priorities
            m.d.comb += receiver.o_boost.ready.eq(1)
        return receiver_host.attach(m, bank, card, receiver, slots=self._config.qps)

    def _grants(
        self, m: Module, bank: RegisterBank, core: Core, window: QpWindow, now: Value
    ) -> None:
        """A command is over when core and pacer have it; requests wait as samples do."""
        m.submodules.grants = grants = Grants(self._config)
        attached = pacer_host.attach(m, bank, grants, slots=self._config.qps, pause=self.pause)
        if self._config.receiver:
            wiring.connect(m, self._receiver.o_boost, grants.i_boost)
        command, taken = window.o_config, Signal()
        m.d.comb += [
            core.command.payload.eq(command.payload),
            core.command.valid.eq(command.valid & ~taken),
            command.ready.eq(taken & grants.done),
            grants.command.eq(command.payload),
            grants.command_stb.eq(core.command_stb),
            grants.decision.eq(self.o_decision.payload),
            grants.decision_stb.eq(self.o_decision.valid & self.o_decision.ready),
            grants.now.eq(now),
            *(self.pace_log_stb.eq(grants.log.valid), self.pace_log.eq(grants.log.payload)),
        ]
        with m.If(core.command.valid & core.command.ready):
            m.d.sync += taken.eq(1)
        with m.Elif(command.ready):
            m.d.sync += taken.eq(0)
        ready = window.ready & attached
        if self._config.wire:
            self._grants_to_packets(m, bank, grants)
            asked = [(self._wire.o_request, grants.i_request), (self._wire.o_ack, grants.i_ack)]
        else:
            wiring.connect(m, grants.o_grant, wiring.flipped(self.o_grant))
            asked = [(getattr(self, n), getattr(grants, n)) for n in ("i_request", "i_ack")]
        for outside, inside in asked:
            m.d.comb += [
                inside.payload.eq(outside.payload),
                inside.valid.eq(outside.valid & ready),
                outside.ready.eq(inside.ready & ready),
            ]

    def _grants_to_packets(self, m: Module, bank: RegisterBank, grants: Grants) -> None:
        """A grant lets a packet go, and the next one is asked for."""
        m.submodules.wire = wire = self._wire
        wire_host.attach(m, bank, wire, slots=self._config.qps)
        wiring.connect(m, grants.o_grant, wire.i_grant)
        m.d.comb += [
            wire.refused.eq(grants.refused),
            wire.window_events.eq(Cat(grants.shuts, grants.waits, grants.expires)),
            grants.expiry.eq(bank.wire_expiry_expiry),
            *(grants.calm.eq(wire.calm), wire.pace_log_stb.eq(self.pace_log_stb)),
            *(wire.pace_log.eq(self.pace_log), self.wire_log.eq(wire.log)),
            self.wire_log_stb.eq(wire.log_stb),
        ]

    def _profile(
        self, m: Module, bank: RegisterBank, window: QpWindow, now: Value
    ) -> stream.Interface:
        """The queue profiler; gives its samples. No event waits but after reset."""
        m.submodules.profiler = profiler = Profiler(self._config.qps, dsp=self._config.dsp)
        profiler_host.attach(m, bank, profiler, slots=self._config.qps)
        m.d.comb += profiler.now.eq(now)
        if self._config.wire:
            profiler_host.follow_packets(m, profiler, self._wire, now)
            m.d.comb += [
                self.queue_log_stb.eq(profiler.commit_stb),
                self.queue_log.eq(profiler.commit),
            ]
        elif self._config.grants:
            profiler_host.follow(m, profiler, self.pace_log, self.pace_log_stb)
        else:
            m.d.comb += [
                profiler.i.payload.eq(self.i_queue.payload),
                profiler.i.valid.eq(self.i_queue.valid & window.ready),
                self.i_queue.ready.eq(profiler.i.ready & window.ready),
            ]
        return profiler.o

    def _parameters(self, m: Module, bank: RegisterBank, core: Core) -> None:
        for block in self._config.map_sizes.parameter_blocks:
            for register in self.regmap.block(block).registers:
                for field in register.fields:
                    value = getattr(bank, port(block, register.name, field.name))
                    m.d.comb += core.parameters[field.name].eq(value)

    def _models(self, m: Module, bank: RegisterBank, core: Core) -> None:
        m.d.comb += [
            core.begin_stb.eq(bank.model_command_begin),
            core.begin_set.eq(bank.model_set_set),
            core.word_stb.eq(bank.model_data_stb),
            core.word.eq(bank.model_data_data),
            core.commit_stb.eq(bank.model_command_commit),
            core.commit_crc.eq(bank.model_crc_crc),
            bank.model_words_words.eq(core.words),
            bank.model_status_code.eq(core.status),
            bank.model_status_busy.eq(core.busy),
            bank.model_error_load_set.eq(core.load_error),
            bank.model_error_map_set.eq(core.map_error),
            core.map_stb.eq(bank.model_slots_slot_stb),
            core.map_slot.eq(bank.model_slots_index),
            core.map_set.eq(bank.model_slots_slot_set_new),
            core.map_enable.eq(bank.model_slots_slot_enable_new),
            core.query_slot.eq(bank.model_slots_index),
            bank.model_slots_slot_set.eq(core.query_slot_set),
            bank.model_slots_slot_enable.eq(core.query_slot_enable),
            core.query_set.eq(bank.model_sets_index),
            bank.model_sets_set_state_valid.eq(core.query_valid),
            bank.model_sets_set_version_version.eq(core.query_version),
        ]

    def _queue_pairs(self, m: Module, bank: RegisterBank, window: QpWindow) -> None:
        connect_window(m, bank, "qp", QP_CONFIG, window)
        for register in QP_STATUS:
            for field in register.fields:
                name = port("qp", register.name, field.name)
                m.d.comb += getattr(bank, name).eq(window.status[field.name])


def _samples(laws: int) -> dict[str, wiring.Member]:
    ports = {"i_sample": In(stream.Signature(SAMPLE))}
    return ports | ({"i_event": In(stream.Signature(LAW_EVENT))} if laws else {})


def _forecasts(config: NicConfig) -> dict[str, wiring.Member]:
    events = {} if config.width else {"law_event_stb": Out(1), "law_event": Out(LAW_EVENT)}
    profiles = {} if config.profile else {"i_profile": In(stream.Signature(PROFILE))}
    log = {"carried_log_stb": Out(1), "carried_log": Out(CARRIED_COMMIT)} if config.width else {}
    return {**profiles, "o_forecast": Out(stream.Signature(FORECAST)), **events, **log}


def wire_store(config: NicConfig) -> StoreConfig:
    """The packet memory of a NIC with wire mode."""
    return StoreConfig(qps=config.qps, width=config.width, cells=config.wire, cell_bytes=CELL_BYTES)


def _wire(config: NicConfig) -> dict[str, wiring.Member]:
    event = queue_event_layout(config.qps)
    told = {"queue_log_stb": Out(1), "queue_log": Out(event)} if config.profile else {}
    log = store_log_layout(queues(wire_store(config)))
    return {"wire_log_stb": Out(1), "wire_log": Out(log), **told}


def _grants(config: NicConfig) -> dict[str, wiring.Member]:
    qps = config.qps
    outside = {
        "i_request": In(stream.Signature(request_layout(qps))),
        "i_ack": In(stream.Signature(ack_layout(qps))),
        "o_grant": Out(stream.Signature(grant_layout(qps))),
    }
    return {
        **({} if config.wire else outside),
        "pause": In(PRIORITIES),
        "pace_log_stb": Out(1),
        "pace_log": Out(log_layout(qps)),
        **_now(config),
    }


def _queues(config: NicConfig) -> dict[str, wiring.Member]:
    if config.grants:
        return {}
    return {"i_queue": In(stream.Signature(queue_event_layout(config.qps))), **_now(config)}


def _now(config: NicConfig) -> dict[str, wiring.Member]:
    return {} if config.width else {"now": In(Fmt.TIME.width)}


def _receiver(config: NicConfig) -> dict[str, wiring.Member]:
    quota = {"o_quota": Out(stream.Signature(quota_layout(config.qp_bits)))}
    return {
        **({} if config.wire else quota),
        "receive_log_stb": Out(1),
        "receive_log": Out(COMMIT),
    }


def _packets(config: NicConfig) -> dict[str, wiring.Member]:
    packets = packet_signature(config.width)
    events = {"law_event_stb": Out(1), "law_event": Out(LAW_EVENT)} if config.laws else {}
    return {
        "i_tx": In(packets),
        "o_tx": Out(packets),
        "i_rx": In(packets),
        "o_rx": Out(packets),
        "sample_stb": Out(1),
        "sample": Out(SAMPLE),
        "command_log_stb": Out(1),
        "command_log": Out(COMMAND_LOG),
        **events,
    }
