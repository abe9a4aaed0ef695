"""Synthesis, place and route on LFE5UM5G-85F, and simulation of the synthesised netlist."""
