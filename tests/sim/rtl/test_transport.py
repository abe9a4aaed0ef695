"""``sim:`` URIs, and register access through the stand-in."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from precog_host.transport import BusError, DeviceError, SampleTransport
from precog_sim.rtl.library import NicLibrary
from precog_sim.rtl.transport import RtlTransport, parse_config
from precog_spec.config import PRESETS


def test_a_uri_names_a_preset_or_sizes() -> None:
    assert parse_config("") == PRESETS["lanes64"]
    assert parse_config("tiny") == PRESETS["tiny"]
    config = parse_config("lanes16,qps=128,sets=4")
    assert (config.lanes, config.qps, config.sets) == (16, 128, 4)
    config = parse_config("lanes=4,columns=1")  # the first alone could not be built
    assert (config.lanes, config.columns) == (4, 1)


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_has_no_vendor_s_block(name: str) -> None:
    assert parse_config(name) == replace(PRESETS[name], dsp="generic")


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("lanes17", "simulator argument 'lanes17' must be one of tiny, .*qps=<number>"),
        ("tiny,,", "simulator argument '' must be one of tiny, "),
        ("dsp=ecp5", "simulator argument 'dsp=ecp5' must be one of"),
        ("qps=many", "simulator argument 'qps=many' must be qps=<number>"),
        ("qps=\u0664", "simulator argument 'qps=\u0664' must be qps=<number>"),
        ("qps", "simulator argument 'qps' must be qps=<number>"),
        ("qps=3", "qps must be a power of two in 1..65536, not 3"),
    ],
)
def test_a_bad_uri_is_refused(argument: str, message: str) -> None:
    with pytest.raises(DeviceError, match=message):
        parse_config(argument)


@pytest.mark.cosim
def test_registers_and_samples_go_through(standin: Callable[..., NicLibrary]) -> None:
    transport = RtlTransport(standin())
    assert isinstance(transport, SampleTransport)
    transport.write32(4, 0x89AB_CDEF)
    assert transport.read32(4) == 0x89AB_CDEF
    with pytest.raises(BusError, match=r"read of register 0x0040 answered SLVERR"):
        transport.read32(64)
    with pytest.raises(BusError, match=r"write of register 0x0040 answered SLVERR"):
        transport.write32(64, 0)
    with pytest.raises(ValueError, match="a register's value must have 32 bits"):
        transport.write32(4, -1)
    assert transport.decide(np.array([[3, 9, 1]]))[0, :2].tolist() == [3, 10]
    transport.write32(12, 1)  # the stand-in goes mute
    assert len(transport.decide(np.array([[3, 9, 1]]))) == 0
    transport.close()
