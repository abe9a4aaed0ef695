"""Flows at random and from files: as many as asked for, and of the right sizes."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from precog_net.workloads import Place, draw, merged, read_flows, workload
from precog_net.workloads.arrivals import Incasts, Poisson
from precog_net.workloads.sizes import SHIPPED, read_sizes, shipped_sizes

PLACE = Place(hosts=64, gbps=100.0, duration_ps=5 * 10**9)


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_sizes(name: str, seed: int) -> None:
    """Drawn sizes have the distribution's shares and mean, within five deviations."""
    sizes = shipped_sizes(name)
    count = 200_000
    drawn = sizes.draw(np.random.default_rng(seed), count)
    assert drawn.min() >= 1
    assert drawn.max() <= sizes.size[-1]
    below = np.searchsorted(np.sort(drawn), sizes.size, side="right") / count
    assert np.abs(below - sizes.share).max() < 5 * 0.5 / np.sqrt(count) + 1e-4
    assert drawn.mean() == pytest.approx(sizes.mean, abs=5 * drawn.std() / np.sqrt(count) + 1)


def test_the_load_is_what_was_asked_for(seed: int) -> None:
    sizes = shipped_sizes("hadoop")
    traffic = Poisson("hadoop", sizes, 0.3).draw(PLACE, np.random.default_rng(seed))
    offered = traffic.size.sum() / PLACE.capacity
    spread = traffic.size.std() + sizes.mean  # of sizes and of their number
    assert abs(offered - 0.3) < 5 * spread * np.sqrt(len(traffic)) / PLACE.capacity
    assert (traffic.src != traffic.dst).all()
    assert set(traffic.dst.tolist()) == set(traffic.src.tolist()) == set(range(PLACE.hosts))
    assert traffic.start_ps.min() >= 0
    assert traffic.start_ps.max() < PLACE.duration_ps


def test_incasts_go_from_many_to_one_at_once(seed: int) -> None:
    traffic = Incasts(20, 50_000, 0.1).draw(PLACE, np.random.default_rng(seed))
    assert len(traffic) % 20 == 0
    assert len(traffic)
    for first in range(0, len(traffic), 20):
        group = slice(first, first + 20)
        assert len(set(traffic.start_ps[group].tolist())) == 1
        (to,) = set(traffic.dst[group].tolist())
        senders = set(traffic.src[group].tolist())
        assert len(senders) == 20
        assert to not in senders


def test_parts_draw_apart(seed: int) -> None:
    """A part's flows do not depend on what stands after it; the seed decides all."""
    alone = draw(workload("rpc:0.05"), PLACE, seed)
    both = draw(workload("rpc:0.05+incast:8x20k:0.01"), PLACE, seed)
    kinds = np.array(both.kind)
    assert (np.diff(both.start_ps) >= 0).all()
    for name in ("start_ps", "src", "dst", "size"):
        assert getattr(both, name)[kinds == "rpc"].tolist() == getattr(alone, name).tolist()
    again = draw(workload("rpc:0.05"), PLACE, seed)
    assert again.size.tolist() == alone.size.tolist()
    other = draw(workload("rpc:0.05"), PLACE, seed + 1)
    assert other.size.tolist() != alone.size.tolist()


