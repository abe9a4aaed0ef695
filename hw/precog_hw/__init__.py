"""Gateware of Precog (Amaranth)."""
