"""The RTT collector's samples: one leaves for each that an event made, in order, whatever waits.

The collector is the gateware with its queue of samples. Its pipeline is a stub that makes a sample
of an event or not, in the cycle foreseen, of any numbers; that the pipeline does so is proved in
`samples_pipeline`. Events come from stubs of queues, of which `streams` says what is assumed. By
induction, hence for ever; `near` has a shorter pipeline and fewer rows, so that the queue is soon
full.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace
from typing import Any

from amaranth.hdl import Array, Assert, Cat, Cover, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from .contracts import steadily
from .engine import Mode, Proof
from .mutate import Mutant, reimported
from .packets import assert_stream, assume_stream, late
from .past import Past
from .peek import Opened, free
from .samples_pipeline import PIPELINE, SLOTS
from .stubs import queue_stub

__all__ = ["MUTANTS", "PROOFS"]

_COLLECTOR = "precog_hw.measure.rtt_collector"
_SHORT_CYCLES, _SHORT_ROWS = 2, 4


def _pipeline_stub(base: type[Any]) -> type[Any]:
    """A sample or none of each event, when it is due."""

    class Stub(base):
        def elaborate(self, platform: object) -> Module:
            m = Module()
            due = late(m, self.i_stb, self.SAMPLE_LATENCY, "due")
            m.d.comb += self.sample_stb.eq(due & free(1))
            for port in (self.sample_slot, self.sample_rtt, self.sample_t, self.commit):
                m.d.comb += Value.cast(port).eq(free(len(Value.cast(port))))
            m.d.comb += self.commit_stb.eq(free(1))
            return m

    return Stub


@contextmanager
def _collector(short: bool, queues: list[Any]) -> Iterator[Any]:
    """The collector's module, pipeline and queues of events stubs; `queues`: as they are made."""
    pipeline: Any
    module: Any
    with reimported(PIPELINE) as pipeline:
        pipeline.RttPipeline = _pipeline_stub(pipeline.RttPipeline)
        if short:
            pipeline.RttPipeline.SAMPLE_LATENCY = _SHORT_CYCLES
        with reimported(_COLLECTOR) as module:
            real, sample = module.Queue, module.SAMPLE
            stub = queue_stub(real)

            def queue(shape: Any, depth: int, *, block: bool = False) -> Any:
                assert not block
                queues.append((real if shape is sample else stub)(shape, depth))
                return queues[-1]

            module.Queue = queue
            if short:
                module._SAMPLE_ROWS = _SHORT_ROWS
            yield module


