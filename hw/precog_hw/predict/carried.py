"""Which predicted score a queue pair's packets carry; golden model `predict.carried`.

::

    made ──────────────┐             ┌─ age ─┐
    new configuration ─┼─► [row] ────┴───────┴─► holds? ─► by `CarriedScore` ─► put
    a visit ───────────┘                           ▲
    which queue pair names which models, and which slots stand for one
"""

from functools import reduce
from operator import or_

from amaranth.hdl import Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from precog_spec.carried import CARRIED_EVENT, CARRIED_STATE, CarriedKind, source_bits
from precog_spec.config import NicConfig
from precog_spec.contract import CarriedScore, Fmt

from ..csr.qp import config_layout
from ..rows import RowUpdate, plain_memory
from ..stream.queue import Queue
from .cps import SCORE_BITS
from .forecast import forecast_config_layout

__all__ = ["CARRIED_EVENTS", "CarriedScores", "carried_commit_layout"]

STATE = data.StructLayout({name: unsigned(bits) for name, bits in CARRIED_STATE})
#: An event's fields in cycle 0. Constants in others would wait for one in a Verilog simulator.
_BEGUN = data.StructLayout(
    {name: unsigned(dict(CARRIED_EVENT)[name]) for name in ("kind", "qp", "t", "score")}
)

#: A score that goes into a row of the packet path, plus 1, or 0: none.
_PUT = data.StructLayout({"put": 1, "score": SCORE_BITS, "expired": 1})


def _event_layout(config: NicConfig) -> data.StructLayout:
    fields = dict(CARRIED_EVENT) | {"source": source_bits(port=config.port)}
    return data.StructLayout({name: unsigned(bits) for name, bits in fields.items()})


def carried_commit_layout(config: NicConfig) -> data.StructLayout:
    """All that the golden model needs to follow, and what came of it."""
    return data.StructLayout({"event": _event_layout(config), "result": _PUT})


#: Strobes: a score goes into packets; one is taken out of them.
CARRIED_EVENTS = data.StructLayout({"carried": 1, "expired": 1})

_AGE_BITS = 32
_WAITING = 256  # a DP16KD has as many rows anyway


class _RowTurns:
    """Names of `RowUpdate`, without copies: `i_stb` stays for two cycles, with `stb` in the second.

    Attributes
    ----------
    idle : Signal(1)
        No event waits.
    """

    def __init__(self, m: Module, rows: int) -> None:
        self.i_stb, self.i_row = Signal(name="row_asked"), Signal(range(rows), name="row")
        self.stb, self.row, self.idle = Signal(name="row_stb"), self.i_row, Signal(name="row_idle")
        self.old, self.new = Signal(STATE, name="row_old"), Signal(STATE, name="row_new")
        m.submodules.rows = memory = plain_memory(STATE, rows, block=True)
        write, read = memory.write_port(), memory.read_port()
        m.d.sync += self.stb.eq(self.i_stb & ~self.stb)
        m.d.comb += [
            read.addr.eq(self.row),
            self.old.eq(read.data),
            write.addr.eq(self.row),
            write.data.eq(self.new),
            write.en.eq(self.stb),
        ]


