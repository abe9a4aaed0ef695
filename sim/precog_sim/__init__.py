"""Simulation side of Precog: packet-level network and RTL in the loop."""