class SamplesHarness(wiring.Component):
    """The collector, any events, any outcomes, an arbitrary consumer.

    Parameters
    ----------
    short : bool
        A shorter pipeline and fewer rows; nothing is said of registers inside, but all samples are
        compared with a list.
    """

    ready: In(1)
    resets: In(1)
    slot: In(range(SLOTS))

    def __init__(self, short: bool = False) -> None:
        super().__init__()
        self._short = short

    def elaborate(self, platform: object) -> Module:
        m = Module()
        queues: list[Any] = []
        with _collector(self._short, queues) as module:
            dut = module.RttCollector(SLOTS, sweep_cycles=2)
            inner = Opened(dut)
            cycles, rows = module.RttPipeline.SAMPLE_LATENCY, module._SAMPLE_ROWS
        m.submodules.dut = inner.fragment
        self._inner = inner
        samples, tx, rx = queues
        past = Past(m)
        m.d.comb += [
            dut.o.ready.eq(self.ready),
            dut.i_reset.valid.eq(self.resets),
            dut.i_reset.payload.eq(self.slot),
            *(
                value.eq(free(len(value)))
                for port in (dut.i_tx, dut.i_rx)
                for value in (port.valid, Value.cast(port.payload))
            ),
        ]
        assume_stream(m, past, dut.i_reset, "reset")
        assert_stream(m, past, dut.o, "o")

        # Samples: made, inside, gone.
        made, gone = inner["pipeline.sample_stb"], dut.o.valid & self.ready
        inside = Signal(range(rows + 3))
        m.d.sync += inside.eq(inside + made - gone)
        under_way = [inner["stb"]] + [inner[f"pipeline.due_{n}"] for n in range(cycles)]
        flying = sum(under_way[1:], start=under_way[0])
        room = inner["room"]
        m.d.comb += [
            Assert(~made | samples.i.ready, "a sample that is made has room"),
            Assert(dut.o.valid == (inside != 0), "a sample is offered for each that was made"),
            Assert(inside <= rows + 1),
            Cover((inside == rows + 1) & gone),
        ]

        # Events: each goes in once, as it came, RX and TX in turn.
        taken = [port.o.valid & port.o.ready for port in (tx, rx)]
        reset = self.resets & dut.i_reset.ready
        event = Value.cast(inner["event"])
        m.d.comb += [
            Assert(taken[0] + taken[1] + reset <= 1, "one event at a time"),
            Assert(~past.known | ~past(reset | taken[0] | taken[1], "some") | inner["stb"]),
        ]
        turn = inner["rx_turn"]
        for n, (port, other) in enumerate(((tx, rx), (rx, tx))):
            came = past(Value.cast(port.o.payload), f"event_{n}")
            goes = past.known & past(taken[n], f"taken_{n}")
            passed = Signal(2, name=f"passed_{n}")
            m.d.sync += passed.eq(
                Mux(port.o.valid & ~port.o.ready, passed + (other.o.valid & other.o.ready), 0)
            )
            m.d.comb += [
                Assert(~goes | (event == came), "an event goes in as it came"),
                Assert(passed <= 1, "in turn"),
                Cover(taken[n] & (passed == 1)),
                Assert((passed == 0) | (turn if n else ~turn)),
            ]

        if self._short:
            self._list(m, samples, made, gone, rows)
            return m
        left = inside + flying
        limit = rows + 1 - cycles - 3  # no more inside, and events go in
        age = steadily(m, ~room, self.ready, rows + 2 - limit, "there is no room")
        m.d.comb += [
            Assert(left <= rows + 1, "what is under way has room"),
            Assert(~room | (left <= rows)),
            Assert(
                room
                | ~past.known
                | (age + Mux(inside > limit, left - limit, 0) <= rows + 1 - limit)
            ),
            Assert(samples.level == inside),
        ]
        for name in ("", "_1"):
            waiting, full = inner[f"samples.waiting{name}"], inner[f"samples.full{name}"]
            m.d.comb += [
                Assert(waiting <= rows),
                Assert(full == (waiting == rows)),
                Assert(waiting == inner["samples.waiting"]),
            ]
        m.d.comb += Assert(inner["samples.valid_1"] == dut.o.valid)
        return m

    def _list(self, m: Module, samples: Any, made: Value, gone: Value, rows: int) -> None:
        """Of each sample three bits stand for all."""

        def some(payload: Any) -> Value:
            return Cat(payload.qp[0], payload.rtt[0], payload.t[0])

        pipeline = SimpleNamespace(
            qp=self._inner["pipeline.sample_slot"],
            rtt=self._inner["pipeline.sample_rtt"],
            t=self._inner["pipeline.sample_t"],
        )
        listed = Array(Signal(3, name=f"listed_{n}") for n in range(rows + 2))
        count, left = Signal(range(rows + 3)), Signal(range(rows + 3))
        m.d.comb += left.eq(count - gone)
        m.d.sync += count.eq(left + made)
        with m.If(gone):
            m.d.sync += [a.eq(b) for a, b in zip(listed, list(listed)[1:], strict=False)]
        with m.If(made):
            m.d.sync += listed[left].eq(some(pipeline))
        m.d.comb += Assert(
            ~samples.o.valid | (some(samples.o.payload) == listed[0]), "as it was made, in order"
        )


_CLAIM = "any events: stream rules, a sample out for each that is made, events in turn"
_NEAR = partial(SamplesHarness, short=True)
_DEPTH = 14  # cycles
PROOFS = (
    Proof(
        "samples.rules",
        SamplesHarness,
        Mode.INDUCTION,
        2,
        f"for ever, {_CLAIM}; while samples are taken, events wait for room for bounded time",
    ),
    Proof("samples.near", _NEAR, Mode.BOUNDED, _DEPTH, f"{_CLAIM}, in order", quick=False),
    Proof(
        "samples.cover",
        _NEAR,
        Mode.COVER,
        _DEPTH,
        "the queue of samples is full; events wait for one another",
    ),
)
MUTANTS = (
    Mutant(
        "samples.near",
        _COLLECTOR,
        "_IN_FLIGHT = RttPipeline.SAMPLE_LATENCY + 3",
        "_IN_FLIGHT = RttPipeline.SAMPLE_LATENCY + 2",
        "one sample more is under way than has room",
    ),
    Mutant(
        "samples.near",
        _COLLECTOR,
        "samples.i.valid.eq(pipeline.sample_stb)",
        "samples.i.valid.eq(pipeline.commit_stb)",
        "every event makes a sample",
        quick=True,
    ),
    Mutant(
        "samples.near",
        _COLLECTOR,
        "samples.i.payload.t.eq(pipeline.sample_t)",
        "samples.i.payload.t.eq(self.now)",
        "a sample has another time",
    ),
    Mutant(
        "samples.near",
        _COLLECTOR,
        "tx.ready.eq(~self.i_reset.valid & ~(rx.valid & rx_turn))",
        "tx.ready.eq(~self.i_reset.valid)",
        "of two events one is lost",
    ),
    Mutant(
        "samples.near",
        _COLLECTOR,
        "rx_turn.eq(tx.valid & ~(rx.valid & rx_turn))",
        "rx_turn.eq(0)",
        "answers wait for all requests",
    ),
    Mutant(
        "samples.rules",
        _COLLECTOR,
        "rx.ready.eq(~self.i_reset.valid & ~(tx.valid & ~rx_turn))",
        "rx.ready.eq(~self.i_reset.valid)",
        "an answer that comes with a request is lost",
        quick=True,
        cycles=4,
    ),
)
