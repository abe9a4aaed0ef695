"""Devices and boards: the only place with vendor primitives."""
