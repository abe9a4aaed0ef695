"""Which packets a CNP answers: marked data, at most one CNP per slot in N ticks.

DCQCN (004); rules and state are those of `precog_models.packet.cnp`. Time is that of the marked
packet's arrival, as the parser gives it.
"""

from amaranth.hdl import Cat, Const, Module, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from precog_hw.packet.cnp_headers import JOB
from precog_hw.packet.layouts import CNP_CONFIG, PARSED
from precog_hw.stream.delay import DelayLine
from precog_hw.stream.queue import Queue
from precog_spec.contract import Fmt
from precog_spec.frames.descriptor import Reason
from precog_spec.frames.headers import BTH, IPV4, Ecn
from precog_spec.frames.opcodes import NO_DATA
from precog_spec.frames.qp_key import IPV4_MAPPED

__all__ = ["JOBS", "CnpLimiter", "remote_qp_layout", "request_layout"]

_QPN_BITS = BTH["dest_qp"].bits
JOBS = 8  # that wait behind the CNP in the works
_DECIDED = 4  # cycles from a request to its decision


_ROW = data.StructLayout(
    {
        "valid": unsigned(1),  # there has been a CNP
        "t": unsigned(Fmt.TIME.width),  # of the last one
    }
)
_REMOTE_QP = data.StructLayout(
    {
        "valid": unsigned(1),  # the slot is in use
        "qpn": unsigned(_QPN_BITS),
    }
)


#: A job without IPv6: addresses are 32 bits behind `IPV4_MAPPED`.
_ADDRESSES = ("local", "remote")
_IPV4_JOB = data.StructLayout(
    {
        name: unsigned(IPV4["source"].bits) if name in _ADDRESSES else field.shape
        for name, field in JOB
        if name != "ipv6"
    }
)


def request_layout(slots: int) -> data.StructLayout:
    """A received packet at its end, its shim extracted."""
    return data.StructLayout(
        {
            "parsed": PARSED,
            "error": unsigned(1),
            "found": unsigned(1),  # `slot` counts
            "slot": unsigned(exact_log2(slots)),
            "score": unsigned(8),  # the slot's, for mode C
        }
    )


def remote_qp_layout(slots: int) -> data.StructLayout:
    """A write of the host: where the CNPs of a slot go."""
    return data.StructLayout(
        {
            "slot": unsigned(exact_log2(slots)),
            "remote_qp": _REMOTE_QP,
        }
    )


