"""Numbers as words."""

from dataclasses import replace

import pytest

from precog_sim.report import wording
from precog_sim.report.data import DemoResult, Tables


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (1234567, 0, "1,234,567"),
        (-0.0604, 3, "−0.060"),
        (5.005, 1, "5.0"),
        (None, 2, "–"),
    ],
)
def test_number(value: float | None, digits: int, text: str) -> None:
    assert wording.number(value, digits) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.41, "0.4 s"), (9.96, "10 s"), (59.6, "1 min 0 s"), (282.2, "4 min 42 s"), (19, "19 s")],
)
def test_duration(seconds: float, text: str) -> None:
    assert wording.duration(seconds).replace("\u00a0", " ") == text


@pytest.mark.parametrize(
    ("new", "old", "text"),
    [
        (7.0, 8.0, "12.5 % below X"),
        (9.0, 8.0, "12.5 % above X"),
        (8.0, 8.0001, "equal to X"),
        (6.4, 102.4, "16 times below X"),
        (6.0, 15.0, "2.5 times below X"),
        (15.0, 6.0, "2.5 times above X"),
    ],
)
def test_ratio(new: float, old: float, text: str) -> None:
    assert wording.ratio(new, old, "X") == text


def test_small_forms() -> None:
    assert wording.ranges((3, 1, 2, 9, 7, 8, 20, 21)) == "1–3, 7–9, 20, 21"
    assert wording.change(7.0, 8.0) == "−12.5 %"
    assert wording.moment("2026-02-03T04:05:06Z") == "3 February 2026, 04:05 UTC"
    assert wording.moment("yesterday") == "yesterday"
    assert wording.lower_first("Mean RTT") == "mean RTT"


def test_headlines_say_what_failed(result: DemoResult) -> None:
    assert all(item.good for item in wording.headlines(result)[:1])
    bad = replace(result, loop=replace(result.loop, mismatches=1))
    first = wording.headlines(bad)[0]
    assert (first.value, first.unit, first.good) == ("1", "mismatch", False)


def test_headlines_need_no_hardware_and_no_tables(result: DemoResult) -> None:
    empty = Tables((), (), (), (), (), ())
    titles = [item.title for item in wording.headlines(replace(result, hardware=(), tables=empty))]
    assert titles == ["RTL against golden model", "Error of the predicted RTT, offline"]


def test_tail_names_another_start_rate(result: DemoResult) -> None:
    rows = tuple(row for row in result.tables.table6 if row.start_gbps == 100.0)
    tables = replace(result.tables, table6=rows)
    detail = wording.headlines(replace(result, tables=tables))[1].detail
    assert "TIMELY (which started at 100 Gb/s)" in detail
    assert "started" not in wording.headlines(result)[1].detail


def test_better_laws_compares_one_start_rate(result: DemoResult) -> None:
    def with_p99(name: str, start: float, p99: float) -> DemoResult:
        rows = tuple(
            replace(row, cells=row.cells | {"p99_us": replace(row.cells["p99_us"], mean=value)})
            for row in result.tables.table6
            for value in [
                p99
                if (row.algorithm, row.start_gbps) == (name, start)
                else 6.0 + (row.algorithm != "predpid")
            ]
        )
        return replace(result, tables=replace(result.tables, table6=rows))

    assert [name for name, _ in wording.better_laws(with_p99("hpcc", 10.0, 4.5))] == ["HPCC"]
    assert wording.better_laws(with_p99("hpcc", 100.0, 4.5)) == []
    assert wording.better_laws(with_p99("hpcc", 10.0, 6.1)) == []
