"""New flows that start at the rate their fleet tells of."""

import json
from pathlib import Path

import pytest

from precog_studies.sharing.__main__ import compare, main
from precog_studies.sharing.cases import CASES, LAWS, LINE_GBPS, measure, reports

BY_NAME = {case.name: case for case in CASES}


@pytest.mark.parametrize("law", LAWS)
def test_reporters_of_a_hot_destination_share_its_link(law: str) -> None:
    voices = reports(BY_NAME["hot"], LAWS[law](), LINE_GBPS, 0)
    total = sum(voice.statistics.rate for voice in voices) / 1e6
    assert len(voices) == 8
    assert 0.05 * LINE_GBPS < total < 1.6 * LINE_GBPS  # PID has not yet come back from its floor
    assert all(voice.statistics.mean > 4_000 for voice in voices)


def test_liars_cannot_move_a_start_beyond_what_honest_ones_say() -> None:
    honest = reports(BY_NAME["hot"], LAWS["pid"](), 10.0, 1)
    rates = [voice.statistics.rate / 1e6 for voice in honest]
    for name in ("slow_liars", "fast_liars"):
        lied = reports(BY_NAME[name], LAWS["pid"](), 10.0, 1)
        assert sum(a != b for a, b in zip(honest, lied, strict=True)) == 3
        start = measure(BY_NAME[name], "pid", 10.0, 1, told=True).start_gbps
        assert max(min(rates) * 8 / 9, LINE_GBPS / 16) - 1e-3 <= start <= max(rates)


def test_the_same_flows_with_and_without() -> None:
    found = compare(BY_NAME["vanished"], "timely", "line", [0, 1])
    assert "others_ms" not in found
    start, peak = found["start_gbps"], found["peak_us"]
    assert start["without"] == LINE_GBPS
    assert start["with"] < LINE_GBPS / 4
    assert peak["change"]["mean"] == pytest.approx(peak["with"] - peak["without"])
    pairs = [measure(BY_NAME["vanished"], "timely", LINE_GBPS, 0, told=False) for _ in range(2)]
    assert pairs[0].slowdown == pairs[1].slowdown


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("precog_studies.sharing.__main__.CASES", (BY_NAME["idle"],))
    page = tmp_path / "page.md"
    assert main(["--seeds", "2", "--out", str(tmp_path), "--page", str(page)]) == 0
    said = json.loads((tmp_path / "sharing.json").read_text())
    assert len(said["rows"]) == 6
    assert said["commit"]
    text = page.read_text()
    assert text.count("| timely |") == 2
    with pytest.raises(SystemExit):
        main(["--seeds", "1", "--out", str(tmp_path)])
