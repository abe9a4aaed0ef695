"""The faster signed arithmetic of a Verilated model gives what Verilator's own gives."""

import shutil
import subprocess
from importlib import resources
from pathlib import Path

import pytest

from precog_sim.rtl.verilate import verilator_environment

pytestmark = pytest.mark.cosim

# A name in parentheses is the function, not the macro.
_PROGRAM = """
int main() {
    uint64_t state = 1;
    auto random = [&] { return state = state * 6364136223846793005ull + 1442695040888963407ull; };
    for (int n = 0; n < 200000; ++n) {
        const int bits = 1 + n % 64, few = 1 + n % 32;
        const QData a = random() >> (64 - bits), b = random() >> (64 - bits);
        const IData c = random() >> (64 - few), d = random() >> (64 - few);
        const IData by = random() >> 57;
        const IData mask = VL_MASK_I(few);
        if (VL_EXTENDS_QQ(64, bits, a) != (VL_EXTENDS_QQ)(64, bits, a)) return 1;
        if (VL_EXTENDS_QI(64, few, c) != (VL_EXTENDS_QI)(64, few, c)) return 2;
        if (VL_EXTENDS_II(32, few, c) != (VL_EXTENDS_II)(32, few, c)) return 3;
        if (VL_MULS_QQQ(bits, a, b) != (VL_MULS_QQQ)(bits, a, b)) return 4;
        if (VL_MULS_III(few, c, d) != (VL_MULS_III)(few, c, d)) return 5;
        const IData shifted = VL_SHIFTRS_III(few, few, 32, c, by);
        if ((shifted & mask) != ((VL_SHIFTRS_III)(few, few, 32, c, by) & mask)) return 6;
    }
    return 0;
}
"""


def test_every_macro_equals_its_function(tmp_path: Path) -> None:
    header = resources.files("precog_sim.rtl").joinpath("arithmetic.h").read_text()
    (tmp_path / "arithmetic.h").write_text(header)
    (tmp_path / "main.cpp").write_text(_PROGRAM)
    root = Path(verilator_environment()["VERILATOR_ROOT"])
    compiler = shutil.which("g++") or "c++"
    command = [compiler, "-std=gnu++20", "-O1", "-w", "-include", "arithmetic.h"]
    command += [f"-I{root / 'include'}", f"-I{root / 'include' / 'vltstd'}", "main.cpp"]
    subprocess.run([*command, "-o", "main"], cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "main"]).returncode == 0
