"""The exported Verilog's ports: names, widths and directions are a contract."""

import re

import pytest

from precog_hw.config import PRESETS
from precog_hw.export import nic_verilog
from precog_models.contract import DECISION_FIELDS, SAMPLE_FIELDS

STREAM = {"s_sample": ("input", SAMPLE_FIELDS), "m_decision": ("output", DECISION_FIELDS)}
OTHER = {"input": "output", "output": "input"}


@pytest.mark.xdist_group("tiny")
def test_ports() -> None:
    text = nic_verilog(PRESETS["tiny"])
    body = text[text.index("module precog_nic(") :]
    body = body[: body.index("endmodule")]
    found = {
        name: (direction, int(high or 0) + 1)
        for direction, high, name in re.findall(
            r"^  (input|output) (?:\[(\d+):0\] )?(\w+);", body, re.M
        )
    }
    expected = {"clk": ("input", 1), "rst": ("input", 1)}
    for prefix, (direction, fields) in STREAM.items():
        expected[f"{prefix}_tdata"] = (direction, sum(bits for _, bits in fields))
        expected[f"{prefix}_tvalid"] = (direction, 1)
        expected[f"{prefix}_tready"] = (OTHER[direction], 1)
    for channel, payload, direction in (
        ("aw", {"addr": 16, "prot": 3}, "input"),
        ("w", {"data": 32, "strb": 4}, "input"),
        ("b", {"resp": 2}, "output"),
        ("ar", {"addr": 16, "prot": 3}, "input"),
        ("r", {"data": 32, "resp": 2}, "output"),
    ):
        for name, bits in (payload | {"valid": 1}).items():
            expected[f"s_axil_{channel}{name}"] = (direction, bits)
        expected[f"s_axil_{channel}ready"] = (OTHER[direction], 1)
    assert found == expected


def test_a_bad_tick_is_refused() -> None:
    with pytest.raises(ValueError, match=r"tick_ps must be in 1\.\.16777215, not 0"):
        nic_verilog(PRESETS["tiny"], tick_ps=0)
