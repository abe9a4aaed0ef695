# amaranth: UnusedElaboratable=no
"""The law unit in RTL against its golden model, result by result and state bit by state bit."""

import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from precog_hw.rate.law_layouts import DCQCN, TIMELY, TRACE, event_layout, result_layout
from precog_hw.rate.law_unit import LawUnit
from precog_models.rate.law_unit import LAW_ROW
from precog_models.rate.law_unit import LawUnit as Golden
from precog_sim.rtl.event_block import EventBlock, event_library, unpack
from precog_spec.law_fields import EVENT_FIELDS, RESULT_FIELDS, EventKind, Law

from .law_traffic import MBPS, Table, dcqcn_parameters, event, events, rows, timely_parameters

pytestmark = [pytest.mark.cosim, pytest.mark.xdist_group("law_unit")]

QPS = 8
BATCH = 2000
LONGEST = 6 + 338  # cycles
TABLE = 720
_NAMES, _FIELDS = ([name for name, _ in fields] for fields in (RESULT_FIELDS, EVENT_FIELDS))
_USUAL = {"min_rate": 100 * MBPS, "max_rate": 100_000 * MBPS, "init_rate": 10_000 * MBPS}


@cache
def library(qps: int = QPS) -> Path:
    return event_library(LawUnit(qps), label=f"law unit of {qps} queue pairs")


class Pair:
    """The unit and its golden model, both freshly reset."""

    def __init__(self, qps: int = QPS) -> None:
        self.rtl = EventBlock(library(qps))
        self.golden = Golden(qps)
        qp_bits = (qps - 1).bit_length()
        self._event, self._result = event_layout(qp_bits), result_layout(qp_bits)

    def set_parameters(self, timely: dict[str, int], dcqcn: dict[str, int]) -> None:
        self.rtl.poke_struct("timely", TIMELY, timely)
        self.rtl.poke_struct("dcqcn", DCQCN, dcqcn)
        self.golden.set_parameters(*rows(timely, dcqcn))

    def compare(self, table: Table, *, seed: int = 1, idle: float = 0, stall: float = 0) -> Table:
        """Let both have the same events; returns each one's latency in cycles."""
        run = self.rtl.events(self._event, table, ["after"], seed=seed, idle=idle, stall=stall)
        results, after = self.golden.run(table)
        for what, names, got, want in (
            (
                "result",
                [n for n, _ in RESULT_FIELDS],
                unpack(self._result, run.ports["o_payload"]),
                results,
            ),
            ("row", LAW_ROW, unpack(TRACE, run.ports["after"]), after),
        ):
            wrong = np.argwhere(got != want)
            if len(wrong):
                at, column = wrong[0]
                given = dict(zip(_FIELDS, table[at].tolist(), strict=True))
                pytest.fail(
                    f"{what} {at}: {names[column]} is {got[at, column]}, not {want[at, column]}, "
                    f"after {given}"
                )
        return run.latency


@pytest.fixture
def pair() -> Iterator[Pair]:
    made = Pair()
    yield made
    made.rtl.close()


def configured(law: Law, qps: int = QPS, **values: int) -> Table:
    """Events that let every queue pair run `law`."""
    config = {**_USUAL, "law": law, **values}
    return np.stack([event(EventKind.CONFIGURE, qp, **config) for qp in range(qps)])


@pytest.mark.parametrize("law", list(Law))
def test_volume(law: Law, pair: Pair, seed: int, volume: int) -> None:
    """20,000 events of each law; a million with ``--volume 50``."""
    rng = np.random.default_rng(seed)
    start = int(rng.integers(1 << 40))
    seen = np.zeros(8, dtype=np.int64)
    changes, cycles, began = 0, 0, time.perf_counter()
    pair.compare(configured(law))
    for n in range(10 * volume):
        dcqcn = dcqcn_parameters(rng)
        pair.set_parameters(timely_parameters(rng), dcqcn)
        periods = [dcqcn[name] for name in ("alpha_ticks", "cut_ticks", "rate_ticks")]
        table = events(rng, law, BATCH, QPS if n % 3 else 1, start, periods)
        start = int(table[-1, 2])
        idle, stall = rng.choice([0.0, 0.0, 0.5], 2)
        latency = pair.compare(table, seed=n, idle=float(idle), stall=float(stall))
        seen += np.bincount(table[:, 0], minlength=8)
        changes += int((np.diff(pair.golden.rows[:, 1]) != 0).sum())
        cycles += int(latency.sum())
        assert (latency > LONGEST).sum() <= 1  # the table is made once
        assert latency.max() <= LONGEST + TABLE
    took = time.perf_counter() - began
    print(f"{law.name}: {seen.sum():,} events, {cycles / seen.sum():.1f} cycles each, {took:.1f} s")
    assert (seen[: EventKind.RESET + 1] > 0).all()
    assert changes > 0


@pytest.mark.parametrize("qps", [1024, 4096])
def test_many_queue_pairs(qps: int, seed: int, volume: int) -> None:
    if volume == 1:
        pytest.skip("only with --volume")
    rng = np.random.default_rng(seed)
    pair = Pair(qps)
    for law in (Law.TIMELY, Law.DCQCN):
        pair.set_parameters(timely_parameters(rng), dcqcn_parameters(rng))
        pair.compare(configured(law, qps))
        for n in range(10):
            pair.compare(events(rng, law, BATCH, qps, n << 32, [1000, 55_000]))
    pair.rtl.close()


