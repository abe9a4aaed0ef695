"""Grants in the NIC: the pacer, and what decisions and the host tell it."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.csr.layouts import DECISION
from precog_hw.csr.qp import config_layout as command_layout
from precog_hw.latest import Latest
from precog_hw.rows import RowMemory, plain_memory
from precog_hw.stream.queue import Queue
from precog_spec.config import NicConfig
from precog_spec.contract import PRIORITIES, Fmt
from precog_spec.registers.pacer import PACER_EVENTS

from .expiry import PERIOD_BITS
from .layouts import (
    CONFIG,
    SIZE_BITS,
    EventKind,
    State,
    ack_layout,
    boost_layout,
    config_layout,
    config_of,
    grant_layout,
    log_layout,
    order_layout,
    request_layout,
)
from .pacer import Pacer
from .pipeline import OVERHEAD_BITS

__all__ = ["Grants"]

_WINDOWS = ("shuts", "expires", "waits")
_AHEAD = 4  # requests, or acknowledgements, between their check and the pacer


class _Orders:
    """A command or a decision on its way to the pacer."""

    def __init__(self, config: NicConfig, settled: Value, boost: Signal) -> None:
        self.settled = settled  # nothing of before a command that closes is under way
        self.closes = Signal()  # the command disables its queue pair
        self.renews = Signal()  # it enables it, or clears one that is enabled
        self.opens = Signal()  # its queue pair is enabled from now on
        self.permits = Signal()  # the set of enabled queue pairs changes
        self.todo = Signal()  # the command is not carried out yet
        self.closing = Signal()
        self.job = Signal(order_layout(config.qps))
        self.of_command = Signal()
        self.raised = Signal.like(boost)


class Grants(wiring.Component):
    """Requests and acknowledgements of enabled queue pairs in, grants at the decided rates out.

    ::

        i_request, i_ack ─► [enabled?] ─► register ─► queue ───────┐
        decision ─► last of every queue pair ─┬─► WINDOW, RATE ─► pacer ─► o_grant
        command ─► initial rate ──────────────┤                    │
        i_connection ─► [connections] ────────┼─► CONFIG ──────────┤
        i_boost ──────────────────────────────┴─► CONFIG (priority)┘

    A queue pair that a command enables, or clears, gets its initial rate and no window; `done`
    falls until the pacer has them. Only then requests of one that was not enabled are taken: no
    packet goes at a rate of before. One that a command disables gets no more grants but those on
    their way; what it asked for is forgotten, and its connection will begin where it began. What is
    asked for, or acknowledged, by a queue pair that is not enabled is taken, refused and counted.

    Latency: as `Pacer`, 3 cycles more for requests and acknowledgements, 11 for rates. Throughput:
    a request and an acknowledgement per cycle up to what the pacer takes; a rate in 30 to 80
    cycles, and of each queue pair the last one, whatever the number of decisions. Cost at 1024
    queue pairs: `Pacer`, `Latest`, 2 DP16KD of connections, 3 of enabled ones.

    In wire mode a request is one packet, granted whole; `Pacer` with `whole`. `NicConfig.relaxed`
    selects its form; a request and an acknowledgement at a time are looked up then.

    Parameters
    ----------
    config : NicConfig
    slots : int, optional
        As `Pacer`.

    Members
    -------
    decision_stb : In(1)
    decision : In(DECISION)
        Each one as it leaves the core.
    command_stb : In(1)
        The core's laws execute `command` now: decisions of before are out, later ones come later.
    command : In(command_layout(config))
        To be held until `done` is up again.
    done : Out(1)
        Of the last command.
    i_connection : In(stream.Signature(config_layout(qps)))
        A connection begins.
    i_boost : In(stream.Signature(boost_layout(qps)))
        By how much a queue pair's priority is raised from now on.
    i_request : In(stream.Signature(request_layout(qps)))
    i_ack : In(stream.Signature(ack_layout(qps)))
        Not before every queue pair was disabled by a command since reset.
    refused : Out(1)
        `CHECK` cycles after a transfer of `i_request`: its queue pair was not enabled, there will
        be no grant.
    calm : In(1)
        With `config.wire`: a connection may begin.
    o_grant : Out(stream.Signature(grant_layout(qps)))
    pause, overhead, now
        Of `Pacer`; in wire mode `expiry`, `shuts`, `expires` and `waits`, too.
    log : Out(stream.Signature(log_layout(qps), always_ready=True))
        `Pacer.commit` and `size`, with the rate of which a RATE's reciprocal was made.
    events : Out(len(PACER_EVENTS))
        Strobes, for counters.
    granted : Out(13)
        With `events`: bytes of the grant.
    """

    CHECK = RowMemory.CYCLES

    i_connection: stream.Interface
    i_boost: stream.Interface
    i_request: stream.Interface
    i_ack: stream.Interface
    o_grant: stream.Interface
    log: stream.Interface

    def __init__(self, config: NicConfig, *, slots: int | None = None) -> None:
        qps = config.qps
        self._config = config
        whole = bool(config.wire)
        self._pacer = Pacer(qps, slots=slots, dsp=config.dsp, whole=whole, relaxed=config.relaxed)
        windows = {"expiry": In(PERIOD_BITS), **{n: Out(1) for n in _WINDOWS}}
        super().__init__(
            {
                "decision_stb": In(1),
                "decision": In(DECISION),
                "command_stb": In(1),
                "command": In(command_layout(config)),
                "done": Out(1),
                "i_connection": In(stream.Signature(config_layout(qps))),
                "i_boost": In(stream.Signature(boost_layout(qps))),
                "i_request": In(stream.Signature(request_layout(qps, whole=whole))),
                "i_ack": In(stream.Signature(ack_layout(qps))),
                "refused": Out(1),
                "calm": In(1),
                "o_grant": Out(stream.Signature(grant_layout(qps, whole=whole))),
                "pause": In(PRIORITIES),
                "overhead": In(OVERHEAD_BITS),
                "now": In(Fmt.TIME.width),
                "log": Out(stream.Signature(log_layout(qps), always_ready=True)),
                "events": Out(len(PACER_EVENTS)),
                "granted": Out(SIZE_BITS),
                **(windows if whole else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.pacer = pacer = self._pacer
        m.submodules.latest = latest = Latest(order_layout(self._config.qps))
        wiring.connect(m, pacer.o_grant, wiring.flipped(self.o_grant))
        m.d.comb += [
            *(
                getattr(pacer, name).eq(getattr(self, name))
                for name in ("pause", "overhead", "now")
            ),
            self.log.valid.eq(pacer.commit.valid),
            self.log.payload.commit.eq(pacer.commit.payload),
            self.log.payload.size.eq(pacer.size),
        ]
        if self._config.wire:
            m.d.comb += pacer.expiry.eq(self.expiry)
            m.d.comb += [getattr(self, n).eq(getattr(pacer, n)) for n in _WINDOWS]
        # Who is enabled: for requests, acknowledgements and commands.
        enabled = [RowMemory(1, self._config.qps) for _ in range(3)]
        settled = Signal(2)
        at = _Orders(self._config, settled.all(), self.i_boost.payload.boost)
        begins = self._begins(m) if self._config.wire else 1
        self._enable(m, at, latest, enabled)
        self._tell(m, at, latest, begins)
        # Only once the connection may begin: what is forgotten before is asked for again, and while
        # no request is taken the packet store has no room for it.
        closing = at.closing & begins
        admit = self._admit_one if self._config.relaxed else self._admit
        refused = [
            admit(m, enabled[n], name, closing, settled[n])
            for n, name in enumerate(("request", "ack"))
        ]

        m.d.comb += self.refused.eq(refused[0])
        did, commits = pacer.commit.payload, pacer.commit.valid
        # A row that is between a grant and its gap has refused the rate.
        rates = commits & (did.kind == EventKind.RATE) & (did.row.state != State.SENDING)
        grants = self.o_grant.valid & self.o_grant.ready
        events = {
            "requests": commits & (did.kind == EventKind.REQUEST),
            "requests_refused": refused[0],
            "acks": commits & (did.kind == EventKind.ACK),
            "acks_refused": refused[1],
            "grants": grants,
            "rates": rates,
            "rates_merged": latest.merged,
            "retimed": rates & did.row.changed,
            "granted_bytes": grants,
        }
        m.d.sync += [
            self.events.eq(Cat(events[name] for name, _ in PACER_EVENTS)),
            self.granted.eq(self.o_grant.payload.size),
        ]
        return m

    def _admit(
        self,
        m: Module,
        known: RowMemory,
        name: str,
        closing: Value,
        settled: Value,
    ) -> Value:
        """Let pass what is of an enabled queue pair; a strobe, `CHECK` cycles later, for the rest.

        What was looked up before `closing` goes on; nothing else is taken until it is over.
        """
        source, asked = getattr(self, f"i_{name}"), []
        stb, room = Signal(self.CHECK), Signal()
        m.submodules[f"{name}_enabled"] = known
        m.submodules[name] = queue = Queue(source.payload.shape(), _AHEAD)
        wiring.connect(m, queue.o, getattr(self._pacer, f"i_{name}"))
        for n in range(self.CHECK):
            asked.append(Signal.like(source.payload, name=f"{name}_asked{n}"))
            m.d.sync += asked[n].eq(asked[n - 1] if n else source.payload)
        m.d.sync += [
            stb.eq(Cat(source.valid & source.ready, stb)),
            # For what is being checked and what is taken meanwhile.
            room.eq(queue.level <= _AHEAD + 1 - (self.CHECK + 2)),
        ]
        m.d.comb += [
            known.read_row.eq(source.payload.qp),
            source.ready.eq(room & ~closing),
            queue.i.valid.eq(stb[-1] & known.read_data),
            queue.i.payload.eq(asked[-1]),
            settled.eq((queue.level == 0) & (stb == 0)),
        ]
        return stb[-1] & ~known.read_data

    def _admit_one(
        self,
        m: Module,
        known: RowMemory,
        name: str,
        closing: Value,
        settled: Value,
    ) -> Value:
        """As `_admit`; the next one is taken when the pacer has this one, or when it is refused."""
        source, port = getattr(self, f"i_{name}"), getattr(self._pacer, f"i_{name}")
        m.submodules[f"{name}_enabled"] = known
        asked = Signal.like(source.payload, name=f"{name}_asked")
        stb, valid = Signal(self.CHECK), Signal(name=f"{name}_valid")
        m.d.sync += stb.eq(Cat(source.valid & source.ready, stb))
        m.d.comb += [
            settled.eq(~valid & (stb == 0)),
            source.ready.eq(settled & ~closing),
            known.read_row.eq(source.payload.qp),
            port.valid.eq(valid),
            port.payload.eq(asked),
        ]
        with m.If(source.ready):
            m.d.sync += asked.eq(source.payload)
        with m.If(stb[-1]):
            m.d.sync += valid.eq(known.read_data)
        with m.Elif(port.ready):
            m.d.sync += valid.eq(0)
        return stb[-1] & ~known.read_data

    def _enable(self, m: Module, at: _Orders, latest: Latest, enabled: list[RowMemory]) -> None:
        """Commands and decisions change rates, and commands enable queue pairs.

        A command finds out whether its queue pair was enabled, and decisions come after it as late.
        """
        command, decision = self.command, self.decision
        m.submodules.command_enabled = was = enabled[-1]
        commands, decisions = Signal(self.CHECK), Signal(self.CHECK)
        for n in range(self.CHECK):
            late = Signal.like(decision, name=f"decision{n}")
            m.d.sync += late.eq(decision)
            decision = late
        m.d.sync += [
            commands.eq(Cat(self.command_stb, commands)),
            decisions.eq(Cat(self.decision_stb, decisions)),
        ]
        command_stb, decision_stb = commands[-1], decisions[-1]
        m.d.comb += [
            was.read_row.eq(command.qp),
            at.closes.eq(command.apply & ~command.config.enable),
            at.renews.eq(
                Mux(
                    command.apply,
                    command.config.enable & (command.clear | ~was.read_data),
                    command.clear & was.read_data,
                )
            ),
        ]
        # `done` and `closing` outlast it.
        m.d.sync += at.permits.eq(at.opens | (command_stb & at.closes))
        for rows in enabled:
            m.d.sync += [rows.write_row.eq(command.qp), rows.write_data.eq(at.opens)]
            m.d.comb += rows.write_stb.eq(at.permits)
        # No decision leaves the core in the cycle of a command.
        m.d.comb += [
            latest.i_stb.eq(decision_stb | (command_stb & at.renews)),
            latest.tells.eq(decision_stb),
            *(latest.i[name].eq(decision[name]) for name in ("qp", "rate", "window")),
        ]
        with m.If(command_stb):
            m.d.comb += [
                latest.i.qp.eq(command.qp),
                latest.i.window.eq(0),
                latest.i.rate.eq(command.config.init_rate),
            ]
        m.d.comb += self.done.eq(~at.todo & ~at.permits & (commands == 0))
        with m.If(command_stb):
            m.d.sync += [at.todo.eq(at.closes | at.renews), at.closing.eq(at.closes)]

    def _tell(self, m: Module, at: _Orders, latest: Latest, begins: Value | int) -> None:
        """Commands, connections and decisions become the pacer's events, one after the other."""
        pacer, connection = self._pacer, self.i_connection
        m.submodules.connections = connections = plain_memory(
            CONFIG, self._config.qps, block=self._config.relaxed
        )
        write, read = connections.write_port(), connections.read_port()
        m.d.comb += [
            read.addr.eq(at.job.qp),
            write.addr.eq(connection.payload.qp),
            write.data.eq(connection.payload.config),
            pacer.i_config.payload.qp.eq(at.job.qp),
            pacer.i_config.payload.config.eq(read.data),
            pacer.i_window.payload.qp.eq(at.job.qp),
            pacer.i_window.payload.window.eq(at.job.window),
            pacer.i_rate.payload.qp.eq(at.job.qp),
            pacer.i_rate.payload.rate.eq(at.job.rate),
        ]
        with m.FSM(name="tell"):
            self._choose(m, at, latest, write.en)
            self._configure(m, at, begins)
            self._pass_rate(m, at)

    def _choose(self, m: Module, at: _Orders, latest: Latest, keeps: Signal) -> None:
        """IDLE: a command first, then a connection (`keeps`), a boost, the latest rate."""
        command, connection, boost = self.command, self.i_connection, self.i_boost.payload
        with m.State("IDLE"):
            m.d.sync += at.of_command.eq(at.todo)
            with m.If(at.todo):
                m.d.sync += [
                    at.job.qp.eq(command.qp),
                    at.job.window.eq(0),
                    at.job.rate.eq(command.config.init_rate),
                ]
                m.next = "WINDOW"
                with m.If(at.closing):
                    m.next = "CONNECTION"
            with m.Elif(connection.valid):
                m.d.comb += [keeps.eq(1), connection.ready.eq(1)]
                m.d.sync += at.job.qp.eq(connection.payload.qp)
                m.next = "CONNECTION"
            with m.Elif(self.i_boost.valid):
                m.d.sync += [at.job.qp.eq(boost.qp), at.raised.eq(boost.boost)]
                m.d.comb += self.i_boost.ready.eq(1)
                m.next = "BOOST"
            with m.Elif(latest.o.valid):
                m.d.comb += latest.o.ready.eq(1)
                m.d.sync += at.job.eq(latest.o.payload)
                m.next = "WINDOW"

    def _configure(self, m: Module, at: _Orders, begins: Value | int) -> None:
        """CONNECTION, CONFIG and BOOST: the pacer gets a configuration, or a priority alone."""
        pacer = self._pacer
        with m.State("CONNECTION"), m.If(begins & (at.settled | ~at.of_command)):
            m.next = "CONFIG"
        with m.State("CONFIG"):
            m.d.comb += pacer.i_config.valid.eq(1)
            with m.If(pacer.i_config.ready):
                with m.If(at.of_command):
                    m.d.sync += [at.todo.eq(0), at.closing.eq(0)]
                m.next = "IDLE"
        with m.State("BOOST"):
            m.d.comb += [
                pacer.i_config.valid.eq(1),
                pacer.i_config.payload.config.raises.eq(1),
                pacer.i_config.payload.config.boost.eq(at.raised),
            ]
            with m.If(pacer.i_config.ready):
                m.next = "IDLE"

    def _pass_rate(self, m: Module, at: _Orders) -> None:
        """WINDOW, RATE and SETTLE: the pacer gets a window and a rate; a command waits for them."""
        pacer = self._pacer
        with m.State("WINDOW"):
            m.d.comb += pacer.i_window.valid.eq(1)
            with m.If(pacer.i_window.ready):
                m.next = "RATE"
        with m.State("RATE"):
            m.d.comb += pacer.i_rate.valid.eq(1)
            with m.If(pacer.i_rate.ready):
                m.d.sync += self.log.payload.rate.eq(at.job.rate)  # one at a time
                m.next = "IDLE"
                with m.If(at.of_command):
                    m.next = "SETTLE"
        with m.State("SETTLE"), m.If(pacer.i_rate.ready):
            # The next rate may come: this one counts.
            m.d.comb += at.opens.eq(1)
            m.d.sync += at.todo.eq(0)
            m.next = "IDLE"

    def _begins(self, m: Module) -> Value:
        """One connection at a time: what it makes the pacer forget is asked for before the next."""
        pacer, under_way = self._pacer, Signal()
        given = pacer.i_config.valid & pacer.i_config.ready
        did = pacer.commit.payload
        with m.If(given & ~pacer.i_config.payload.config.raises):
            m.d.sync += under_way.eq(1)
        with m.Elif(pacer.commit.valid & (did.kind == EventKind.CONFIG) & ~config_of(did).raises):
            m.d.sync += under_way.eq(0)
        return self.calm & ~under_way
