"""The whole NIC in grant mode: rates that laws decide pace grants, as in the golden models."""

import dataclasses
from collections.abc import Iterator

import pytest

from precog_hw.pace.layouts import EventKind
from precog_hw.pace.pacer import GRANTS_AHEAD
from precog_models.pace.pacer import State
from precog_sim.rtl.grant_nic import GrantNic
from precog_spec.config import PRESETS

from ..sw.support import random_image
from .grant_bench import OVERHEAD, GrantBench

QPS = 16
CONFIG = dataclasses.replace(
    PRESETS["tiny"], qps=QPS, grants=True, profile=True, trace=True, ecc=False
)
PLENTY = (1 << 32) - 1
SETTLE = 20_000  # cycles in which everything that was decided reaches the pacer
DECIDED = 4000  # cycles in which samples that were taken are decided on: a command passes them
pytestmark = [pytest.mark.cosim, pytest.mark.xdist_group("grant_nic")]


@pytest.fixture
def bench(seed: int) -> Iterator[GrantBench]:
    made = GrantBench(CONFIG, seed, GrantNic(CONFIG, start=(1 << 40) - 50_000))
    yield made
    made.close()


def some_law(bench: GrantBench, qp: int, *, clear: bool = True) -> None:
    """A law that takes samples only; rates at which packets come every tens to thousands ticks."""
    rng = bench.rng
    bench.configure(
        qp,
        clear=clear,
        preset="precog",
        algorithm=rng.choice(["fixed", "pid", "predpid"]),
        min_gbps=rng.choice([0.5, 2.0]),
        init_gbps=rng.choice([2.0, 20.0, 400.0]),
        max_gbps=400.0,
    )


def chance(bench: GrantBench, cycles: int) -> None:
    """Random samples, requests and acknowledgements for the next `cycles`."""
    rng = bench.rng
    busy = rng.sample(range(QPS), rng.choice([1, 4, QPS]))
    per_sample, per_request = rng.choice([20, 60, 500]), rng.choice([5, 20, 100])
    for at in range(bench.now, bench.now + cycles):
        if rng.random() < 1 / per_sample:
            bench.sample(
                rng.choice(busy), rng.choice([2000, 5000, 9000, rng.randrange(60_000)]), at
            )
        if rng.random() < 1 / per_request:
            bench.request(rng.choice(busy), rng.choice([1, 1024, 4097, rng.getrandbits(14)]), at)
        if rng.random() < 0.05:
            qp = rng.choice(busy)
            bench.acknowledge(qp, bench.replay.golden.rows[qp].next, at)


def test_exact_in_the_exported_order_whatever_is_decided(bench: GrantBench, volume: int) -> None:
    """100,000 events of the pacer with samples, pauses and the host's commands between them."""
    rng, seen = bench.rng, bench.replay.seen
    for device in (bench.rtl, bench.golden):
        device.apply_preset("precog")
    bench.profile(every=3)
    for qp in range(QPS):
        some_law(bench, qp)
    piece = 0
    while sum(seen[kind.name] for kind in EventKind) < 100_000 * volume:
        bench.nic.block.poke(pause=rng.choice([0, 0, rng.getrandbits(8)]))
        chance(bench, 4000)
        bench.run(4000, seed=piece)
        while any(bench.pending.values()):
            bench.run(SETTLE)
        bench.run(DECIDED)
        qp = rng.randrange(QPS)
        if rng.random() < 0.5:
            some_law(bench, qp, clear=rng.random() < 0.5)
        elif rng.random() < 0.5:
            bench.configure(qp, enable=qp not in bench.enabled)
        else:
            mtu = rng.choice([256, 1024, 4096])
            bench.begin(qp, priority=rng.randrange(8), mtu=mtu, psn=rng.getrandbits(24))
        piece += 1
    bench.nic.block.poke(pause=0)
    for _ in range(3):
        bench.run(SETTLE)
    bench.check_told()
    counters = bench.check_counters()
    rtl, golden = bench.pacings()
    assert [rtl.connection(qp) for qp in range(QPS)] == [golden.connection(qp) for qp in range(QPS)]
    assert len(bench.replay.grants) <= GRANTS_AHEAD  # between the log and the port
    for name in ("rates_merged", "retimed", "requests_refused", "acks_refused"):
        assert counters[name] > 0, name
    bench.nic.block.poke(pause=255)  # what is checked below stands still
    bench.run(500)
    queues = bench.check_queues(clear=True)
    assert sum(queue.bytes_out for queue in queues) == bench.granted_bytes + sum(
        grant.size for grant in bench.replay.grants
    )
    assert not any(queue.arrivals or queue.bytes_out for queue in bench.check_queues())
    print({name: seen[name] for name in sorted(seen)}, counters)


