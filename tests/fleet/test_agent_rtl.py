"""An agent on gateware, Verilated: the windows that it keeps are those of an emulated card."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.integration.traced_cards import EMULATED, SIMULATED

from precog_fleet.telemetry import read_part
from precog_host.device import Device
from precog_host.transport import QueueTransport
from precog_models.image import pretrained

from .flock import PERIOD, Flock, spoiled
from .support import NOW

pytestmark = [pytest.mark.cosim, pytest.mark.xdist_group("traced")]


def kept(folder: Path, uri: str, seed: int) -> tuple[list[dict[str, Any]], Counter[str]]:
    """Rows of telemetry in the order of time and queue, and what the agent counts of its card."""
    device = Device.open(uri)
    card = device.transport
    assert isinstance(card, QueueTransport)
    assert device.profiler is not None
    # Time stands still while registers are accessed: RTL would take its first samples then.
    device.profiler.set_parameters(period_us=PERIOD / 1000)
    of = Flock(folder, 1, seed=seed, start=NOW, cards={"host0": card})
    agent = of.agents["host0"]
    of.run(5)
    of.roll_out(1, spoiled(version=7))  # its models are loaded, and stand in the shadow
    (seating,) = agent.seatings
    for _ in range(20):
        of.run(1, periods=4)
        if seating.lineup is not None and seating.lineup.shadow is not None:
            break
    else:
        raise AssertionError("the release must be loaded within 20 turns")
    of.run(2)
    agent.telemetry.flush(of.now)
    assert seating.counts["unlike"] == 0  # each forecast is the golden model's
    tallies = seating.card.tallies()
    agent.close(of.now)
    parts = (folder / "host0" / "telemetry").glob("*.parquet")
    rows = [row for part in parts for row in read_part(part).to_pylist()]
    return sorted(rows, key=lambda row: (row["qp"], row["signals"], row["later"])), tallies


def test_windows_are_those_of_an_emulated_card(tmp_path: Path, seed: int) -> None:
    rtl, counted = kept(tmp_path / "rtl", SIMULATED, seed)
    golden, wanted = kept(tmp_path / "golden", EMULATED, seed)
    assert rtl == golden
    assert counted == wanted
    assert counted["lost"] == 0
    assert counted["windows"] == len(rtl) > 60
    of_model = [row for row in rtl if row["model"]]
    assert {row["model"] for row in of_model} == {pretrained("queue-4rtt").crc32}
    assert len(of_model) > 0.8 * len(rtl)
