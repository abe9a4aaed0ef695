"""A configuration -> the exported Verilog -> a shared library.

The Verilog is that of ``precog export``: what is simulated is what is synthesised.
"""

from pathlib import Path

from precog_hw.config import NicConfig

from .fields import fields_header
from .verilate import BUILD_ROOT, shared_library

__all__ = ["TOP", "nic_library", "verilog_library"]

TOP = "precog_nic"


def nic_library(config: NicConfig, *, root: Path = BUILD_ROOT, quiet: bool = False) -> Path:
    """The shared library of the NIC that `config` describes.

    Raises
    ------
    VerilateError
        A tool of the build is missing or failed.
    """
    from precog_hw.export import nic_verilog

    label = f"NIC ({config.lanes} lanes, {config.qps} QPs)"
    return verilog_library(nic_verilog(config, name=TOP), label=label, root=root, quiet=quiet)


def verilog_library(
    verilog: str, *, label: str, top: str = TOP, root: Path = BUILD_ROOT, quiet: bool = False
) -> Path:
    """The shared library of any top module with the NIC's ports.

    Raises
    ------
    VerilateError
        A tool of the build is missing or failed.
    """
    from .library import harness_source

    return shared_library(
        verilog,
        harness_source(),
        {"fields.h": fields_header()},
        top=top,
        label=label,
        root=root,
        quiet=quiet,
    )
