# amaranth: UnusedElaboratable=no
"""Windows in wire mode: who waits for them, what opens them, and that nobody waits for ever."""

from collections.abc import Iterator
from itertools import pairwise

import pytest

from precog_models.store.packet_store import Outcome

from .wire_driver import NARROW, WIDE, Bench

pytestmark = [pytest.mark.cosim, pytest.mark.xdist_group("wire")]

_PSNS = 1 << 24
_MTU = 1024
_LAST = _PSNS - 3  # PSNs go round in every test
_NEVER = (1 << 32) - 1


@pytest.fixture(params=("wide", "narrow", "relaxed"))
def bench(request: pytest.FixtureRequest, volume: int, seed: int) -> Iterator[Bench]:
    form = request.param
    if form == "narrow" and volume == 1:
        pytest.skip("only with --volume")
    made = Bench(WIDE if form == "wide" else NARROW, seed, relaxed=form == "relaxed")
    made.block.poke(expiry=_NEVER)
    yield made
    made.block.close()


def psns(count: int, first: int = _LAST) -> list[int]:
    return [(first + n) % _PSNS for n in range(count)]


def opened(bench: Bench, qp: int, window: int) -> None:
    """A queue pair at full rate with an MTU of 1024."""
    bench.configure(qp, mtu=2)
    bench.rate(qp, bench.step)
    bench.window(qp, window)


def left(bench: Bench, settle: int = 3000) -> int:
    """Packets that leave by themselves."""
    return len(bench.run([], settle=settle).sinks["m_axis"].frames)


def test_a_window_holds_requests_and_acknowledgements_open_it(bench: Bench) -> None:
    """As many packets as the window has MTUs, rounded up; answers and what is unreliable pass."""
    opened(bench, 1, 3 * _MTU - 1)
    opened(bench, 2, 1)
    rng = bench.rng
    sent = [bench.paced(qp, rng.randrange(60, 1100), psn=n) for n in psns(10) for qp in (1, 2)]
    sent += [bench.paced(1, 70, answers=True) for _ in range(6)]
    sent += [bench.paced(3, 900) for _ in range(4)]
    assert len(bench.run(sent, settle=3000).sinks["m_axis"].frames) == 3 + 1 + 6 + 4
    bench.acknowledge(1, (_LAST + 2) % _PSNS)
    assert left(bench) == 2
    bench.acknowledge(1, (_LAST + 1) % _PSNS)  # late: it says less
    assert left(bench) == 0
    bench.acknowledge(2, (_LAST + 1) % _PSNS)
    assert left(bench) == 1
    bench.window(1, 0)
    assert left(bench) == 5
    bench.acknowledge(2, (_LAST + 10) % _PSNS)  # of packets that wait here: they go at once
    assert left(bench) == 8
    assert bench.pacer.seen["expired"] == 0