def test_flow_files(tmp_path: Path) -> None:
    path = tmp_path / "flows.csv"
    path.write_text("start_ns,src,dst,bytes,class\n5,0,1,1000,\n2,3,0,7,probe\n")
    traffic = read_flows(path, 4)
    assert traffic.start_ps.tolist() == [5000, 2000]
    assert traffic.kind == ("normal", "probe")
    assert [flow.start_ps for flow in merged([traffic]).flows()] == [2000, 5000]
    packed = tmp_path / "flows.csv.gz"
    packed.write_bytes(gzip.compress(b"start_ns,src,dst,bytes,incast\n5,0,1,1000,1\n6,1,0,1,0\n"))
    assert read_flows(packed, 4).kind == ("incast", "normal")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must have the columns start_ns, src, dst, bytes: no start_ns"),
        ("start_ns,src,dst\n", "must have the columns .*: no bytes"),
        ("start_ns,src,dst,bytes\n", "must have at least one flow, not none"),
        ("start_ns,src,dst,bytes\n1,2,3\n", "line 2: bytes must be a whole number from 0 on"),
        ("start_ns,src,dst,bytes\n1,0,9,5\n", r"line 2: dst must be a host in 0\.\.3, not 9"),
        ("start_ns,src,dst,bytes\n1,2,2,5\n", "line 2: dst must differ from src"),
        ("start_ns,src,dst,bytes\n1,0,1,0\n", "line 2: bytes must be at least 1, not 0"),
        ("start_ns,src,dst,bytes\n-1,0,1,5\n", "line 2: start_ns must be a whole number"),
        (f"start_ns,src,dst,bytes\n{'9' * 5000},0,1,5\n", "line 2: start_ns must be a whole"),
        ("start_ns,src,dst,bytes\n9999999999999999,0,1,5\n", "line 2: start_ns must be a whole"),
        ("start_ns,src,dst,bytes,bytes\n1,0,1,5,6\n", "must have each column once"),
        ("start_ns,src,dst,bytes\n1,0,1,5,6\n", "line 2: must have as many fields as there are"),
        (
            "start_ns,src,dst,bytes,class\n1,0,1,5,\x1b[31m\n",
            "line 2: class must be at most 64 pri",
        ),
        (f"start_ns,src,dst,bytes\n{'x' * 200_000},0,1,5\n", "line 1: must be CSV: field larger"),
        ("start\rns,src,dst,bytes\n1,0,1,5\n", "line 1: must be CSV: new-line character"),
    ],
)
def test_wrong_flow_files(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "flows.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_flows(path, 4)


def test_what_is_no_file_is_not_read() -> None:
    with pytest.raises(ValueError, match="file /dev/zero must be a regular file"):
        read_flows(Path("/dev/zero"), 4)


def test_a_file_that_only_calls_itself_gzip(tmp_path: Path) -> None:
    path = tmp_path / "flows.gz"
    path.write_bytes(b"start_ns,src,dst,bytes\n")
    with pytest.raises(ValueError, match="must be gzip"):
        read_flows(path, 4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 0\n10 99\n", "must begin at 0 percent and end at 100"),
        ("5 1\n10 100\n", "must begin at 0 percent and end at 100"),
        ("0 0\n10 50\n5 100\n", "line 3: sizes and percents must go upwards"),
        ("0 0\n10 101\n", r"line 2: must be 0\.\."),
        ("0 0\nten 100\n", "line 2: must be bytes and percent, not 'ten 100'"),
        ("0 0\nnan 100\n", r"line 2: must be 0\.\."),
    ],
)
def test_wrong_sizes(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "sizes.txt"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_sizes(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "web:0.3",
            "workload must be one of websearch, hadoop, .* or a file",
        ),
        ("websearch", "load must be above 0 and at most 1, not '' in 'websearch'"),
        ("websearch:nan", "load must be above 0"),
        ("websearch:1.5", "load must be above 0 and at most 1, not '1.5'"),
        ("incast:60:0.1", "incast must be incast:<senders>x<bytes>:<load>"),
        ("incast:0x5k:0.1", "incast degree must be a number above 0"),
        ("incast:5xbig:0.1", "incast size must be a number above 0 .* not 'big'"),
        ("incast:5x1000001G:0.1", "incast size must be at most 1000000G, not '1000001G'"),
        ("pipeline:8x999999999999G", "pipeline size must be at most 1000000G"),
        ("websearch:0.3+", "workload must be one of"),
    ],
)
def test_wrong_workloads(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        workload(text)


def test_workloads_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="incast degree must be below the 64 hosts, not 64"):
        draw(workload("incast:64x5k:0.1"), PLACE, 0)
    with pytest.raises(ValueError, match="workload rpc must make at most 5000000 flows"):
        draw(workload("rpc:1"), Place(10_000, 400.0, 10**12), 0)
    with pytest.raises(ValueError, match="workload must make at least one flow"):
        draw(workload("websearch:0.0001"), Place(2, 1.0, 10**6), 0)
