"""The simulator's compiled code follows the sources of the golden models that it calls."""

from pathlib import Path

from tests.source_tree import SourceTree

PROBE = """
import numpy as np
from precog_models.predict.cps import calibrated
from precog_sim.network.jit import compiled

@compiled
def probe(knots: object) -> int:
    return calibrated(knots, 256)
"""
CALL = "import numpy, precog_sim.network.probe as p; print(p.probe(numpy.arange(65)))"


def test_an_edit_of_a_golden_model_is_seen(tmp_path: Path) -> None:
    tree = SourceTree(tmp_path, "models/precog_models", "sim/precog_sim/network")
    (tmp_path / "precog_sim/network/probe.py").write_text(PROBE)
    for package in ("precog_sim", "precog_sim/network"):
        (tmp_path / package / "__init__.py").write_text("")
    assert tree.run(CALL) == "1"
    tree.edit("precog_models/fixed.py", "((value >> (shift - 1)) + 1) >> 1", "value >> shift")
    assert tree.run(CALL) == "0"