def test_answers_and_requests_in_turn(bench: Bench) -> None:
    """At a rate that both share, and in the order of each."""
    bench.configure(1, mtu=2)
    bench.rate(1, 0.1 * bench.step)
    sent = [bench.paced(1, 400, psn=n) for n in psns(20)]
    sent += [bench.paced(1, 400, answers=True) for _ in range(20)]
    frames = bench.run(sent).sinks["m_axis"].frames
    kinds = [wire.time // bench.config.qps % 2 for wire in frames]
    assert kinds.count(1) == 20
    both = kinds[kinds.index(1) : len(kinds) - kinds[::-1].index(0)]
    assert all(a != b for a, b in pairwise(both)), kinds


def test_packets_of_before_pass_a_shut_window(bench: Bench) -> None:
    """Go-back-N: what has been acknowledged, or begins again at the oldest, never waits."""
    opened(bench, 1, 2 * _MTU)
    first = psns(2)
    assert len(bench.run([bench.paced(1, 500, psn=n) for n in first]).sinks["m_axis"].frames) == 2
    again = [bench.paced(1, 500, psn=n) for n in (*first, *psns(4))]
    assert len(bench.run(again, settle=3000).sinks["m_axis"].frames) == 4
    bench.acknowledge(1, (_LAST + 4) % _PSNS)
    again = [bench.paced(1, 500, psn=n) for n in psns(4)]
    assert len(bench.run(again, settle=3000).sinks["m_axis"].frames) == 2 + 4


def test_without_acknowledgements_a_window_opens_in_time(bench: Bench) -> None:
    """In one to two times the expiry for each window full, however many wait."""
    opened(bench, 1, 4 * _MTU)
    period = 5000
    bench.block.poke(expiry=period)
    run = bench.run([bench.paced(1, 300, psn=n) for n in psns(40)], settle=3 * period)
    first = run.sinks["m_axis"].first
    assert len(first) == 40
    waits = [b - a for a, b in pairwise(first) if b - a > period // 2]
    assert len(waits) == 9
    assert period <= min(waits)
    assert max(waits) <= 2 * period + 2 * bench.config.qps + 100
    assert bench.pacer.seen["expired"] == 9


def test_what_waits_behind_a_packet_without_room_passes_in_time(bench: Bench) -> None:
    """With one port an acknowledgement is behind the packet that it would make room for."""
    opened(bench, 1, 1)
    period, size, count = 3000, 2 * bench.config.cell_bytes, 16
    bench.block.poke(expiry=period, hold=1, quota=2, limit=0)  # the cells of one packet
    sent = [bench.paced(1, size, psn=n) for n in psns(count)] + [bench.other(60)]
    sink = bench.run(sent, settle=3 * period).sinks["m_axis"]
    bench.block.poke(hold=0)
    assert len(sink.frames) == len(sent)
    at = sink.frames.index(sent[-1])
    # Up to eight packets wait between the input and their queue.
    assert count - 10 <= at < count
    waited = sink.first[at] - sink.first[0]
    assert (at - 1) * period <= waited <= at * (2 * period + 2 * bench.config.qps + 100)


def test_exact_and_live_whatever_happens(bench: Bench, seed: int, volume: int) -> None:
    """Random windows, PSNs that jump, acknowledgements that lie: rows are golden, nobody stays."""
    rng, config, block = bench.rng, bench.config, bench.block
    block.poke(expiry=2000)
    few = rng.sample(range(config.qps), 6)
    at = {qp: rng.getrandbits(24) for qp in few}
    for piece in range(6 * volume):
        block.poke(quota=rng.choice([40, 120]), limit=rng.choice([0, 40]))
        for qp in few:
            bench.window(qp, rng.choice([0, 1, _MTU, 5000, 20_000, (1 << 32) - 1]))
            bench.rate(qp, bench.step * rng.choice([0.1, 0.5, 3.0]))
            if rng.random() < 0.3:
                bench.configure(qp, priority=rng.randrange(8), mtu=rng.randrange(5))
        sent = []
        for _ in range(100):
            qp, size = rng.choice(few), rng.randrange(1, 1400)
            kind = rng.random()
            if kind < 0.3:
                sent.append(bench.paced(qp, size, answers=kind < 0.2))
                continue
            jump = rng.choice([0] * 20 + [-3, -20, 30, 5000, 1 << 22, 1 << 23])
            at[qp] = (at[qp] + 1 + jump) % _PSNS
            sent.append(bench.paced(qp, size, psn=at[qp]))
        cut = rng.randrange(len(sent))
        for half in (sent[:cut], sent[cut:]):
            bench.run(
                half, seed=seed + piece, idle=rng.choice([0, 0.4]), stall=rng.choice([0, 0.4]),
                settle=rng.choice([100, 1500]),
            )  # fmt: skip
            for qp in few:
                said = (at[qp] - rng.randrange(40)) % _PSNS
                bench.acknowledge(qp, said if rng.random() < 0.9 else rng.getrandbits(24))
        if rng.random() < 0.3:
            bench.configure(rng.choice(few), priority=3, mtu=2)
    bench.run([], settle=40_000)
    assert not bench.store.came
    assert not any(bench.store.queues)
    assert block.peek("free") == config.cells
    seen = bench.store.seen
    assert seen["STORED"] == seen["POP"] == bench.paced_out
    assert all(bench.pacer.seen[name] for name in ("shut", "expired", "EXPIRE"))
    print(dict(bench.pacer.seen), sum(seen[kind.name] for kind in list(Outcome)[2:]))
