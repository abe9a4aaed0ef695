"""Two NICs in RTL back to back under cocotb: other agents at the pins, the same ends and books."""

import json
import re
from dataclasses import asdict
from pathlib import Path

import pytest
from tests.cocotb_bench import LARGE, run_cocotb

from precog_hw.export import nic_verilog
from precog_sim.backtoback.rtl_node import CONFIG, TICK_PS, ways
from precog_sim.rtl.packet_nic import monitors

pytestmark = [pytest.mark.cosim, pytest.mark.xdist_group("packet_nic")]

_NIC = "precog_nic"
_STREAMS = ("s_axis_tx", "s_axis_rx", "m_axis_tx", "m_axis_rx")


def _pair(nic: str) -> str:
    """A top with two of them, ports of each with its own prefix; `seen`: a strobe or a transfer."""
    head = re.search(rf"^module {_NIC}\((.*?)\);(.*?)^endmodule", nic, re.M | re.S)
    assert head is not None
    declared = dict(
        (name, f"{direction} {size or ''}")
        for direction, size, name in re.findall(
            r"^  (input|output)(?: wire)? (\[\d+:0\] )?(\w+);", head[2], re.M
        )
    )
    ports, parts = [], []
    for side in "ab":
        ports += [f"  {kind} {side}_{name}" for name, kind in declared.items()]
        wires = ", ".join(f".{name}({side}_{name})" for name in declared)
        moves = [f"{side}_{name}_tvalid & {side}_{name}_tready" for name in _STREAMS]
        strobes = [f"{side}_{name}" for name in monitors(CONFIG)]
        ports.append(f"  output {side}_seen")
        parts.append(f"  {_NIC} {side} ({wires});\n")
        parts.append(f"  assign {side}_seen = {' | '.join([*moves, *strobes])};\n")
    listed = ",\n".join(ports)
    return f"module pair(\n{listed}\n);\n{''.join(parts)}endmodule\n"


def test_everything_is_accounted_for(
    tmp_path: Path, seed: int, volume: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if volume < 2:
        pytest.skip("with --volume: two NICs take minutes to compile")
    nic = nic_verilog(CONFIG, name=_NIC, tick_ps=TICK_PS)
    packets = 96 * volume
    wire, endpoint = ways(packets)
    asked = {
        "config": asdict(CONFIG),
        "tick_ps": TICK_PS,
        "seed": seed,
        "packets": packets,
        "wire": asdict(wire),
        "endpoint": asdict(endpoint),
        "monitors": monitors(CONFIG),
    }
    run_cocotb(
        monkeypatch,
        tmp_path,
        nic + _pair(nic),
        top="pair",
        module="tests.integration.cocotb_back_to_back",
        seed=seed,
        env={"PRECOG_BACK_TO_BACK": json.dumps(asked)},
        make_flags=LARGE,
        build_args=["--no-assert"],
    )