class CarriedScores(wiring.Component):
    """The newest score of each model of every queue pair, while it holds.

    Whatever is made takes effect in its own cycle: nothing waits, nothing is lost. Every queue pair
    is visited once in `VISIT_CYCLES` x `qps` cycles, or later by the cycles that others take: so
    long a score may stand beyond its age, or its model.

    Latency: 4 cycles from `made` to `put_stb`. Throughput: an event per cycle. Cost at 1024 queue
    pairs: 6 DP16KD, LUT RAM of 5 bits and two slot numbers per queue pair, 900 flip-flops.

    `NicConfig.relaxed`: 256 events wait in block RAM, and are worked on in two cycles
    each; a configuration that is written until then counts. Latency: 4 cycles, when no other
    event waits.

    Parameters
    ----------
    config : NicConfig

    Members
    -------
    made, made_qp, made_rtt, made_score : In
        `Forecaster`'s, which makes no three in a row: others have their turn.
    now : In(40)
        Ticks.
    age : In(32)
        Ticks that a score holds; 0: for ever.
    slot_enables : In(sets)
        Slots of the model map that stand for a model.
    command_stb, command : In
        What is configured and cleared, as it is. A clear forgets the queue pair's scores.
    config_stb, config_qp, config : In
        `Forecaster`'s.
    row_stb, row_slot, row_source : In
        A row of the packet path is written, with its `CarriedScore`: the queue pair begins anew.
    port_named, port_slot : In(1), In(qps)
        With `config.port`: the queue pair whose queue is the port's, if there is one.
    put_stb, put_slot, put_score : Out
        A queue pair's packets carry this score from now on; plus 1, 0: none.
    commit_stb, commit : Out(1), Out(carried_commit_layout(config))
        Each event as it takes effect, for the golden model.
    events : Out(CARRIED_EVENTS)
    """

    VISIT_CYCLES = 4

    command: data.View
    config: data.View
    commit: data.View
    events: data.View

    def __init__(self, config: NicConfig) -> None:
        self._config, self._relaxed = config, config.relaxed
        qp = config.qp_bits
        super().__init__(
            {
                "made": In(1),
                "made_qp": In(qp),
                "made_rtt": In(1),
                "made_score": In(SCORE_BITS),
                "now": In(Fmt.TIME.width),
                "age": In(_AGE_BITS),
                "slot_enables": In(config.sets),
                "command_stb": In(1),
                "command": In(config_layout(config)),
                "config_stb": In(1),
                "config_qp": In(qp),
                "config": In(forecast_config_layout(config)),
                "row_stb": In(1),
                "row_slot": In(qp),
                "row_source": In(source_bits(port=config.port)),
                **({"port_named": In(1), "port_slot": In(qp)} if config.port else {}),
                "put_stb": Out(1),
                "put_slot": Out(qp),
                "put_score": Out(SCORE_BITS),
                "commit_stb": Out(1),
                "commit": Out(carried_commit_layout(config)),
                "events": Out(CARRIED_EVENTS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        rows: RowUpdate | _RowTurns
        if self._relaxed:
            rows = _RowTurns(m, self._config.qps)
        else:
            m.submodules.rows = rows = RowUpdate(STATE, self._config.qps)
        stb, event = self._turns(m, rows)
        m.d.comb += [rows.i_stb.eq(stb), rows.i_row.eq(event.qp)]
        event, limit = self._look_up(m, event)
        result = self._change(m, rows, event, limit)
        m.d.comb += [
            self.commit_stb.eq(rows.stb),
            self.commit.event.eq(event),
            self.commit.result.eq(result),
            self.events.carried.eq(rows.stb & result.put & (result.score != 0)),
            self.events.expired.eq(rows.stb & result.expired),
        ]
        m.d.sync += [
            self.put_stb.eq(rows.stb & result.put),
            self.put_slot.eq(rows.row),
            self.put_score.eq(result.score),
        ]
        return m

    def _turns(self, m: Module, rows: "RowUpdate | _RowTurns") -> tuple[Signal, data.View]:
        """Cycle 0: a forecast first, then a new configuration, then a visit.

        Relaxed: then they wait in this order.
        """
        event, stb, visits = Signal(_BEGUN), Signal(), Signal()
        at = Signal(self._config.qp_bits)
        passed = Signal(range(self.VISIT_CYCLES))
        cleared = self.command_stb & self.command.clear
        forgets = []
        for name, strobe, qp in (
            ("cleared", cleared, self.command.qp),
            ("rewritten", self.row_stb, self.row_slot),
        ):
            waits, of = Signal(name=name), Signal(self._config.qp_bits, name=f"{name}_qp")
            forgets.append((waits, of, strobe, qp))
        due = passed == self.VISIT_CYCLES - 1
        turn = due & rows.idle if isinstance(rows, _RowTurns) else due
        m.d.comb += [event.t.eq(self.now), stb.eq(1)]
        with m.If(self.made):
            m.d.comb += [
                event.kind.eq(Mux(self.made_rtt, CarriedKind.RTT, CarriedKind.QUEUE)),
                event.qp.eq(self.made_qp),
                event.score.eq(self.made_score),
            ]
        for waits, of, _, _ in forgets:
            with m.Elif(waits):
                m.d.comb += [event.kind.eq(CarriedKind.FORGET), event.qp.eq(of)]
                m.d.sync += waits.eq(0)
        with m.Elif(turn):
            m.d.comb += [visits.eq(1), event.kind.eq(CarriedKind.VISIT), event.qp.eq(at)]
        with m.Else():
            m.d.comb += stb.eq(0)
        for waits, of, strobe, qp in forgets:
            with m.If(strobe):
                m.d.sync += [waits.eq(1), of.eq(qp)]
        with m.If(visits):
            m.d.sync += [passed.eq(0), at.eq(at + 1)]
        with m.Elif(~due):
            m.d.sync += passed.eq(passed + 1)
        if not isinstance(rows, _RowTurns):
            return stb, event
        m.submodules.waiting = waiting = Queue(_BEGUN, _WAITING, block=True)
        m.d.comb += [
            waiting.i.valid.eq(stb),
            waiting.i.payload.eq(event),
            waiting.o.ready.eq(rows.stb),
            rows.idle.eq(~waiting.o.valid),
        ]
        return waiting.o.valid, waiting.o.payload

    def _look_up(self, m: Module, begun: data.View) -> tuple[data.View, Signal]:
        """Cycles 1 to 3: whose score is wanted, which models are there, when a score is too old.

        Relaxed: all of it while the event, the first one that waits, has its turn.
        """
        qps, distributed = self._config.qps, {"ram_style": "distributed"}
        named = data.StructLayout({"enable": 1, "slot": self._config.set_bits})
        who = data.StructLayout({"enable": 1, "rtt": named})
        m.submodules.who = models = Memory(shape=who, depth=qps, init=[], attrs=distributed)
        m.submodules.queues = queues = Memory(shape=named, depth=qps, init=[], attrs=distributed)
        bits = source_bits(port=self._config.port)
        m.submodules.sources = sources = Memory(shape=bits, depth=qps, init=[], attrs=distributed)
        put_models, put_queue, put_source = (
            memory.write_port() for memory in (models, queues, sources)
        )
        own, queue, source = (
            memory.read_port(domain="comb") for memory in (models, queues, sources)
        )
        wanted, slot = self.command.config, self.command.config.model_slot
        layouts = (_BEGUN, *[_event_layout(self._config)] * 2)
        events = [Signal(layout, name=f"event{n}") for n, layout in enumerate(layouts, 1)]
        limits = [Signal(Fmt.TIME.width, name=f"limit{n}") for n in (2, 3)]
        names = [Signal(named, name=name) for name in ("queue_named", "rtt_named")]
        m.d.comb += [
            put_models.en.eq(self.command_stb & self.command.apply),
            put_models.addr.eq(self.command.qp),
            put_models.data.enable.eq(wanted.enable),
            # A slot that does not exist is no model.
            put_models.data.rtt.enable.eq(wanted.model_enable & (slot < self._config.sets)),
            put_models.data.rtt.slot.eq(slot),
            put_queue.en.eq(self.config_stb),
            put_queue.addr.eq(self.config_qp),
            put_queue.data.enable.eq(self.config.queue_enable),
            put_queue.data.slot.eq(self.config.queue_slot),
            put_source.en.eq(self.row_stb),
            put_source.addr.eq(self.row_slot),
            put_source.data.eq(self.row_source),
            *(port.addr.eq(events[0].qp) for port in (own, queue, source)),
        ]
        passing = m.d.comb if self._relaxed else m.d.sync
        m.d.sync += limits[0].eq(events[0].t - self.age - 1)  # relaxed, too: an event stays
        passing += [
            events[0].eq(begun),
            *(events[1][name].eq(events[0][name]) for name in _BEGUN.members),
            events[1].source.eq(source.data),
            names[0].eq(queue.data),
            names[1].eq(own.data.rtt),
            names[0].enable.eq(queue.data.enable & own.data.enable),
            names[1].enable.eq(own.data.rtt.enable & own.data.enable),
            limits[1].eq(limits[0]),
            events[2].eq(events[1]),
            events[2].queue_live.eq(self._lives(names[0])),
            events[2].rtt_live.eq(self._lives(names[1])),
        ]
        return events[2], limits[1]

    def _lives(self, name: data.View) -> Value:
        return name.enable & self.slot_enables.bit_select(name.slot, 1)

    def _change(
        self, m: Module, rows: "RowUpdate | _RowTurns", event: data.View, limit: Signal
    ) -> data.View:
        """Cycle 3: the row as it then is, and what packets carry."""
        result, forgets = Signal(_PUT), event.kind == CarriedKind.FORGET
        taken, expired, scores = [], [], []
        of_port = self._of_port(m, rows, event, limit) if self._config.port else None
        for name, kind, wants in (
            ("queue", CarriedKind.QUEUE, CarriedScore.QUEUE),
            ("rtt", CarriedKind.RTT, CarriedScore.RTT),
        ):
            given, score = Signal(name=f"{name}_given"), Signal(SCORE_BITS, name=f"{name}_score")
            too_old, drops = Signal(name=f"{name}_too_old"), Signal(name=f"{name}_drops")
            past, was = f"{name}_t", rows.old
            keeps = Mux(forgets, 0, was[name])
            gone = too_old | ~event[f"{name}_live"]
            if of_port is not None:
                carries = event.source == CarriedScore.PORT
                gone = Mux(carries, 0 if name == "queue" else ~event.rtt_live, gone)
                if name == "queue":
                    shows = carries & (event.kind == CarriedKind.VISIT)
                    keeps = Mux(shows, of_port, keeps)
                    taken.append(shows & (of_port != was.queue))
                    expired.append(shows & (of_port == 0) & (was.queue != 0))
            m.d.comb += [
                given.eq(
                    (event.kind == kind)
                    & ((event.source == wants) | (event.source == CarriedScore.MAX))
                ),
                too_old.eq(self._is_old(given, limit, was[past])),
                score.eq(Mux(given, event.score, keeps)),
                drops.eq((score != 0) & gone),
                rows.new[name].eq(Mux(drops, 0, score)),
                rows.new[past].eq(Mux(given, event.t, was[past])),
            ]
            taken.append(given)
            expired.append(drops)
            scores.append(rows.new[name])
        m.d.comb += [
            result.expired.eq(reduce(or_, expired)),
            result.put.eq(reduce(or_, taken) | forgets | result.expired),
            result.score.eq(Mux(scores[0] > scores[1], scores[0], scores[1])),
        ]
        return result

    def _is_old(self, given: Value, limit: Value, came: Value) -> Value:
        # Half of the time lies ahead: no score stands as long as that.
        return (self.age != 0) & ~given & ~(limit - came)[Fmt.TIME.width - 1]

    def _of_port(
        self, m: Module, rows: "RowUpdate | _RowTurns", event: data.View, limit: Signal
    ) -> Signal:
        """The newest score of the port's queue, as it is after this event."""
        score, came = Signal(SCORE_BITS, name="port_score"), Signal(Fmt.TIME.width, name="port_t")
        new, was = Signal.like(score, name="port_new"), Signal.like(self.port_slot)
        mine = self.port_named & (event.qp == self.port_slot)
        given = event.kind == CarriedKind.QUEUE
        gone = (event.kind == CarriedKind.FORGET) | ~event.queue_live
        old = self._is_old(given, limit, came)
        m.d.comb += new.eq(score)
        with m.If(mine):
            m.d.comb += new.eq(Mux(gone | old, 0, Mux(given, event.score, score)))
        with m.If(rows.stb):
            m.d.sync += score.eq(new)
        with m.If(rows.stb & mine & given):
            m.d.sync += came.eq(event.t)
        m.d.sync += was.eq(self.port_slot)
        with m.If(~self.port_named | (was != self.port_slot)):
            m.d.sync += score.eq(0)
        return new
