"""A small campaign of bit flips in the running RTL, and that it would notice what it looks for."""

from collections.abc import Iterator

import pytest

from precog_sim.faults.campaign import Faults
from precog_sim.rtl.library import RtlNic
from precog_spec.config import PRESETS

pytestmark = [pytest.mark.cosim, pytest.mark.xdist_group("tiny")]

CONFIG = PRESETS["tiny"]


@pytest.fixture
def nic() -> Iterator[RtlNic]:
    with RtlNic(CONFIG, quiet=True) as opened:
        yield opened


def test_flips_in_weights_and_state(nic: RtlNic, seed: int, volume: int) -> None:
    faults = Faults(nic, CONFIG, seed)
    for _ in range(3 * volume):
        faults.single(192)
        for _ in range(4):
            faults.state(24)
        faults.double()
    assert faults.found.holds, faults.found
    assert sum(faults.found.flips.values()) == 3 * volume * (192 + 4 * 24 + 4)


def test_a_scrubber_that_stands_is_noticed(nic: RtlNic, seed: int) -> None:
    faults = Faults(nic, CONFIG, seed)
    faults.device.registers.write_fields("ECC", "CONTROL", enable=0)
    with pytest.raises(RuntimeError, match="the scrubber must walk on"):
        faults.single(3)


def test_faults_that_nothing_repairs_are_noticed(nic: RtlNic, seed: int) -> None:
    """A double error in a set that is not valid: nobody looks there, and it stays."""
    faults = Faults(nic, CONFIG, seed)
    faults.device.model.map_slot(0, 0, enable=False)
    faults.device.registers.write_fields("MODEL", "SET", set=0)
    faults.device.registers.write_fields("MODEL", "COMMAND", begin=1)
    faults.single(2 * 277)  # so that some are in that set
    assert not faults.found.holds
    assert faults.found.not_corrected
