"""The published figures and the verdict on ours."""

import pytest

from precog_sim.report import ns3, thesis
from precog_sim.report.data import Cell


def test_figures_are_consistent_with_what_the_thesis_says_of_them() -> None:
    # Below figure 19: mean RTT +1.38 %, throughput +43.12 %; the two falls it states, 18.9 and
    # 16.12 %, are relative to the new value.
    old, new = thesis.FIGURE19["pid"], thesis.FIGURE19["predpid"]
    assert round(100 * (new["mean_rtt_us"] / old["mean_rtt_us"] - 1), 2) == 1.38
    assert round(100 * (new["mean_rate_gbps"] / old["mean_rate_gbps"] - 1), 2) == 43.12
    assert round(100 * (old["p99_us"] / new["p99_us"] - 1), 1) == 18.9
    assert round(100 * (old["max_us"] / new["max_us"] - 1), 2) == 16.12
    # Equations (30) and (32): mean rate times mean FCT is the mean flow size, 31.75 MB.
    for target, cells in thesis.TABLE5.items():
        size_mb = thesis.TABLE4[target]["mean_rate_gbps"] * cells["mean_fct_ms"] / 8
        assert size_mb == pytest.approx(31.75, rel=1e-4)
    assert len(thesis.TABLE1) == 19
    assert thesis.TABLE1[-1] == (3.5, 3.6)


def test_rows_carry_the_figure_of_their_table() -> None:
    stat = (5.0, 0.1, 20)
    row = thesis.row("table4", "predpid", {"p99_us": stat}, target_us=6.0)
    assert row.cells["p99_us"] == Cell(5.0, 0.1, 20, "µs", thesis=10.253)
    row = thesis.row("table5", "predpid", {"last_fct_ms": stat}, target_us=7.0)
    assert row.cells["last_fct_ms"].thesis == 53.5559
    row = thesis.row("table6", "dctcp", {"p99_us": stat, "all_p99_us": stat, "jain": stat})
    assert row.cells["p99_us"].thesis == row.cells["all_p99_us"].thesis == 28.054
    assert row.cells["jain"].thesis is None
    assert thesis.row("table6", "dcqcn", {"p99_us": stat}).cells["p99_us"].thesis is None
    row = thesis.row("figure19", "pid", {"max_us": stat}, target_us=5.0)
    assert row.cells["max_us"].thesis == 24.552


def test_unknown_names_are_refused() -> None:
    stat = {"p99_us": (1.0, None, 1)}
    with pytest.raises(ValueError, match=r"table must be table4, .* not 'table2'"):
        thesis.row("table2", "pid", stat)
    with pytest.raises(ValueError, match=r"algorithm must be one of predpid, .* not 'bbr'"):
        thesis.row("table6", "bbr", stat)
    with pytest.raises(ValueError, match=r"metric must be one of mean_rtt_us, .* not 'p50'"):
        thesis.row("table6", "pid", {"p50": (1.0, None, 1)})
    with pytest.raises(ValueError, match=r"algorithm must be one of hpcc, .* not 'pid'"):
        ns3.row("pid", stat, start="sync")
    with pytest.raises(ValueError, match="start must be 'jitter' or 'sync', not 'late'"):
        ns3.row("hpcc", stat, start="late")
    with pytest.raises(ValueError, match=r"metric must be one of mean_rtt_us, .* not 'p50'"):
        ns3.row("hpcc", {"p50": (1.0, None, 1)}, start="sync")


def test_table_1_beside_ours() -> None:
    table = thesis.epochs((9.0,) * 20, (8.0,) * 20)
    assert (table[0].thesis_train, table[0].thesis_test) == (11.3, 8.1)
    assert (table[19].thesis_train, table[19].thesis_test) == (None, None)
    assert [row.epoch for row in table] == list(range(1, 21))
    with pytest.raises(ValueError, match="test must have 2 epochs, not 1"):
        thesis.epochs((1.0, 2.0), (1.0,))


@pytest.mark.parametrize(
    ("cell", "verdict"),
    [
        (Cell(102.9, None, 1, "", thesis=100.0), True),
        (Cell(103.1, None, 1, "", thesis=100.0), False),
        (Cell(103.1, 3.0, 9, "", thesis=100.0), False),
        (Cell(110.0, 11.0, 9, "", thesis=100.0), True),
        (Cell(96.9, None, 1, "", thesis=100.0), False),
        (Cell(5.0, None, 1, "", low=4.0, high=5.0), True),
        (Cell(5.01, 9.0, 9, "", low=4.0, high=5.0), False),
        (Cell(5.0, 1.0, 9, ""), None),
    ],
)
def test_verdicts(cell: Cell, verdict: bool | None) -> None:
    assert thesis.agrees(cell) is verdict


def test_ns3_ranges_reach_half_a_printed_digit_further() -> None:
    cell = ns3.row("dctcp", {"last_fct_ms": (52.709, 0.0, 20)}, start="jitter").cells["last_fct_ms"]
    assert (cell.low, cell.high) == pytest.approx((52.705, 52.715))
    assert thesis.agrees(cell)
    cell = ns3.row("hpcc", {"max_us": (90.48, None, 1)}, start="sync").cells["max_us"]
    assert (cell.low, cell.high) == pytest.approx((90.48 * 0.99, 90.48 * 1.01))
    row = ns3.row("hpcc", {"all_p99_us": (4.5, None, 1), "jain": (1.0, None, 1)}, start="jitter")
    assert all(cell.low is None for cell in row.cells.values())
    assert (row.timing, row.start_gbps) == ("ns3", 100.0)
