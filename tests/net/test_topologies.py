"""Topologies by name and from files."""

import json
from pathlib import Path
from typing import Any

import pytest

from precog_net.topologies import NAMES, leaf_spine, parking_lot, topology


@pytest.mark.parametrize(
    ("text", "hosts", "switches", "links", "longest"),
    [
        ("fat320", 320, 56, 480, 6),
        ("fattree:k=4", 16, 20, 48, 6),
        ("fattree:pods=5", 320, 56, 480, 6),
        ("fattree:pods=3,tors=2,aggs=2,cores=4,hosts=5", 30, 16, 54, 6),
        ("leafspine:leaves=3,spines=2,hosts=5", 15, 5, 21, 4),
        ("dumbbell:pairs=3", 6, 2, 7, 3),
        ("parkinglot:hops=4", 7, 5, 11, 6),
        ("star:hosts=9", 9, 1, 9, 2),
    ],
)
def test_sizes(text: str, hosts: int, switches: int, links: int, longest: int) -> None:
    made = topology(text)
    assert (made.hosts, made.switches, len(made.links)) == (hosts, switches, links)
    hops = made.routes.hops[: made.hosts]
    assert hops.max() == longest
    assert (hops >= 0).all()


def test_every_name_has_a_default() -> None:
    for name in NAMES:
        assert topology(name).hosts > 1


def test_a_fat_tree_has_as_many_ways_as_k_allows() -> None:
    """Between pods (k / 2)² shortest paths: k / 2 ways up at an edge, k / 2 at an aggregation."""
    made = topology("fattree:k=6")
    edge, other_pod = made.hosts, made.hosts - 1
    assert made.routes.count[edge, other_pod] == 3
    up = made.links[made.routes.ports[made.routes.start[edge, other_pod]] // 2]
    assert made.routes.count[max(up.a, up.b), other_pod] == 3


def test_a_fat_tree_by_numbers_has_a_rate_for_each_level() -> None:
    made = topology(
        "fattree:pods=2,tors=2,aggs=1,cores=3,hosts=2,gbps=25,fabric_gbps=50,core_gbps=40"
    )
    rates = [link.gbps for link in made.links]
    assert sorted(rates) == [25.0] * 8 + [40.0] * 6 + [50.0] * 4
    alike = topology("fattree:pods=2,tors=2,aggs=1,cores=3,hosts=2,fabric_gbps=50")
    assert {link.gbps for link in alike.links} == {100.0, 50.0}


def test_numbers_not_given_are_those_of_320_hosts() -> None:
    assert topology("fattree:pods=5").links == topology("fat320").links


def test_oversubscription_is_of_rates() -> None:
    made = leaf_spine(2, 4, 16, gbps=100.0, oversubscription=2.0)
    uplinks = [link for link in made.links if min(link.a, link.b) >= made.hosts]
    assert sum(link.gbps for link in uplinks) == 2 * 16 * 100.0 / 2.0


def test_one_flow_crosses_the_whole_parking_lot() -> None:
    made = parking_lot(3)
    chain = {(link.a, link.b) for link in made.links if link.a >= made.hosts}
    crossed = {(link.a, link.b) for link in made.path(made.hosts - 2, made.hosts - 1)}
    assert len(chain) == 3
    assert chain < crossed


GOOD = {
    "hosts": ["a", "b", "c"],
    "switches": ["s"],
    "links": [["a", "s", 100, 1.0], ["b", "s", 25, 0.5], ["s", "c", 100, 2]],
}


def changed(**parts: Any) -> str:
    return json.dumps({**GOOD, **parts})


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "lab.json"
    path.write_text(json.dumps(GOOD))
    made = topology(str(path))
    assert made.hosts == 3
    assert made.host_link(1).gbps == 25
    assert made.host_link(2).delay_ps == 2_000_000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "must be JSON"),
        ("[" * 100_000, "must be JSON"),
        ("[]", "must have the keys hosts, switches, links and no others"),
        (changed(hosts="abc"), "hosts must be a list of names, not 'abc'"),
        (changed(switches=["a"]), "names must be texts, each once, not 'a'"),
        (changed(hosts=[1]), "names must be texts, each once, not 1"),
        (changed(links={}), "links must be a list"),
        (changed(links=[["a", "s"]]), r"link must be \[end, end, Gb/s, µs\]"),
        (changed(links=[["a", "x", 1, 1]]), "link must end at a host or a switch, not at 'x'"),
        (changed(links=[["a", [], 1, 1]]), r"link must end at a host or a switch, not at \[\]"),
        (changed(links=[["a", "a", 1, 1]]), "link must have two ends, not 'a' twice"),
        (changed(links=[["a", "s", 0, 1]]), "rate above 0 Gb/s"),
        (changed(links=[["a", "s", 1, -1]]), "a delay from 0 µs on"),
        (changed(links=[["a", "s", True, 1]]), "must have numbers, not True"),
        (changed(links=[["a", "s", float("nan"), 1]]), "rate above 0 Gb/s"),
        (changed(links=GOOD["links"][:2]), "'c' must have a link, not none"),
        (changed(switches=["s", "t"]), "'t' must have a link, not none"),
        (changed(hosts=["a", "b"], switches=[], links=[["a", "b", 1, 1]]), "at least one switch"),
        (changed(links=[["a", "s", 10**4000, 1]]), "must have a rate above 0 Gb/s"),
        (changed(switches=[f"s{n}" for n in range(20_000)]), "at most 16384 nodes and 131072 li"),
        (
            changed(
                switches=["s", "t"], links=[["a", "s", 1, 1], ["b", "s", 1, 1], ["c", "t", 1, 1]]
            ),
            "hosts must be connected: there is no path from 0 to 2",
        ),
    ],
)
def test_wrong_files(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "lab.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        topology(str(path))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("torus", "topology must be one of fat320, .* or a file, not 'torus'"),
        ("fattree:k=5", "fattree k must be even and at least 2, not 5"),
        ("fattree:k=1000", r"topology must have 2\.\.4096 hosts"),
        ("fattree:k=4,pods=3", "fattree must have k or pods, not both"),
        ("fattree:pods=3,aggs=5", "cores must be a multiple of aggs = 5, not 16"),
        ("fattree:pods=100", r"topology must have 2\.\.4096 hosts, not 6400"),
        ("fattree:pods=9,cores=4096,aggs=4096", "fattree must have at most 131072 uplinks"),
        ("fattree:pods=3,core_gbps=0", "fattree core_gbps must be a number above 0, not '0'"),
        ("star:hosts=1", r"topology must have 2\.\.4096 hosts, not 1"),
        ("star:hosts=2.5", "hosts must be a whole number"),
        ("star:hosts=nan", "star hosts must be a number above 0, not 'nan'"),
        ("star:,", "star option must be one of hosts=, gbps=, delay_us=, not ''"),
        ("star:size=3", "star option must be one of hosts=, gbps=, delay_us=, not 'size=3'"),
        ("star:hosts=3,hosts=4", "star option hosts must be given once"),
    ],
)
def test_wrong_names(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        topology(text)
