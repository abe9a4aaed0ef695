"""What a run says of itself: equations of its counters, a page, moving pictures, a served card."""

import json
import re
import threading
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from precog_host.device import Device
from precog_host.serve import EtherboneServer
from precog_lab.ledger import explained
from precog_lab.page import write_page
from precog_lab.passing import Seen
from precog_lab.recording import moving
from precog_lab.run import Outcome, totals
from precog_lab.series import Series
from precog_lab.settings import Settings

from .bench import Bench
from .fake_guest import frame

_SEEN = Seen(
    frames=103,
    roce=100,
    shims=103,
    lost_data=6,
    lost_cnps=1,
    lost_shims=7,
    strange_shims=2,
    marked_data=9,
    marked_answers=3,
    unbound=2,
    identical=97,
)
_FIGURES: dict[str, Any] = {
    "lost": 7,
    "cnps": 5,
    "cnps_limited": 3,
    "cnps_busy": 1,
    "cnps_unknown": 0,
    "icrc_ok": 98,
    "icrc_bad": 0,
    "marked": 12,
    "scores_heard": 80,
    "scores_merged": 4,
    "scores_refused": 10,
    "pairs_added": 4,
    "pairs_released": 4,
}
_GUESTS = [{"sent_pkts": 60, "rcvd_pkts": 40}, {"sent_pkts": 40, "rcvd_pkts": 54}]


def test_counters_explain_each_other() -> None:
    books = explained(_FIGURES, _SEEN, _GUESTS, 0)
    assert {name for name, row in books.items() if not row["equal"]} == set()
    assert len(books) == 10


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("lost", {"lost"}),
        ("icrc_ok", {"icrc_ok"}),
        ("icrc_bad", {"icrc_ok"}),
        ("marked", {"marked"}),
        ("cnps_busy", {"marked_data"}),
        ("scores_refused", {"scores_heard"}),
        ("pairs_released", {"pairs_added"}),
        ("cnps", {"shims", "icrc_ok", "marked_data"}),
    ],
)
def test_a_counter_that_is_off_by_one_is_named(name: str, broken: set[str]) -> None:
    figures = {**_FIGURES, name: _FIGURES[name] + 1}
    books = explained(figures, _SEEN, _GUESTS, 0)
    assert {row for row in books if not books[row]["equal"]} == broken


def test_what_the_kernels_count_is_compared() -> None:
    guests = [{**_GUESTS[0], "sent_pkts": 61}, {**_GUESTS[1], "rcvd_pkts": 53}]
    books = explained(_FIGURES, _SEEN, guests, 0)
    assert not books["sent_pkts"]["equal"]
    assert not books["rcvd_pkts"]["equal"]
    assert not explained(_FIGURES, _SEEN, _GUESTS, 1)["frames"]["equal"]


@pytest.mark.parametrize(
    "bench", [Settings(loss=0.2, ce=0.3, reorder=0.1, delay_us=1.0)], indirect=True
)
def test_the_books_of_frames_on_a_bad_wire(bench: Bench) -> None:
    bench.connect(1, 17, 33)
    bench.run(*((1, frame(1, 0, 33, psn)) for psn in range(200)))
    bench.lab.until(lambda: not bench.lab._due, 20, "CNPs")
    for guest in bench.guests:
        guest.pairs_now.clear()
    bench.lab.drained(20)
    seen = bench.lab.seen
    figures = totals(bench.lab)
    kernels = [{"sent_pkts": seen.roce, "rcvd_pkts": seen.roce - seen.lost_data}]
    books = explained(figures, seen, kernels, len(bench.lab.differences))
    assert {name: row for name, row in books.items() if not row["equal"]} == {}
    assert seen.lost_data > 20
    assert figures["cnps"] > 0


def test_a_card_can_be_watched_between_frames(bench: Bench) -> None:
    bench.connect(1, 17, 33)
    bench.run((1, frame(1, 0, 33, 0)))
    server = EtherboneServer(bench.cards[1].device.transport)
    bench.lab.serve(server)
    found: list[int] = []

    def look() -> None:
        with Device.open(f"udp:127.0.0.1:{server.port}") as device:
            assert device.packet is not None
            found.extend(one.slot for one in device.packet.bindings())

    client = threading.Thread(target=look)
    client.start()
    bench.lab.until(lambda: not client.is_alive(), 60, "client", silence_s=60)
    server.close()
    assert found == [0]


def test_a_page_of_a_run(tmp_path: Path) -> None:
    figures = {
        **_FIGURES,
        **{name: getattr(_SEEN, name) for name in ("frames", "identical", "shims", "roce")},
        **{"rtts": 4, "decisions": 5, "rate_min_gbps": 0.25, "differences": 1},
        **{"kernel": "6.1", "accel": "tcg", "cards": "golden", "workloads": {}},
        "explained": explained(_FIGURES, _SEEN, _GUESTS, 0),
    }
    series = Series([1.0, 2.0], [0, 5000], [0.0, 0.5])
    page = write_page(tmp_path / "out", Outcome(figures, ["frame <x> differs"]), series)
    text = page.read_text()
    assert "97 of 103 frames" in re.sub(r"\s+", " ", text)
    assert "frame &lt;x&gt; differs" in text
    assert text.count("<tr><th") == 11
    data = json.loads((tmp_path / "out" / "lab.json").read_text())
    assert data["series"]["queue_bytes"] == [0, 5000]
    assert data["explained"]["lost"]["equal"]


def test_pictures_that_move() -> None:
    one = '<svg viewBox="0 0 20 10" xmlns="http://www.w3.org/2000/svg"><rect/></svg>'
    root = ET.fromstring(moving([one, one, one], 0.5))
    assert root.attrib["viewBox"] == "0 0 20 10"
    groups = list(root)
    assert [group.attrib["display"] for group in groups] == ["inline", "none", "none"]
    assert [group[1].attrib["values"] for group in groups] == [
        "inline;none;none",
        "none;inline;none",
        "none;none;inline",
    ]
    assert {group[1].attrib["dur"] for group in groups} == {"1.5s"}
    with pytest.raises(ValueError, match="pictures must be one or more, not none"):
        moving([], 1)
    with pytest.raises(ValueError, match="picture must have a viewBox"):
        moving(["<svg/>"], 1)
