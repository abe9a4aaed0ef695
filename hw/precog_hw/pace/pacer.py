"""The pacer: which queue pair may send how much, and when."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.stream.held import Held
from precog_hw.stream.queue import Queue
from precog_hw.stream.skid import SkidBuffer
from precog_spec.contract import PRIORITIES, Fmt

from .expiry import PERIOD_BITS, WindowExpiry
from .gap import GapUnit, due_layout
from .gap_serial import SerialGap
from .layouts import (
    SIZE_BITS,
    EventKind,
    ack_layout,
    commit_layout,
    config_layout,
    event_layout,
    grant_layout,
    rate_layout,
    request_layout,
    window_layout,
)
from .pipeline import OVERHEAD_BITS, StatePipeline
from .rate_update import RateUpdate
from .ready import ReadyLists
from .wheel import TimingWheel, check_slots

__all__ = ["GRANTS_AHEAD", "Pacer"]

#: Grants in flight between the lists and their taker: enough for one in 4 cycles. More would weaken
#: priorities, since a grant in flight has already been chosen.
GRANTS_AHEAD = 4
_GAPS = 16  # charges that wait
#: In the pipeline and in the gap unit: as many as are ahead, and as many that were within the gap
#: unit's cycles, and one that is being admitted.
_GAPS_COMING = 2 * GRANTS_AHEAD + 1
_IN_FLIGHT = StatePipeline.LATENCY + 4  # events that may still file, two in the slice among them


class Pacer(wiring.Component):
    """Queue pairs ask for bytes; grants come at their rates.

    ::

        i_request, i_ack, i_window, i_config ─┐
        i_rate ─► rate update ────────────────┤                      ┌─► ready lists ─► GRANT ─┐
             ▲          RATE, RETIME          ├─► arbiter ─► state ──┼─► o_grant               │
             └─ answers ─┐                    │      ▲     pipeline  ├─► gap ─► CHARGE ────────┤
                         │   ┌── FIRE ────────┘      │               └─► timing wheel ─► FIRE ─┤
                         └───┴────────── (all of them events) ◄────────────────────────────────┘

    All state of a queue pair is one row, and everything that happens to it is an event in one
    pipeline; `commit` says which ones took effect and in which order, and the golden model
    (`precog_models.pace.pacer`) replays that order and must have the same rows. A packet costs
    three events (GRANT, CHARGE, FIRE), whatever the number of queue pairs.

    A grant is for one packet: `min(MTU, what is asked for)`. It is given if the queue pair is due,
    its window is open, its priority is not paused, and no higher one waits. The gap behind it
    counts from the time when it was due, so that waiting for other queue pairs costs no rate; one
    that is late by more than a gap is due at once: at most one packet is caught up. A new rate
    takes effect on the pending gap.

    Latency: 22 cycles from a request of an idle queue pair to its grant. Throughput: one grant in
    4 cycles (in 3 out of lists that are never empty), one in 27 of the same queue pair (the loop of
    GRANT, gap, CHARGE, list): a faster rate than that is not reached. A rate update counts after
    33 cycles, on a pending gap some 90 later (125 at most of 503 between others'); one at a time.
    After a reset it takes events when all its memories are empty, after as many cycles as there are
    queue pairs or slots of both levels, whichever are more.
    Cost at 1024 queue pairs (ECP5): 28 DP16KD, 5575 LUT4 with carries and LUT RAM, 4735 flip-flops,
    1 multiplier (`docs/evidence/data/synth.json`).

    With `relaxed` one event at a time takes effect, and the gap behind a grant is found before the
    next event is taken: rows and events need no copies, charges no queue, and no queue stands
    ahead of pipeline and wheel. Each grant lets one of the others go first, and the next one waits
    until it is taken. Latency: 12 cycles from a request to its grant, 28 and the rate's leading
    zeros until a rate counts. Throughput: one event in 4 cycles, a grant and its charge in 16 and
    the rate's exponent more; a packet of each of 64 queue pairs in 42 cycles, with a request and an
    acknowledgement, where a Gigabit line brings the shortest frame in 42 at 62.5 MHz. Cost with
    `whole` and 16 queue pairs (ECP5, yosys alone): 3,263 LUT4 with carries and LUT RAM, 1,631
    flip-flops, 7 DP16KD, where 5,064, 4,481 and 1 are without `relaxed`.

    The order among queue pairs that are due within the same 4 ticks is that in which they were
    filed, but a queue pair that went through level 1 may change places once with one that did not.
    Gaps saturate at 2**32 ticks: below 17 / 2**24 bytes per tick a packet of 4 KiB does not take as
    long as it should.

    Parameters
    ----------
    qps : int
        Power of two, 2 or more.
    slots : int, optional
        Slots of each level of the timing wheel (power of two); by default 4 per queue pair, at
        least 64: then packets of queue pairs that share a link at one grant in 4 cycles need level
        0 only.
    dsp : str
        `NicConfig.dsp`.
    whole : bool, optional
        A request is of one packet, which is granted whole: the first one of either of two queues
        that a queue pair has, one at a time. PSNs come with requests; `precog_hw.pace.whole`.
    relaxed : bool, optional
        `NicConfig.relaxed`.

    Members
    -------
    i_request : In(stream.Signature(request_layout(qps)))
        More bytes to send.
    i_ack : In(stream.Signature(ack_layout(qps)))
        All packets before a PSN have arrived.
    i_window : In(stream.Signature(window_layout(qps)))
    i_rate : In(stream.Signature(rate_layout(qps)))
    i_config : In(stream.Signature(config_layout(qps)))
        A connection begins.
    o_grant : Out(stream.Signature(grant_layout(qps)))
    pause : In(8)
        PFC: priorities that get no new grants; up to `GRANTS_AHEAD`, one if `relaxed`, may be on
        their way. A queue pair that stands in line there stays, whatever its priority becomes.
    overhead : In(8)
        Bytes that every packet has on the wire beyond those that are granted; constant.
    now : In(40)
        Ticks; grows by at most 1 per cycle.
    ready : Out(1)
        Nothing of before the reset is left in any memory: events are taken from now on.
    commit : Out(stream.Signature(commit_layout(qps), always_ready=True))
        An event took effect.
    size : Out(13)
        With `commit` of a GRANT that leaves the row SENDING: the bytes granted.
    expiry : In(32)
        If `whole`: ticks after which, at the latest after twice as many, a window that is shut
        opens without an acknowledgement.
    shuts, expires : Out(1)
        As above, strobes: a packet that was asked for finds its window shut; it opened so.
    waits : Out(1)
        As above: a packet waits for its window.

    Raises
    ------
    ValueError
        `qps` or `slots` is not as above.
    """

    i_request: stream.Interface
    i_ack: stream.Interface
    i_window: stream.Interface
    i_rate: stream.Interface
    i_config: stream.Interface
    o_grant: stream.Interface
    commit: stream.Interface

    def __init__(
        self,
        qps: int,
        *,
        slots: int | None = None,
        dsp: str = "generic",
        whole: bool = False,
        relaxed: bool = False,
    ) -> None:
        if qps < 2 or qps & (qps - 1):
            raise ValueError(f"qps must be a power of two, 2 or more, not {qps!r}")
        self._qps, self._dsp, self._whole, self._relaxed = qps, dsp, whole, relaxed
        self._slots = max(64, 4 * qps) if slots is None else slots
        check_slots(self._slots)
        windows = {"expiry": In(PERIOD_BITS), **{n: Out(1) for n in ("shuts", "expires", "waits")}}
        super().__init__(
            {
                "i_request": In(stream.Signature(request_layout(qps, whole=whole))),
                "i_ack": In(stream.Signature(ack_layout(qps))),
                "i_window": In(stream.Signature(window_layout(qps))),
                "i_rate": In(stream.Signature(rate_layout(qps))),
                "i_config": In(stream.Signature(config_layout(qps))),
                "o_grant": Out(stream.Signature(grant_layout(qps, whole=whole))),
                "pause": In(PRIORITIES),
                "overhead": In(OVERHEAD_BITS),
                "now": In(Fmt.TIME.width),
                "ready": Out(1),
                "commit": Out(stream.Signature(commit_layout(qps), always_ready=True)),
                "size": Out(SIZE_BITS),
                **(windows if whole else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        qps = self._qps
        m.submodules.pipeline = pipeline = StatePipeline(
            qps, whole=self._whole, relaxed=self._relaxed
        )
        charges: SerialGap | Queue
        gap: SerialGap | GapUnit
        if self._relaxed:
            m.submodules.gap = gap = charges = SerialGap(qps, dsp=self._dsp)
        else:
            m.submodules.gap = gap = GapUnit(qps, dsp=self._dsp)
            m.submodules.charges = charges = Queue(due_layout(qps), _GAPS)
        m.submodules.wheel = wheel = TimingWheel(qps, self._slots, relaxed=self._relaxed)
        m.submodules.ready = ready = ReadyLists(qps, relaxed=self._relaxed)
        m.submodules.rate_update = rate = RateUpdate(qps, relaxed=self._relaxed)
        grant = grant_layout(qps, whole=self._whole)
        ahead_most = 1 if self._relaxed else GRANTS_AHEAD
        m.submodules.grants = grants = Held(grant) if self._relaxed else Queue(grant, GRANTS_AHEAD)

        wiring.connect(m, wiring.flipped(self.i_rate), rate.i)
        wiring.connect(m, pipeline.o_gap, gap.i)
        wiring.connect(m, pipeline.o_push, ready.i)
        wiring.connect(m, grants.o, wiring.flipped(self.o_grant))
        m.d.comb += [
            pipeline.now.eq(self.now),
            wheel.now.eq(self.now),
            pipeline.overhead.eq(self.overhead),
            ready.pause.eq(self.pause),
            *(
                [pipeline.held.eq(gap.busy)]
                if isinstance(charges, SerialGap)
                else [charges.i.valid.eq(gap.o.valid), charges.i.payload.eq(gap.o.payload)]
            ),
            wheel.i.valid.eq(pipeline.o_file.valid),
            wheel.i.payload.eq(pipeline.o_file.payload),
            grants.i.valid.eq(pipeline.o_grant.valid),
            grants.i.payload.eq(pipeline.o_grant.payload),
            wheel.hold.eq(rate.hold),
            rate.quiet.eq(wheel.quiet),
            rate.cut.eq(wheel.cut),
        ]

        # A row, a rate and a slot of the wheel in every cycle after reset.
        most = max(qps, 2 * self._slots)
        wipes, wiped = Signal(init=1), Signal(range(most))
        m.d.comb += self.ready.eq(~wipes)
        for part in (pipeline, rate, wheel):
            m.d.comb += [part.wipes.eq(wipes), part.wiped.eq(wiped)]
        m.d.sync += wiped.eq(wiped + wipes)
        with m.If(wiped == most - 1):
            m.d.sync += wipes.eq(0)

        did = pipeline.commit.payload
        m.d.comb += [
            self.commit.valid.eq(pipeline.commit.valid),
            self.commit.payload.eq(did),
            self.size.eq(pipeline.o_grant.payload.size),
            rate.answer_stb.eq(
                pipeline.commit.valid
                & ((did.kind == EventKind.RATE) | (did.kind == EventKind.RETIME))
            ),
            rate.refused.eq(pipeline.refused),
            rate.changed.eq(pipeline.changed),
            rate.ahead.eq(pipeline.ahead),
            rate.t.eq(did.t),
            rate.files.eq(pipeline.o_file.valid),
        ]

        # Grants that were chosen and not taken yet.
        ahead = Signal(range(ahead_most + 1))
        refused = pipeline.commit.valid & (did.kind == EventKind.GRANT) & pipeline.refused
        left = (self.o_grant.valid & self.o_grant.ready) + refused
        m.d.comb += ready.room.eq(ahead != ahead_most)
        m.d.sync += ahead.eq(ahead + ready.taken - left)

        self._arbitrate(m, pipeline, wheel, charges, ready, rate)
        return m

    def _arbitrate(
        self,
        m: Module,
        pipeline: StatePipeline,
        wheel: TimingWheel,
        charges: SerialGap | Queue,
        ready: ReadyLists,
        rate: RateUpdate,
    ) -> None:
        """Charges, then grants; then the wheel and the others in turn, one after another."""
        layout = event_layout(self._qps)
        charge, grant, fire = charges.o, ready.o, wheel.o
        room = Signal()  # in the wheel's queue, for all that is under way
        calm = Signal()  # charges that wait leave room for those of all grants under way
        if isinstance(charges, Queue):
            m.d.sync += room.eq(wheel.level <= TimingWheel.COMMANDS - _IN_FLIGHT)
            m.d.sync += calm.eq(charges.level <= _GAPS + 1 - _GAPS_COMING)
        else:
            # The event that takes effect in this cycle may file.
            m.d.comb += room.eq(wheel.i.ready & ~pipeline.commit.valid)

        others = self._others(m, pipeline, rate, room)
        rates = next(n for n, (_, port, _) in enumerate(others) if port is rate.o)
        # They take turns for a register, whose event takes turns with the wheel. The next one
        # is known a cycle before.
        turn = Signal(len(others))  # one bit: the one served last
        chosen = Signal(len(others))  # one bit or none: the next one
        offered = Cat(valid for valid, _, _ in others)
        other, waits = Signal(layout), Signal()
        wheel_turn = Signal()
        served = Signal()  # if `relaxed`
        m.d.comb += [
            port.ready.eq(chosen[n] & (served if self._relaxed else ~waits))
            for n, (_, port, _) in enumerate(others)
        ]
        with m.If(~chosen.any()):
            m.d.sync += chosen.eq(_after(turn, offered))
        if self._relaxed:  # into the pipeline itself
            with m.Elif(served | ~waits):
                m.d.sync += [turn.eq(chosen), chosen.eq(0)]
            m.d.comb += waits.eq((chosen & offered).any())
            for n, (_, _, made) in enumerate(others):
                with m.If(chosen[n]):
                    m.d.comb += other.eq(made)
            offers = pipeline
        else:
            with m.Elif(~waits):
                m.d.sync += [waits.eq((chosen & offered).any()), turn.eq(chosen), chosen.eq(0)]
                for n, (_, _, made) in enumerate(others):
                    with m.If(chosen[n]):
                        m.d.sync += other.eq(made)
            # The pipeline knows late that it has to wait; the skid buffer ends that path here.
            m.submodules.offers = offers = SkidBuffer(layout)
            wiring.connect(m, offers.o, pipeline.i)
        serves_charge, serves_grant, serves_fire, serves_other = (Signal() for _ in range(4))
        grants = grant.valid & calm
        free = ~serves_charge & ~serves_fire
        if self._relaxed:
            # The next event enters in the cycle of a commit, which may take the room. One that
            # needs room waits a cycle, and the others wait behind it: else it would never have any.
            files = charge.valid | (fire.valid & wheel_turn)
            free = ~(files & wheel.i.ready) & (room | ~chosen[rates])
        m.d.comb += [
            serves_charge.eq(charge.valid & room),
            serves_grant.eq(grants & ~serves_charge),
            serves_fire.eq(fire.valid & room & ~serves_charge & ~grants & (wheel_turn | ~waits)),
            serves_other.eq(waits & ~grants & free),
        ]
        serves = (serves_charge, serves_grant, serves_fire)
        offer = self._first(m, serves, charge.payload, grant.payload, fire.payload, other)
        takes = offers.i.ready
        m.d.comb += [
            offers.i.valid.eq(serves_charge | serves_grant | serves_fire | serves_other),
            offers.i.payload.eq(offer),
            charge.ready.eq(takes & serves_charge),
            grant.ready.eq(takes & serves_grant),
            fire.ready.eq(takes & serves_fire),
        ]
        with m.If(takes & serves_fire):
            m.d.sync += wheel_turn.eq(0)
        with m.Elif(takes & serves_other):
            m.d.sync += wheel_turn.eq(1)
            if not self._relaxed:
                m.d.sync += waits.eq(0)
        if self._relaxed:
            # Grants alone would take all the time there is: each lets one of the others go first.
            granted = Signal()
            m.d.comb += [
                served.eq(takes & serves_other),
                calm.eq(~charge.valid & ~(granted & ((fire.valid & wheel.i.ready) | waits))),
            ]
            with m.If(takes & (serves_grant | serves_fire | serves_other)):
                m.d.sync += granted.eq(serves_grant)

    def _first(
        self,
        m: Module,
        serves: tuple[Value, Value, Value],
        charge: data.View,
        grant: data.View,
        fire: Value,
        other: Value,
    ) -> Signal:
        """The event that is served: a charge, a grant, one of the wheel, or else `other`."""
        offer = Signal(event_layout(self._qps))
        with m.If(serves[0]):
            m.d.comb += offer.eq(self._event(m, EventKind.CHARGE, charge.qp, charge.due))
        with m.Elif(serves[1]):
            m.d.comb += offer.eq(self._event(m, EventKind.GRANT, grant.qp, grant.priority))
        with m.Elif(serves[2]):
            m.d.comb += offer.eq(self._event(m, EventKind.FIRE, fire, 0))
        with m.Else():
            m.d.comb += offer.eq(other)
        return offer

    def _event(self, m: Module, kind: Any, qp: Value, argument: Value) -> Signal:
        made = Signal(event_layout(self._qps), name=kind.name.lower())
        m.d.comb += [made.kind.eq(kind), made.qp.eq(qp), made.argument.eq(argument)]
        return made

    def _others(
        self, m: Module, pipeline: StatePipeline, rate: RateUpdate, room: Value
    ) -> list[tuple[Value, stream.Interface, Signal]]:
        """Events of the ports, of new rates and of shut windows: valid, where it is from, it."""
        asks = (self.i_request, self.i_ack, self.i_window, self.i_config)
        request, ack, window, config = (port.payload for port in asks)
        # All that is behind the queue pair.
        asked = request.as_value()[len(request.qp) :]
        others = [
            (port.valid, port, self._event(m, kind, payload.qp, argument))
            for port, kind, payload, argument in (
                (asks[0], EventKind.REQUEST, request, asked),
                (asks[1], EventKind.ACK, ack, ack.psn),
                (asks[2], EventKind.WINDOW, window, window.window),
                (asks[3], EventKind.CONFIG, config, config.config),
            )
        ]
        rates = rate.o.valid if self._relaxed else rate.o.valid & room
        others.append((rates, rate.o, rate.o.payload))
        if self._whole:
            expired = self._expiry(m, pipeline)
            expire = self._event(m, EventKind.EXPIRE, expired.payload, 0)
            others.append((expired.valid, expired, expire))
        return others

    def _expiry(self, m: Module, pipeline: StatePipeline) -> stream.Interface:
        """Windows that may have been shut for too long."""
        m.submodules.expiry = expiry = WindowExpiry(self._qps, relaxed=self._relaxed)
        m.d.comb += [
            expiry.now.eq(self.now),
            expiry.period.eq(self.expiry),
            expiry.shuts.eq(pipeline.shuts),
            expiry.opens.eq(pipeline.opens),
            self.shuts.eq(pipeline.shuts),
            self.expires.eq(pipeline.expires),
            self.waits.eq(expiry.waits),
        ]
        return expiry.o


def _after(turn: Signal, offered: Value) -> Value:
    """The first bit of `offered` above the one bit of `turn`, else the first of all.

    In plain logic: carry chains of five bits are slower.
    """
    bits = range(len(offered))
    above = Cat(offered[n] & turn[:n].any() for n in bits)
    first = Mux(above.any(), above, offered)
    return Cat(first[n] & ~first[:n].any() for n in bits)
