"""Bridges from a serial line or UDP to AXI4-Lite."""
