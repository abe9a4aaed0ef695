"""Simulation side of Precog: packet-level network and RTL in the loop."""

import sys

if sys.argv[:1] == ["-m"]:  # python -m precog_sim.demo, which Python is about to find
    from precog_host.extras import explain_missing

    explain_missing()