class CnpLimiter(wiring.Component):
    """Says which packets a CNP answers, in the order of the requests.

    ::

        cycle     1            2             3              4
        slot ─► [rows] ─► time since ─► less than N? ─┬─► due? ─► room? ─► [queue] ─► job
        t ──► times since the 4 requests before ──────┘             │
                 [rows] ◄── time of the CNP ────────────────────────┘

    The row of a slot is late by the requests under way: a request is compared with those directly,
    and the last one of its slot that got a CNP counts.

    Latency: 5 cycles from a request to its counter and to its job's offer. Throughput: one request
    per cycle, of one slot or of several. Cost: see `NotificationPoint`.

    Parameters
    ----------
    slots : int
        Queue pairs, a power of two.
    relaxed : bool
        A request stays for `LATENCY` cycles, and in `LATENCY` cycles there is one. Queues as
        `Queue` with `block`, a cycle longer each.
    ipv6 : bool
        Otherwise, with `relaxed`, all marked packets are IPv4, and a job waits with their short
        addresses.

    Members
    -------
    i_request : In(stream.Signature(request_layout(slots), always_ready=True))
    i_remote : In(stream.Signature(remote_qp_layout(slots), always_ready=True))
    o_job : Out(stream.Signature(JOB))
    config : In(CNP_CONFIG)
        Registers.
    sent, limited, unknown, busy : Out(1)
        Strobes: exactly one for a request that is marked data.

    Raises
    ------
    ValueError
        `slots` is not a power of two.
    """

    LATENCY = 5

    i_request: stream.Interface
    i_remote: stream.Interface
    o_job: stream.Interface
    config: data.View
    sent: Signal
    limited: Signal
    unknown: Signal
    busy: Signal

    def __init__(self, slots: int, *, relaxed: bool = False, ipv6: bool = True) -> None:
        if slots < 1 or slots & (slots - 1):
            raise ValueError(f"slots must be a power of two, not {slots!r}")
        self._slots, self._relaxed = slots, relaxed
        self._job = JOB if ipv6 or not relaxed else _IPV4_JOB
        super().__init__(
            {
                "i_request": In(stream.Signature(request_layout(slots), always_ready=True)),
                "i_remote": In(stream.Signature(remote_qp_layout(slots), always_ready=True)),
                "o_job": Out(stream.Signature(JOB)),
                "config": In(CNP_CONFIG),
                "sent": Out(1),
                "limited": Out(1),
                "unknown": Out(1),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        request, config = self.i_request.payload, self.config

        # Element n: the request of n cycles ago.
        asks = [self.i_request.valid & self._marked(request)]
        found, slots, times = [request.found], [request.slot], [request.parsed.time]
        for line in (asks, found, slots, times):
            for n in range(1, _DECIDED + 1):
                if self._relaxed and line is not asks:
                    line.append(line[-1])
                    continue
                line.append(Signal.like(line[-1], name=f"stage_{n}"))
                m.d.sync += line[n].eq(line[n - 1])

        m.submodules.rows = rows = Memory(shape=_ROW, depth=self._slots, init=[])
        m.submodules.remote = remote = Memory(shape=_REMOTE_QP, depth=self._slots, init=[])
        write, read = rows.write_port(), rows.read_port()
        host, remote_read = remote.write_port(), remote.read_port()
        m.d.comb += [
            read.addr.eq(request.slot),
            remote_read.addr.eq(request.slot),
            host.en.eq(self.i_remote.valid),
            host.addr.eq(self.i_remote.payload.slot),
            host.data.eq(self.i_remote.payload.remote_qp),
        ]

        # Cycle 1: a block RAM's output is late; it gets a register of its own, unless it stays.
        row, known = read.data, remote_read.data
        if not self._relaxed:
            row, known = Signal(_ROW), Signal(_REMOTE_QP)
            m.d.sync += [row.eq(read.data), known.eq(remote_read.data)]

        # Cycles 2 and 3.
        since, fresh, due_by_row = Signal(Fmt.TIME.width), Signal(), Signal()
        m.d.sync += [
            since.eq(times[2] - row.t),
            fresh.eq(~row.valid),
            due_by_row.eq(fresh | (since >= config.interval_ticks)),
        ]
        known4 = known
        if not self._relaxed:
            known3, known4 = Signal(_REMOTE_QP), Signal(_REMOTE_QP)
            m.d.sync += [known3.eq(known), known4.eq(known3)]

        ahead = self._compare(m, asks, slots, times)

        # Cycle 4.
        m.submodules.jobs = jobs = Queue(self._job, JOBS, block=self._relaxed)
        m.submodules.delay = delay = DelayLine(JOB, _DECIDED, stays=self._relaxed)
        if self._job is JOB:
            wiring.connect(m, jobs.o, wiring.flipped(self.o_job))
        else:
            self._offer(m, jobs.o)
        is_due, is_known, sends = Signal(), Signal(), Signal()
        sent = Signal(_DECIDED)  # bit n - 1: the request that is n cycles ahead got a CNP
        m.d.comb += is_due.eq(due_by_row)
        for n, (same, due) in reversed(list(enumerate(ahead))):
            with m.If(same & sent[n]):
                m.d.comb += is_due.eq(due)
        counts = asks[-1] & is_known
        m.d.comb += [
            is_known.eq(found[-1] & known4.valid),
            jobs.i.valid.eq(counts & is_due),
            sends.eq(jobs.i.valid & jobs.i.ready),
            *self._kept(jobs.i.payload, delay.o),
            jobs.i.payload.dest_qp.eq(known4.qpn),
            write.en.eq(sends),
            write.addr.eq(slots[-1]),
            write.data.valid.eq(1),
            write.data.t.eq(times[-1]),
        ]
        m.d.sync += [
            sent.eq(Cat(sends, sent)),
            self.sent.eq(sends),
            self.limited.eq(counts & ~is_due),
            self.unknown.eq(asks[-1] & ~is_known),
            self.busy.eq(jobs.i.valid & ~jobs.i.ready),
        ]

        self._fill(m, delay.i)
        return m

    def _compare(
        self, m: Module, asks: list[Value], slots: list[Value], times: list[Value]
    ) -> list[tuple[Value, Value]]:
        """In cycle 4, for each request ahead: it is of the same slot; it is long enough ago."""
        ahead = []
        for n in range(1, 1 if self._relaxed else _DECIDED + 1):
            gap, due = Signal(Fmt.TIME.width), Signal(_DECIDED - 1)
            same = Signal(_DECIDED)
            m.d.sync += [
                gap.eq(times[0] - times[n]),
                due.eq(Cat(gap >= self.config.interval_ticks, due)),
                same.eq(Cat(asks[n] & (slots[0] == slots[n]), same)),
            ]
            ahead.append((same[-1], due[-1]))
        return ahead

    def _fill(self, m: Module, job: data.View) -> None:
        """What the job has of the request."""
        request = self.i_request.payload
        found_in, headers = request.parsed.descriptor, request.parsed.headers
        m.d.comb += [
            job.ipv6.eq(found_in.ipv6),
            job.tags.eq(found_in.tags),
            job.macs.eq(headers.macs),
            job.vlan.eq(headers.tags),
            job.local.eq(headers.local),
            job.remote.eq(found_in.remote),
            job.udp_source.eq(headers.udp_source),
            job.score.eq(request.score),
        ]

    def _kept(self, kept: data.View, job: data.View) -> list[object]:
        """Assignments that keep the part of a job that is needed later."""
        if self._job is JOB:
            return [kept.eq(job)]
        return [kept[name].eq(job[name]) for name in dict(kept.shape())]

    def _offer(self, m: Module, kept: stream.Interface) -> None:
        """The whole job, without IPv6."""
        job = self.o_job.payload
        m.d.comb += [
            self.o_job.valid.eq(kept.valid),
            kept.ready.eq(self.o_job.ready),
            *(job[name].eq(kept.payload[name]) for name in dict(kept.payload.shape())),
        ]
        for name in _ADDRESSES:
            m.d.comb += job[name].eq(kept.payload[name] | Const(IPV4_MAPPED, len(job[name])))

    def _marked(self, request: data.View) -> Value:
        """Data that a switch has marked; answers without payload and CNPs cause no CNP."""
        found = request.parsed.descriptor
        return (
            self.config.enabled
            & ~request.error
            & (found.reason == Reason.NONE)
            & (found.ecn == Ecn.CE)
            & ~found.opcode.matches(*NO_DATA)
        )
