"""The CNP limiter: at most one CNP per interval for each slot, whatever comes and when.

The block is the gateware as it is, with two slots. Requests, their times, the host's writes and the
consumer of jobs are free in every cycle; the registers are free, but constant: an interval that
grows cannot count for CNPs that are out. Time is as wide as in hardware and wraps: what is claimed
of two times is that their difference modulo 2**40 is not less than the interval, so it holds for
the real difference, too, of which that is the rest.

By induction, hence for ever. The claim is made of one slot that is free, but constant.
"""

from itertools import count
from typing import Any
from unittest.mock import patch

from amaranth.hdl import Assert, Assume, Cover, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In

from .engine import Mode, Proof
from .mutate import Mutant, reimported
from .packets import assert_stream
from .past import Past
from .peek import Opened

__all__ = ["MUTANTS", "PROOFS"]

_LIMITER = "precog_hw.packet.cnp_limiter"
SLOTS = 2
DECIDED = 4  # cycles from a request to its decision
DEPTH = 11


class LimiterHarness(wiring.Component):
    """`CnpLimiter` with free inputs."""

    def __init__(self) -> None:
        from precog_hw.packet.cnp_limiter import remote_qp_layout, request_layout
        from precog_hw.packet.layouts import CNP_CONFIG

        super().__init__(
            {
                "request": In(request_layout(SLOTS)),
                "asks": In(1),
                "remote": In(remote_qp_layout(SLOTS)),
                "writes": In(1),
                "ready": In(1),
                "config": In(CNP_CONFIG),
                "slot": In(range(SLOTS)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        views: list[Any] = []

        def opened(**options: Any) -> Memory:
            """A memory with one more port, through which the proof sees a row."""
            memory = Memory(**options)
            views.append(memory.read_port(domain="comb"))
            return memory

        with reimported(_LIMITER) as module, patch.object(module, "Memory", opened):
            dut = module.CnpLimiter(SLOTS)
            inner = Opened(dut)
        m.submodules.dut = inner.fragment
        past = Past(m)
        m.d.comb += [
            dut.i_request.payload.eq(self.request),
            dut.i_request.valid.eq(self.asks),
            dut.i_remote.payload.eq(self.remote),
            dut.i_remote.valid.eq(self.writes),
            dut.o_job.ready.eq(self.ready),
            dut.config.eq(self.config),
        ]
        config = Value.cast(self.config)
        m.d.comb += [
            Assume(~past.known | (config == past(config, "config"))),
            Assume(~past.known | (self.slot == past(self.slot, "slot"))),
        ]

        assert_stream(m, past, dut.o_job, "job")
        # For the induction: the columns of the jobs' queue do the same.
        for n in count(1):
            if not inner.every(f"jobs.valid_{n}"):
                break
            m.d.comb += [
                Assert(inner[f"jobs.valid_{n}"] == dut.o_job.valid),
                Assert(inner[f"jobs.waiting_{n}"] == inner["jobs.waiting"]),
                Assert(inner[f"jobs.full_{n}"] == inner["jobs.full"]),
            ]

        # The slot and the time of each request, when its CNP is counted.
        slot, time = self.request.slot, self.request.parsed.time
        for n in range(DECIDED):
            late_slot, late_time = Signal.like(slot, name=f"slot{n}"), Signal(40, name=f"time{n}")
            m.d.sync += [late_slot.eq(slot), late_time.eq(time)]
            slot, time = late_slot, late_time

        # The slot's last CNP, and the block's own memory of it.
        sends = inner["sends"]
        some, last = Signal(), Signal(40)
        gap = Signal(40)
        m.d.comb += gap.eq(time - last)
        with m.If(sends & (slot == self.slot)):
            m.d.sync += [some.eq(1), last.eq(time)]
            m.d.comb += Assert(
                ~some | (gap >= self.config.interval_ticks), "one CNP per interval and slot"
            )
        row = views[0]
        m.d.comb += [
            row.addr.eq(self.slot),
            views[1].addr.eq(0),
            Assert(row.data.valid == some),
            Assert(~some | (row.data.t == last)),
        ]

        # One job for each that is counted.
        jobs = Signal(range(12))
        gone = dut.o_job.valid & dut.o_job.ready
        m.d.sync += jobs.eq(jobs + sends - gone)
        m.d.comb += [
            Assert(dut.sent == (past.known & past(sends, "sends"))),
            Assert(jobs == inner["jobs.level"], "a job for each CNP that is counted"),
            Assert(dut.sent + dut.limited + dut.unknown + dut.busy <= 1),
        ]
        again = Signal()
        with m.If(sends & some & (slot == self.slot) & (gap < (1 << 20)) & (time < last)):
            m.d.sync += again.eq(1)
        m.d.comb += Cover(
            again & dut.limited & (self.config.interval_ticks > 5) & (slot == self.slot)
        )
        return m


PROOFS = (
    Proof(
        "cnp.interval",
        LimiterHarness,
        Mode.INDUCTION,
        DEPTH,
        "for ever, any requests at any times: at most one CNP per interval and slot, a job for "
        "each that holds until it is taken",
        quick=False,
    ),
    Proof(
        "cnp.cover",
        LimiterHarness,
        Mode.COVER,
        16,
        "a slot gets a second CNP after time has wrapped, and a third request is refused",
        quick=False,
    ),
)
MUTANTS = (
    Mutant(
        "cnp.interval",
        _LIMITER,
        "with m.If(same & sent[n]):",
        "with m.If(0):",
        "requests close behind a CNP are not compared with it",
        quick=True,
    ),
    Mutant(
        "cnp.interval",
        _LIMITER,
        "for n, (same, due) in reversed(list(enumerate(ahead))):",
        "for n, (same, due) in list(enumerate(ahead)):",
        "of several CNPs under way the oldest counts",
    ),
    Mutant(
        "cnp.interval",
        _LIMITER,
        "since.eq(times[2] - row.t)",
        "since.eq(times[1] - row.t)",
        "the time of the next request is taken",
    ),
    Mutant(
        "cnp.interval",
        _LIMITER,
        "write.en.eq(sends)",
        "write.en.eq(sends & self.o_job.ready)",
        "a CNP that has to wait is forgotten",
    ),
)
