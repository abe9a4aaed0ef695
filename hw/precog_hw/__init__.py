"""Gateware of Precog (Amaranth)."""

import os

# Amaranth would take a `yosys` on PATH, of any version and however broken; the one that is pinned
# writes the same Verilog on every machine. Who wants another says so in the environment.
os.environ.setdefault("AMARANTH_USE_YOSYS", "builtin")
