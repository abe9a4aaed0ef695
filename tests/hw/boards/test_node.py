"""The node takes what its NIC tells, so that nothing in the NIC waits for it."""

from dataclasses import replace
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.sim import Simulator

from precog_hw.boards.node import Node
from precog_hw.nic import PrecogNic
from precog_spec.config import PRESETS

#: A board's preset with forecasts, which a `micro` core excludes.
WHOLE = replace(
    PRESETS["ecp5-45"],
    laws=True,
    micro=False,
    profile=True,
    forecast=True,
    receiver=True,
)


def test_forecasts_and_decisions_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wire mode has requests, grants and quotas inside: no other stream leaves such a NIC."""
    monkeypatch.setattr(PrecogNic, "elaborate", lambda self, platform: Module())
    node = Node(WHOLE, ports=1, core_hz=62_500_000)
    streams = {name for name in node.nic.signature.members if name.startswith("o_")}
    assert streams == {"o_tx", "o_rx", "o_decision", "o_forecast"}

    simulator, taken = Simulator(node), list[int]()

    async def look(context: Any) -> None:
        taken.append(context.get(node.nic.o_decision.ready))
        taken.append(context.get(node.nic.o_forecast.ready))

    simulator.add_testbench(look)
    simulator.run()
    assert taken == [1, 1]
