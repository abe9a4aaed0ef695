"""The page of stages is what the simulated core does, and its sum what the core promises."""

import gc
import warnings
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from amaranth.hdl import UnusedElaboratable

from precog_hw.core import Core
from precog_sim.synth import latency
from precog_sim.synth.blocks import LANES, core_config
from precog_sim.synth.stages import STAGES

PAGE = Path(__file__).parents[3] / "docs" / "evidence" / "latency.md"


def _shown(lanes: int) -> list[int]:
    """The cycle of each stage in the page."""
    lines = [line.strip("| ").split(" | ") for line in PAGE.read_text().splitlines() if "|" in line]
    column = lines[0].index(f"{lanes} lanes")
    return [int(cells[column].split()[0]) for cells in lines[2:]]


@pytest.mark.parametrize("lanes", LANES)
def test_the_page_has_what_is_simulated(lanes: int, volume: int) -> None:
    if volume == 1 and lanes != 64:
        pytest.skip("simulating a core takes seconds: with --volume")
    found = latency.measured(lanes)
    assert all(before < after for before, after in pairwise([0, *found]))
    config = replace(core_config(lanes, ecc=False, dsp="generic"), qps=4, sets=2)
    with warnings.catch_warnings():
        # Elaborating takes seconds and changes no number.
        warnings.simplefilter("ignore", UnusedElaboratable)
        assert found[-1] == Core(config).prediction_latency
        gc.collect()
    assert found == _shown(lanes)


def test_the_page_is_as_it_was_written() -> None:
    assert PAGE.read_text() == latency.page({lanes: _shown(lanes) for lanes in LANES})


def test_the_command_writes_a_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        latency, "measured", lambda lanes: [lanes * (n + 1) for n in range(len(STAGES))]
    )
    written = tmp_path / "page.md"
    assert latency.main(["--page", str(written)]) == 0
    assert f"| {STAGES[1]} | 32 (16) | 128 (64) | 256 (128) |" in written.read_text()
    assert capsys.readouterr().out == ""
    assert latency.main([]) == 0
    assert capsys.readouterr().out == written.read_text()
