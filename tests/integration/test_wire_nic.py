"""The whole NIC in wire mode: packets of the transport wait in it for the grants of their QPs."""

import random
from collections.abc import Iterator

import numpy as np
import pytest

from precog_hw.pace.wire_path import WIRE_EVENTS as HARDWARE_EVENTS
from precog_models.pace.reciprocal import gap, reciprocal
from precog_models.packet.card import Card, CardConfig
from precog_sim.rtl.packet_block import Run, Wire
from precog_spec.contract import TICK_FRAC_BITS
from precog_spec.frames.cps import Mode
from precog_spec.frames.opcodes import CNP
from precog_spec.registers.wire import WIRE_EVENTS

from ..models.packet.frames import A_ADDRESS, A_QP, B_QP, packet
from .packet_bench import check_registers
from .wire_nic_bench import (
    CONFIG,
    FULL,
    IDLE,
    LINK,
    OVERHEAD,
    RELAXED,
    STORE,
    TICK_PS,
    Bench,
    of,
    paced,
)

WHEEL_STEP = 4  # ticks from one look of the timing wheel at a bucket to the next

pytestmark = [pytest.mark.cosim, pytest.mark.xdist_group("wire_nic")]


@pytest.fixture
def bench(request: pytest.FixtureRequest, volume: int) -> Iterator[Bench]:
    config = getattr(request, "param", CONFIG)
    if config is FULL and volume == 1:
        pytest.skip("only with --volume: a third NIC takes a minute to build")
    made = Bench(config=config)
    yield made
    made.device.close()


#: Both forms of the router.
each_form = pytest.mark.parametrize(
    "bench", [CONFIG, RELAXED, FULL], indirect=True, ids=["pipelined", "relaxed", "full"]
)


def starts(run: Run) -> dict[int, np.ndarray]:
    """When the packets of each queue pair began to leave."""
    sink = run.sinks["m_axis_tx"]
    found: dict[int, list[int]] = {}
    for at, wire in zip(sink.first, sink.frames, strict=True):
        if (qp := paced(wire.data)) is not None:
            found.setdefault(qp, []).append(at)
    return {qp: np.array(times) for qp, times in found.items()}


def test_counters_are_named_as_in_hardware() -> None:
    assert [name for name, _ in WIRE_EVENTS] == list(HARDWARE_EVENTS)


@each_form
def test_each_at_its_rate_in_its_order_and_the_rest_passes(bench: Bench, seed: int) -> None:
    """Rates to 0.1 %; what is of nobody, and CNPs, overtake; no byte is changed or lost."""
    rng = random.Random(seed)
    rates = {1: 0.5 * LINK, 2: 0.2 * LINK, 3: 0.05 * LINK}
    for qp, gbps in rates.items():
        bench.bind(qp, gbps)
    size = 1000
    # In proportion to the rates: the input waits for whoever is the slowest.
    bench.quota(80)
    sent = [of(qp, size, rng) for _ in range(40) for qp in (*[1] * 5, 2, 2, 3, *[1] * 5, 2, 2)]
    frame_bytes = len(sent[0])
    others = [
        packet(rng.randbytes(100)),  # of a queue pair that nobody has bound
        of(1, 16, rng, opcode=CNP),
        b"\0" * 60,
    ]
    for n, frame in enumerate(others * 5):
        sent.insert(20 * n, frame)
    run = bench.run(sent)
    out = [wire.data for wire in run.sinks["m_axis_tx"].frames]
    for qp in (None, 1, 2, 3):
        assert [f for f in out if paced(f) == qp] == [f for f in sent if paced(f) == qp]
    for qp, times in starts(run).items():
        gap = (frame_bytes + OVERHEAD) * 8 / rates[qp] / (TICK_PS * 1e-3)
        wanted = gap * (len(times) - 1)
        # The first one goes at once, the others are some ticks late each; one may be in the way.
        slack = frame_bytes // 8 + 8
        assert abs(times[-1] - times[0] - wanted) <= 1e-3 * wanted + slack, qp
        assert np.abs(np.diff(times) - gap).max() <= 2 * slack, qp
    assert bench.waiting.counters() == {
        **dict.fromkeys((name for name, _ in WIRE_EVENTS), 0),
        **{"stored": 600, "sent": 600, "bypassed": 15},
        "held": bench.waiting.counters()["held"],
    }
    assert bench.waiting.memory()["free"] == STORE.cells


