"""Fault injection: random bit flips in the memories of the running RTL."""
