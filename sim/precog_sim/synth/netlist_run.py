"""The synthesised NIC, with the vendor's multipliers and memories, against the golden model.

What is placed and routed differs from what the other tests simulate: the multipliers are the
vendor's cells with their own registers, memories are block RAMs, logic is tables. Here that netlist
is Verilated with cell models and runs a slice of the exactness campaign: the same driver over the
same pins.
"""

import json
from dataclasses import asdict, replace
from pathlib import Path

from precog_spec.config import NicConfig

from ..rtl.build import TOP, verilog_library
from ..rtl.exactness import Campaign, Result
from ..rtl.library import NicLibrary
from .netlist import simulation_source
from .place import synthesise

__all__ = ["netlist_library", "run_netlist"]


def netlist_library(config: NicConfig, root: Path, *, quiet: bool = False) -> Path:
    """The shared library of the ECP5 netlist of the whole NIC.

    Parameters
    ----------
    config : NicConfig
        Its `dsp` is taken to be ``"ecp5"``.
    root : Path
        Where the netlist is kept.
    quiet : bool
        No progress bar.

    Raises
    ------
    SynthError, VerilateError
        A tool failed or is missing.
    """
    from precog_hw.export import nic_verilog

    source = nic_verilog(replace(config, dsp="ecp5"), name=TOP)
    netlist = synthesise(source, TOP, root)
    label = f"ECP5 netlist ({config.lanes} lanes)"
    return verilog_library(simulation_source(netlist), label=label, plain=True, quiet=quiet)


def run_netlist(
    config: NicConfig, decisions: int, seed: int, root: Path, *, quiet: bool = False
) -> Result:
    """Compare at least `decisions` decisions of the netlist with the golden model."""
    nic = NicLibrary(netlist_library(config, root, quiet=quiet))
    campaign = Campaign(config, seed, nic=nic)
    while campaign.result.decisions < decisions and not campaign.result.first:
        campaign.batch(min(1000, decisions))
    campaign.close()
    root.mkdir(parents=True, exist_ok=True)
    report = root / f"netlist-{config.lanes}.json"
    report.write_text(json.dumps(asdict(campaign.result), indent=1) + "\n")
    return campaign.result
