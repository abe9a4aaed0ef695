"""Simulation side of Precog: packet-level network and RTL in the loop."""

import sys
from importlib import import_module

if sys.argv[:1] == ["-m"]:  # python -m precog_sim.demo, which Python is about to find
    import_module("precog_host.extras").explain_missing()