def test_latency(bench: GrantBench) -> None:
    """Three cycles more than the pacer alone."""
    bench.configure(3, preset="precog", algorithm="fixed", init_gbps=100.0)
    bench.run(500)
    at = bench.now + 100
    bench.request(3, 1000, at)
    assert [taken for taken, *_ in bench.run(300)] == [at + 25]


@pytest.mark.parametrize("algorithm", ["fixed", "pid"])
def test_the_rate_that_a_law_sets_is_sent(bench: GrantBench, algorithm: str) -> None:
    """Bytes on the wire in a long time, to 0.1 %."""
    bench.configure(3, preset="precog", algorithm=algorithm, min_gbps=5.0, init_gbps=10.0)
    bench.begin(3, mtu=1024)
    for n in range(5):
        bench.sample(3, 4000 + 500 * n)
    bench.run(SETTLE)
    bench.request(3, PLENTY)
    rate = bench.rate_of(3)
    grants = bench.run(round(150 * (1024 + OVERHEAD) / rate))
    times = [at for at, *_ in grants]
    sent = (len(times) - 1) * (1024 + OVERHEAD) / (times[-1] - times[0])
    assert sent == pytest.approx(rate, rel=1e-3)
    assert bench.told[3][-1][0] / (1 << 24) == rate


def test_a_decision_changes_the_pending_gap(bench: GrantBench) -> None:
    """Half of a packet's gap at the initial rate, the rest of it at the decided one."""
    bench.configure(5, preset="precog", algorithm="pid", min_gbps=0.08, init_gbps=0.08)
    bench.begin(5, mtu=1024)
    bench.request(5, PLENTY)
    gap = (1024 + OVERHEAD) / 0.01
    (first,) = bench.run(round(gap / 2))
    for _ in range(12):  # below its target: the rate rises
        bench.sample(5, 100)
    second, *_ = bench.run(round(gap))
    faster = bench.rate_of(5) / 0.01
    assert faster > 2
    assert second[0] - first[0] == pytest.approx(gap / 2 + gap / 2 / faster, abs=1500)
    assert bench.check_counters()["retimed"] >= 1


def test_a_burst_of_decisions_for_everybody_loses_none(bench: GrantBench) -> None:
    """They come faster than the pacer takes them: the last rate of each queue pair is there."""
    for qp in range(QPS):
        bench.configure(qp, preset="precog", algorithm="pid", init_gbps=1.0 + qp)
        bench.request(qp, PLENTY)  # gaps that are pending take the pacer longest
    bench.run(100)
    start = bench.now
    for n in range(12 * QPS):
        bench.sample(n % QPS, bench.rng.randrange(4000, 6000), start)
    while bench.pending["s_sample"]:
        bench.run(SETTLE)
    bench.run(SETTLE)
    bench.check_told()
    assert bench.check_counters()["rates_merged"] > QPS
    rows = bench.replay.golden.rows
    assert len({(row.mantissa, row.exponent) for row in rows}) > QPS // 2


def test_a_queue_pair_without_a_configuration_gets_nothing(bench: GrantBench) -> None:
    """Its requests are refused and counted, and wedge nobody; disabled, it gets no more grants."""
    bench.configure(1, preset="precog", algorithm="fixed", init_gbps=100.0)
    bench.begin(1, mtu=256, psn=500)
    for n in range(200):
        bench.request(2, 1000)
        bench.acknowledge(2, n)
    bench.request(1, 1000)
    assert [qp for _, qp, *_ in bench.run(1000)] == [1, 1, 1, 1]
    counters = bench.check_counters()
    assert (counters["requests_refused"], counters["acks_refused"]) == (200, 200)

    bench.request(1, PLENTY)
    assert len(bench.run(1000)) > 10
    bench.configure(1, enable=False)
    assert len(bench.run(1000)) <= 5  # those on their way
    row = bench.replay.golden.rows[1]
    assert (row.state, row.backlog, row.next, row.una) == (State.PARKED, 0, 500, 500)
    bench.request(1, 1000)
    assert not bench.run(1000)
    bench.configure(1, enable=True)
    bench.request(1, 600)
    assert [size for _, _, size, _ in bench.run(1000)] == [256, 256, 88]


