"""Verilog of the NIC with stable port names.

=============================== ======================================================
``clk``, ``rst``                clock; synchronous reset, active high
``s_axil_*``                    AXI4-Lite slave: registers
``s_sample_tdata/tvalid/...``   AXI4-Stream slave: samples, `contract.SAMPLE_FIELDS`
``m_decision_tdata/...``        AXI4-Stream master: decisions, `contract.DECISION_FIELDS`
=============================== ======================================================

The first field of a structure stands in the lowest bits of ``tdata``.
"""

from functools import lru_cache
from pathlib import Path

from amaranth.back import verilog
from amaranth.hdl import Value
from amaranth.hdl._ir import PortDirection  # public only in Amaranth 0.6
from amaranth.lib import wiring

from precog_hw.config import NicConfig
from precog_hw.nic import PrecogNic, nic_map
from precog_hw.stream.axis import AxisPorts

__all__ = ["block_verilog", "export", "nic_verilog", "port_map"]

_STREAMS = {"i_sample": "s_sample", "o_decision": "m_decision"}
_MEMBERS = {"payload": "tdata", "valid": "tvalid", "ready": "tready"}


def port_map(component: wiring.Component) -> dict[str, tuple[Value, PortDirection]]:
    """Exported name: (signal, direction) of every port of a component with the NIC's interfaces."""
    ports = {}
    for path, member, value in component.signature.flatten(component):
        names = [str(part) for part in path]
        if names[0] in _STREAMS:
            names = [_STREAMS[names[0]], _MEMBERS[names[1]]]
        inward = member.flow is wiring.In
        direction = PortDirection.Input if inward else PortDirection.Output
        ports["_".join(names)] = (Value.cast(value), direction)
    return ports


@lru_cache(maxsize=8)
def nic_verilog(config: NicConfig, *, name: str = "precog_nic", tick_ps: int = 1000) -> str:
    """Verilog text of the NIC; elaborating takes seconds, so a process does it once.

    Parameters
    ----------
    config : NicConfig
    name : str
        Name of the top module.
    tick_ps : int
        Length of a tick in picoseconds.

    Raises
    ------
    ValueError
        `tick_ps` does not fit its register.
    """
    nic_map(config, tick_ps=tick_ps)  # a component that refuses its arguments would warn instead
    nic = PrecogNic(config, tick_ps=tick_ps)
    text: str = verilog.convert(
        nic, name=name, ports=port_map(nic), emit_src=False, strip_internal_attrs=True
    )
    return text


def block_verilog(block: wiring.Component, *, name: str) -> str:
    """Verilog text of one block, its packet streams as AXI-Stream ports (`AxisPorts`)."""
    ports = AxisPorts(block)
    text: str = verilog.convert(
        ports, name=name, ports=port_map(ports), emit_src=False, strip_internal_attrs=True
    )
    return text


def export(config: NicConfig, path: Path, *, name: str = "precog_nic", tick_ps: int = 1000) -> Path:
    """Write the Verilog of the NIC to `path`; returns it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(nic_verilog(config, name=name, tick_ps=tick_ps))
    return path
