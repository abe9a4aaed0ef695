"""The pictures: themed, self-contained, one line a flow."""

import re

import numpy as np
import pytest

from precog_sim.report.data import DemoResult
from precog_sim.report.figures import Picture
from precog_sim.report.figures.agreement import comparisons, nearest
from precog_sim.report.figures.network import binned, elephants
from precog_sim.report.figures.paired import bars, drained_us
from precog_sim.report.figures.spark import HEIGHT_PX, WIDTH_PX, spark
from precog_sim.report.figures.style import COLOURS
from precog_sim.report.series import Side

# One worker draws the pictures, once.
pytestmark = pytest.mark.xdist_group("report")


def test_colours_are_the_pages(pictures: dict[str, Picture]) -> None:
    for picture in pictures.values():
        for svg in (picture.wide, picture.narrow):
            left = set(re.findall(r"#[0-9a-f]{6}\b", svg)) - {"#ffffff"}
            assert not left, (picture.name, left)
            assert set(re.findall(r"var\(--c-(\w+)\)", svg)) <= set(COLOURS)
            assert "DejaVu" not in svg


def test_elements_are_self_contained(pictures: dict[str, Picture]) -> None:
    seen: set[str] = set()
    for picture in pictures.values():
        for svg in (picture.wide, picture.narrow):
            assert svg.startswith("<svg viewBox=")
            assert "<style" not in svg
            assert "http" not in svg
            ids = re.findall(r'id="([^"]+)"', svg)
            assert len(ids) == len(set(ids))
            assert not seen & set(ids)
            seen |= set(ids)
            for used in re.findall(r'(?:url\(|href=")#([^")]+)', svg):
                assert used in ids


def test_every_flow_has_its_lines(pictures: dict[str, Picture], result: DemoResult) -> None:
    for name, lines in (("start", 2), ("run", 4)):  # RTT twice; RTT and rate twice
        for svg in (pictures[name].wide, pictures[name].narrow):
            for flow in range(result.scenario.senders):
                assert len(re.findall(rf'class="flow-{flow}"', svg)) == lines, (name, flow)


def test_text_is_not_rounded_with_the_coordinates(pictures: dict[str, Picture]) -> None:
    labels = re.findall(r">([\d.]+)</text>", pictures["cdf"].wide)
    assert {"0.1", "0.01", "100"} <= set(labels)


def test_binned_means(seed: int) -> None:
    rng = np.random.default_rng(seed)
    t = rng.uniform(0, 10, 500).astype(np.float32)
    value = rng.normal(size=500).astype(np.float32)
    edges = np.array([0.0, 1.0, 4.0, 10.0, 11.0])
    centres, means = binned(t, value, edges)
    assert list(centres) == [0.5, 2.5, 7.0]  # nothing in the last bin
    for low, high, mean in ((0, 1, means[0]), (1, 4, means[1]), (4, 10, means[2])):
        assert mean == pytest.approx(value[(t >= low) & (t < high)].mean(dtype=np.float64))


def test_elephants_are_the_large_flows(result: DemoResult) -> None:
    assert elephants(result) == [0, 1, 2]


def test_spark_stays_in_its_box() -> None:
    t = np.array([0.0, 50.0, 99.9], np.float32)
    value = np.array([1.0, 10.0, 1e6], np.float32)
    path = spark(t, value, end=100.0, low=1.0, high=100.0, log=True)
    points = [tuple(map(float, pair.split(","))) for pair in path.removeprefix("M").split()]
    assert len(points) == 3
    assert all(0 <= x <= WIDTH_PX and 0 <= y <= HEIGHT_PX for x, y in points)
    assert [y for _, y in points] == [HEIGHT_PX - 2, HEIGHT_PX / 2, 2]
    assert spark(t[:0], value[:0], end=1.0, low=0.0, high=1.0) == ""


def test_every_published_figure_is_compared_once(result: DemoResult) -> None:
    found = comparisons(result.tables)
    # Tables 4 and 5: 3 targets of 6; figure 19's PID: 4; table 6 without its first column: 3 of 4.
    assert len(found) == 18 + 4 + 12
    assert len({(item.label, item.metric) for item in found}) == len(found)


def test_table_6_takes_the_nearest_definition(result: DemoResult) -> None:
    rows = [row for row in result.tables.table6 if row.algorithm == "timely"]
    best = nearest(rows, "p99_us")
    assert best is not None
    assert best.thesis is not None
    cells = [row.cells[name] for row in rows for name in ("p99_us", "all_p99_us")]
    assert abs(best.mean - best.thesis) == min(abs(c.mean - best.thesis) for c in cells)
    assert nearest(rows, "jain") is None


def test_an_rtt_is_a_bar_from_sending_to_arrival() -> None:
    time, rtt = np.array([10, 30, 90], np.float32), np.array([4, 20, 50], np.float32)
    side = Side(time, rtt, time, np.array([5.0, 0.5, 0.01], np.float32))
    x, y = bars(side, 90.0)
    nan = np.nan
    np.testing.assert_array_equal(x, [6, 10, nan, 10, 30, nan])
    np.testing.assert_array_equal(y, [4, 4, nan, 20, 20, nan])
    assert drained_us(side, 5.0) == 30.0
    assert drained_us(side, 50.0) == 10.0
    with pytest.raises(ValueError, match=r"queue_mb must exceed 50\.0 MB somewhere"):
        drained_us(side, 1000.0)
