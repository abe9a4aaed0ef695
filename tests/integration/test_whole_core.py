"""The core of a NIC with packets, as its Verilog is written, under laws and parameters at random.

Frames bring a NIC few of them: here samples and events come at the pins. `make coverage` counts the
lines that this runs as those of the NICs with packets, whose core has the same text.
"""

import dataclasses
import os

import pytest

from precog_hw.export import block_verilog
from precog_hw.nic import PrecogNic
from precog_sim.rtl.build import TOP, verilog_library
from precog_sim.rtl.exactness import Campaign
from precog_sim.rtl.library import NicLibrary
from precog_sim.rtl.verilate import COVERAGE

from .packet_bench import CONFIG as WITH_PACKETS

CONFIG = dataclasses.replace(
    WITH_PACKETS, width=0, receiver=False, trace=False, profile=False, forecast=False, grants=False
)
pytestmark = pytest.mark.cosim


def test_rtl_equals_golden(seed: int, volume: int) -> None:
    """50 changes of models, parameters and laws for each volume."""
    if volume < 2 and not os.environ.get(COVERAGE):
        pytest.skip("the library takes a minute to build: with --volume 2, or in make coverage")
    text = block_verilog(PrecogNic(CONFIG), name=TOP)
    library = verilog_library(text, label="core as linted", plain=True)
    campaign = Campaign(CONFIG, seed, nic=NicLibrary(library))
    try:
        for _ in range(50 * volume):
            campaign.batch(400)
    finally:
        campaign.close()
    result = campaign.result
    assert result.mismatches == 0, result.first
    assert result.events > 1000
    assert result.predictions > 1000