def test_every_decision_is_traced(bench: GrantBench, seed: int) -> None:
    """What it was made of, and by which model: the same records from both devices."""
    rng = bench.rng
    tracings = [device.trace for device in (bench.rtl, bench.golden)]
    for n in range(2):
        for device in (bench.rtl, bench.golden):
            device.model.load(random_image(seed + n, version=n + 7), slot=n, set=1 - n)
    for qp in range(QPS):
        some_law(bench, qp)
        slot = qp if qp < 2 else rng.randrange(3)
        if slot < 2:
            bench.configure(qp, model_slot=slot, algorithm="predpid")
        bench.sample(qp, rng.randrange(60_000))  # not recorded: nothing is after reset
    bench.run(SETTLE)
    kept: list[dict[str, int]] = []
    for qp, every, threshold in ((None, 1, 1), (None, 1, 500), (5, 3, 0)):
        for tracing in tracings:
            assert tracing is not None
            tracing.configure(
                kinds=["decision"],
                **{"all_qps": True} if qp is None else {"qp": qp},
                every=every,
                threshold=threshold,
            )
        for n in range(300 if every == 1 else 60):
            bench.sample(n % 3 if n < 9 else rng.randrange(QPS), rng.randrange(60_000))
        while bench.pending["s_sample"]:
            bench.run(SETTLE)
        bench.run(DECIDED)
        states = [tracing.state() for tracing in tracings if tracing is not None]
        assert states[0] == states[1]
        # The cause stays while it is reached, and can be cleared then.
        bench.rtl.interrupt.enable(["trace"])
        bench.rtl.interrupt.clear(["trace"])
        assert bench.nic.block.peek("irq") == states[0].reached
        rtl, golden = ([*tracing.drain()] for tracing in tracings if tracing is not None)
        assert rtl == golden
        kept += rtl
    assert len(kept) > 300
    assert {record["version"] for record in kept} >= {7, 8}
    for tracing in tracings:
        assert tracing is not None
        tracing.configure(every=1)
    for _ in range(600):  # more than it holds
        bench.sample(5, rng.randrange(60_000))
    while bench.pending["s_sample"]:
        bench.run(SETTLE)
    bench.run(DECIDED)
    states = [tracing.state() for tracing in tracings if tracing is not None]
    assert states[0] == states[1]
    assert states[0].counters["overflowed"] > 0
    rtl, golden = ([*tracing.drain()] for tracing in tracings if tracing is not None)
    assert rtl == golden


def test_a_reset_leaves_nothing_behind(bench: GrantBench, seed: int) -> None:
    """Memories keep their words over a reset; the NIC empties them before requests may come."""
    for qp in range(QPS):
        some_law(bench, qp)
        bench.begin(qp, priority=qp % 8, psn=qp)
        bench.request(qp, PLENTY)
        bench.sample(qp, 3000)
    bench.run(3000)
    block = bench.nic.block
    block.poke(rst=1)
    block.tick(2)
    block.poke(rst=0)
    block.tick()
    fresh = GrantBench(CONFIG, seed, bench.nic)
    assert not fresh.run(2000)
    fresh.check_queues()
    rtl, golden = fresh.pacings()
    assert rtl.counters() == golden.counters() == dict.fromkeys(rtl.counters(), 0)
    assert [rtl.connection(qp) for qp in range(QPS)] == [golden.connection(qp) for qp in range(QPS)]
    for qp in range(QPS):
        some_law(fresh, qp)
        fresh.request(qp, 5000)
    fresh.run(SETTLE)
    fresh.check_told()
    assert fresh.check_counters()["granted_bytes"] == QPS * 5000


def test_both_devices_refuse_the_same(bench: GrantBench) -> None:
    for pacing in bench.pacings():
        with pytest.raises(ValueError, match=r"priority must be in 0\.\.7, not 8"):
            pacing.begin(0, priority=8)
        with pytest.raises(ValueError, match=r"mtu must be one of \(256, .*, not 1500"):
            pacing.begin(0, mtu=1500)
        with pytest.raises(ValueError, match=r"psn must be in 0\.\.16777215, not -1"):
            pacing.begin(0, psn=-1)
        with pytest.raises(ValueError, match=rf"QP must be in 0\.\.{QPS - 1}, not {QPS}"):
            pacing.connection(QPS)
        with pytest.raises(ValueError, match=r"pause must be in 0\.\.255, not 256"):
            pacing.set_parameters(overhead=3, pause=256)
        assert pacing.parameters() == {"overhead": OVERHEAD, "pause": 0}
        pacing.registers.write_fields("PACER", "SELECT", index=QPS)
        pacing.registers.write_fields("PACER", "COMMAND", apply=1)
        assert pacing.registers.fields("PACER", "ERROR") == {"range": 1, "overrun": 0}
        pacing.set_parameters(pause=8)
        assert pacing.parameters()["pause"] == 8
    for queues in (bench.rtl.profiler, bench.golden.profiler):
        assert queues is not None
        with pytest.raises(ValueError, match=rf"QP must be in 0\.\.{QPS - 1}, not {QPS}"):
            queues.queue(QPS)
        queues.registers.write_fields("PROFILER", "SELECT", index=QPS)
        queues.registers.write_fields("PROFILER", "COMMAND", fetch=1)
        assert queues.registers.fields("PROFILER", "ERROR") == {"range": 1, "overrun": 0}