def _draws() -> st.SearchStrategy[Table]:
    """Events of two queue pairs, times close to where the clocks run out, and law changes."""
    times = st.sampled_from(
        [0, 1, 999, 1000, 4000, 54_999, 55_000, 300_000, 1 << 39, (1 << 40) - 1]
    )
    values = st.sampled_from([0, 1, 4180, 5000, 50_001, (1 << 24) - 1, 1 << 24, (1 << 32) - 1])
    rates = st.sampled_from([0, 1, 100 * MBPS, 10_000 * MBPS, (1 << 32) - 1])
    one = st.tuples(
        st.sampled_from([0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7]),
        st.integers(0, 1),
        times,
        values | st.integers(0, (1 << 32) - 1),
        st.sampled_from([0, 1, 3, 3, 4, 4]),
        *(rates, rates, rates),
    )
    return st.lists(one, min_size=1, max_size=60).map(_stamped)


def _stamped(drawn: list[tuple[int, ...]]) -> Table:
    """The events with times that count up from one to the next."""
    table = np.array(drawn, dtype=np.int64)
    table[:, 2] = np.cumsum(table[:, 2]) % (1 << 40)
    return table


@settings(max_examples=120)
@given(_draws(), st.integers(0, 2**32 - 1), st.sampled_from([Law.TIMELY, Law.DCQCN]))
def test_any_sequence(table: Table, seed: int, law: Law) -> None:
    rng = np.random.default_rng(seed)
    pair = Pair()
    try:
        pair.set_parameters(timely_parameters(rng), dcqcn_parameters(rng))
        pair.compare(configured(law))
        pair.compare(table)
    finally:
        pair.rtl.close()


def _latencies(pair: Pair, *table: Table) -> list[int]:
    return pair.compare(np.stack(table)).tolist()


_TIMELY = {
    **{"variant": 0, "alpha": 335544, "beta": 13421773, "low": 5000, "high": 20_000},
    **{"min_rtt": 4180, "reference": 6000, "slope": 134218},
    **{"ai": 100 * MBPS, "hai": 500 * MBPS, "hai_count": 5},
}
_DCQCN = {
    **{"g": 65536, "alpha_ticks": 55_000, "cut_ticks": 0, "rate_ticks": 55_000, "recovery": 5},
    **{"byte_count": 10_000_000, "ai": 40 * MBPS, "hai": 0, "clamp_target": 1},
}


@pytest.mark.parametrize(
    ("variant", "rtts", "late", "soon"),
    [
        (0, (6000, 5000, 5000), 41, 29),  # up
        (0, (6000, 50_000, 60_000), 86, 74),  # high
        (0, (6000, 7000, 8000), 71, 71),  # on the gradient, without the share
        (1, (6000, 5000, 5000), 29, 29),  # ns-3, without it as well
        (1, (6000,), 9, 9),
        (2, (6000, 7000, 8000), 131, 119),  # patched
    ],
)
def test_latency_of_timely(
    variant: int, rtts: tuple[int, ...], late: int, soon: int, pair: Pair
) -> None:
    """The last sample comes within the smallest RTT (a share below 1), or after it."""
    pair.set_parameters({**_TIMELY, "variant": variant}, _DCQCN)
    pair.compare(configured(Law.TIMELY))
    for qp, step, want in ((0, 1000, late), (1, 5000, soon)):
        times = (10_000, 20_000, 20_000 + step)
        table = [event(EventKind.RTT, qp, t=t, value=v) for t, v in zip(times, rtts, strict=False)]
        assert _latencies(pair, *table)[-1] == want


def test_latency_of_dcqcn(pair: Pair) -> None:
    pair.set_parameters(_TIMELY, _DCQCN)
    configure = _latencies(pair, *configured(Law.DCQCN))
    assert configure == [6] * QPS
    first, *rest = _latencies(
        pair,
        event(EventKind.CNP, 0, t=0),  # makes the table
        event(EventKind.CNP, 1, t=0),
        event(EventKind.SWEEP, 1, t=54_999),
        event(EventKind.BYTES, 1, t=54_999, value=1),
        event(EventKind.BYTES, 1, t=54_999, value=10_000_000),
        event(EventKind.SWEEP, 1, t=55_000),
        event(EventKind.SWEEP, 1, t=55_000 * 8),
        event(EventKind.LOSS, 2, t=9),
    )
    assert first - rest[0] == TABLE
    assert rest == [41, 15, 18, 24, 47, 89, 9]


def test_a_queue_pair_changes_its_law_and_keeps_its_rate(pair: Pair) -> None:
    pair.set_parameters(_TIMELY, _DCQCN)
    table = np.concatenate(
        [
            configured(Law.TIMELY, init_rate=50_000 * MBPS),
            [event(EventKind.RTT, 3, t=n * 9000, value=4500) for n in range(5)],
            configured(Law.DCQCN, init_rate=1000 * MBPS),
            [event(EventKind.CNP, 3, t=50_000)],
            configured(Law.FIXED, init_rate=1000 * MBPS),
            [event(EventKind.RESET, 3)],
        ]
    )
    pair.compare(table)
    results, _ = Golden(QPS), None
    golden = Golden(QPS)
    golden.set_parameters(*rows(_TIMELY, _DCQCN))
    got = golden.run(table)[0]
    rates = got[got[:, 0] == 3, 1]
    assert rates[0] == 50_000 * MBPS
    assert rates[5] == 50_500 * MBPS == rates[6]  # five steps up, then the other law
    assert rates[7] == rates[6] // 2
    assert rates[8] == rates[9] == 1000 * MBPS
    assert results is not None


@pytest.mark.parametrize("qps", [0, 1, 3, 1 << 17])
def test_refused_numbers_of_queue_pairs(qps: int) -> None:
    with pytest.raises(ValueError, match=r"qps must be a power of two in 2\.\.65536, not"):
        LawUnit(qps)
