"""The written files as tools read them, and the parameters that they refuse."""

import dataclasses
import re
import subprocess
from pathlib import Path

import pytest

from precog_hw.corundum.control import AppControl
from precog_hw.corundum.export import app_core, app_files, check
from precog_hw.corundum.interface import APP_ID
from precog_hw.corundum.wrapper import MISSING, app_block
from precog_hw.export import block_verilog
from precog_hw.nic import nic_map
from precog_sim.rtl.verilate import verilator_environment
from precog_spec.config import PRESETS

from ...integration.corundum_bench import stub

TINY = PRESETS["tiny"]
SMALL = {"AXIS_DATA_WIDTH": 64}
WIDE = {"AXIS_DATA_WIDTH": 512}


def lint(
    folder: Path, top: str, *arguments: str, **parameters: int
) -> subprocess.CompletedProcess[str]:
    """Each of Verilator's warnings, those on style too, but that a file holds several modules."""
    values = [f"-G{name}={value}" for name, value in parameters.items()]
    files = sorted(path.name for path in folder.glob("*.*v"))
    return subprocess.run(
        ["verilator", "--lint-only", *arguments, "--top", top, *values, *files],
        cwd=folder,
        env=verilator_environment(),
        capture_output=True,
        text=True,
    )


def _clean(folder: Path, **parameters: int) -> None:
    done = lint(folder, "mqnic_app_block", "-Wall", **parameters)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two widths, two NICs; in place of each NIC a module with its ports."""
    made = tmp_path_factory.mktemp("corundum")
    bits = nic_map(dataclasses.replace(TINY, width=64)).address_bits
    block = app_block([64, 512], nics=2, address_bits=bits, tick_ps=4000, app_id=APP_ID)
    (made / "mqnic_app_block.v").write_text(block)
    (made / "control.v").write_text(block_verilog(AppControl(2, bits), name="precog_app_control"))
    for width in (64, 512):
        nic = stub(width, dataclasses.replace(TINY, width=width), 4000)
        core = app_core(width, nic, address_bits=bits)
        (made / f"precog_app_{width}.v").write_text(core)
    return made


@pytest.mark.cosim
@pytest.mark.parametrize(
    "parameters",
    [
        {"PORTS_PER_IF": 2, **SMALL},
        {
            "IF_COUNT": 3,
            "PORTS_PER_IF": 2,
            "PTP_TS_ENABLE": 0,
            "AXIL_APP_CTRL_ADDR_WIDTH": 24,
            **WIDE,
        },
        {"IF_COUNT": 2, "TX_TAG_WIDTH": 40, "RAM_SEG_COUNT": 4, "DDR_CH": 2, **WIDE},
    ],
)
def test_verilator_finds_nothing_to_warn_of(folder: Path, parameters: dict[str, int]) -> None:
    _clean(folder, **{"AXIL_APP_CTRL_ADDR_WIDTH": 17, **parameters})


@pytest.mark.cosim
@pytest.mark.parametrize("width", [64, 512])
def test_with_its_nic_it_lints_too(width: int, volume: int, tmp_path: Path) -> None:
    if volume == 1:
        pytest.skip("elaborating takes half a minute: with --volume")
    for name, text in app_files(TINY, [width]).items():
        (tmp_path / name).write_text(text)
    _clean(tmp_path, AXIS_DATA_WIDTH=width)


@pytest.mark.cosim
def test_a_width_that_was_not_generated_is_named(folder: Path) -> None:
    done = lint(folder, "mqnic_app_block", IF_COUNT=2, AXIS_SYNC_DATA_WIDTH=256)
    assert done.returncode
    assert f"Cannot find file containing module: '{MISSING}'" in done.stderr


@pytest.mark.cosim
def test_synthesis_stops_at_a_wrong_parameter(folder: Path) -> None:
    """Which ignores `initial`; each tool of synthesis defines SYNTHESIS."""
    right = {"IF_COUNT": 2, "AXIL_APP_CTRL_ADDR_WIDTH": 17, **SMALL}
    done = lint(folder, "mqnic_app_block", "-Wall", "-DSYNTHESIS", **right)
    assert (done.returncode, done.stderr) == (0, "")
    for name, value in (("CLK_PERIOD_NS_NUM", 5), ("APP_ID", 1)):
        done = lint(folder, "mqnic_app_block", "-DSYNTHESIS", **right | {name: value})
        missing = MISSING.replace("AXIS_SYNC_DATA_WIDTH", name)
        assert f"Cannot find file containing module: '{missing}'" in done.stderr


@pytest.mark.cosim
def test_each_wrong_parameter_is_refused_with_a_remedy(folder: Path, tmp_path: Path) -> None:
    """The checks at the simulation's start, made ones of elaboration, which the linter runs."""
    text = (folder / "mqnic_app_block.v").read_text()
    checks = text[text.index("\ninitial begin") : text.index("\nend\n")]
    found = re.findall(
        r"if \(!\((.+)\)\) begin\s+(\$error\(\".+\",\s+\w+, \w+\);)\s+\$finish;\s+end", checks
    )
    head = text[: text.index(") (")]
    constants = "\n".join(re.findall(r"^localparam [A-Z].*;", text, re.M))
    body = "\n".join(f"if (!({condition})) {error}" for condition, error in found)
    (tmp_path / "checks.sv").write_text(f"{head}) ();\n{constants}\n{body}\nendmodule\n")
    right = {"IF_COUNT": 2, "AXIL_APP_CTRL_ADDR_WIDTH": 17}
    assert lint(tmp_path, "mqnic_app_block", **right).returncode == 0
    wrong = {
        "APP_ID": (1, "must be 32'h12340001, or export again with --app-id"),
        "AXIS_SYNC_DATA_WIDTH": (128, "must be 64, 512, or export again with --width"),
        "CLK_PERIOD_NS_NUM": (5, "must give 4000 ps, or export again with --tick-ps"),
        "PORT_COUNT": (1, "must be the number of NICs at least, or export again with --ports"),
        "AXIS_SYNC_KEEP_WIDTH": (32, "must be a bit for each byte"),
        "AXIS_SYNC_TX_USER_WIDTH": (16, "must be TX_TAG_WIDTH + 1 at least and 41 at most"),
        "AXIS_SYNC_RX_USER_WIDTH": (98, "must be 97 at most"),
        "AXIL_APP_CTRL_DATA_WIDTH": (64, "must be 32"),
        "AXIL_APP_CTRL_ADDR_WIDTH": (16, "must hold every NIC's registers and be 32 at most"),
    }
    assert len(found) == len(wrong)
    for name, (value, message) in wrong.items():
        done = lint(tmp_path, "mqnic_app_block", **right | {name: value})
        assert done.returncode, name
        assert f"Error: {name} " in done.stderr, (name, done.stderr)
        assert f"{message}; it is {value}," in " ".join(done.stderr.split()), (name, done.stderr)


def test_bad_requests_are_refused() -> None:
    def refused(message: str, config=TINY, widths=(64,), nics=1, app_id=APP_ID) -> None:  # type: ignore[no-untyped-def]
        with pytest.raises(ValueError, match=message):
            check(config, widths, nics=nics, app_id=app_id)

    check(TINY, (64, 128, 256, 512), nics=4, app_id=APP_ID)
    refused(r"width for corundum must be one of \(64, 128, 256, 512\), not \[8\]", widths=(8,))
    refused("width for corundum must be one of", widths=())
    refused(r"widths must differ, not \[64, 64\]", widths=(64, 64))
    refused(r"ports must be in 1\.\.32768, not 0", nics=0)
    refused("app_id must have 32 bits, not -1", app_id=-1)
    refused(
        "grants, profile and forecast must be off", config=dataclasses.replace(TINY, grants=True)
    )