def test_at_reset_a_burst_is_whole_and_goodput_is_the_set_rate(seed: int) -> None:
    """16 frames of 1,082 bytes: none is dropped, and their due times add up exact gaps."""
    rng = random.Random(seed)
    bench = Bench(at_reset=True)
    bench.bind(1, 0.25 * LINK)
    sent = [of(1, 1024, rng) for _ in range(16)]
    run = bench.run(sent)
    assert [wire.data for wire in run.sinks["m_axis_tx"].frames] == sent
    dropped = {name: n for name, n in bench.waiting.counters().items() if "dropped" in name}
    assert not any(dropped.values()), dropped

    rate = 2 << 24  # a quarter of 8 bytes a tick
    line = 8 + len(sent[0]) + 4 + 12  # preamble, frame, FCS, gap
    behind = gap(line, *reciprocal(rate))
    assert behind == -(-line * (1 << 24 + TICK_FRAC_BITS) // rate)
    began, rest = divmod(bench.pacer.golden.rows[1].due - len(sent) * behind, 1 << TICK_FRAC_BITS)
    assert rest == 0
    assert 0 <= bench.pacer.grants[0].t - began < 32
    wanted = np.array([-(-n * behind >> TICK_FRAC_BITS) for n in range(len(sent))])
    late = (starts(run)[1] - wanted)[1:]
    assert late.max() - late.min() < WHEEL_STEP
    bench.device.close()


def test_who_may_not_send_holds_nobody(bench: Bench, seed: int) -> None:
    """One is paused, one very slow: they fill their quotas and drop, the third keeps its rate."""
    rng = random.Random(seed)
    assert bench.device.pacer is not None
    for qp, gbps in ((1, 0.001), (2, 0.3 * LINK), (3, 0.3 * LINK)):
        bench.bind(qp, gbps)
    bench.device.pacer.begin(2, priority=6)
    bench.waiting.set_parameters(hold=False)
    bench.quota(72)
    bench.nic.block.poke(pause=1 << 6)
    sent = [of(1 + n % 3, 1000, rng) for n in range(120)]
    run = bench.run(sent, settle=3000)
    cells = -(-len(sent[0]) // STORE.cell_bytes)
    fits = 72 // cells
    assert {qp: len(times) for qp, times in starts(run).items()} == {1: 1, 3: 40}
    rows = [bench.waiting.row(qp) for qp in range(4)]
    assert [row["packets"] for row in rows] == [0, fits, fits, 0]
    # The slow one's first packet has left its place to another.
    assert [row["drops"] for row in rows] == [0, 39 - fits, 40 - fits, 0]
    assert rows[2]["queued"] == fits * len(sent[0])
    assert rows[2]["own"] == fits * cells
    assert bench.waiting.counters()["dropped_quota"] == 79 - 2 * fits
    bench.nic.block.poke(pause=0)
    assert len(starts(bench.run([], settle=3000))[2]) == fits


def test_what_is_left_when_pacing_ends_goes(bench: Bench, seed: int) -> None:
    """A queue pair that is disabled sends what it had stored, as one that never was enabled."""
    rng = random.Random(seed)
    bench.bind(1, 0.001)
    run = bench.run([of(1, 500, rng) for _ in range(20)], settle=2000)
    assert len(starts(run)[1]) == 1
    bench.device.qp(1).configure(enable=False)
    assert len(starts(bench.run([], settle=2000))[1]) == 19
    assert len(starts(bench.run([of(1, 500, rng) for _ in range(5)], settle=2000))[1]) == 5
    assert bench.device.pacer is not None
    counters = bench.waiting.counters()
    assert (counters["sent"], counters["unpaced"]) == (25, 24)
    assert bench.device.pacer.counters()["grants"] == 1
    # Enabled again it waits for its grants again, a connection that begins anew among them.
    bench.device.qp(1).configure(enable=True, init_gbps=0.05 * LINK)
    bench.run([of(1, 500, rng) for _ in range(3)], settle=2000)
    bench.device.pacer.begin(1, priority=3)
    bench.run([of(1, 500, rng) for _ in range(3)])
    assert bench.waiting.counters()["sent"] == 31
    assert bench.device.pacer.counters()["grants"] >= 7


def test_acknowledgements_keep_their_place_unless_told(bench: Bench, seed: int) -> None:
    rng = random.Random(seed)
    bench.bind(1, 0.02 * LINK)
    ack = of(1, 0, rng, opcode=0x11, aeth={"syndrome": 0x1F, "msn": 1})
    sent = [*(of(1, 800, rng) for _ in range(4)), ack]
    out = [wire.data for wire in bench.run(sent).sinks["m_axis_tx"].frames]
    assert out == sent
    bench.waiting.set_parameters(acks_pass=True)
    bench.store.came.clear()
    run = bench.nic.run(tx=[Wire(f) for f in sent], settle=IDLE)
    out = [wire.data for wire in run.sinks["m_axis_tx"].frames]
    assert out.index(ack) < 3
    assert sorted(out) == sorted(sent)


def test_round_trips_begin_when_packets_leave(bench: Bench, seed: int) -> None:
    """A packet's T0 and its score are put in behind the wait, so an RTT has no wait in it."""
    rng = random.Random(seed)
    bench.bind(1, 0.01 * LINK, mode=Mode.S, score=55)
    sent = [of(1, 1000, rng, psn=n, bth={"ackreq": int(n == 2)}) for n in range(3)]
    run = bench.run(sent)
    sink, source = run.sinks["m_axis_tx"], run.sources["s_axis_tx"]
    peer = Card(4, CardConfig(tick_ps=TICK_PS))
    peer.add(0, A_ADDRESS, A_QP + 1, B_QP + 1, score=64)
    for wire, frame in zip(sink.frames, sent, strict=True):
        there = peer.receive(wire.data, 0, 0)
        assert (there.received.frame, there.received.score) == (frame, 55)
    waited = sink.first[2] - source.first[2]
    assert waited > 10_000
    ack = packet(
        opcode=0x11,
        psn=2,
        back=True,
        bth={"dqpn": A_QP + 1},
        aeth={"syndrome": 0x1F, "msn": 3},
    )
    answered = bench.run([], back=[ack], settle=1000)
    ((slot, rtt, t),) = bench.nic.samples(answered)
    assert slot == 1
    assert 0 < sink.first[2] - (t - rtt) < 100


@each_form
def test_exact_whatever_happens(bench: Bench, seed: int, volume: int) -> None:
    """Random packets, quotas, pauses, queue pairs that come and go: nothing is lost unseen."""
    rng = random.Random(seed)
    for qp in (1, 2, 3):
        bench.bind(qp, 0.3 * LINK)
    going_in = coming_out = 0
    for _ in range(8 * volume):
        qp = rng.randrange(1, 4)
        bench.device.qp(qp).configure(
            enable=rng.random() < 0.7, init_gbps=LINK * rng.choice([0.05, 0.4, 2.0])
        )
        bench.waiting.set_parameters(limit=rng.choice([0, 40]), hold=rng.random() < 0.5)
        bench.quota(rng.choice([40, 80, 200]))
        sent = [of(rng.randrange(4), rng.randrange(1500), rng) for _ in range(60)]
        run = bench.run(
            sent,
            seed=rng.getrandbits(30),
            idle=rng.choice([0, 0.4]),
            stall=rng.choice([0, 0.4]),
        )
        going_in += len(sent)
        coming_out += len(run.sinks["m_axis_tx"].frames)
    counters = bench.waiting.counters()
    dropped = sum(counters[name] for name in counters if name.startswith("dropped"))
    assert going_in == coming_out + dropped
    assert counters["stored"] == counters["sent"]
    assert bench.waiting.memory()["free"] == STORE.cells
    assert {queue.occupancy for queue in bench.check_queues()} == {0}
    bench.device.counters()


def test_the_profiler_follows_the_packets(bench: Bench, seed: int) -> None:
    """Requests and answers of a queue pair alike; samples by events and by time; RTL = golden."""
    rng = random.Random(seed)
    assert bench.device.profiler is not None
    assert bench.device.pacer is not None
    bench.bind(1, 0.3 * LINK)
    bench.device.pacer.begin(1, windows=True, mtu=1024)
    bench.windows.add(1)
    bench.bind(2, 0.001)  # one packet, and then none for 400,000 cycles
    bench.bind(3, 0.3 * LINK)
    tick_us = TICK_PS / 1e6
    bench.device.profiler.set_parameters(every=3, period_us=700 * tick_us)
    bench.queues.golden.every, bench.queues.golden.period = 3, 700
    sent = [of(1 + n % 3, rng.randrange(1200), rng, psn=n) for n in range(60)]
    acks = [of(1, 0, rng, opcode=0x11, aeth={"syndrome": 0x1F, "msn": 1}) for _ in range(9)]
    bench.run(sent + acks, settle=5000)
    queues = bench.check_queues()
    assert [queue.arrivals for queue in queues] == [0, 29, 20, 20]
    assert [queue.departures for queue in queues] == [0, 29, 1, 20]
    sizes = [len(sent[n]) for n in range(1, 60, 3)]
    assert queues[2].occupancy == sum(sizes[1:])
    assert all(bench.queues.seen[f"{n} sampled"] for n in ("ARRIVAL", "DEPARTURE", "VISIT"))
    bench.device.qp(2).configure(enable=False)
    bench.run([], settle=5000)
    assert [queue.occupancy for queue in bench.check_queues()] == [0] * 4


def test_register_suite(seed: int) -> None:
    """Generated from the map, on the RTL; no register of another part answers or changes."""
    check_registers(CONFIG, TICK_PS, seed)
