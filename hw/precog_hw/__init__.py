"""Gateware of Precog (Amaranth)."""

import os

# Amaranth would take a `yosys` on PATH, of any version and however broken; the one that is pinned
# writes the same Verilog on every machine. The environment can name another.
os.environ.setdefault("AMARANTH_USE_YOSYS", "builtin")
